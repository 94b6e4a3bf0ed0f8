"""What is read of a user's Python file: decorators that supply parameters, imports of neighbours."""

from __future__ import annotations

import pytest

from trtplug import kernel_file


def decorator(text: str) -> kernel_file.Decorator:
    source = f"{text}\n@triton.jit\ndef kernel(X, n, BLOCK: tl.constexpr):\n    pass\n"
    return kernel_file.functions(source)["kernel"].decorators[0]


CONFIGS = {
    "[triton.Config({'BLOCK': 64}, 2, 5), Config({'BLOCK': 128}, num_warps=8)]": [(64, 2, 5), (128, 8, 3)],
    "[triton.Config(kwargs=dict(BLOCK=16 * w), num_warps=w) for w in (1, 2)]": [(16, 1, 3), (32, 2, 3)],
    "[triton.Config({'BLOCK': b}, num_ctas=1, maxnreg=None) for b in range(8, 24, 8)]": [(8, 4, 3), (16, 4, 3)],
}


@pytest.mark.parametrize("text", CONFIGS)
def test_configs_are_read_without_running_the_file(text: str) -> None:
    found = decorator(f"@triton.autotune(configs={text}, key=['n'])")
    assert [(c.constexprs["BLOCK"], c.num_warps, c.num_stages) for c in found.configs] == CONFIGS[text]
    assert (found.key, found.supplied, found.problem) == (("n",), ("BLOCK",), None)


def test_configs_may_use_constants_of_the_file() -> None:
    text = "SIZES = [32, 64]\nCONFIGS = [triton.Config({'BLOCK': b * w}) for b in SIZES for w in (1, 2)]\n"
    found = decorator(f"{text}@triton.autotune(CONFIGS, ['n'])")
    assert [config.constexprs["BLOCK"] for config in found.configs] == [32, 64, 64, 128]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("@triton.autotune(configs=[triton.Config({}, pre_hook=min)], key=[])", "heeds no pre_hook"),
        ("@triton.autotune(configs=[triton.Config({}, num_ctas=2)], key=[])", "heeds no num_ctas"),
        ("@triton.autotune(configs=[triton.Config({})], key=[], post_hook=print)", "heeds no post_hook"),
        ("@triton.autotune(configs=[], key=[])", "no list of triton.Config"),
        ("@triton.autotune(configs=[{'BLOCK': 64}], key=[])", "no list of triton.Config"),
        ("@triton.autotune(configs=sizes(), key=[])", "without running the file: 'sizes' is no constant"),
        ("@triton.autotune(key=[])", "without running the file"),
        ("@triton.heuristics(rules)", "no dict with literal keys"),
        ("@triton.heuristics({NAME: print})", "no dict with literal keys"),
    ],
)
def test_what_a_launch_would_ignore_is_a_problem(text: str, why: str) -> None:
    problem = decorator(text).problem
    assert problem is not None
    assert why in problem


def test_imports_of_neighbours_become_relative_and_all_else_stays() -> None:
    text = (
        "import torch; import first\n"
        "\x0c\n"  # a line to Python, two to str.splitlines
        "import second as other\n"
        "from third import (\n    one,\n    two,\n)\n"
        "def f():\n    from first import g  # from first import g\n    return 'import first'\n"
    )
    expected = (
        text.replace("; import first", "; from . import first")
        .replace("import second as", "from . import second as")
        .replace("from third", "from .third")
        .replace("    from first import g  #", "    from .first import g  #")
    )
    assert kernel_file.with_relative_imports(text, {"first", "second", "third"}) == expected


@pytest.mark.parametrize("text", ["import torch, first\n", "from \\\n    first import one\n"])
def test_an_import_that_cannot_become_relative_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="line 1 imports"):
        kernel_file.with_relative_imports(text, {"first"})


@pytest.mark.parametrize(
    ("imports", "hides"),
    [
        ("import triton.language as tl", False),
        ("from triton import language", False),
        ("from triton import language as tl", False),
        ("import triton", True),
        ("import triton.language", True),  # binds no more than triton
        ("from triton.language import arange", True),
    ],
)
def test_kernels_need_a_name_for_triton_language(imports: str, hides: bool) -> None:
    assert kernel_file.hides_triton_language(f"{imports}\n@triton.jit\ndef f():\n    pass\n") == hides
    assert not kernel_file.hides_triton_language(f"{imports}\ndef f():\n    pass\n")

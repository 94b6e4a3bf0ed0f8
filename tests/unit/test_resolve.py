"""Spec to Op: what a sound spec means. What a spec may not say is in tests/bad_specs."""

from __future__ import annotations

import symtable
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from trtplug import expr, names, render, resolve, rules, spec
from trtplug.model import Op
from trtplug.plugin_api import PluginApi
from trtplug.problems import SpecError
from trtplug.views import facts

BAD = ROOT / "tests/bad_specs/output_not_written"  # sound but for `Y: x`
SPEC = (BAD / "spec.yaml").read_text(encoding="utf-8").replace("Y: x", "Y: y")
KERNEL = (BAD / "scale.py").read_text(encoding="utf-8")


def resolved(folder: Path, *changes: tuple[str, str], kernel: str = KERNEL) -> Op:
    text = SPEC
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "scale.py").write_text(kernel, encoding="utf-8")
    (folder / "op.yaml").write_text(text, encoding="utf-8")
    return resolve.resolve(spec.load(folder / "op.yaml"))


def test_parameters_stand_in_the_kernel_s_order(tmp_path: Path) -> None:
    op = resolved(tmp_path, ("{X: x, Y: y, by: by, n: n}", "{n: n, by: by, Y: y, X: x}"))
    assert [(p.name, p.constexpr) for p in op.launch.kernels[0].parameters] == [
        *(("X", False), ("Y", False), ("by", False), ("n", False), ("BLOCK", True))
    ]


def test_a_let_name_may_be_that_of_the_kernel_parameter_which_it_is_given_to(tmp_path: Path) -> None:
    op = resolved(tmp_path, ("{BLOCK: 1024}", "{BLOCK: BLOCK}"), ("  n: numel", "  BLOCK: 1024\n  n: numel"))
    assert [let.name for let in op.launch.lets] == ["BLOCK", "n"]


def test_a_let_name_that_only_another_one_uses_is_used(tmp_path: Path) -> None:
    op = resolved(tmp_path, ("  n: numel(y)", "  m: numel(y)\n  n: m + 0"))
    assert [let.name for let in op.launch.lets] == ["m", "n"]


def test_reads_a_kernel_with_a_byte_order_mark_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/kernel.py").write_text(f"\ufeff{KERNEL}", encoding="utf-8")
    (tmp_path / "scale.py").symlink_to(tmp_path / "elsewhere/kernel.py")
    assert resolved(tmp_path, kernel=f"\ufeff{KERNEL}").code.text == KERNEL


def test_the_reference_may_stand_in_a_file_of_its_own_and_take_anything(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("def times(*arguments, **more): ...\n", encoding="utf-8")
    op = resolved(tmp_path, ("scale.py:reference", "plain.py:times"))
    assert (op.reference.name, op.reference_function) == ("plain.py", "times")


@pytest.mark.parametrize(
    ("parameters", "fit"),
    [
        ("x, by", True),
        ("x, by, more=1, *, flag=False", True),
        ("x, /, *rest", True),
        ("x", False),
        ("x, by, more", False),
        ("*arguments, by", False),
        ("*, x, by", False),
        ("**arguments", False),
    ],
)
def test_the_reference_is_called_by_position(tmp_path: Path, parameters: str, fit: bool) -> None:
    (tmp_path / "plain.py").write_text(f"def times({parameters}): ...\n", encoding="utf-8")
    change = ("scale.py:reference", "plain.py:times")
    if fit:
        assert resolved(tmp_path, change).reference_function == "times"
    else:
        with pytest.raises(SpecError, match="'times' is called with the schema's arguments, by position"):
            resolved(tmp_path, change)


def test_a_launch_that_would_compute_with_every_element_is_refused_at_once(tmp_path: Path) -> None:
    doubled = "".join(f"  l{i}: l{i - 1} + l{i - 1}\n" for i in range(1, 40))
    lets = f"let:\n  l0: '[1]'\n{doubled}  squares: len(l39)\n"
    with pytest.raises(SpecError, match="let l10 has 1024 items; at most 1000 make sense"):
        resolved(tmp_path, ("let:\n", lets), ("n: n}", "n: n + squares}"))


# --- names ----------------------------------------------------------------------------------------------------------


def scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from scopes(child)


def outside(table: symtable.SymbolTable) -> set[str]:
    """The names that a function, or one inside it, takes from its module."""
    return {symbol.get_name() for scope in scopes(table) for symbol in scope.get_symbols() if symbol.is_global()}


@pytest.mark.parametrize("api", PluginApi, ids=lambda api: api.value)
@pytest.mark.parametrize(
    "path", sorted([*ROOT.glob("specs/*.yaml"), *ROOT.glob("tests/specs/*.yaml")]), ids=lambda path: path.stem
)
def test_no_name_of_a_spec_can_hide_one_that_generated_code_needs(path: Path, api: PluginApi) -> None:
    found = spec.load(path)
    if api is PluginApi.V2 and (found.form.sizes or "!)" in found.form.schema):
        return  # which it cannot have
    op = resolve.resolve(found, api)
    launch, tensors = op.launch, facts.buffers(op)
    kernels = {kernel.function for kernel in launch.kernels}
    own = {argument.name for argument in op.arguments} | {*tensors, *names.of_tensors(tensors)}
    of_launch = {let.name for let in launch.lets} | {p.name for kernel in launch.kernels for p in kernel.constexprs}
    arguments = own
    derived = {*kernels, op.names.op, op.names.functional, op.names.plugin_class}
    skipped = {"_kernel.py", "_reference.py", "_dims.py", "reference_file.py", *(helper.name for helper in op.helpers)}
    problems = []
    for file, content in render.render(op).items():
        if file.suffix != ".py" or file.name in skipped:
            continue
        own = arguments | of_launch if file.name == "_launch.py" else arguments
        module = symtable.symtable(content.decode(), file.name, "exec")
        here = outside(module) | {symbol.get_name() for symbol in module.get_symbols()}
        free = {name for name in here - derived if not name.startswith(("_", "test_"))}
        if kernels & here:
            problems += [(file.name, "kernel", name) for name in free if not names.problem_with_kernel_name(name)]
        if op.names.op in here:
            problems += [(file.name, "op", name) for name in free if not names.problem_with_op_name(name)]
        for function in scopes(module):
            # Of the tests, only what takes a user's names as its own parameters has them.
            symbols = [s for s in function.get_symbols() if s.is_parameter() or "tests" not in file.parts]
            local = {symbol.get_name() for symbol in symbols if symbol.is_local()}
            is_rule = hasattr(rules, function.get_name().removeprefix("_"))  # which has names of its own
            if function.get_type() != "function" or function.get_name().startswith("test_") or is_rule:
                continue
            if not local & own - {"dtype"}:  # which is also what loops of the generated code are over
                continue
            hidden = outside(function) - own - derived
            problems += [
                (file.name, function.get_name(), name)
                for name in hidden
                if not names.problem_with_argument_name(name, expr.RESERVED)
            ]
    assert not problems

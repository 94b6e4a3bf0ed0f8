"""The first spec of a new op: a starter that works, or guesses from a kernel; what else is guessed goes here."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from pathlib import Path

from trtplug import kernel_file, names
from trtplug.expr import RESERVED
from trtplug.fileset import FileSet
from trtplug.resources import templates

_STARTER = "my_op"
_STORES = ("store", "atomic_")
_COUNTS = ("n", "numel", "count", "size", "n_elements", "num_elements")
_FLOATS = ("alpha", "beta", "eps", "epsilon", "scale", "slope", "factor", "value", "p")


class ScaffoldError(Exception):
    """There is nothing to start from; the message says what to do."""


@dataclass(frozen=True)
class _Parameter:
    """A kernel parameter and what it looks like; `argument` is its name in the schema."""

    name: str
    argument: str
    constexpr: bool
    default: object
    loaded: bool
    stored: bool

    @property
    def tensor(self) -> bool:
        return self.loaded or self.stored


def starter(name: str) -> FileSet:
    """A small op of that name."""
    _check(name)
    return FileSet.of(
        {
            f"{name}{suffix}": (templates() / "new" / f"{_STARTER}{suffix}")
            .read_text(encoding="utf-8")
            .replace(_STARTER, name)
            for suffix in (".py", ".yaml")
        }
    )


def from_kernel(name: str, source: str, folder: Path) -> FileSet:
    """A spec for the kernel FILE.py:KERNEL, and the files that it names beside it in `folder`."""
    _check(name)
    path, text, kernel, known = _read(source)
    reference = f"{path.name}:reference" if "reference" in known else f"{name}_reference.py:reference"
    parameters = _parameters(known[kernel.name].parameters, kernel)
    spec = _spec(name, path.name, kernel.name, parameters, reference)
    files = {f"{name}.yaml": spec}
    if path.resolve().parent != folder.resolve():
        files[path.name] = text
    if "reference" not in known:
        files[f"{name}_reference.py"] = _reference(name, parameters)
    return FileSet.of(files)


def _check(name: str) -> None:
    if problem := names.problem_with_op_name(name):
        raise ScaffoldError(problem)


def _read(source: str) -> tuple[Path, str, ast.FunctionDef, dict[str, kernel_file.Function]]:
    file, _, wanted = source.rpartition(":")
    if not file or not wanted:
        raise ScaffoldError(f"--from takes FILE.py:KERNEL, not '{source}'")
    try:
        text = Path(file).read_text(encoding="utf-8")
        known = kernel_file.functions(text)
    except OSError as error:
        raise ScaffoldError(f"cannot read {file}: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        raise ScaffoldError(f"{file} is not UTF-8; save it as UTF-8") from error
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise ScaffoldError(f"{file}:{line}:1: no Python: {getattr(error, 'msg', error)}; correct it first") from error
    kernels = [function.name for function in known.values() if function.is_kernel]
    if wanted not in kernels:
        close = difflib.get_close_matches(wanted, kernels, n=1) or kernels
        remedy = f"it has {', '.join(close)}" if close else "decorate it with @triton.jit"
        raise ScaffoldError(f"{file} has no @triton.jit function '{wanted}'; {remedy}")
    node = next(node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == wanted)
    return Path(file), text, node, known


def _parameters(listed: tuple[kernel_file.KernelParameter, ...], kernel: ast.FunctionDef) -> list[_Parameter]:
    loads, stores = _pointers(kernel)
    arguments = kernel.args
    positional = [*arguments.posonlyargs, *arguments.args]
    last = positional[len(positional) - len(arguments.defaults) :]
    defaults = {a.arg: d for a, d in zip(last, arguments.defaults, strict=True)}
    defaults |= {a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d}
    result = []
    for parameter in listed:
        default = defaults.get(parameter.name)
        stored = parameter.name in stores and not parameter.constexpr
        named = parameter.name.lower().endswith(("_ptr", "_pointer"))
        loaded = (parameter.name in loads or (named and not stored)) and not parameter.constexpr
        value = default.value if isinstance(default, ast.Constant) else None
        result.append(_Parameter(parameter.name, _argument(parameter.name), parameter.constexpr, value, loaded, stored))
    if not any(parameter.stored for parameter in result) or all(p.stored for p in result if p.tensor):
        raise ScaffoldError(f"{kernel.name} must load from one parameter and store to another, and does not seem to")
    return result


def _pointers(kernel: ast.FunctionDef) -> tuple[set[str], set[str]]:
    """The parameters that the kernel loads from and stores to, followed through the names that they are given."""
    assigned: dict[str, ast.expr] = {}
    loads, stores = set(), set()
    for node in ast.walk(kernel):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, node.value)
    for node in ast.walk(kernel):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            base = _base(node.args[0], assigned)
            if node.func.attr == "load":
                loads.add(base)
            elif node.func.attr.startswith(_STORES):
                stores.add(base)
    return loads, stores


def _base(node: ast.expr, assigned: dict[str, ast.expr]) -> str:
    """The name that a pointer expression starts from: in `x_ptr + row * stride`, x_ptr."""
    followed: set[str] = set()
    while True:
        if isinstance(node, ast.BinOp):
            node = node.left
        elif isinstance(node, ast.Call) and node.args:  # tl.make_block_ptr(base, ...)
            node = node.args[0]
        elif isinstance(node, ast.Name) and node.id in assigned and node.id not in followed:
            followed.add(node.id)
            node = assigned[node.id]
        else:
            return node.id if isinstance(node, ast.Name) else ""


def _argument(parameter: str) -> str:
    """A name for the schema."""
    plain = parameter.lower().removesuffix("_ptr").removesuffix("_pointer").strip("_") or "x"
    return f"{plain}_" if names.problem_with_argument_name(plain, RESERVED) else plain


def _value(parameter: _Parameter) -> str | None:
    """The expression of a parameter that the shapes tell; None for one that becomes an argument of the op."""
    if parameter.constexpr:
        if isinstance(parameter.default, bool | int | float | str):
            return repr(parameter.default) if not isinstance(parameter.default, str) else f"\"'{parameter.default}'\""
        return "1024" if "BLOCK" in parameter.name.upper() else "1"
    if parameter.tensor:
        return parameter.argument
    if parameter.argument in _COUNTS:
        return "numel({output})"
    return "1" if "stride" in parameter.argument else None


def _kind(parameter: _Parameter) -> str:
    """The type of an argument of the op."""
    return "float" if parameter.argument in _FLOATS or isinstance(parameter.default, float) else "int"


def _spec(name: str, file: str, kernel: str, parameters: list[_Parameter], reference: str) -> str:
    inputs = [parameter.argument for parameter in parameters if parameter.loaded and not parameter.stored]
    outputs = [parameter.argument for parameter in parameters if parameter.stored]
    blocks = [parameter.name for parameter in parameters if parameter.constexpr and "BLOCK" in parameter.name.upper()]
    arguments = [f"Tensor {argument}" for argument in inputs]
    arguments += [f"{_kind(p)} {p.argument}=1" for p in parameters if _value(p) is None]
    returns = "Tensor" if len(outputs) == 1 else f"({', '.join(['Tensor'] * len(outputs))})"
    grid = f"cdiv(numel({outputs[0]}), {blocks[0]})" if blocks else f"numel({outputs[0]})"
    lines = [
        "spec: 1",
        f"name: {name}",
        f"summary: The op {name}. # guess: say in one line what it does",
        f'schema: "({", ".join(arguments)}) -> {returns}" # guess: names, types and defaults',
        f'kernel: {{file: "{file}", function: {kernel}}}',
        "",
        "inputs:",
        *(
            f"  {argument}: {{rank: [1, 4], dtypes: [float32]}} # guess: the kernel loads from it"
            for argument in inputs
        ),
        "outputs:",
        *(
            f"  {output}: {{dtype: {inputs[0]}.dtype, shape: {inputs[0]}.shape}} # guess: the kernel stores to it"
            for output in outputs
        ),
        "",
        "launch:",
        f'  grid: ["{grid}"] # guess',
        "  args:",
    ]
    constexprs = ["  constexpr:"]
    for parameter in parameters:
        value = (_value(parameter) or parameter.argument).format(output=outputs[0])
        sure = parameter.constexpr and parameter.default is not None
        note = "the kernel's default" if sure else _note(parameter)
        where = constexprs if parameter.constexpr else lines
        where.append(f"    {parameter.name}: {value} # guess: {note}")
    lines += constexprs if len(constexprs) > 1 else []
    case = ", ".join(f"{argument}: [2, 3, 8, 8]" for argument in inputs)
    written = "" if reference.startswith(file) else " # to write"
    lines += [
        "",
        f'reference: "{reference}"{written}',
        "tolerance: {float32: 1.0e-5} # guess",
        "cases:",
        f"  - {{{case}}} # guess: a shape for each tensor",
    ]
    return "\n".join(lines) + "\n"


def _note(parameter: _Parameter) -> str:
    if parameter.constexpr:
        return "it has no default"
    if parameter.loaded and parameter.stored:
        return "loaded and stored to; an output starts unwritten"
    if parameter.tensor:
        return "the tensor"
    if parameter.argument in _COUNTS:
        return "by its name, the number of elements"
    return "the stride of a dense tensor" if "stride" in parameter.argument else "an argument of the op"


def _reference(name: str, parameters: list[_Parameter]) -> str:
    arguments = [f"{p.argument}: torch.Tensor" for p in parameters if p.loaded and not p.stored]
    arguments += [f"{p.argument}: {_kind(p)} = 1" for p in parameters if _value(p) is None]
    return (
        f'"""What {name} computes, in plain PyTorch."""\n\nimport torch\n\n\n'
        f"def reference({', '.join(arguments)}) -> torch.Tensor:\n"
        f'    raise NotImplementedError("write {name} in plain PyTorch here, or name another function in the spec")\n'
    )

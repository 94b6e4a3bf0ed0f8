"""The text of a spec, and of a reference to write, out of guesses; each guess is marked as one."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator

from trtplug.scaffold.tensors import Tensor
from trtplug.scaffold.values import Guesses

_TOLERANCES = {"float32": "1.0e-5", "float16": "1.0e-3", "bfloat16": "8.0e-3"}
_PLAIN = re.compile(r"(?!(?:null|yes|no|on|off)$)\w[-+*/%=<>(),.\w ]*", re.IGNORECASE)


def spec_text(name: str, file: str, kernel: str, guesses: Guesses, constexprs: frozenset[str], reference: str) -> str:
    """The spec of a kernel in a file; `reference` is that key's value, with what is to be said of it."""
    return "\n".join(
        [
            "# Written by trtplug new. What is marked as a guess comes from names and from what the kernel does:",
            "# correct it, and remove the mark.",
            "spec: 1",
            f"name: {name}",
            f"summary: The op {name}. # guess: say in one line what it does",
            *_schema(guesses),
            f"kernel: {{file: {json.dumps(file)}, function: {kernel}}}",
            "",
            "inputs:",
            *map(_input, guesses.inputs),
            *(["checks:"] if guesses.checks else []),
            *(f'  - ["{condition}", "{message}"] # guess' for condition, message in guesses.checks),
            *(["outputs:"] if guesses.outputs else []),
            *map(_output, guesses.outputs),
            "",
            *_launch(guesses, constexprs),
            "",
            f"reference: {reference}",
            f"tolerance: {{{_tolerance(guesses)}}} # guess",
            "cases:",
            f"  - {{{', '.join(f'{t.name}: {t.case}' for t in guesses.inputs)}}} # guess: a shape for each tensor",
            "",
        ]
    )


def _tensors(guesses: Guesses) -> list[Tensor]:
    """The inputs as the schema has them: those that are always there first."""
    return sorted(guesses.inputs, key=lambda tensor: tensor.optional)


def _schema(guesses: Guesses) -> Iterator[str]:
    arguments = [*_schema_tensors(guesses), *(f"{a.type} {a.name}={a.default}" for a in guesses.arguments)]
    returned = ", ".join(["Tensor"] * len(guesses.outputs))
    schema = f"({', '.join(arguments)}) -> {returned if len(guesses.outputs) == 1 else f'({returned})'}"
    yield f"schema: {json.dumps(schema)} # guess: names, types, defaults"


def _schema_tensors(guesses: Guesses) -> Iterator[str]:
    letters = iter(string.ascii_lowercase)
    for tensor in _tensors(guesses):
        alias = f"({next(letters)}!)" if tensor.written else ""
        yield f"Tensor? {tensor.name}=None" if tensor.optional else f"Tensor{alias} {tensor.name}"


def _input(tensor: Tensor) -> str:
    described = f"rank: {tensor.rank}, dtypes: [{tensor.dtype}]"
    if tensor.range:
        described += f', range: [0, "{tensor.range}"]'
    return f"  {tensor.name}: {{{described}}} # guess: {tensor.note}"


def _output(tensor: Tensor) -> str:
    shape = tensor.shape if re.fullmatch(r"[\w.]+", tensor.shape) else json.dumps(tensor.shape)
    init = ", init: zero" if tensor.init_zero else ""
    return f"  {tensor.name}: {{dtype: {tensor.dtype}, shape: {shape}{init}}} # guess: {tensor.note}"


def _launch(guesses: Guesses, constexprs: frozenset[str]) -> Iterator[str]:
    yield "launch:"
    sizes, reasons = zip(*guesses.grid, strict=True)
    yield f"  grid: [{', '.join(map(json.dumps, sizes))}] # guess: {'; '.join(reasons)}"
    for section in ("args", "constexpr"):
        values = {name: g for name, g in guesses.values.items() if (name in constexprs) == (section == "constexpr")}
        if values or section == "args":
            yield f"  {section}:"
        for name, value in values.items():
            yield f"    {_scalar(name)}: {_scalar(value.text)} # guess: {value.why}"


def _scalar(text: str) -> str:
    """A text as YAML, plain where that is no trap."""
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def _tolerance(guesses: Guesses) -> str:
    written = [tensor for tensor in guesses.inputs if tensor.written]
    used = {"float32", *(tensor.dtype for tensor in (*written, *guesses.outputs))} & _TOLERANCES.keys()
    return ", ".join(f"{name}: {value}" for name, value in _TOLERANCES.items() if name in used)


def reference_text(name: str, guesses: Guesses) -> str:
    """A file with a reference that is still to be written."""
    arguments = [
        f"{t.name}: torch.Tensor | None = None" if t.optional else f"{t.name}: torch.Tensor" for t in _tensors(guesses)
    ]
    arguments += [f"{a.name}: {a.type} = {a.default}" for a in guesses.arguments]
    returned = ", ".join(["torch.Tensor"] * len(guesses.outputs))
    if len(guesses.outputs) != 1:
        returned = f"tuple[{returned}]" if guesses.outputs else "None"
    definition = f"def reference({', '.join(arguments)}) -> {returned}:"
    if len(definition) > 120:
        listed = "".join(f"    {argument},\n" for argument in arguments)
        definition = f"def reference(\n{listed}) -> {returned}:"
    written = " and ".join(tensor.name for tensor in _tensors(guesses) if tensor.written)
    in_place = f"; it writes to {written}, as the op does" if written else ""
    return (
        f'"""What {name} computes, in plain PyTorch{in_place}."""\n\nimport torch\n\n\n{definition}\n'
        f'    raise NotImplementedError("write {name} in plain PyTorch here, or name another function in the spec")\n'
    )

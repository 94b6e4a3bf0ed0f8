"""The text of a spec for a plugin of TensorRT's registry, which tells the fields and nothing of the tensors."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence

from trtplug import expr, names
from trtplug.registered import FIELD_KINDS
from trtplug.registry import Entry

_EXAMPLES = {"int32": "1", "float32": "1.0", "text": '"text"'}
# By TensorRT's name of it: a field type of a spec, the type of an argument that sets it, and a value.
_TYPES = {kind.tensorrt: (name, kind.python.__name__, _EXAMPLES[name]) for name, kind in FIELD_KINDS.items()}


def chosen(wanted: str, entries: Sequence[Entry]) -> Entry | str:
    """The plugin NAME or NAME:VERSION, or what is wrong with that."""
    name, _, version = wanted.partition(":")
    found = [entry for entry in entries if entry.name == name and version in ("", entry.version)]
    if len(found) == 1:
        return found[0]
    if found and len({entry.version for entry in found}) == len(found):
        return f"there are {', '.join(f'{entry.name}:{entry.version}' for entry in found)}; name one of them"
    if found:
        spaces = " and ".join(f"'{entry.namespace}'" for entry in found)
        return f"{wanted} is there in the namespaces {spaces}, which cannot be told apart here; write the spec by hand"
    versions = [entry.version for entry in entries if entry.name == name]
    if versions:
        return f"TensorRT's registry has {name} in version {' and '.join(versions)}, not {version}"
    close = difflib.get_close_matches(name, [entry.name for entry in entries], n=1)
    remedy = f"did you mean '{close[0]}'?" if close else "trtplug plugins lists what there is; --library FILE adds more"
    return f"TensorRT's registry has no plugin '{wanted}'; {remedy}"


def spec_text(name: str, entry: Entry, library: str | None) -> str:
    """The spec of an op for a plugin; each guess is marked as one."""
    fields = {field: kind for field, kind in entry.fields.items() if kind in _TYPES}
    arguments = _arguments(fields)
    schema = ", ".join(["Tensor x", *(f"{_TYPES[kind][1]} {arguments[field]}" for field, kind in fields.items())])
    lines = [
        "# Written by trtplug new. TensorRT's registry tells the fields of a plugin, and nothing of its tensors:",
        "# correct what is marked as a guess, and remove the mark.",
        "spec: 1",
        f"name: {name}",
        f"summary: The op {name}. # guess: say in one line what it does",
        f"schema: {json.dumps(f'({schema}) -> Tensor')} # guess: the tensors; add defaults",
        "plugin:",
        f"  name: {json.dumps(entry.name)}",
        f"  version: {json.dumps(entry.version)}",
        *([f"  namespace: {json.dumps(entry.namespace)}"] if entry.namespace else []),
        *([f"  library: {json.dumps(library)}"] if library else []),
        *(["  fields:"] if fields else []),
    ]
    for field, kind in fields.items():
        lines.append(f"    {json.dumps(field)}: {{type: {_TYPES[kind][0]}, value: {arguments[field]}}}")
    lines += [
        f"# field {field} is {kind}, which TensorRT's ONNX parser sends to no plugin: left out"
        for field, kind in entry.fields.items()
        if field not in fields
    ]
    lines += [
        "",
        "inputs:",
        "  x: {rank: [1, 8], dtypes: [float32]} # guess",
        "outputs:",
        "  y: {dtype: x.dtype, shape: x.shape} # guess",
        "",
        f'reference: "{name}.py:reference" # to write',
        "tolerance: {float32: 1.0e-5} # guess",
        "cases:",
        f"  - {{{', '.join(['x: [2, 3]', *(f'{arguments[f]}: {_TYPES[k][2]}' for f, k in fields.items())])}}} # guess",
        "",
    ]
    return "\n".join(lines)


def reference_text(name: str, entry: Entry) -> str:
    """A file with a reference that is still to be written."""
    fields = {field: kind for field, kind in entry.fields.items() if kind in _TYPES}
    given = _arguments(fields)
    arguments = [f"{given[field]}: {_TYPES[kind][1]}" for field, kind in fields.items()]
    listed = "".join(f"    {argument},\n" for argument in ["x: torch.Tensor", *arguments])
    return (
        f'"""What {name} computes, in plain PyTorch."""\n\nimport torch\n\n\n'
        f"def reference(\n{listed}) -> torch.Tensor:\n"
        f'    raise NotImplementedError("write in plain PyTorch what the plugin {entry.name} computes")\n'
    )


def _arguments(fields: Iterable[str]) -> dict[str, str]:
    """For each field an argument of the op that sets it, by its name where an argument may have that."""
    found: dict[str, str] = {}
    for field in fields:
        plain = "".join(c if c.isalnum() else "_" for c in field)
        if not plain.isidentifier() or names.problem_with_argument_name(plain, expr.RESERVED):
            plain = f"field_{plain}"
        while plain in ("x", "y", *found.values()):
            plain = f"{plain}_"
        found[field] = plain
    return found

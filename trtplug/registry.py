"""What plugins TensorRT has registered here, as a process of its own finds them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trtplug import probing
from trtplug.process import Done

_MARK = "trtplug-registry"


class RegistryError(Exception):
    """TensorRT's registry cannot be read, or lacks what was asked for; the message says what to do."""


@dataclass(frozen=True)
class Entry:
    """One plugin of the registry; `fields` are the names of TensorRT's PluginFieldType, by field."""

    name: str
    version: str
    namespace: str
    fields: Mapping[str, str]


def entries(libraries: Sequence[Path] = ()) -> tuple[Entry, ...]:
    """The plugins, those of the libraries among them; raises RegistryError."""
    for library in libraries:
        if not library.is_file():
            raise RegistryError(f"there is no library {library}; check the path")
    done = probing.run("registry_probe", *(str(library.resolve()) for library in libraries))
    answers = [line.removeprefix(_MARK) for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if not answers:
        raise RegistryError(_why(done, libraries))
    answer = json.loads(answers[-1])
    for library, why in answer["refused"].items():
        raise RegistryError(f"TensorRT does not load the library {library}: {why}")
    return tuple(Entry(**plugin) for plugin in answer["plugins"])


def _why(done: Done, libraries: Sequence[Path]) -> str:
    last = "".join(done.stderr.strip().splitlines()[-1:])
    if "No module named 'tensorrt" in last:
        return "there is no TensorRT here; pip install 'trtplug[verify]', or tensorrt where you have that"
    loading = f", which a library may have caused ({', '.join(map(str, libraries))})" if libraries else ""
    said = ": ".join(filter(None, (done.reason, last))) or "it ended the process without a word"
    return f"TensorRT's registry cannot be read{loading}: {said}; python -c 'import tensorrt_rtx' may show more"

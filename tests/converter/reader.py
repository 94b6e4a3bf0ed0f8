"""Makes plugins of a package from fields, as a process does that loads an engine, and prints their attributes.

Usage: ``python -m tests.converter.reader PACKAGE``, where stdin is a JSON list, for each plugin its fields as the
worker found them in an engine. Prints a JSON list of what the worker calls attributes.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

_NUMPY = {"INT64": np.int64, "FLOAT64": np.float64, "INT8": np.int8, "CHAR": np.int8}


def main(folder: str) -> None:
    """Imports nothing but the plugin, and TensorRT with it."""
    (source,) = Path(folder).glob("src/*/plugin.py")
    sys.path.insert(0, str(source.parents[1]))
    plugin = importlib.import_module(f"{source.parent.name}.plugin")
    print(json.dumps([attributes(plugin, fields) for fields in json.load(sys.stdin)]))


def attributes(plugin: Any, fields: list[tuple[str, str, str]]) -> str:
    """The attributes of the plugin that these fields describe."""
    trt = plugin.trt
    if hasattr(plugin.CREATOR, "deserialize_plugin"):  # of an IPluginV2DynamicExt: one field has all bytes
        ((_, _, data),) = fields
        made = plugin.CREATOR.deserialize_plugin("again", bytes.fromhex(data))
        return repr({name: getattr(made, name) for name in plugin.FIELDS})
    arrays = [np.frombuffer(bytes.fromhex(data), dtype=_NUMPY[kind]) for _, kind, data in fields]
    described = [
        trt.PluginField(name, array, getattr(trt.PluginFieldType, kind))
        for (name, kind, _), array in zip(fields, arrays, strict=True)
    ]
    collection = trt.PluginFieldCollection(described)
    made = plugin.CREATOR.create_plugin("again", collection, trt.TensorRTPhase.RUNTIME)
    return repr({name: getattr(made, name) for name in plugin.FIELDS})


if __name__ == "__main__":
    main(*sys.argv[1:])

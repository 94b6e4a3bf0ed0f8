"""Run by its text in a process of its own: loads libraries into TensorRT's registry and prints its plugins."""

import contextlib
import ctypes
import json
import sys

try:
    import tensorrt as trt
except ModuleNotFoundError:
    import tensorrt_rtx as trt


def main() -> None:
    registry = trt.get_plugin_registry()
    refused = {}
    with contextlib.redirect_stdout(sys.stderr):
        trt.init_libnvinfer_plugins(None, "")
        for library in sys.argv[1:]:
            try:
                ctypes.CDLL(library)  # which says why, as TensorRT does not
            except OSError as error:
                refused[library] = str(error)
                continue
            if registry.load_library(library) is None:
                refused[library] = "it exports no creators, or registers what is registered already"
        creators = registry.all_creators if hasattr(registry, "all_creators") else registry.plugin_creator_list
        plugins = [
            {
                "name": creator.name,
                "version": creator.plugin_version,
                "namespace": creator.plugin_namespace,
                "fields": {field.name: str(field.type).split(".")[-1] for field in creator.field_names or []},
            }
            for creator in creators
            if hasattr(creator, "name")
        ]
    print("\ntrtplug-registry", json.dumps({"refused": refused, "plugins": plugins}))


if __name__ == "__main__":
    main()

"""Run by the scratch interpreter: imports an installed package and prints what that took, as JSON.

Its arguments are the package, the folder that it must come from, and its ops, each as namespace::name.
"""

import importlib
import json
import sys
import time
from pathlib import Path


def main(package: str, environment: str, *ops: str) -> None:
    start = time.perf_counter()
    module = importlib.import_module(package)
    seconds = time.perf_counter() - start
    if not Path(str(module.__file__)).resolve().is_relative_to(Path(environment).resolve()):
        sys.exit(f"{package} was imported from {module.__file__}, which is not where the wheel was installed")
    heavy = {name.split(".")[0] for name in sys.modules} & {"tensorrt", "tensorrt_rtx", "torch_tensorrt"}
    if heavy:
        sys.exit(f"importing {package} imports {', '.join(sorted(heavy))}, which a user of the torch op may not have")
    torch = importlib.import_module("torch")
    for namespace, _, op in (name.partition("::") for name in ops):
        if not hasattr(getattr(torch.ops, namespace), op):
            sys.exit(f"importing {package} does not register torch.ops.{namespace}.{op}")
    print(json.dumps({"import_seconds": round(seconds, 3)}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Compiles the kernel for the architectures given as arguments, for each dtype, and prints what came out as JSON."""

import json
import re
import sys

import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

from calls import DTYPES, USUAL, arguments
from trtplug_circular_pad import _launch
from trtplug_circular_pad._kernel import circ_pad_kernel

CONSTEXPRS = {"ROWS", "BLOCK"}
TYPES = {
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
}


def signature_and_constants(dtypes: tuple[torch.dtype, ...]) -> tuple[dict[str, str], dict[str, object]]:
    """The parameter types and the constexprs of the usual call, from the launch that the op and the plugin make."""
    x, padding = arguments(USUAL, dtypes, device=torch.device("cpu"))
    launch = _launch.prepare(None, x.dtype, tuple(x.shape), tuple(padding))
    values = launch.arguments(*(_launch.Pointer(dtype, 0) for dtype in launch.dtypes))
    signature, constants = {}, {}
    for name, value in zip(circ_pad_kernel.arg_names, values, strict=True):
        if name in CONSTEXPRS:
            signature[name], constants[name] = "constexpr", value
        elif isinstance(value, _launch.Pointer):
            signature[name] = f"*{TYPES[value.dtype]}"
        else:
            signature[name] = {bool: "u1", int: "i32", float: "fp32"}[type(value)]
    return signature, constants


def compiled(architecture: int, dtypes: tuple[torch.dtype, ...]) -> dict[str, object]:
    """What the launch passes and what the compiled kernel takes, or why it does not compile."""
    signature, constants = signature_and_constants(dtypes)
    target = GPUTarget("cuda", architecture, 32)
    try:
        result = compile(ASTSource(circ_pad_kernel, signature, constants), target=target, options=_launch.OPTIONS)
    except Exception as error:
        return {"dtypes": str(dtypes), "error": f"{type(error).__name__}: {error}"}
    entry = re.search(r"\.entry[^(]*\(([^)]*)\)", result.asm["ptx"])
    return {
        "dtypes": str(dtypes),
        "error": None,
        "passed": sum(kind != "constexpr" for kind in signature.values()),
        "taken": entry.group(1).count(".param") if entry else -1,
        "global_scratch": getattr(result.metadata, "global_scratch_size", 0),
        "shared": result.metadata.shared,
    }


if __name__ == "__main__":
    print(json.dumps({name: [compiled(int(name), dtypes) for dtypes in DTYPES] for name in sys.argv[1:]}))

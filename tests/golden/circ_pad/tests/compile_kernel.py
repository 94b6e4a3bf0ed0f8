"""Compiles the kernels for the architectures given as arguments, for each dtype, and prints what came out as JSON.

They are compiled as Triton's JIT does it for aligned addresses: an int that is 1 becomes a constant, and one that 16
divides is known to be such.
"""

import json
import re
import sys
from dataclasses import dataclass
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile

from trtplug_circular_pad import _launch

from .calls import CASES, DTYPES, USUAL, Case, arguments

TYPES = {
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
}
EVERY_CASE = "90"  # the architecture for which all cases are compiled; the others get the usual call


def prepared(case: Case, dtypes: tuple[torch.dtype, ...]) -> _launch.Launch:
    """The launch of a call, the one that the op and the plugin make."""
    x, padding = arguments(case, dtypes, device=torch.device("cpu"))
    return _launch.prepare(None, x.dtype, tuple(x.shape), tuple(padding))


@dataclass(frozen=True)
class Source:
    """What decides the compiled code of a kernel beside its text: types, constants, divisible parameters, options."""

    signature: dict[str, str]
    constants: dict[str, Any]
    attributes: dict[tuple[int], list[list[Any]]]
    options: dict[str, int]


def source(step: _launch.Step, values: tuple[object, ...]) -> Source:
    """What Triton compiles a kernel from that is given these values."""
    signature: dict[str, str] = {}
    constants: dict[str, Any] = {}
    divisible = []
    for i, (parameter, value) in enumerate(zip(step.kernel.params, values, strict=True)):
        name, specialised = parameter.name, not parameter.do_not_specialize
        if parameter.is_constexpr or value is None or (specialised and type(value) is int and value == 1):
            signature[name], constants[name] = "constexpr", value
        elif isinstance(value, _launch.Pointer):
            signature[name] = f"*{TYPES[value.dtype]}"
            divisible.append(i)
        elif isinstance(value, int):
            signature[name] = "i32" if -(2**31) <= value < 2**31 else "i64"
            if specialised and value % 16 == 0:
                divisible.append(i)
        else:
            signature[name] = "fp32"
    return Source(signature, constants, {(i,): [["tt.divisibility", 16]] for i in divisible}, dict(step.options))


def compiled(architecture: str) -> list[dict[str, object]]:
    """Of each kernel what the launch passes and what it takes once compiled, or why it does not compile."""
    results: dict[str, dict[str, object]] = {}
    for dtypes in DTYPES:
        cases = dict.fromkeys((USUAL, *(CASES if architecture == EVERY_CASE else ())))
        for case in cases:
            launch = prepared(case, dtypes)
            pointers = [_launch.Pointer(dtype, 0) for dtype in launch.dtypes]
            for step in launch.steps:
                made = source(step, step.arguments(*pointers))
                key = f"{step.kernel.__name__} {made}"
                if key not in results:
                    results[key] = {
                        "case": str(case),
                        "dtypes": str(dtypes),
                        **_compiled(int(architecture), step, made),
                    }
    return list(results.values())


def _compiled(architecture: int, step: _launch.Step, made: Source) -> dict[str, object]:
    about: dict[str, object] = {"kernel": step.kernel.__name__}
    target = GPUTarget("cuda", architecture, 32)
    try:
        result = compile(
            ASTSource(step.kernel, made.signature, made.constants, made.attributes), target=target, options=made.options
        )
    except Exception as error:
        return {**about, "error": f"{type(error).__name__}: {error}"}
    entry = re.search(r"\.entry[^(]*\(([^)]*)\)", result.asm["ptx"])
    return {
        **about,
        "error": None,
        "passed": sum(kind != "constexpr" for kind in made.signature.values()),
        "taken": entry.group(1).count(".param") if entry else -1,
        "global_scratch": getattr(result.metadata, "global_scratch_size", 0),
        "shared": result.metadata.shared,
    }


if __name__ == "__main__":
    print(json.dumps({architecture: compiled(architecture) for architecture in sys.argv[1:]}))

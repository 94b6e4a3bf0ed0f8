"""Every identifier derived from a spec, and what each may be; a name that generated code uses goes into `RESERVED`."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from collections.abc import Collection, Iterable
from typing import NamedTuple

# The public attributes of TensorRT's plugin classes, beside which the generated class keeps each argument as its own.
PLUGIN_ATTRIBUTES = (
    "DEFAULT_FORMAT_COMBINATION_LIMIT",
    "FORMAT_COMBINATION_LIMIT",
    "api_language",
    "attach_to_context",
    "clone",
    "configure_plugin",
    "configure_with_format",
    "create_plugin",
    "deserialize_plugin",
    "destroy",
    "enqueue",
    "execute_async",
    "field_names",
    "format_combination_limit",
    "get_aliased_input",
    "get_capability_interface",
    "get_fields_to_serialize",
    "get_output_data_types",
    "get_output_datatype",
    "get_output_dimensions",
    "get_output_shape",
    "get_output_shapes",
    "get_serialization_size",
    "get_valid_tactics",
    "get_workspace_size",
    "initialize",
    "interface_info",
    "metadata_string",
    "name",
    "num_outputs",
    "on_shape_change",
    "plugin_name",
    "plugin_namespace",
    "plugin_type",
    "plugin_version",
    "serialization_size",
    "serialize",
    "set_tactic",
    "supports_format",
    "supports_format_combination",
    "tensorrt_version",
    "terminate",
    "timing_cache_id",
)

# What generated functions that hold a user's names use besides. A test renders a package and finds what is missing.
RESERVED = frozenset(
    {
        *("ctx", "exprBuilder", "expr_builder", "inputs", "outputs", "self", "stream", "workspace"),
        *("cp", "kernel", "math", "np", "numpy", "onnx", "onnxscript", "os", "tl", "torch", "triton", "trt", "typing"),
        *("RuntimeError", "ValueError", "floats", "replace", "repr", "result", "super"),
        *("grid", "launch", "num_ctas", "num_stages", "num_warps", "op", "shapes", "warmup"),
        *("args", "arguments", "builder", "check", "device", "dtypes", "get_trt_tensor", "kwargs", "plugin", "pytree"),
        *("read", "unknown", "values", "write", "AttrFloat32s", "Any", "CONSTEXPRS", "Callable", "DTYPES", "Dim"),
        *("FAILURES", "Launch", "NAME", "NAMESPACE", "OP", "Sequence", "TENSORRT_DTYPES", "TORCH_DTYPES", "TYPES"),
        *("USUAL", "VERSION", "Exception", "bool", "float", "hasattr", "int", "isinstance", "len", "list", "range"),
        *("Buffer", "field_values", "registered", "str", "tuple", "type", "zip"),
        *(
            "expression",
            "getattr",
            "Mapping",
            "Step",
            "TensorProto",
            "all",
            "config",
            "dict",
            "ir",
            "iter",
            "make_tensor_type_proto",
            "map",
            "next",
            "opset18",
            "steps",
        ),
    }
)

# What is stored inside those functions, so that an argument of the name would be lost.
_STORED = frozenset({"addresses", "attributes", "described", "open_sizes", "shape_inputs"})

# The same of the modules that import the kernel function.
_BESIDE_KERNEL = frozenset(
    {
        *(
            "cached_property",
            "copies",
            "dataclass",
            "lru_cache",
            "prepare",
            "InterpretedFunction",
            "OPTIONS",
            "OutOfResources",
            "PTXASError",
            "CompileTimeAssertionFailure",
            "Pointer",
        ),
        *("_CHOICES", "_copied", "_copy", "_fastest", "_fill_with_zeros", "_milliseconds", "_supplied", "_zeros"),
        *("announce", "assert_close", "attributes", "compile", "compiled", "describe", "dynamic", "gc", "gpu", "json"),
        *("main", "make", "pytest", "re", "reference", "sentinels", "signature_and_constants", "split", "sys"),
        *("threading", "types", "ASTSource", "CASES", "Case", "Device", "GPUTarget", "Iterable", "Iterator", "LEAST"),
        *("Fraction", "MOST", "STREAM", "StubKernel", *dir(builtins)),
    }
)

# The same of the modules that define or import the function of the op.
_BESIDE_OP = frozenset(
    {
        *("by_hand", "bytes", "ctypes", "dict", "enumerate", "exported", "getattr", "has", "helper", "pytest"),
        *("reference", "register_schema", "write_in_place"),
    }
)

# The public modules of a generated package.
_MODULES = frozenset({"converter", "onnx", "op", "plugin", "spec"})

# Beside which a package of several ops has one module or folder for each of them.
_BESIDE_OPS = frozenset({"conftest", "converter", "onnx", "plugin"})

# A package of such a name would hide what the generated code imports.
_TAKEN_IMPORTS = frozenset(
    {
        *("cupy", "numpy", "onnx", "onnx_ir", "onnxscript", "pytest", "tests", "torch", "triton", "trtplug"),
        *("tensorrt", "tensorrt_rtx", "torch_tensorrt", "torch_tensorrt_rtx"),
    }
)

_SNAKE_CASE = re.compile(r"[a-z][a-z0-9_]*")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"\d+(?:\.\d+)*(?:(?:a|b|rc)\d+)?(?:\.post\d+)?(?:\.dev\d+)?(?:\+[a-z0-9]+(?:[.][a-z0-9]+)*)?")


# What a plugin and a node keep of an op that writes to its arguments: whether outputs are aliases of inputs.
ALIASED = "aliased"


class Names(NamedTuple):
    """What one op is called, everywhere."""

    op: str
    namespace: str
    plugin: str
    plugin_class: str
    creator_class: str
    distribution: str
    import_name: str

    @property
    def qualified(self) -> str:
        """Torch's name of the op."""
        return f"{self.namespace}::{self.op}"

    @property
    def functional(self) -> str:
        """The variant of an op that writes to arguments which returns their new values instead."""
        return f"{self.op}_functional"

    @property
    def package(self) -> str:
        """The package that `import_name` is, or that it is a part of together with other ops."""
        return self.import_name.partition(".")[0]

    @property
    def part(self) -> str:
        """What `import_name` is inside that package; empty if it is the package."""
        return self.import_name.partition(".")[2]

    @property
    def shared(self) -> str:
        """Where the modules of the op import from what all ops of their package share."""
        return ".." if self.part else "."


def within(names: Names, package: str) -> Names:
    """The names of an op that is one of several in a package."""
    return names._replace(distribution=distribution_of(package), import_name=f"{package}.{names.op}")


def distribution_of(package: str) -> str:
    """What the distribution of a package of several ops is called."""
    return package.replace("_", "-")


def derive(name: str, namespace: str, distribution: str | None = None, import_name: str | None = None) -> Names:
    """All names of an op, out of those that its spec gives and that the functions below find no problem with."""
    distribution = distribution or "trtplug-" + name.replace("_", "-")
    words = "".join(word.capitalize() for word in name.split("_"))
    return Names(
        op=name,
        namespace=namespace,
        # Native ONNX ops are in CamelCase, so that a name in snake_case is never taken for one of them.
        plugin=name,
        plugin_class=f"{words}Plugin",
        creator_class=f"{words}Creator",
        distribution=distribution,
        import_name=import_name or re.sub(r"[-.]+", "_", distribution).lower(),
    )


def presence(tensor: str) -> str:
    """What an optional tensor's presence is called in a plugin, its fields and the ONNX node."""
    return f"has_{tensor}"


def new_value(tensor: str) -> str:
    """What a tensor that an op writes to is called once it has been written to, as an output of its own."""
    return f"new_{tensor}"


def dense(tensor: str) -> str:
    """What the dense tensor is called that kernels write in place of one that may be strided."""
    return f"dense_{tensor}"


def of_tensors(tensors: Iterable[str]) -> tuple[str, ...]:
    """The variables that carry the shapes and dtypes of tensors in generated code."""
    return tuple(f"{tensor}_{what}" for tensor in tensors for what in ("shape", "dtype"))


def problem_with_op_name(text: str) -> str | None:
    """What is wrong with the name of an op, if anything."""
    if text in RESERVED or text in _BESIDE_OP or text.startswith("test_"):
        return f"'{text}' is reserved: the generated code uses it; choose another name, such as '{text}_op'"
    return _problem_with_snake_case(text, "the name of an op", "circular_pad")


def problem_with_part(text: str, package: str) -> str | None:
    """What is wrong with the name of an op that is one of several in a package, if anything."""
    if text in _BESIDE_OPS:
        return f"{package} has a '{text}' of its own, beside the ops; choose another name, such as '{text}_op'"
    return None


def problem_with_helper(module: str) -> str | None:
    """What is wrong with the name of a module that a kernel file imports, if anything."""
    if module in _MODULES or module.startswith("_") or "." in module:
        return f"the package has its own '{module}', which the kernel file's neighbour would hide; rename that file"
    return None


def problem_with_tensor_name(text: str) -> str | None:
    """What is wrong with the name of a tensor argument, if anything."""
    if text != text.lower():
        return f"'{text}' has capitals, which torch.export and ONNX make small; write '{text.lower()}'"
    return None


def problem_with_kernel_name(text: str) -> str | None:
    """What is wrong with the name of a kernel function, if anything."""
    if text in RESERVED or text in _BESIDE_KERNEL or text.startswith("test_"):
        return f"'{text}' is reserved: the generated code uses it; rename the kernel, for instance to '{text}_kernel'"
    return None


def problem_with_namespace(text: str) -> str | None:
    """What is wrong with a namespace, if anything."""
    if "." in text:
        return f"a namespace has no dots: torch would read '{text}' as nested; write '{text.replace('.', '_')}'"
    if text in ("aten", "prim", "prims", "quantized"):
        return f"the namespace '{text}' is torch's own; choose another, such as 'trtplug_ops'"
    return _problem_with_snake_case(text, "a namespace", "trtplug_ops")


def problem_with_argument_name(text: str, functions: Collection[str] = ()) -> str | None:
    """What is wrong with the name of an argument or output, if anything; `functions` are those of the expressions."""
    if not _IDENTIFIER.fullmatch(text):
        return f"'{text}' is no identifier; use letters, digits and _"
    if reason := _reason_reserved(text, functions):
        return f"'{text}' is reserved: {reason}; rename it, for instance to '{text.strip('_') or 'x'}_'"
    return None


def problem_with_distribution(text: str) -> str | None:
    """What is wrong with the name of a distribution, if anything."""
    if not _DISTRIBUTION.fullmatch(text):
        return f"'{text}' is no name of a distribution; use letters, digits and dashes, such as 'trtplug-circular-pad'"
    return None


def problem_with_import_name(text: str) -> str | None:
    """What is wrong with the name of the package that Python imports, if anything."""
    if text in _TAKEN_IMPORTS or text in sys.stdlib_module_names:
        return f"'{text}' would hide the module of that name; choose another, such as 'trtplug_circular_pad'"
    return _problem_with_snake_case(text, "an import name", "trtplug_circular_pad")


def problem_with_package_version(text: str) -> str | None:
    """What is wrong with the version of a distribution, if anything."""
    if not _VERSION.fullmatch(text):
        return f"'{text}' is no version of a Python package; write one such as \"0.1.0\""
    return None


def _problem_with_snake_case(text: str, what: str, example: str) -> str | None:
    if keyword.iskeyword(text):
        return f"'{text}' is a Python keyword; choose another name, such as '{example}'"
    if not _SNAKE_CASE.fullmatch(text) or "__" in text or text.endswith("_"):
        return f"{what} is in snake_case (a-z, 0-9, single _ between), not '{text}'; write it as in '{example}'"
    return None


def _reason_reserved(text: str, functions: Collection[str]) -> str | None:
    if keyword.iskeyword(text):
        return "a Python keyword"
    if text in functions:
        return "a function of the expression language"
    if text in PLUGIN_ATTRIBUTES:
        return "an attribute of TensorRT's plugin classes"
    if text in RESERVED or text in _STORED or re.fullmatch(r"(values|candidate|step)(_\d+)*", text):
        return "the generated code uses it"
    if text.startswith("_"):
        return "names that start with _ are the generated code's own"
    return None

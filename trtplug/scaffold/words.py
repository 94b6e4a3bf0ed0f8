"""What the names in kernels usually mean, for the guesses of `trtplug new`; a new convention is a word in a table."""

from __future__ import annotations

import re

COUNTS = frozenset({"elements", "element", "elems", "numel", "count", "total"})
LENGTHS = frozenset(
    {"n", "size", "length", "len", "xnumel"}
)  # of a row where there are rows, of everything else otherwise
ROWS = frozenset({"m", "y", "row", "rows", "batch", "token", "tokens", "xblock", "xnumel"})
COLUMNS = frozenset(
    {
        *("n", "k", "x", "d", "c", "v", "f", "col", "cols", "column", "columns", "hidden", "dim", "vocab", "classes"),
        *("feature", "features", "channels", "embed", "embedding", "normalized", "head_dim", "width", "rnumel"),
    }
)
DIMENSIONS = ROWS | COLUMNS | frozenset({"", "b", "h", "w", "z", "t", "s"})
# Where tensors have four dimensions: of attention, and of images.
OF_ATTENTION = {
    **dict.fromkeys(("z", "b", "batch"), 0),
    **dict.fromkeys(("h", "heads", "head"), 1),
    **dict.fromkeys(("ctx", "seq", "seqlen", "s", "t", "l", "m", "n"), -2),
    **dict.fromkeys(("d", "k", "dmodel", "head_dim", "headdim", "dim"), -1),
}
OF_IMAGES = {
    **dict.fromkeys(("n", "b", "batch"), 0),
    **dict.fromkeys(("c", "channel", "channels"), 1),
    **dict.fromkeys(("h", "height"), 2),
    **dict.fromkeys(("w", "width"), 3),
}
_FLOATS = frozenset(
    {
        *("alpha", "beta", "gamma", "eps", "epsilon", "scale", "slope", "factor", "value", "p", "prob", "rate", "lr"),
        *("momentum", "temperature", "decay", "threshold", "softcap", "fill", "smoothing"),
    }
)
_FLOAT_DEFAULTS = {"eps": "1e-5", "epsilon": "1e-5", "p": "0.5", "prob": "0.5", "rate": "0.5", "slope": "0.01"}
_INDEX = re.compile(r"(.*_)?(ind(ex|ices)|idx|ids|labels?|targets?|positions?|seqlens|block_tables?)(_\d*)?")


def is_pointer(name: str) -> bool:
    return re.search(r"ptrs?\d*$|^ptr_|pointer", name.lower()) is not None


def of_pointer(name: str) -> str:
    """The name of the tensor that a pointer points to."""
    return re.sub(r"_?(pointer|ptr)s?_?", "", name.lower()).strip("_")


def aliases(name: str) -> set[str]:
    """What the strides of a tensor may call it by."""
    return {name.lower(), of_pointer(name)}


def is_index(name: str) -> bool:
    return _INDEX.fullmatch(name) is not None


def is_mask(name: str) -> bool:
    return name.rpartition("_")[2] == "mask"


def is_presence(flag: str) -> bool:
    """Whether a flag sounds as if it said that there is a tensor."""
    return flag.lower().startswith(("has_", "use_", "with_", "add_", "apply_"))


def size(name: str) -> str:
    """The word in the name of a size: `cols` in `n_cols`."""
    word = re.sub(r"^(n|num|nr)_(?=.)|^n(?=(cols|rows|heads|elements)$)", "", name.lower())
    return word if word in ("head_dim", "hidden_dim") else re.sub(r"(?<=.)_(size|dim|len|length)$", "", word)


def block(name: str) -> str:
    """The word in the name of a block's side: `m` in `BLOCK_SIZE_M`, `rows` in `BLOCK_ROWS`, `row` in `ROW_BLOCK`."""
    parts = [part for part in name.lower().split("_") if part not in ("block", "size", "tile")]
    return parts[-1] if parts else ""


def float_default(name: str, annotation: str) -> str | None:
    """The default of an argument that is a float by its name or annotation; None of one that is not."""
    parts = [part.rstrip("0123456789") for part in name.lower().strip("_").split("_")]
    word = next((part for part in (parts[-1], parts[0]) if part in _FLOATS), None)
    if word or re.search(r"(float|fp)\d*", annotation):
        return _FLOAT_DEFAULTS.get(word or "", "1.0")
    return None


def is_columns(name: str) -> bool:
    """Whether a size is surely the length of a row."""
    return size(name) in COLUMNS and len(size(name)) > 1

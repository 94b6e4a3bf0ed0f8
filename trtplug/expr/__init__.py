"""The expression language of a spec, a checked subset of Python: text to a typed tree, and the tree to Python.

Kinds, nodes and the table of functions are in tree.py, parse.py makes the tree, python.py prints it. A new function is
one row in `FUNCTIONS` and, if it is a shape rule, one function in rules.py; another target language is another printer.
"""

from __future__ import annotations

from trtplug.expr.parse import ExpressionError, NotUnderstood, Scope, Site, accepts, parse
from trtplug.expr.python import Python
from trtplug.expr.tree import (
    BOOL,
    DIM,
    DIMS,
    DTYPE,
    FLOAT,
    FUNCTIONS,
    INT,
    RESERVED,
    STR,
    TENSOR,
    Call,
    Each,
    Expr,
    Function,
    Items,
    Kind,
    Property,
    Scalar,
    Value,
    functions,
    walk,
)

__all__ = [
    "BOOL",
    "DIM",
    "DIMS",
    "DTYPE",
    "FLOAT",
    "FUNCTIONS",
    "INT",
    "RESERVED",
    "STR",
    "TENSOR",
    "Call",
    "Each",
    "Expr",
    "ExpressionError",
    "Function",
    "Items",
    "Kind",
    "NotUnderstood",
    "Property",
    "Python",
    "Scalar",
    "Scope",
    "Site",
    "Value",
    "accepts",
    "functions",
    "parse",
    "walk",
]

"""From a YAML spec and a Triton kernel to an installable, tested package."""

__version__ = "0.1.0"

"""Where the templates lie: inside an installed wheel, or beside the package in a checkout."""

from pathlib import Path


def templates() -> Path:
    """The folder of the templates."""
    package = Path(__file__).parent
    installed = package / "templates"
    return installed if installed.is_dir() else package.parent / "templates"

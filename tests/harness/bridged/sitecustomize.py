"""What Python imports when it starts, where this folder is on PYTHONPATH."""

import start_bridge  # type: ignore[import-not-found]  # noqa: F401

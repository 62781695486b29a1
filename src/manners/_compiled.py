"""The compiled kernel, where it is built; the plain engine is the reference.

`MANNERS_PURE=1` turns the kernel off. This is the only place below the command that reads the
environment.
"""

import os
import warnings
from importlib import import_module
from typing import Any


def _load() -> Any:
    if os.environ.get("MANNERS_PURE", "0") not in ("", "0"):
        return None
    try:
        return import_module("manners.robots._kernel")
    except ModuleNotFoundError:  # not built: there was no C compiler
        return None
    except ImportError as error:
        warnings.warn(f"kernel not loaded, using the plain engine: {error}", stacklevel=2)
        return None


kernel = _load()
"""The extension module, or None."""

KERNEL = "python" if kernel is None else "cython"
"""Which engine answers: `"cython"` or `"python"`."""

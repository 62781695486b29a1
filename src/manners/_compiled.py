"""The compiled kernel, where it is built and wanted; the plain engine says what is right.

`MANNERS_PURE=1` turns the kernel off. This is the one place below the command that looks at the
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
        warnings.warn(f"the plain engine runs: the kernel does not load: {error}", stacklevel=2)
        return None


kernel = _load()
"""The extension module, or None."""

KERNEL = "python" if kernel is None else "cython"
"""Which engine answers: `"cython"` or `"python"`."""

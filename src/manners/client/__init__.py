"""The client: one verdict, one polite request, one page.

`AsyncClient` and `Client` are loaded when first used: a page alone costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manners.client.async_client import AsyncClient
    from manners.client.blocking import Client

__all__ = ["AsyncClient", "Client"]

_HOME = {"AsyncClient": "manners.client.async_client", "Client": "manners.client.blocking"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value

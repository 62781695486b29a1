"""What both faces of the client share: its settings, and what it refuses."""

from typing import Any, NoReturn

from manners.settings import Settings


def combine(agent: str | None, settings: Settings | None, changes: dict[str, Any]) -> Settings:
    """The settings of a client: those given, with its agent and the keywords."""
    if "max_pages" in changes or "max_minutes" in changes:
        raise TypeError("a client has no limit of its own: pass budget=Settings(…).budget")
    return (settings or Settings()).for_agent(agent).but(**changes)


def refuse_attribute(client: object, name: str) -> NoReturn:
    """Raise AttributeError, which says that other methods of HTTP are missing on purpose."""
    if name in ("post", "put", "patch", "delete", "options", "request"):
        raise AttributeError(
            f"no {name!r}: this client reads pages, with get, head and stream only"
        )
    raise AttributeError(f"{type(client).__name__!r} object has no attribute {name!r}")

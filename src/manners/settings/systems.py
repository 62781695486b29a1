"""The systems that this package can behave like (`like`), besides their dialects and profiles."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from manners.errors import MannersError, SettingsError
from manners.robots import dialects


class System(NamedTuple):
    """What belongs to a system besides its dialect and its profile."""

    like: str
    """Its name, which is that of its dialect."""
    agent: str | None = None
    """Its agent, unless another is named."""
    names: Mapping[str, tuple[str, ...]] = {}
    """Environment variables of its document, and the settings that each sets."""


# These names are common in environments and usually mean something else there.
AUDIT = System(
    "audit",
    names={
        "MAX_PAGES": ("max_pages",),
        "MAX_SCAN_TIME_MINUTES": ("max_minutes",),
        "USER_AGENT": ("agent", "user_agent"),
    },
)
SCANNER = System("scanner", agent="WebKillerAI")
_SYSTEMS = {system.like: system for system in (AUDIT, SCANNER)}


def system_of(like: Any) -> System:
    """The system of this name; any dialect is one."""
    return _SYSTEMS.get(str(like), System(str(like)))


def dialect_of(like: Any) -> dict[str, str]:
    """The dialect and the profile of a system."""
    try:
        return {"dialect": str(like), "profile": dialects.get(str(like)).profile}
    except MannersError as error:
        raise SettingsError("like", str(error)) from None


def with_system(keywords: dict[str, Any], has_agent: bool = False) -> dict[str, Any]:
    """Keywords, and the settings that `like` among them brings; explicit keywords win."""
    like = keywords.get("like")
    if like is None:
        return keywords
    system = dialect_of(like) | keywords
    agent = system_of(like).agent
    has_agent = has_agent or bool(keywords.get("agent") or keywords.get("user_agent"))
    if agent and not has_agent:
        system["agent"] = agent
    return system

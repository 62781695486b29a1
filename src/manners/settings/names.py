"""Names of settings: unknown ones are errors, old ones are accepted with a warning until 1.0."""

import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from manners.errors import SettingsError

RENAMED = {
    "delay_least": "min_delay",
    "delay_most": "max_delay",
    "adaptive_most": "max_adaptive_delay",
    "backoff_first": "initial_backoff",
    "backoff_most": "max_backoff",
    "backoff_step": "backoff_window",
    "slot_wait": "slot_timeout",
    "page_bytes": "page_max_bytes",
    "page_redirects": "page_max_redirects",
    "max_found": "max_discovered",
}
"""Old names of settings, and the new ones."""
FILE = "manners.toml"
"""The file of settings in the working folder."""
PREFIX = "MANNERS_"
"""What variables of settings begin with."""
WEBHOOK, WEBHOOK_SECRET = "MANNERS_WEBHOOK", "MANNERS_WEBHOOK_SECRET"
"""Variables of `manners watch`: both may hold secrets, and are no settings, which are shown."""
SERVE_TOKEN = "MANNERS_SERVE_TOKEN"  # noqa: S105 (a name)
"""The variable of `manners serve` for its token, which is a secret."""
NOT_SETTINGS = ("MANNERS_PURE", "MANNERS_CFLAGS", WEBHOOK, WEBHOOK_SECRET, SERVE_TOKEN)
"""Variables that begin so, but are no settings."""
MAX_NAME = 100
"""How much of a name an error message quotes."""


_MAX_LISTED = 20
"""Known names that a message lists; more would hide what is wrong."""


def refuse(name: object, known: Iterable[str], source: str, place: str = "") -> NoReturn:
    """Raise for an unknown name, and suggest the nearest known one."""
    from difflib import get_close_matches  # every command loads this module, few need that

    written = str(name)[:MAX_NAME]
    lowered = {known_name.lower(): known_name for known_name in known}
    near = get_close_matches(written.lower(), lowered, 1)
    if near:
        hint = f"did you mean {lowered[near[0]]!r}?"
    elif len(lowered) > _MAX_LISTED:
        hint = "`manners settings` lists them all"
    else:
        hint = f"known: {', '.join(known)}"
    raise SettingsError(source, f"unknown setting {written!r}{place}; {hint}")


def current_names(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that an older version stored, under their present names.

    >>> current_names({"delay_least": 1.0, "max_pages": 50})
    {'min_delay': 1.0, 'max_pages': 50}
    """
    return {RENAMED.get(name, name): value for name, value in stored.items()}


def rename_message(name: str, source: str) -> str:
    """The warning about an old name; an error if the new name stands beside it."""
    return f"{source}: {name!r} is now {RENAMED[name]!r}; the old name works until 1.0"


def refuse_both(name: str, names: Iterable[str], source: str) -> None:
    """Raise if a setting stands under its old name and its new one in the same place."""
    if RENAMED[name] in names:
        raise SettingsError(source, f"{name!r} is the old name of {RENAMED[name]!r}: remove it")


def renamed_keywords(keywords: dict[str, Any]) -> dict[str, Any]:
    """Keywords under their present names, with a warning for each old one."""
    for name in keywords.keys() & RENAMED.keys():
        refuse_both(name, keywords, "keyword")
        warn_deprecated(rename_message(name, "keyword"))
    return current_names(keywords)


def warn_deprecated(message: str) -> None:
    """Issue a DeprecationWarning that points at the code that called this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("manners."):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, DeprecationWarning, stacklevel=level)

"""What settings are read from: one file for each kind of document.

A reader yields the name of each setting with its value and where the value stands.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from manners.errors import SettingsError


class SourcedValue(NamedTuple):
    """A value, and where it came from."""

    value: Any
    source: str
    is_text: bool = False
    """True if it still has to be converted: everything in the environment is text."""


Layer = Iterator[tuple[str, SourcedValue]]


def seconds(milliseconds: Any, source: str) -> float:
    """Milliseconds of a document as seconds."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        raise SettingsError(source, "a number is needed")
    try:
        return milliseconds / 1000
    except OverflowError:
        raise SettingsError(source, "out of range") from None

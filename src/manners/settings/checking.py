"""Whether a value fits its setting: type and range."""

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

from manners.errors import MannersError, MissingExtra, SettingsError
from manners.settings.fields import Range

try:
    import msgspec
except ModuleNotFoundError:
    raise MissingExtra("msgspec", "crawl") from None


def fitted(value: Any, kind: Any, strict: bool = True) -> Any:
    """The value in the type of its setting; unless strict, text is converted.

    >>> fitted("7", int, strict=False)
    7
    """
    if _is_endless(value):
        raise ValueError(f"must be a finite number, not {value}")
    try:
        converted = msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        choices = ", ".join(repr(part) for part in _parts(kind) if isinstance(part, str))
        problem = _in_words(str(error))
        raise ValueError(f"{problem}; choose from {choices}" if choices else problem) from None
    limits = next((part for part in _parts(kind) if isinstance(part, Range)), None)
    if limits and converted is not None and (problem := limits.problem(converted)):
        raise ValueError(problem)
    return converted


_METRICS_PLACE = re.compile(r"(?:\[?([^\[\]]+?)\]?:)?(\d{1,5})").fullmatch


def metrics_place(text: str) -> tuple[str, int]:
    """The address and port that metrics are served at; without an address, this machine's own.

    >>> metrics_place("9464"), metrics_place("0.0.0.0:9464"), metrics_place("[::1]:0")
    (('127.0.0.1', 9464), ('0.0.0.0', 9464), ('::1', 0))
    """
    found = _METRICS_PLACE(text)
    if found is None or int(found[2]) > 65_535:
        raise ValueError(f"{text!r} is no port; write 9464, or 0.0.0.0:9464")
    return found[1] or "127.0.0.1", int(found[2])


_WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text"}
_WRONG_TYPE = re.compile(r"Expected `(\w+)(?: \| null)?`, got `\w+`").fullmatch


def _in_words(problem: str) -> str:
    """What is wrong with a value, without the names of types.

    >>> _in_words("Expected `int | null`, got `str`")
    'a whole number is needed'
    """
    found = _WRONG_TYPE(problem)
    return f"{_WORDS[found[1]]} is needed" if found and found[1] in _WORDS else problem


def _parts(kind: Any) -> Iterator[Any]:
    """A type and everything that it is made of: choices and ranges are among it."""
    yield kind
    for part in get_args(kind):
        yield from _parts(part)


def _is_endless(value: object) -> bool:
    """Whether a value is nan or infinite, as a number or as text."""
    try:
        return not isinstance(value, bool) and not math.isfinite(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


@contextmanager
def errors_about(*names: str) -> Iterator[None]:
    """Turn errors into a `SettingsError` about these settings."""
    try:
        yield
    except MissingExtra:
        raise
    except (ValueError, MannersError) as error:
        raise SettingsError(", ".join(names), str(error)) from None


def require_table(value: Any, name: str, source: str) -> dict[str, Any]:
    """The value, if it is a table; an error otherwise."""
    if not isinstance(value, dict):
        raise SettingsError(source, f"{name}: a table of settings is needed")
    return value

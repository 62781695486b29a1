"""Values of a store, which somebody may have changed. Quiet."""

import json
import math
from typing import Any, TypeVar

T = TypeVar("T")


def parsed(text: str | None, kind: type[T]) -> T:
    """JSON of one kind; anything else is an empty value of that kind.

    >>> parsed('{"a": 1}', dict), parsed("[1", dict), parsed(None, list)
    ({'a': 1}, {}, [])
    """
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return kind()
    return value if isinstance(value, kind) else kind()


def number(value: Any, default: float) -> float:
    """A number; anything else is the default.

    >>> number(3, 1.5), number(True, 1.5), number(float("inf"), 1.5)
    (3, 1.5, 1.5)
    """
    return value if type(value) in (int, float) and math.isfinite(value) else default

"""Records as a table for spreadsheets, in CSV. Quiet."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from manners._text import printable

_OUTCOME = ("availability", "status", "note", "url", "at", "age", "charset", "complete", "copy")
COLUMNS = (
    *("id", "timestamp", "type", "allowed", "url", "matchedRule", "reason", "line", "crawlDelay"),
    *("agent", "userAgent", "group", "dialect", "profile", "engine", "confidence"),
    *("exclusion", "snapshot"),
    *(f"robots_{name}" for name in _OUTCOME),
    *("redacted", "previous", "hash"),
)
"""The columns: all of a record, flattened."""


def cells(values: Mapping[str, Any]) -> list[str]:
    """An exported record (`as_dict`) as a row of a table, safe to open.

    >>> from manners.evidence.export import as_dict
    >>> from manners.evidence.record import Record
    >>> record = Record(1, "robots_allowed", {}, {"line": 2, "agent": "@me"}, "ab" * 32)
    >>> row = dict(zip(COLUMNS, cells(as_dict(record)), strict=True))
    >>> row["id"], row["line"], row["agent"], row["url"]
    ('1', '2', "'@me", '')
    """
    found = {**values["metadata"], **values["content"]}
    outcome = found.get("outcome")
    if isinstance(outcome, dict):
        found |= {f"robots_{name}": outcome.get(name) for name in _OUTCOME}
    # A query that was left out when recording is marked in the record, one left out now at the top.
    redacted = bool(values.get("redacted") or found.get("redacted"))
    found |= {name: values[name] for name in ("id", "type", "previous", "hash")}
    return [_cell(name, {**found, "redacted": redacted}.get(name)) for name in COLUMNS]


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "exclusion" and isinstance(value, dict):
        value = value.get("exclude") or json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool | int | float | dict | list):
        return json.dumps(value)
    return harmless(str(value))


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a spreadsheet may take for the beginning of a formula (OWASP, CSV injection)."""


def harmless(text: str) -> str:
    r"""Text that no spreadsheet takes for a formula, and no terminal for a command.

    >>> print(harmless("=cmd|' /C calc'!A0"), harmless("-1"), harmless("a\x1b[2J"))
    '=cmd|' /C calc'!A0 '-1 a\x1b[2J
    """
    return ("'" if text.startswith(_FORMULA) else "") + printable(text)


def row_writer(write: Callable[[str], object]) -> Callable[[Iterable[str]], object]:
    r"""A function that writes rows as RFC 4180 has them, every cell in quotes.

    >>> lines = []
    >>> row_writer(lines.append)(["a", 'b"c', "d,e"])
    >>> lines
    ['"a","b""c","d,e"\r\n']
    """
    file = SimpleNamespace(write=write)
    return csv.writer(file, quoting=csv.QUOTE_ALL).writerow

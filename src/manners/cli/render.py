"""What the commands print: text for people, JSON for programs."""

import json
import os
import sys
from collections.abc import Sequence

from manners._text import printable
from manners.robots.verdict import Verdict

_COLOURS = {"green": "32", "red": "31", "yellow": "33", "bold": "1", "dim": "2"}


def styled(text: str, style: str) -> str:
    """The text in a colour, when a person is looking (see no-color.org)."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m"


def as_json(value: object) -> str:
    """One line of JSON in ASCII: nothing in it can reach a terminal as a command."""
    return json.dumps(value, ensure_ascii=True)


def because(verdict: Verdict) -> str:
    """Why, in a few words."""
    if verdict.rule is None:
        return str(verdict.reason)
    return f"line {verdict.line}: {printable(verdict.line_text.strip())}"


def cell(verdict: Verdict, line: bool, width: int) -> str:
    """`allowed` or `disallowed`, with the deciding line if wanted, in its colour."""
    said = "allowed" if verdict.allowed else "disallowed"
    if line and verdict.line:
        said += f", line {verdict.line}"
    return styled(said.ljust(width), "green" if verdict.allowed else "red")


def verdict_line(verdict: Verdict) -> str:
    """One verdict on one line."""
    return (
        f"{cell(verdict, False, 10)}  {printable(verdict.url)}  {styled(because(verdict), 'dim')}"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table with columns as wide as they need to be."""
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    return "\n".join([styled(lines[0], "bold"), *lines[1:]])

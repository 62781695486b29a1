"""Output of the commands: text for people, JSON for programs."""

import json
import os
import sys
from collections.abc import Sequence

from manners._text import cut, printable
from manners.errors import InvalidURL
from manners.robots.verdict import Verdict

_COLOURS = {"green": "32", "red": "31", "yellow": "33", "bold": "1", "dim": "2"}


def styled(text: str, style: str) -> str:
    """The text in a colour, if standard output is a terminal that has them (see no-color.org)."""
    has_none = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if has_none or not sys.stdout.isatty():
        return text
    return f"\x1b[{_COLOURS[style]}m{text}\x1b[0m"


def printable_text(text: str) -> str:
    r"""The text with lines and tabs; other control characters are escaped.

    >>> print(printable_text("a\x1b[2J\r\nb"))
    a\x1b[2J
    b
    """
    lines = (line.removesuffix("\r").split("\t") for line in text.split("\n"))
    return "\n".join("\t".join(map(printable, parts)) for parts in lines)


def as_json(value: object) -> str:
    """One line of JSON in ASCII: it contains no control characters."""
    return json.dumps(value, ensure_ascii=True)


def because(verdict: Verdict) -> str:
    """Why, in a few words."""
    reason = str(verdict.reason)
    if verdict.line:
        reason = f"line {verdict.line}: {printable(verdict.line_text.strip())}"
    elif verdict.rule is not None:  # one of the user's own
        reason += f": {printable(verdict.rule.pattern)}"
    if verdict.retrieval is None or verdict.retrieval.is_plain:
        return reason
    retrieval = str(verdict.retrieval)
    return retrieval if retrieval.startswith(reason) else f"{reason}; {retrieval}"


def cell(verdict: Verdict, line: bool, width: int) -> str:
    """`allowed` or `disallowed` in its colour; with `line`, also the line that decided."""
    text = "allowed" if verdict.allowed else "disallowed"
    if line and verdict.line:
        text += f", line {verdict.line}"
    return styled(text.ljust(width), "green" if verdict.allowed else "red")


def verdict_line(verdict: Verdict) -> str:
    """One verdict on one line."""
    return (
        f"{cell(verdict, False, 10)}  {printable(verdict.url)}  {styled(because(verdict), 'dim')}"
    )


def invalid_line(error: InvalidURL) -> str:
    """An invalid URL, on one line."""
    return f"{styled('invalid-url', 'yellow')}  {printable(cut(error.url, 2000))}  {error.problem}"


def invalid_dict(error: InvalidURL) -> dict[str, object]:
    """The same as plain values, ready for JSON."""
    return {
        "allowed": None,
        "reason": "invalid-url",
        "url": error.url,
        "problem": error.problem,
    }


class Progress:
    """One line of progress on standard error, if that is a terminal.

    It is cleared before anything else is printed.
    """

    def __init__(self) -> None:
        self._shows = sys.stderr.isatty()
        self._shown = False

    def say(self, text: str) -> None:
        """Replace the line."""
        if self._shows:
            print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)
            self._shown = True

    def clear(self) -> None:
        """Remove the line."""
        if self._shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
            self._shown = False


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table; columns are as wide as their widest cell."""
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
    return "\n".join([styled(lines[0], "bold"), *lines[1:]])

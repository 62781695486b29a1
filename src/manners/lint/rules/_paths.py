"""What the rules about paths share: which lines have a path, and where it is."""

import re
from collections.abc import Iterator

from manners._text import to_bytes
from manners.lint.rules._unread import invisible
from manners.lint.source import Source, SourceLine
from manners.robots.directives import RULES

EVERYTHING = re.compile(r"/|/?\*+\$?|\*+/(?:\*+\$?)?").fullmatch
"""Matches a path that matches every URL."""

_HAS_DIRECTIVE = re.compile(
    r"(?:(?<=[ \t])(?i:user-?agent|disallow|allow|sitemap|crawl-?delay)"
    r"|User-?[Aa]gent|Disallow|Allow|Sitemap|Crawl-?[Dd]elay)[ \t]*:"
).search


def paths(source: Source) -> Iterator[tuple[SourceLine, str]]:
    """The Allow and Disallow lines that have a value, each with it.

    Values that are about something else are skipped: a second directive is for
    `several-directives-on-a-line`, and what cannot be seen for `invisible-character`.
    """
    for line in source.lines:
        value = line.line.value
        if value and line.line.kind in RULES:
            if ":" in value and _HAS_DIRECTIVE(value):
                continue
            if value.isprintable() or not invisible(to_bytes(value)):
                yield line, value


def byte_at(line: SourceLine, value: str, place: int) -> int:
    """Where a character of a line's value is, in bytes of `SourceLine.raw`."""
    return line.value_at + (place if value.isascii() else len(to_bytes(value[:place])))

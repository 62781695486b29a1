"""What the rules about paths share: which lines have a path, and where it is."""

import re
from weakref import WeakKeyDictionary

from manners._text import to_bytes
from manners.lint.finding import Safety
from manners.lint.rules._unread import invisible
from manners.lint.source import Source, SourceLine

EVERYTHING = re.compile(r"/|/?\*+\$?|\*+/(?:\*+\$?)?").fullmatch
"""Matches a path that matches every URL."""

_HAS_DIRECTIVE = re.compile(
    r"(?:(?<=[ \t])(?i:user-?agent|disallow|allow|sitemap|crawl-?delay)"
    r"|User-?[Aa]gent|Disallow|Allow|Sitemap|Crawl-?[Dd]elay)[ \t]*:"
).search


_paths: WeakKeyDictionary[Source, list[tuple[SourceLine, str]]] = WeakKeyDictionary()
"""Most rules ask for the same; forgotten with the source."""


def paths(source: Source) -> list[tuple[SourceLine, str]]:
    """The Allow and Disallow lines that have a value, each with it.

    Values that are about something else are skipped: a second directive is for
    `several-directives-on-a-line`, and what cannot be seen for `invisible-character`.
    """
    found = _paths.get(source)
    if found is None:
        found = _paths[source] = [
            (line, line.value) for line in source.lines if line.is_rule and _is_path(line.value)
        ]
    return found


def _is_path(value: str) -> bool:
    if not value or (":" in value and _HAS_DIRECTIVE(value)):
        return False
    return value.isprintable() or not invisible(to_bytes(value))


def rewriting_safety(source: Source, path: bytes, rewritten: bytes) -> Safety:
    """Safe if all engines take two spellings for the same path."""
    is_same = all(
        dialect.normalise_pattern(path, source.url)
        == dialect.normalise_pattern(rewritten, source.url)
        for dialect in source.dialects
    )
    return "safe" if is_same else "unsafe"


def byte_at(line: SourceLine, value: str, place: int) -> int:
    """Where a character of a line's value is, in bytes of `SourceLine.raw`."""
    return line.value_at + (place if value.isascii() else len(to_bytes(value[:place])))

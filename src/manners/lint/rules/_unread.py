"""What the rules about syntax share: lines that no crawler reads, and what was probably meant.

Every unread line has exactly one role, so that one rule reports it.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

from manners._text import to_text
from manners.lint.source import Source, SourceLine
from manners.robots.dialects import get
from manners.robots.directives import TABLE
from manners.robots.lines import known_keys, read_line

Role = Literal["mark", "invisible", "comment", "url", "path", "misspelt", "colon", "key", "stray"]
"""A garbled byte order mark, a key broken by invisible characters, a comment in another language,
a URL or path without a key, a misspelt key, a key without its colon, a key that nobody knows, or
other text."""

SPELLINGS = {row.name: row.spelling for row in TABLE}
"""The directives as site owners usually write them."""

GOOGLE_KEYS = ("user-agent", "disallow", "allow", "sitemap")
"""The directives that google/robotstxt knows; a key that begins with one of them counts, too."""

GARBLED_MARK = re.compile(
    # EF BB BF, read as Latin-1 or Windows-1252 (once, twice), Windows-1251, code page 437; or
    # replaced, or escaped. Files that were joined have several.
    "(?:ï»¿|Ã¯Â»Â¿|п»ї|∩╗┐|&#65279;|&#xfeff;|".encode()
    # The engine skips the first byte of a replacement character, which a real mark has, too.
    + rb"\xef?\xbf\xbd(?:\xef\xbf\xbd){2})++",
    re.IGNORECASE,
).match

_INVISIBLE = re.compile(
    # Controls but white space; spaces but the ASCII one; characters of no width. Latin-1 behind
    # Latin-1 is the rest of a letter in UTF-8 that was read as Latin-1.
    "[\x01-\x08\x0e-\x1f\x7f]"
    "|(?<![\x80-\xff])Â?[\xa0\xad]"
    "|(?<![\x80-\xff])â\x80[\x8b-\x8f]"
    "|[\u034f\u061c\u115f\u1160\u180e\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f"
    "\u3000\ufeff]"
    # Joiners are letters' business in Persian and Hindi, but not beside ASCII.
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"
)
_MAY_BE_INVISIBLE = re.compile(
    rb"[\x01-\x08\x0e-\x1f\x7f]|\xc2[\xa0\xad]|\xcd\x8f|\xd8\x9c|\xe1(?:\x85[\x9f\xa0]|\xa0\x8e)"
    rb"|\xe2(?:\x80[\x80-\x8f\xa8-\xaf]|\x81[\x9f-\xaf])|\xe3\x80\x80|\xef\xbb\xbf|\xc3\xa2\xc2\x80"
).search

_UNREAD = ("unknown", "invalid")
_URL = re.compile(rb"[a-z][a-z0-9+.-]*://[^ \t]+", re.IGNORECASE).fullmatch
_PATH = re.compile(rb"/[^ \t]*").fullmatch
_COMMENT = re.compile(rb"//(?=[^/]*$|[ \t/])|<!--|;|/\*+(?:[ \t]|/?$)").match
_BLOCKS = {
    b"<!--": b"-->",
    b"/*": b"*/",
    b"<script": b"</script",
    b"<style": b"</style",
    b"<?php": b"?>",
}
"""What begins text of several lines, and what ends it."""
_NO_COLON = re.compile(
    rb"user-agent[ \t]+[^ \t]|(?:dis)?allow[ \t]+(?:[/*]|https?:)|sitemap[ \t]+https?:"
    rb"|crawl-delay[ \t]+[0-9]",
    re.IGNORECASE,
).match
_OTHER_SEPARATOR = re.compile(
    rb"(user-agent|disallow|allow|sitemap|crawl-delay)[ \t]*[;=.,]+[ \t]*(?=[/*]|https?:|[0-9]|$)",
    re.IGNORECASE,
).match
_ROLES: tuple[tuple[Callable[[bytes], re.Match[bytes] | None], Role], ...] = (
    (_COMMENT, "comment"),
    (_URL, "url"),
    (_PATH, "path"),
    (_NO_COLON, "colon"),
)
_KEY = re.compile(rb"[a-z][a-z0-9_.-]{0,39}[ \t]*:(?!//)", re.IGNORECASE).match
_CODE = re.compile(rb"[;{}>]$").search

# What a file is that has no directives.

_MARKUP = re.compile(rb"<[a-z!?/]", re.IGNORECASE).match
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE).match
_UTF16 = re.compile(rb"(?:\xc3\xbf\xc3\xbe)?(?:[\t\n\r -~]\0){4}|(?:\0[\t\n\r -~]){4}").match
_BEGINNING = 4096


def is_undeclared_utf16(source: Source) -> bool:
    """Whether a file is UTF-16 that no byte order mark declares."""
    return _UTF16(source.data) is not None


def foreign_content(source: Source) -> str:
    """What a file is instead of a robots.txt, as "an HTML page"; empty if it is one."""
    content = _contents.get(source)
    if content is None:
        content = _contents[source] = _foreign_content(source)
    return content


_contents: "WeakKeyDictionary[Source, str]" = WeakKeyDictionary()


def _foreign_content(source: Source) -> str:
    start = _without_prolog(source.data[:_BEGINNING])
    if _HTML(start):
        return "an HTML page"
    if any(_is_directive(line) for line in source.lines) or is_undeclared_utf16(source):
        return ""
    if any(_is_foreign(line) for line in source.lines):
        return _content_type(source.data, start)
    return ""


def _content_type(data: bytes, start: bytes) -> str:
    if b"\0" in data.rstrip(b"\0") or _has_controls(data[:_BEGINNING]):
        return "binary data"
    if data.lstrip().startswith(b"<?xml"):
        return "an XML document"
    if start[:1] in (b"{", b"["):
        return "JSON"
    return "an HTML page" if _MARKUP(start) else "some other text"


def _without_prolog(start: bytes) -> bytes:
    """The beginning of a file without comments and declarations of XML."""
    start = start.lstrip()
    for opening, closing in ((b"<?xml", b"?>"), (b"<!--", b"-->")):
        while start.startswith(opening) and closing in start:
            start = start.partition(closing)[2].lstrip()
    return start


def _is_directive(line: SourceLine) -> bool:
    if line.kind not in SPELLINGS or "bad-value" in line.line.problems:
        return False
    # Two words of prose may look like a key and a value: "Allow cookies".
    return "missing-colon" not in line.line.problems or _NO_COLON(line.raw.lstrip()) is not None


def _is_foreign(line: SourceLine) -> bool:
    if line.kind not in _UNREAD:
        return "missing-colon" in line.line.problems
    content = _content(line)
    marked = GARBLED_MARK(line.raw) if line.number == 1 else None
    if marked is not None:
        content = line.raw[marked.end() :].strip()
        reread = _reread(content)
        return content != b"" and reread not in SPELLINGS and reread not in ("blank", "comment")
    role = _role(line, content)
    return role not in ("comment", "invisible", "misspelt", "colon")


def _has_controls(start: bytes) -> bool:
    strange = len(start.translate(None, b"\0\t\n\v\f\r" + bytes(range(32, 256))))
    return strange > 4 and strange * 50 > len(start)


# The lines of a robots.txt that nobody reads.


def unread(source: Source) -> list[tuple[SourceLine, Role]]:
    """The unread lines of a file with their roles; none of a file that is no robots.txt."""
    found = _found.get(source)
    if found is None:
        found = _found[source] = list(_unread(source))
    return found


_found: "WeakKeyDictionary[Source, list[tuple[SourceLine, Role]]]" = WeakKeyDictionary()
"""Several rules ask for the same; forgotten with the source."""


def _unread(source: Source) -> Iterator[tuple[SourceLine, Role]]:
    lines = [line for line in source.lines if line.kind in _UNREAD]
    if not lines or is_undeclared_utf16(source) or foreign_content(source):
        return
    last = {end: _last(lines, end) for end in _BLOCKS.values()}
    block: Role = "stray"
    closing = b""
    for line in lines:
        content = _content(line)
        role = block if closing else _role(line, content)
        yield line, role
        if not closing and role in ("comment", "stray"):
            ends = (end for begin, end in _BLOCKS.items() if content.startswith(begin))
            closing, block = next(ends, b""), role
        if closing and (closing in line.raw or line.number > last[closing]):
            closing = b""


def runs(source: Source, wanted: Role) -> Iterator[list[SourceLine]]:
    """The unread lines of one role; those with nothing but blank lines between them together."""
    run: list[SourceLine] = []
    for line, role in unread(source):
        if role != wanted:
            continue
        between = source.lines[run[-1].number : line.number - 1] if run else []
        if any(other.kind != "blank" for other in between):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _content(line: SourceLine) -> bytes:
    return line.raw[: line.comment_at].partition(b"\0")[0].strip()


def _last(lines: list[SourceLine], text: bytes) -> int:
    return next((line.number for line in reversed(lines) if text in line.raw), 0)


def _role(line: SourceLine, content: bytes) -> Role:
    if line.number == 1 and GARBLED_MARK(line.raw):
        return "mark"
    if _MAY_BE_INVISIBLE(content) and _is_broken_by_invisible(content):
        return "invisible"
    if intended(line) is not None:
        return "misspelt"
    for matches, role in _ROLES:
        if matches(content):
            return role
    return "key" if _KEY(content) and not _CODE(content) else "stray"


# Characters that nobody sees.


def may_have_invisible(data: bytes) -> bool:
    """Whether a file is worth looking into."""
    return _MAY_BE_INVISIBLE(data) is not None


def invisible(content: bytes) -> list[re.Match[str]]:
    """The invisible characters in a part of a line."""
    return list(_INVISIBLE.finditer(to_text(content)))


def without_invisible(content: bytes) -> str:
    """A part of a line without its invisible characters."""
    return _INVISIBLE.sub("", to_text(content))


def _is_broken_by_invisible(content: bytes) -> bool:
    text = without_invisible(content)
    return len(text) < len(to_text(content)) and (
        not text.strip() or _reread(text.encode("utf-8", "surrogateescape")) in SPELLINGS
    )


def _reread(raw: bytes) -> str:
    """The kind of a line if it were written so."""
    dialect = get("rfc9309")
    return read_line(1, raw, dialect, known_keys(dialect), None).kind


# Keys that are nearly right.


class Intended(NamedTuple):
    """The directive that a misspelt key was probably meant for."""

    name: str
    key_end: int
    """Where the key ends in the line, its separator included."""
    is_read_by_google: bool


def intended(line: SourceLine) -> Intended | None:
    """What the key of an unread line was probably meant for."""
    content = line.raw[: line.comment_at]
    stripped = content.lstrip()
    indent = len(content) - len(stripped)
    other = _OTHER_SEPARATOR(stripped)
    if other is not None:
        end = other.end() - len(other[0]) + len(other[0].rstrip())
        return Intended(to_text(other[1].lower()), indent + end, _google_reads(line))
    key, colon, value = stripped.partition(b":")
    if not colon or value.startswith(b"//") or len(key) > 40:
        return None
    name = _intended_name(to_text(key).strip().lower())
    if name is None:
        return None
    return Intended(name, indent + len(key) + 1, _google_reads(line))


def _intended_name(key: str) -> str | None:
    if _COMMENT(key.encode("utf-8", "surrogateescape")):
        return None
    words = key.split()
    if len(words) == 2 and words[1] in GOOGLE_KEYS:
        return words[1]
    plain = re.sub("[^a-z]", "", key) if len(words) <= 2 else ""
    if plain in _near():
        return _near()[plain]
    if re.fullmatch("[a-z_-]+", key):
        return next((name for name in GOOGLE_KEYS if key.startswith(name)), None)
    return None


@cache
def _near() -> dict[str, str]:
    """Every string of letters at most one slip from a key or a known misspelling of it."""
    found: dict[str, str] = {}
    exact: dict[str, str] = {}
    for row in TABLE:
        if len(row.name) < 5 or row.name == "license":  # "hosts" and "licence" are words
            continue
        for spelling in (row.name, *row.misspellings):
            letters = re.sub("[^a-z]", "", spelling)
            exact[letters] = row.name
            for slip in _slips(letters):
                found.setdefault(slip, row.name)
    return found | exact


def _slips(word: str) -> Iterator[str]:
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        yield from (before + letter + after for letter in alphabet)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in alphabet)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]


def _google_reads(line: SourceLine) -> bool:
    dialect = get("google")
    return read_line(1, line.raw, dialect, known_keys(dialect), None).kind in GOOGLE_KEYS

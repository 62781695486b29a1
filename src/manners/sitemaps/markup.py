"""Sitemaps, indexes and feeds in XML, well-formed or not.

Document type declarations are ignored, no entity is expanded, and nothing is fetched. An error
costs one entry: the parser starts again with the next.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from xml.parsers import expat

from manners._text import possessive
from manners.sitemaps.entry import MAX_TEXT, Kind, shown
from manners.sitemaps.repair import Repair

if TYPE_CHECKING:
    from manners.sitemaps.parser import Form, SitemapParser

_MAX_RESTARTS = 50_000
_MAX_DEPTH = 1_000
_MAX_NAMES = 10_000
"""Names of elements and attributes that expat may keep."""
_MAX_TOKEN = 1024 * 1024
"""Bytes of one tag or comment: expat reads an unfinished one again with each block."""
_MAX_TAG = 100
"""Bytes of the start tag of an entry that are looked at."""

_ROOTS: "dict[str, Form]" = {
    "urlset": "urlset",
    "sitemapindex": "index",
    "rss": "rss",
    "RDF": "rss",
    "feed": "atom",
    "html": "html",
}
_ITEMS: dict[str, Kind] = {"url": "page", "sitemap": "sitemap", "item": "page", "entry": "page"}
# The elements that are read of each kind of entry, and our names for them.
_FIELDS = {
    "url": {"loc": "loc", "lastmod": "lastmod", "changefreq": "changefreq", "priority": "priority"},
    "sitemap": {"loc": "loc", "lastmod": "lastmod"},
    "item": {"link": "loc", "guid": "guid", "pubDate": "lastmod", "dc:date": "lastmod"},
    "entry": {"link": "link", "updated": "lastmod", "published": "published"},
}
_BELONGS = {"urlset": "url", "index": "sitemap", "rss": "item", "atom": "entry"}
# The <url> of a feed is that of its logo, not a page.
_NEVER = {"rss": ("url", "sitemap"), "atom": ("url", "sitemap")}
# The root to assume for a file that has none.
_ROOT_OF = {b"url": "urlset", b"sitemap": "sitemapindex", b"item": "rss", b"entry": "feed"}

_NAME = rb"(?:[A-Za-z_][\w.-]{0,60}:)?"
_ITEM = rb"<" + _NAME + rb"(url|sitemap|item|entry)[\s>/]"
_FIRST = re.compile(_ITEM + rb"|<" + _NAME + rb"(?:urlset|sitemapindex|rss|RDF|feed)[\s>/]").search
_ROOT = re.compile(rb"()<" + _NAME + rb"(?:urlset|sitemapindex|rss|RDF|feed)[\s>/]").search
_ENTITY = re.compile(rb"<!ENTITY\s{1,9}(?:%\s{1,9})?([^\s%\"'<>]{1,40})\s").search
# An entry that needs no XML parser. No "\r", which XML reads as "\n"; no "]", because "]]>" is not
# allowed in text; no EF byte, with which the characters that XML forbids begin.
_TEXT = rb"[^<&\]\r\xef]{1,200}+"
_URL = possessive(rf"{_TEXT.decode()}|&amp;", "{1,60}").encode()
_PLAIN = re.compile(
    rb"\s*+<url>\s*+<loc>(?P<loc>%s)</loc>\s*+"
    rb"(?:<lastmod>(?P<lastmod>%s)</lastmod>\s*+)?"
    rb"(?:<changefreq>(?P<changefreq>%s)</changefreq>\s*+)?"
    rb"(?:<priority>(?P<priority>%s)</priority>\s*+)?</url>" % (_URL, _TEXT, _TEXT, _TEXT)
).match
_PLAIN_PATH = ["urlset"]
_HTTP = ("http://", "https://")


class Markup:
    """Reads a sitemap in XML, block by block, already in UTF-8.

    Its state is that of one walk through a file, and its methods are expat's callbacks: hence more
    attributes than most classes have.
    """

    def __init__(self, parser: "SitemapParser", lines: int, is_late: bool = False) -> None:
        self._parser = parser
        self._has_begun = is_late
        self._repair = Repair()
        self._expat: expat.XMLParserType | None = None  # None while looking for the next entry
        self._lines = lines  # of the file, before the part that expat reads
        self._ahead = b"", 0, 0  # a block, and the part of it that is read without expat
        self._skipped = b""
        self._find = _FIRST
        self._root = ""
        self._place: list[str] = []  # the open elements around entries
        self._tables: dict[str, dict[str, str]] = {}
        self._restarts = 0
        self._has_entity = self._is_complete = self._is_rootless = False
        self._text: list[str] = []
        self._append = self._text.append
        if is_late:
            self._reset()
            parser.note("not-well-formed", "text before the XML", lines + 1)
        else:
            self._start(())

    @property
    def line(self) -> int:
        """The number of the current line in the file."""
        ahead, at, end = self._ahead
        lines = self._lines + ahead.count(b"\n", at, end)
        return lines + (1 if self._expat is None else int(self._expat.CurrentLineNumber))

    def feed(self, data: bytes) -> None:
        """Read on."""
        data = self._repair.newlines(data)
        if not self._has_begun:
            start = data.lstrip(b" \t\n\xef\xbb\xbf")
            self._lines += data.count(b"\n", 0, len(data) - len(start))
            data, self._has_begun = start, bool(start)
        was_inside = self._repair.is_inside
        data = self._repair.ampersands(data)
        self._push(data, is_plain=not was_inside and b"<![" not in data)

    def close(self, is_cut: bool = False) -> None:
        """Read the rest, at the end of the file or of what is read of it."""
        self._push(self._repair.ampersands(b"", is_final=True))
        if self._expat is not None and not self._parser.is_over:
            with suppress(expat.ExpatError, _Broken, _Stop):
                self._expat.Parse(b"", True)  # from 2.6 on, expat may defer the last tokens
        if self._parser.is_over:
            return
        if not self._root:
            self._parser.note("not-a-sitemap", "no element was found")
        elif not (self._is_complete or is_cut or (self._is_rootless and not self._inner)):
            self._parser.note("truncated", "the file ends early", self.line)
        self._leave_item(is_broken=True)

    # Feeding expat.

    def _push(self, data: bytes, is_plain: bool = False) -> None:
        at = 0
        while at < len(data) and not self._parser.is_over:
            xml = self._expat
            if xml is None:
                data, at = self._resumed(data[at:]), 0
                continue
            if is_plain and self._path and not self._inner:
                after = self._plain(data, at, xml) if self._path == _PLAIN_PATH else at
                is_plain, at = after > at, after
                if self._parser.is_over:  # anything behind the last entry that counts is ignored
                    return
            # Up to the end of this entry, if more plain ones may follow; else all of it.
            end = data.find(b"</url>", at) + 6 if is_plain else 0
            at = self._parse(data, at, end if end > 5 else len(data), xml)

    def _plain(self, data: bytes, at: int, xml: expat.XMLParserType) -> int:
        """Read entries in the most common form without expat, in a fraction of the time.

        Returns where they end. Anything but plain text in the usual elements is for expat, and so
        is everything while expat is inside a token.
        """
        if int(xml.CurrentByteIndex) != self._fed:
            return at
        end, add = at, self._parser.add
        while not self._parser.is_over:
            found = _PLAIN(data, end)
            if found is None:
                break
            end = found.end()
            self._ahead = data, at, end
            fields = {name: text.decode() for name, text in found.groupdict(b"").items()}
            if "&" in fields["loc"]:
                fields["loc"] = fields["loc"].replace("&amp;", "&")
            add(fields, "page")
        if end > at:
            self._opening = 0  # the start is behind us
        self._ahead = b"", 0, 0
        self._lines += data.count(b"\n", at, end)
        return end

    def _parse(self, data: bytes, at: int, end: int, xml: expat.XMLParserType) -> int:
        """Let expat read from `at` to `end`; returns where to continue."""
        try:
            xml.Parse(data[at:end], False)
        except expat.ExpatError as error:
            # An entry that fails at its start is not tried again.
            where = at + max(int(xml.ErrorByteIndex), self._opening + 1) - self._fed
            detail = expat.ErrorString(error.code) or ""
            return self._skip(data, at, where, "not-well-formed", detail)
        except _Broken as broken:
            return self._skip(data, at, at + broken.args[0] - self._fed)
        except _Stop:
            return len(data)
        self._fed += end - at
        self._newlines += data.count(b"\n", at, end)
        self._limited(xml)
        return end

    def _limited(self, xml: expat.XMLParserType) -> None:
        """Limit what is kept of the file."""
        if self._field and sum(map(len, self._text)) > MAX_TEXT:
            self._text[:] = ["".join(self._text)[: MAX_TEXT + 1]]
            xml.CharacterDataHandler = None
        if self._fed - int(xml.CurrentByteIndex) > _MAX_TOKEN:
            self._skip(b"", 0, 0, "too-long", "a tag or a comment")
        elif len(xml.intern) > _MAX_NAMES:
            self._skip(b"", 0, 0, "too-many-names", "too many names of elements and attributes")

    # After an error.

    def _skip(self, data: bytes, at: int, where: int, problem: str = "", detail: str = "") -> int:
        """Skip this entry, of which expat has read up to `at`; returns where to look for the next.

        That is before `at` when the error is in a token that began before `at`. A token that began
        in an earlier block is skipped.
        """
        if problem:
            self._parser.note(problem, detail, self.line)
        self._leave_item(is_broken=True)
        self._restarts += 1
        if self._restarts > _MAX_RESTARTS:
            self._parser.stop("not-well-formed", "too many errors; the rest is not read", self.line)
        if self._parser.form == "unknown" and self._root:  # the real one may follow
            self._root, self._find = "", _FIRST
        where = max(where, 0)
        self._lines += self._newlines + data.count(b"\n", at, where) - data.count(b"\n", where, at)
        self._reset()
        return where

    def _resumed(self, data: bytes) -> bytes:
        """Find the next entry; returns the data from there on."""
        data, self._skipped = self._skipped + data, b""
        found = self._find(data)
        if found is None:
            at = data.rfind(b"<", max(len(data) - _MAX_TAG, 0))
            at = at if at >= 0 else len(data)
            self._skipped = data[at:]
        else:
            at = found.start()
        if not self._root and not self._has_entity:
            entity = _ENTITY(data, 0, at)
            if entity is not None:
                self._has_entity = True
                name = entity[1].decode("utf-8", "replace")
                line = self._lines + data.count(b"\n", 0, entity.start()) + 1
                self._parser.note(
                    "entity", shown(f"{name} is declared; entities are not expanded"), line
                )
        self._lines += data.count(b"\n", 0, at)
        if found is None:
            return b""
        if self._root:
            self._start(self._place if found[1] else (self._root,))
        else:
            self._is_rootless = bool(found[1])
            self._start((_ROOT_OF[found[1]],) if found[1] else ())
        return data[at:]

    def _reset(self) -> None:
        self._expat = None
        self._fed: int = 0  # bytes that expat has read without an error
        self._newlines = self._opening = 0
        self._path: list[str] = []  # the open elements, down to the entry
        self._item, self._inner = "", 0  # the entry, and the depth within it
        self._fields: dict[str, str] = {}
        self._field = ""  # the field that is being read

    def _start(self, names: Sequence[str]) -> None:
        """Start expat as if these elements were open."""
        self._reset()
        xml = self._expat = expat.ParserCreate("utf-8")  # whatever the declaration says
        if hasattr(xml, "SetReparseDeferralEnabled"):
            xml.SetReparseDeferralEnabled(False)  # tokens are limited here
        xml.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        xml.buffer_text = True
        xml.StartElementHandler = self._begin
        xml.EndElementHandler = self._end
        xml.StartDoctypeDeclHandler = self._doctype
        opening = "".join(f"<{name}>" for name in names).encode()
        xml.Parse(opening, False)
        self._fed = self._opening = len(opening)
        self._is_complete = False

    # Callbacks of expat.

    def _broken(self, problem: str, detail: str) -> "_Broken":
        # After an exception expat goes on to the end of the block: so the position is taken now.
        if problem:
            self._parser.note(problem, detail, self.line)
        return _Broken(int(self._expat.CurrentByteIndex))  # type: ignore[union-attr]

    def _doctype(self, *declared: object) -> None:
        if declared[-1]:  # an internal subset
            self._find = _ROOT  # declarations could only do harm
            raise self._broken("", "")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if self._inner:
            self._inner += 1
            if self._inner == 2:
                field = self._names.get(name)
                if field is not None:
                    self._begin_field(field, attributes)
            elif self._inner > _MAX_DEPTH:
                raise self._broken("too-deep", "elements nested too deeply")
            return
        path = self._path
        local = name.rpartition(":")[2]
        if not path and local in _ITEMS:
            raise self._broken("no-root", "entries without a root element")
        if path and local in _ITEMS and local not in _NEVER.get(self._parser.form, ()):
            self._enter_item(name, local)
            return
        if len(path) >= _MAX_DEPTH:
            raise self._broken("too-deep", "elements nested too deeply")
        path.append(name)
        if not self._root:
            self._see_root(name, local)

    def _begin_field(self, field: str, attributes: dict[str, str]) -> None:
        if field == "link":  # of Atom
            target = attributes.get("href", "")
            if target and attributes.get("rel", "alternate") == "alternate":
                self._fields.setdefault("loc", target[: MAX_TEXT + 1])
        elif field != "guid" or attributes.get("isPermaLink") != "false":
            self._field = field
            self._text.clear()
            self._expat.CharacterDataHandler = self._append  # type: ignore[union-attr]

    def _end(self, _: str) -> None:
        inner = self._inner
        if inner == 2:
            if self._field:
                self._end_field()
        elif inner == 1:
            self._leave_item()
            if self._parser.is_over:
                raise _Stop
            return
        elif not inner:
            self._path.pop()
            self._is_complete = not self._path
            return
        self._inner = inner - 1

    def _end_field(self) -> None:
        text = "".join(self._text)
        if len(text) > MAX_TEXT:
            self._parser.note("too-long", f"{self._field} is dropped", self.line)
        elif text:
            self._fields.setdefault(self._field, text)
        self._field = ""
        self._expat.CharacterDataHandler = None  # type: ignore[union-attr]

    def _see_root(self, name: str, local: str) -> None:
        self._parser.form = _ROOTS.get(local, "unknown")
        if self._parser.form == "html":
            self._parser.stop("html", "a web page, not a sitemap", self.line)
            raise _Stop
        if self._parser.form == "unknown":
            self._parser.note(
                "unknown-root", shown(f"<{name}> is not a sitemap element"), self.line
            )
        self._root = name if len(name) <= _MAX_TAG else "urlset"
        self._place = [self._root]
        ending = re.escape(self._root.encode())
        self._find = re.compile(_ITEM + rb"|</" + ending + rb"\s{0,9}>").search

    def _enter_item(self, name: str, local: str) -> None:
        self._item, self._inner, self._fields = local, 1, {}
        names = self._tables.get(name)
        if names is None:
            prefix = name[: -len(local)]
            names = {k if ":" in k else prefix + k: v for k, v in _FIELDS[local].items()}
            if len(self._tables) < _MAX_TAG:
                self._tables[name] = names
        self._names = names
        if self._place != self._path and sum(map(len, self._path)) <= _MAX_TAG:
            self._place = self._path[:]
        expected = _BELONGS.get(self._parser.form)
        if expected is not None and expected != local:
            self._parser.note("mixed-up", f"<{local}> among <{expected}>", self.line)

    def _leave_item(self, is_broken: bool = False) -> None:
        if not self._inner:
            return
        fields, self._inner = self._fields, 0
        if self._field:
            self._field = ""
            self._expat.CharacterDataHandler = None  # type: ignore[union-attr]
        if "published" in fields:
            fields.setdefault("lastmod", fields["published"])
        if "guid" in fields and fields["guid"].strip().startswith(_HTTP):
            fields.setdefault("loc", fields["guid"])
        if "loc" in fields or not is_broken:
            self._parser.add(fields, _ITEMS[self._item])


class _Stop(Exception):
    """Nothing more needs to be read."""


class _Broken(Exception):
    """The file cannot be read beyond the position in `args`."""

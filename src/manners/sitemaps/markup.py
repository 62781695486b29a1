"""Sitemaps, indexes and feeds in XML, well-formed or not.

No declaration of a document type is read, no entity is ever expanded, and nothing is fetched. What
is not well-formed costs one entry: the parser begins again with the next.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING
from xml.parsers import expat

from manners.sitemaps.entry import MAX_TEXT, Kind, shown

if TYPE_CHECKING:
    from manners.sitemaps.parser import Form, SitemapParser

_MAX_RESTARTS = 50_000
_MAX_DEPTH = 1_000
_MAX_NAMES = 10_000
"""Names of elements and attributes that are remembered."""
_MAX_TOKEN = 1024 * 1024
"""Bytes of one tag or comment. Each block is read together with the token that it goes on with."""
_MAX_TAG = 100
"""Bytes by which an entry is recognised."""

_ROOTS: "dict[str, Form]" = {
    "urlset": "urlset",
    "sitemapindex": "index",
    "rss": "rss",
    "RDF": "rss",
    "feed": "atom",
    "html": "html",
}
_ITEMS: dict[str, Kind] = {"url": "page", "sitemap": "sitemap", "item": "page", "entry": "page"}
# What is read of each kind of item, and what it is called here.
_FIELDS = {
    "url": {"loc": "loc", "lastmod": "lastmod", "changefreq": "changefreq", "priority": "priority"},
    "sitemap": {"loc": "loc", "lastmod": "lastmod"},
    "item": {"link": "loc", "guid": "guid", "pubDate": "lastmod", "dc:date": "lastmod"},
    "entry": {"link": "link", "updated": "lastmod", "published": "published"},
}
_BELONGS = {"urlset": "url", "index": "sitemap", "rss": "item", "atom": "entry"}
# The logo of a feed has a <url>, which is no page.
_NEVER = {"rss": ("url", "sitemap"), "atom": ("url", "sitemap")}
# Where a file without a root has an entry of this kind.
_ROOT_OF = {b"url": "urlset", b"sitemap": "sitemapindex", b"item": "rss", b"entry": "feed"}

# A `&` that begins none of the five entities of XML, nor a character; and sections in which it is
# nothing special.
_BARE = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)")
_SECTION = re.compile(rb"<!\[CDATA\[.*?(?:(\]\]>)|\Z)|<!--.*?(?:(-->)|\Z)", re.DOTALL)
_CDATA, _COMMENT = b"]]>", b"-->"
# The end of a block that the next one may make one of these.
_PARTIAL = re.compile(
    rb"(?:&[#0-9A-Za-z]{0,9}|<(?:!(?:-|\[(?:C(?:D(?:A(?:TA?)?)?)?)?)?)?)\Z"
).search
_NAME = rb"(?:[A-Za-z_][\w.-]{0,60}:)?"
_ITEM = rb"<" + _NAME + rb"(url|sitemap|item|entry)[\s>/]"
_FIRST = re.compile(_ITEM + rb"|<" + _NAME + rb"(?:urlset|sitemapindex|rss|RDF|feed)[\s>/]").search
_ROOT = re.compile(rb"()<" + _NAME + rb"(?:urlset|sitemapindex|rss|RDF|feed)[\s>/]").search
_ENTITY = re.compile(rb"<!ENTITY\s{1,9}(?:%\s{1,9})?([^\s%\"'<>]{1,40})\s").search
# An entry without anything that takes a parser to understand. No "\r", which XML reads as "\n", no
# "]", of which "]]>" may not be, and no EF, with which the characters begin that may not be.
_TEXT = rb"[^<&\]\r\xef]{1,200}+"
_PLAIN = re.compile(
    rb"\s*+<url>\s*+<loc>(?P<loc>(?:%s|&amp;){1,60}+)</loc>\s*+"
    rb"(?:<lastmod>(?P<lastmod>%s)</lastmod>\s*+)?"
    rb"(?:<changefreq>(?P<changefreq>%s)</changefreq>\s*+)?"
    rb"(?:<priority>(?P<priority>%s)</priority>\s*+)?</url>" % ((_TEXT,) * 4)
).match
_PLAIN_PATH = ["urlset"]
_CONTROL = bytes(set(range(32)) - {9, 10, 13})
_HTTP = ("http://", "https://")


class Markup:
    """Reads the blocks of a file in XML, which are UTF-8 already."""

    def __init__(self, parser: "SitemapParser", lines: int, is_late: bool = False) -> None:
        self._parser = parser
        self._has_begun = is_late
        self._ends_in_cr = False  # the last block: an LF that follows is of the same line end
        self._held = b""  # the end of a block that cannot be told yet
        self._inside = b""  # what ends the section that the block stands in
        self._expat: expat.XMLParserType | None = None  # none while the next entry is looked for
        self._lines = lines  # of the file, before what expat sees
        self._ahead = b"", 0, 0  # a block, and from where to where it is read without expat
        self._skipped = b""
        self._find = _FIRST
        self._root = ""
        self._place: list[str] = []  # what is open around entries
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
        """Where in the file it stands."""
        ahead, at, end = self._ahead
        lines = self._lines + ahead.count(b"\n", at, end)
        return lines + (1 if self._expat is None else int(self._expat.CurrentLineNumber))

    def feed(self, data: bytes) -> None:
        """Read on."""
        data = self._with_newlines(data.translate(None, _CONTROL))
        if not self._has_begun:
            start = data.lstrip(b" \t\n\xef\xbb\xbf")
            self._lines += data.count(b"\n", 0, len(data) - len(start))
            data, self._has_begun = start, bool(start)
        was_inside = self._inside
        data = self._mended(data)
        self._push(data, is_plain=not was_inside and b"<![" not in data)

    def close(self, is_cut: bool = False) -> None:
        """The file is over, or what is read of it."""
        self._push(self._mended(b"", is_final=True))
        if self._expat is not None and not self._parser.is_over:
            with suppress(expat.ExpatError, _Broken, _Stop):
                self._expat.Parse(b"", True)  # from 2.6 on, expat may put off the last tokens
        if self._parser.is_over:
            return
        if not self._root:
            self._parser.note("not-a-sitemap", "no element was found")
        elif not (self._is_complete or is_cut or (self._is_rootless and not self._inner)):
            self._parser.note("truncated", "the file breaks off", self.line)
        self._leave_item(is_broken=True)

    # Before the parser sees it.

    def _with_newlines(self, data: bytes) -> bytes:
        """The data with every line end as one LF (XML 1.0 section 2.11): so lines are counted."""
        if self._ends_in_cr and data:
            data = data.removeprefix(b"\n")
            self._ends_in_cr = False
        if b"\r" in data:
            self._ends_in_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _mended(self, data: bytes, is_final: bool = False) -> bytes:
        """The data with bare ampersands escaped, as far as it can be told what is one."""
        data, self._held, head = self._held + data, b"", b""
        if self._inside:
            end = data.find(self._inside)
            if end < 0:
                return self._without_end(data, 0, is_final)
            end += len(self._inside)
            head, data, self._inside = data[:end], data[end:], b""
        tail = b""
        partial = None if is_final else _PARTIAL(data, max(len(data) - 11, 0))
        if partial is not None:
            data, tail = data[: partial.start()], partial[0]

        parts, at = [head], 0
        for found in _SECTION.finditer(data) if b"<!" in data else ():
            parts.append(_BARE.sub(b"&amp;", data[at : found.start()]))
            section, at = found[0], found.end()
            if not found.lastindex:
                self._inside, begin = (_CDATA, 9) if section[2:3] == b"[" else (_COMMENT, 4)
                section = self._without_end(section, begin, is_final)
            parts.append(section)
        parts.append(_BARE.sub(b"&amp;", data[at:]))
        self._held += tail
        return b"".join(parts)

    def _without_end(self, data: bytes, begin: int, is_final: bool) -> bytes:
        """A section that goes on, without what may be the beginning of its end."""
        for size in (2, 1):
            if len(data) - begin >= size and data.endswith(self._inside[:size]) and not is_final:
                self._held = data[-size:]
                return data[:-size]
        return data

    def _push(self, data: bytes, is_plain: bool = False) -> None:
        at = 0
        while at < len(data) and not self._parser.is_over:
            made = self._expat
            if made is None:
                data, at = self._resumed(data[at:]), 0
                continue
            if is_plain and self._path and not self._inner:
                after = self._plain(data, at, made) if self._path == _PLAIN_PATH else at
                is_plain, at = after > at, after
                if self._parser.is_over:  # what follows the last entry that counts is not looked at
                    return
            # Up to the end of this entry, if more plain ones may follow; else all of it.
            end = data.find(b"</url>", at) + 6 if is_plain else 0
            at = self._parse(data, at, end if end > 5 else len(data), made)

    def _plain(self, data: bytes, at: int, made: expat.XMLParserType) -> int:
        """Read the entries that are written as nearly all are, which takes a fraction of the time.

        Returns where they end. Whatever is there but plain text in the usual elements is left to
        expat, and so is everything when expat is in the midst of a token.
        """
        if int(made.CurrentByteIndex) != self._fed:
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
            self._opening = 0  # where it was begun is behind it
        self._ahead = b"", 0, 0
        self._lines += data.count(b"\n", at, end)
        return end

    def _parse(self, data: bytes, at: int, end: int, made: expat.XMLParserType) -> int:
        """Let expat read from here to there; returns where to go on."""
        try:
            made.Parse(data[at:end], False)
        except expat.ExpatError as error:
            # What fails where it was begun with is not begun with again.
            where = at + max(int(made.ErrorByteIndex), self._opening + 1) - self._fed
            detail = expat.ErrorString(error.code) or ""
            return self._skip(data, at, where, "not-well-formed", detail)
        except _Broken as broken:
            return self._skip(data, at, at + broken.args[0] - self._fed)
        except _Stop:
            return len(data)
        self._fed += end - at
        self._newlines += data.count(b"\n", at, end)
        self._limited(made)
        return end

    def _limited(self, made: expat.XMLParserType) -> None:
        """See to it that what is kept of the file stays small."""
        if self._field and sum(map(len, self._text)) > MAX_TEXT:
            self._text[:] = ["".join(self._text)[: MAX_TEXT + 1]]
            made.CharacterDataHandler = None
        if self._fed - int(made.CurrentByteIndex) > _MAX_TOKEN:
            self._skip(b"", 0, 0, "too-long", "a tag or a comment")
        elif len(made.intern) > _MAX_NAMES:
            self._skip(b"", 0, 0, "too-many-names", "of elements and attributes")

    # Behind what cannot be read.

    def _skip(self, data: bytes, at: int, where: int, problem: str = "", detail: str = "") -> int:
        """Leave this entry, which expat was given up to `at`; returns where to look for the next.

        That is before `at` where a token is broken that it was given the beginning of. One that
        began in an earlier block is left behind.
        """
        if problem:
            self._parser.note(problem, detail, self.line)
        self._leave_item(is_broken=True)
        self._restarts += 1
        if self._restarts > _MAX_RESTARTS:
            self._parser.stop("not-well-formed", "too often to read on", self.line)
        if self._parser.form == "unknown" and self._root:  # the real one may follow
            self._root, self._find = "", _FIRST
        where = max(where, 0)
        self._lines += self._newlines + data.count(b"\n", at, where) - data.count(b"\n", where, at)
        self._reset()
        return where

    def _resumed(self, data: bytes) -> bytes:
        """Look for the next entry; returns it with what follows."""
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
                self._parser.note("entity", shown(f"{name} is declared, and not expanded"), line)
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
        self._fed: int = 0  # what expat was given, as far as it has read it without a mistake
        self._newlines = self._opening = 0
        self._path: list[str] = []  # what is open, down to the entry
        self._item, self._inner = "", 0  # the entry, and how deep in it
        self._fields: dict[str, str] = {}
        self._field = ""  # what is being read

    def _start(self, names: Sequence[str]) -> None:
        """Begin as if these elements were open."""
        self._reset()
        made = self._expat = expat.ParserCreate("utf-8")  # whatever the declaration says
        if hasattr(made, "SetReparseDeferralEnabled"):
            made.SetReparseDeferralEnabled(False)  # tokens are limited here
        made.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        made.buffer_text = True
        made.StartElementHandler = self._begin
        made.EndElementHandler = self._end
        made.StartDoctypeDeclHandler = self._doctype
        opening = "".join(f"<{name}>" for name in names).encode()
        made.Parse(opening, False)
        self._fed = self._opening = len(opening)
        self._is_complete = False

    # What the parser sees.

    def _broken(self, problem: str, detail: str) -> "_Broken":
        # Behind what raises, expat goes on to the end of the block: where it stands is told now.
        if problem:
            self._parser.note(problem, detail, self.line)
        return _Broken(int(self._expat.CurrentByteIndex))  # type: ignore[union-attr]

    def _doctype(self, *declared: object) -> None:
        if declared[-1]:  # it has declarations of its own
            self._find = _ROOT  # what is declared could only be used to do harm
            raise self._broken("", "")

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if self._inner:
            self._inner += 1
            if self._inner == 2:
                field = self._names.get(name)
                if field is not None:
                    self._begin_field(field, attributes)
            elif self._inner > _MAX_DEPTH:
                raise self._broken("too-deep", "an element in too many others")
            return
        path = self._path
        local = name.rpartition(":")[2]
        if not path and local in _ITEMS:
            raise self._broken("no-root", "entries that stand in nothing")
        if path and local in _ITEMS and local not in _NEVER.get(self._parser.form, ()):
            self._enter_item(name, local)
            return
        if len(path) >= _MAX_DEPTH:
            raise self._broken("too-deep", "an element in too many others")
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
            self._parser.note("unknown-root", shown(f"<{name}> is none of a sitemap"), self.line)
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
    """There is no need to read on."""


class _Broken(Exception):
    """What follows cannot be read as it is; with where that is."""


def line_ends(data: bytes) -> int:
    """How many line ends there are, of any kind."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")

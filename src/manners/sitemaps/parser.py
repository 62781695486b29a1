"""Reading a sitemap piece by piece: XML, text or a feed, gzipped or not; bounded, never raising.

The protocol (sitemaps.org) allows 50,000 URLs and 50 MB in a file. Common mistakes are tolerated
where the intention is clear: a bare `&`, white space before the XML declaration, an entry that is
not well-formed, a truncated file.

However the network cuts a file into pieces, it is read in the same blocks, so that the result is
always the same.
"""

import re
from typing import Literal

from manners._inflate import GZIP, Inflater
from manners.sitemaps.charset import ToUtf8
from manners.sitemaps.entry import MAX_TEXT, Kind, Problem, SitemapEntry, read_entry, shown
from manners.sitemaps.markup import Markup
from manners.sitemaps.repair import line_ends

MAX_BYTES = 50 * 1024 * 1024
"""Bytes of a file that are read, after decompression."""
MAX_ENTRIES = 50_000
MAX_PROBLEMS = 100
_BLOCK = 64 * 1024
_SNIFF = 1024
_MARK = b"\xef\xbb\xbf"  # the byte order mark

Form = Literal["urlset", "index", "rss", "atom", "text", "html", "unknown"]

_HTML = re.compile(
    rb"(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html)[\s>]",
    re.IGNORECASE | re.DOTALL,
).match
_LINE = re.compile(rb"[^\r\n]+").finditer
_XML_INSIDE = re.compile(
    rb"<(?:\?xml\s|(?:[A-Za-z_][\w.-]{0,60}:)?(?:urlset|sitemapindex|rss|RDF|feed)[\s>])"
).search


class SitemapParser:
    """Reads one sitemap; `url` is where it came from.

    `feed` returns the entries read so far, `close` the rest; `problems` says what is wrong. It is
    one pipeline (gunzip, blocks, UTF-8, reader): hence more attributes than most classes have.
    """

    def __init__(
        self, url: str = "", *, max_bytes: int = MAX_BYTES, max_entries: int = MAX_ENTRIES
    ) -> None:
        self.url = url
        self.form: Form = "unknown"
        """The kind of file, as far as known."""
        self.problems: list[Problem] = []
        self.entries = 0
        """How many entries were read."""
        self.is_over = False
        """Whether more data would change nothing."""
        self._room, self._max_entries = max_bytes, max_entries
        self._refused = 0
        self._begun = b""
        self._is_gzip: bool | None = None
        self._inflater = Inflater(GZIP, salvage=True)
        self._block = bytearray()
        self._start = b""
        self._lines = 0
        self._is_wrong = False
        self._to_utf8: ToUtf8 | None = None
        self._reader: Markup | _Text | None = None
        self._found: list[SitemapEntry] = []

    def feed(self, data: bytes) -> list[SitemapEntry]:
        """Read more data; returns the entries that are complete."""
        if self._is_gzip is None and not self.is_over:
            self._begun += data
            if len(self._begun) < 2:
                return []
            data, self._begun = self._begun, b""
            self._is_gzip = data.startswith(b"\x1f\x8b")
        if self._is_gzip:
            self._unzip(data)
        else:
            self._read(data)
        return self._taken()

    def close(self) -> list[SitemapEntry]:
        """End of the file; returns the remaining entries."""
        if self._is_gzip is None:
            self._read(self._begun)
        is_cut = False
        if self._is_gzip and not self._inflater.is_complete and not self.is_over:
            is_cut = True
            if not self._inflater.problem:
                self.note("truncated", "the gzip stream ends early")
        self._finish(is_cut)
        return self._taken()

    def note(self, problem: str, detail: str = "", line: int = 0) -> None:
        """Add a problem."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(problem, detail, line))

    def stop(self, problem: str, detail: str, line: int = 0) -> None:
        """Add the problem for which nothing more is read; it is always kept."""
        self.problems.append(Problem(problem, detail, line))
        self.is_over = True

    def add(self, fields: dict[str, str], kind: Kind) -> None:
        """Add an entry."""
        if self.is_over:
            return
        if self.entries >= self._max_entries:
            detail = f"only the first {self._max_entries:,} are read"
            self.stop("too-many-entries", detail, self._line)
            return
        entry, problems = read_entry(fields, kind, self.url)
        if entry is None:
            self.refuse(*problems)
            return
        for problem in problems:
            self.note(problem.problem, problem.detail, self._line)
        self.entries += 1
        self._found.append(entry)

    def refuse(self, problem: Problem) -> None:
        """Add a problem in place of an entry; there may be as many of them as of entries."""
        self.note(problem.problem, problem.detail, self._line)
        self._refused += 1
        if self._refused > self._max_entries:
            self.stop("too-many-entries", "too many entries without a URL", self._line)

    @property
    def _line(self) -> int:
        return self._reader.line if self._reader is not None else 0

    def _taken(self) -> list[SitemapEntry]:
        found, self._found = self._found, []
        return found

    # From the file to blocks.

    def _unzip(self, data: bytes) -> None:
        if self.is_over or self._inflater.is_over:
            return
        for piece in self._inflater.feed(data):
            self._read(piece)
            if self.is_over:
                return
        if self._inflater.problem:
            self.note("bad-gzip", self._inflater.problem)

    def _read(self, data: bytes) -> None:
        if self.is_over:
            return
        is_too_large = len(data) > self._room
        self._block += data[: self._room]
        self._room = max(self._room - len(data), 0)
        at = 0
        while len(self._block) - at >= _BLOCK and not self.is_over:
            self._see(bytes(self._block[at : at + _BLOCK]))
            at += _BLOCK
        del self._block[:at]
        if is_too_large and not self.is_over:
            self.note("too-large", "the file is too long, and was cut")
            self._finish(is_cut=True)

    def _finish(self, is_cut: bool) -> None:
        if not self.is_over:
            self._see(bytes(self._block), is_final=True)
        if self._reader is not None and not self.is_over:
            self._reader.close(is_cut)
        self.is_over = True
        self._block.clear()

    def _see(self, data: bytes, is_final: bool = False) -> None:
        if self._to_utf8 is None or self._reader is None:
            data, self._start = self._start + data, b""
            start = data.removeprefix(_MARK).lstrip()
            if len(start) < _SNIFF and not is_final:
                if start or data.startswith(_MARK):
                    self._start = data
                else:  # a file may begin with any amount of white space
                    self._start = data[-1:] if data.endswith(b"\r") else b""  # "\r\n" is one end
                    self._lines += line_ends(data.removesuffix(b"\r"))
                return
            head = (_MARK if data.startswith(_MARK) else b"") + start[:_SNIFF]
            self._to_utf8 = ToUtf8(head)
            self._reader = self._choose(ToUtf8(head).convert(head).lstrip())
            if self._reader is None:
                return
        data = self._to_utf8.convert(data, is_final)
        if self._to_utf8.is_wrong and not self._is_wrong:
            self._is_wrong = True
            self.note("bad-encoding", "bytes that are not UTF-8 are percent-encoded")
        self._reader.feed(data)

    def _choose(self, text: bytes) -> "Markup | _Text | None":
        """The reader for this kind of file, by its first bytes."""
        if not text:
            self.stop("empty", "the file is empty")
            return None
        if _HTML(text):
            self.form = "html"
            self.stop("html", "a web page, not a sitemap")
            return None
        is_xml = text.startswith(b"<")
        if is_xml or _XML_INSIDE(text):
            return Markup(self, self._lines, is_late=not is_xml)
        self.form = "text"
        return _Text(self, self._lines)


class _Text:
    """One URL a line."""

    def __init__(self, parser: SitemapParser, lines: int) -> None:
        self._parser, self._rest = parser, b""
        self._lines, self._data, self._at = lines, b"", 0

    @property
    def line(self) -> int:
        """The number of the current line."""
        return self._lines + line_ends(self._data[: self._at]) + 1

    def feed(self, data: bytes) -> None:
        """Read the lines that are complete."""
        data = self._rest + data
        end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, -1)) + 1
        # Only the byte after a "\r" tells whether it ends a line by itself.
        rest = data[end:]
        self._rest = rest if len(rest) <= MAX_TEXT else rest[:MAX_TEXT] + rest[-1:]
        self._read(data[:end])

    def close(self, is_cut: bool = False) -> None:
        """Read the last line, unless it was cut."""
        if not is_cut or self._rest.endswith(b"\r"):
            self._read(self._rest)

    def _read(self, data: bytes) -> None:
        self._data = data
        for found in _LINE(data):
            if self._parser.is_over:
                return
            line, self._at = found[0], found.start()
            text = line[:MAX_TEXT].decode("utf-8", "replace").strip()
            if len(line) > MAX_TEXT or not text[:8].lower().startswith(("http://", "https://")):
                if text:
                    self._parser.refuse(Problem("bad-url", shown(text)))
            else:
                self._parser.add({"loc": text}, "page")
        self._lines, self._data, self._at = self._lines + line_ends(data), b"", 0

"""Input of the commands: robots.txt files, lists of URLs, stores; and their warnings."""

import os.path
import shlex
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from manners._text import printable
from manners.errors import MannersError
from manners.robots.agents import WILDCARD
from manners.robots.dialects import get
from manners.robots.policy import Robots, parse
from manners.robots.verdict import Reason, Verdict
from manners.urls import with_scheme

if TYPE_CHECKING:
    from manners.cache.robots import AsyncRobotsCache
    from manners.client.async_client import AsyncClient
    from manners.events import Listener
    from manners.retrieval.outcome import Outcome
    from manners.settings import Settings


def read_robots(source: str, dialect: str) -> Robots:
    """The robots.txt in a file or on standard input, parsed."""
    chosen = get(dialect)
    robots = parse(read_bytes(source), dialect=chosen)
    if robots.too_many_rules:
        warn(f"more than {chosen.max_rules} rules: dialect {chosen.name!r} allows everything")
    if robots.truncated:
        warn(f"only the first {len(robots.body)} bytes of the file were read")
    return robots


class Unusable(MannersError):
    """An option, a file or a URL that the command cannot use."""


REFUSED = "a private or local address; --allow-private allows it"


def asked_agent(settings: "Settings") -> str:
    """The agent that a verdict is for if nothing is fetched: the one named, else `*`."""
    is_named = settings.agent is not None or settings.user_agent is not None
    return settings.identity.agent if is_named else WILDCARD


def say_whom(agents: list[str]) -> None:
    """Tell a person at a terminal that the verdicts are for every agent."""
    if agents == [WILDCARD] and sys.stderr.isatty():
        print(
            "checked for the agent * (everybody); --agent NAME checks for one crawler",
            file=sys.stderr,
        )


def open_cache(settings: "Settings") -> "AsyncRobotsCache":
    """A cache with these settings."""
    from manners.cache.robots import AsyncRobotsCache
    from manners.client.transport import open_http

    return AsyncRobotsCache(
        dialect=settings.dialect,
        profile=settings.retrieval,
        entries=max(settings.cache_entries, _SITES),
        store=settings.cache,
        http=open_http(settings, keep_alive=False),
    )


STORE = "manners.db"
"""The default store of commands that fetch."""


def store_option(place: str) -> str:
    """The option to type for this store; empty for the default one."""
    return "" if place == STORE else f" --store {shlex.quote(place)}"


def store_hint(file: str) -> str:
    """For a database in place of an exported file: how a store is verified; else empty."""
    try:
        with Path(file).open("rb") as opened:
            is_database = opened.read(16) == b"SQLite format 3\0"
    except OSError:  # "-", for example
        return ""
    verify = f"manners evidence verify{store_option(file)}"
    return f"it is a database; to verify a store: {verify}" if is_database else ""


def open_client(settings: "Settings", on_event: "Listener | None" = None) -> "AsyncClient":
    """A client with these settings."""
    from manners.client.async_client import AsyncClient

    entries = max(settings.cache_entries, _SITES)
    return AsyncClient(settings=settings, cache_entries=entries, on_event=on_event)


_SITES = 10_000
"""Sites whose robots.txt a command keeps in memory."""


def read_bytes(source: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    with open_input(source, "the robots.txt") as file:
        return file.read()


_MAX_LINE = 4_000_000
"""Bytes of a line in a list of URLs: whatever the file is, it is read with little memory."""


class UrlList(NamedTuple):
    """Where a command finds its URLs."""

    given: list[str]
    """The arguments; `-` is standard input."""
    source: str | None = None
    """A file, or `-`."""
    column: str | None = None
    """The column of a CSV file; None for a file with one URL per line."""

    @classmethod
    def of(cls, given: list[str] | None, source: str | None, column: str | None) -> "UrlList":
        """The arguments and the options; standard input where there is neither."""
        if column is not None and source is None:
            raise Unusable("--urls-column needs --urls: the file that has the column")
        return cls(given or ([] if source is not None else ["-"]), source, column)

    @property
    def reads_input(self) -> bool:
        """Whether URLs come from standard input."""
        return "-" in (*self.given, self.source)

    @property
    def is_file(self) -> bool:
        """Whether URLs come from a file that can be read again."""
        is_named = self.source not in (None, "-") and "-" not in self.given
        return is_named and (
            Path(self.source or "").is_file() or not Path(self.source or "").exists()
        )

    @property
    def is_one(self) -> bool:
        """Whether one URL was given, as an argument."""
        return len(self.given) == 1 and self.source is None and not self.reads_input

    def read(self, *, is_needed: bool = False) -> Iterator[str]:
        """The URLs of the arguments, and then those of the file; a missing file is an error now.

        A list without a URL gets a warning, or is an error if one is needed.
        """
        given = [url if url == "-" else typed_url(url, "--urls") for url in self.given]
        more = None if self.source is None else _open_urls(self.source)
        return self._notice_if_empty(self._replace(given=given)._read(more), is_needed)

    def _notice_if_empty(self, urls: Iterator[str], is_needed: bool) -> Iterator[str]:
        first = next(urls, None)
        if first is not None:
            yield first
            yield from urls
            return
        notice = f"no URL in {'standard input' if self.reads_input else repr(self.source)}"
        if is_needed:
            raise Unusable(notice)
        warn(notice)

    def _read(self, more: BinaryIO | None) -> Iterator[str]:
        for url in self.given:
            if url == "-":
                yield from read_urls(_open_urls("-"))
            else:
                yield url
        if more is not None:
            with more:
                for number, url in enumerate(read_urls(more, self.column)):
                    if number == 0 and self.column is None:
                        _refuse_header(url)
                    yield url


def typed_url(text: str, *options: str) -> str:
    """A URL as typed, with a scheme; the name of a file is an error, with options that take one."""
    url = with_scheme(text)
    if url != text and os.path.isfile(text):  # noqa: PTH113 (Path raises for a name too long)
        shown = " or ".join(f"{option} {shlex.quote(text)}" for option in options)
        file = f"a file goes with {shown}, " if shown else ""
        raise Unusable(f"{text!r} is a file here, not a URL: {file}a site is {url}")
    return url


def read_urls(file: BinaryIO, column: str | None = None) -> Iterator[str]:
    """The URLs in an open list, one per line; a line that begins with `#` is a comment.

    With `column`, it is a CSV file, and its first row has the names of the columns.
    """
    lines = _lines(file)
    if column is not None:
        lines = _column(lines, column)
    for line in lines:
        url = line.strip()
        if url and not url.startswith("#"):
            yield with_scheme(url)


def _refuse_header(url: str) -> None:
    """Raise for the first line of a list if it looks like the header of a CSV file."""
    names = _cells(url)
    if len(names) > 1 and "/" not in url and "." not in url:
        raise Unusable(
            "the list of URLs looks like CSV: name the column with --urls-column;"
            f" its first line has: {_shown(names)}"
        )


def _lines(file: BinaryIO) -> Iterator[str]:
    """The lines of a file in UTF-8, with or without a byte order mark."""
    number = 1
    while line := file.readline(_MAX_LINE + 1):
        if number == 1:
            if line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
                raise Unusable("the list of URLs is in UTF-16; save it as UTF-8")
            if b"\0" in line:
                raise Unusable("the list of URLs is not text; save it as UTF-8, one URL per line")
            line = line.removeprefix(BOM_UTF8)
        if len(line) > _MAX_LINE:
            raise Unusable(f"line {number} of the list of URLs has more than {_MAX_LINE:,} bytes")
        yield line.decode("utf-8", "surrogateescape")
        number += 1


def _column(lines: Iterator[str], name: str) -> Iterator[str]:
    """The cells of one column of a CSV file, with commas, semicolons or tabs between them."""
    import csv

    header = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    names = _cells(header)
    place = next((place for place, cell in enumerate(names) if cell == name), None)
    if place is None:
        place = next((p for p, cell in enumerate(names) if cell.lower() == name.lower()), None)
    if place is None:
        raise Unusable(
            f"the list of URLs has no column {name!r}; its first line has: {_shown(names)}"
        )
    try:
        for row in csv.reader(lines, delimiter=_delimiter(header)):
            if len(row) > place:
                yield row[place]
    except csv.Error as error:
        raise Unusable(f"the list of URLs is not CSV: {error}") from None


def _delimiter(header: str) -> str:
    return max(",;\t", key=header.count)  # the first of them where there is none


def _cells(header: str) -> list[str]:
    """The names of the columns of a CSV file."""
    import csv

    return [cell.strip() for cell in next(csv.reader([header], delimiter=_delimiter(header)), [])]


def _shown(names: list[str]) -> str:
    return ", ".join(printable(cell)[:50] for cell in names[:20]) or "none"


def _open_urls(source: str) -> BinaryIO:
    return open_input(source, "URLs, one per line,")


def open_input(source: str, what: str) -> BinaryIO:
    """A file, or standard input for `-`; at a terminal, a hint says what to type."""
    if source == "-":
        if sys.stdin is None:
            raise Unusable("standard input is closed")
        if sys.stdin.isatty():
            hint = f"manners: reading {what} from standard input; Ctrl-D ends it"
            print(hint, file=sys.stderr, flush=True)
        try:
            # A reader of its own: at exit, a thread waiting in sys.stdin would be a fatal error.
            return open(sys.stdin.fileno(), "rb", closefd=False)
        except OSError:  # sys.stdin was replaced
            return sys.stdin.buffer
    try:
        file = Path(source).open("rb")  # noqa: SIM115 (the reader closes it)
        file.peek(1)  # a folder opens, but cannot be read
    except OSError as error:
        file_only = ": this option takes a file" if "://" in source else ""
        raise Unusable(f"cannot read {source!r}: {error.strerror}{file_only}") from None
    return file


def warn(message: str) -> None:
    """Print a warning; the exit code stays as it is."""
    print(f"manners: warning: {message}", file=sys.stderr)


class Warnings:
    """Warnings about sites: at most one for each robots.txt."""

    def __init__(self) -> None:
        self._about: set[str] = set()

    def about(self, verdict: Verdict) -> None:
        """Warn about a verdict, if there is a reason to."""
        from manners.retrieval.outcome import Outcome

        if isinstance(verdict.retrieval, Outcome):
            self.say(verdict.retrieval.url, _warning(verdict, verdict.retrieval))

    def say(self, where: str, warning: str) -> None:
        """Warn about a place once; after many warnings, be silent."""
        if warning and where not in self._about and len(self._about) < _MAX_WARNINGS:
            self._about.add(where)
            warn(f"{printable(where)}: {warning}")


_MAX_WARNINGS = 1000


def _warning(verdict: Verdict, outcome: "Outcome") -> str:
    if verdict.reason is Reason.TOO_LARGE:
        return "larger than the profile reads: everything is allowed"
    if verdict.reason is Reason.TOO_MANY_RULES:
        return "more rules than the dialect reads: everything is allowed"
    if verdict.truncated:
        return "cut at the size limit"
    return advice(outcome)


def advice(outcome: "Outcome") -> str:
    """What the user can do about a failure; empty if nothing."""
    return REFUSED if outcome.note == "refused address" else outcome.advice

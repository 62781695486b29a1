"""Input of the commands: robots.txt files, lists of URLs, stores; and their warnings."""

import shlex
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

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
    from manners.net.http import Http

    return AsyncRobotsCache(
        dialect=settings.dialect,
        profile=settings.retrieval,
        entries=max(settings.cache_entries, _SITES),
        store=settings.cache,
        http=Http(
            user_agent=settings.identity.user_agent,
            allow_private=settings.allow_private,
            proxy=settings.proxy,
            ca_file=settings.ca_file,
        ),
    )


STORE = "manners.db"
"""The default store of commands that fetch."""


def store_option(place: str) -> str:
    """The option to type for this store; empty for the default one."""
    return "" if place == STORE else f" --store {shlex.quote(place)}"


def open_client(settings: "Settings") -> "AsyncClient":
    """A client with these settings."""
    from manners.client.async_client import AsyncClient

    return AsyncClient(settings=settings, cache_entries=max(settings.cache_entries, _SITES))


_SITES = 10_000
"""Sites whose robots.txt a command keeps in memory."""


def read_bytes(source: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    with open_input(source, "the robots.txt") as file:
        return file.read()


def all_urls(given: list[str], urls_from: str | None) -> Iterator[str]:
    """The URLs of the arguments, where `-` is standard input, and then those of a file."""
    more = None if urls_from is None else _open_urls(urls_from)  # now: a missing file is an error

    def read() -> Iterator[str]:
        for url in given:
            if url == "-":
                yield from read_urls(_open_urls("-"))
            else:
                yield with_scheme(url)
        if more is not None:
            with more:
                yield from read_urls(more)

    return read()


def read_urls(file: BinaryIO) -> Iterator[str]:
    """The URLs in an open list, one per line; a line that begins with `#` is a comment."""
    line = file.readline()
    if line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise Unusable("the list of URLs is in UTF-16; save it as UTF-8")
    line = line.removeprefix(BOM_UTF8)
    while line:
        url = line.strip()
        if url and not url.startswith(b"#"):
            yield with_scheme(url.decode("utf-8", "surrogateescape"))
        line = file.readline() or b""


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
        raise Unusable(f"cannot read {source!r}: {error.strerror}") from None
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

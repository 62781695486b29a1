"""What the commands are given: options they share, robots.txt files, lists of URLs."""

import math
import os
import shlex
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from manners._text import printable
from manners.errors import MannersError
from manners.robots.agents import WILDCARD
from manners.robots.dialects import get
from manners.robots.policy import Robots, parse
from manners.robots.verdict import Reason, Verdict
from manners.urls import with_scheme

if TYPE_CHECKING:
    from manners.cache.robots import AsyncRobotsCache
    from manners.client import AsyncClient
    from manners.retrieval.outcome import Outcome
    from manners.settings import Settings

UrlsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[URL]...", help="URLs or bare domains; none, or -: standard input."),
]
UrlArgument = Annotated[
    str,
    typer.Argument(metavar="URL", help="Any URL of the site, or its domain.", callback=with_scheme),
]
UrlsOption = Annotated[
    str | None,
    typer.Option("--urls", metavar="FILE|-", help="A file of URLs, one a line; # is a comment."),
]

RobotsOption = Annotated[
    str, typer.Option("--robots", metavar="FILE|-", help="The robots.txt; - is standard input.")
]
DialectOption = Annotated[
    str, typer.Option("--dialect", metavar="NAME", help="How to read it; see `manners dialects`.")
]
LiveRobotsOption = Annotated[
    str | None,
    typer.Option(
        "--robots",
        metavar="FILE|-",
        help="A robots.txt at hand; without one, the sites' own are retrieved.",
    ),
]
LiveDialectOption = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        metavar="NAME",
        help="How to read it; see `manners dialects` (default rfc9309).",
    ),
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        help="How to retrieve it, and what failures mean: rfc9309 (default), google, open.",
    ),
]
LikeOption = Annotated[
    str | None,
    typer.Option(
        "--like",
        metavar="NAME",
        help="A system to behave like, with its dialect and profile: scanner, audit.",
    ),
]
AllowPrivateOption = Annotated[
    bool | None,
    typer.Option("--allow-private", help="Also ask servers on private and local addresses."),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout", metavar="SECONDS", help="How long one robots.txt may take (default 10)."
    ),
]
PageTimeoutOption = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", help="How long one page may take (default 60)."),
]
UserAgentOption = Annotated[
    str | None,
    typer.Option(
        "--user-agent", metavar="TEXT", help="What is sent as User-Agent, if not the agent."
    ),
]
CacheOption = Annotated[
    str | None,
    typer.Option("--cache", metavar="FILE|URL", help="Where files are kept: a file, or valkey://…"),
]
PolitenessOption = Annotated[
    str | None,
    typer.Option(
        "--politeness",
        metavar="URL",
        help="Where slots and delays are shared with other processes: valkey://…",
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PLACE",
        help="Where evidence is kept: a file, or postgresql://… (default manners.db).",
    ),
]
AgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="Who asks: sent as User-Agent, and whose verdict it is (default manners).",
    ),
]
ExcludeOption = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="PATTERN", help="What is left out; several times."),
]
IncludeOption = Annotated[
    list[str] | None,
    typer.Option("--include", metavar="PATTERN", help="What alone is wanted; several times."),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Save each page in a file of its own."),
]
SourceOption = Annotated[
    str | None,
    typer.Option("--source", metavar="NAME", help="Where to look: auto (both), sitemap, or links."),
]
RedactQueryOption = Annotated[
    bool | None, typer.Option("--redact-query", help="Leave the queries of URLs out of it.")
]
ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config", metavar="FILE", help="Settings: TOML, or a scan.yml (default manners.toml)."
    ),
]
LogLevelOption = Annotated[
    str | None,
    typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning, error, or none."),
]
LogFormatOption = Annotated[
    str | None, typer.Option("--log-format", metavar="FORMAT", help="text or json.")
]
LogMatchesOption = Annotated[
    bool | None, typer.Option("--log-matches", help="Log every match, at level debug.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]


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
    """Something the command was given that it cannot work with."""


def refuse_live(options: dict[str, Any]) -> None:
    """Raise for an option about retrieving, where a robots.txt at hand was given."""
    for name, value in options.items():
        if value is not None:
            option = "--" + name.replace("_", "-")
            raise Unusable(f"nothing is retrieved with --robots: leave out {option}")


REFUSED = "a private or local address; --allow-private asks it all the same"


_BUILD = ("MANNERS_PURE", "MANNERS_CFLAGS")


def has_settings(**options: Any) -> bool:
    """Whether there is anything to load: an option, a file, a variable of the environment."""
    return (
        any(value is not None for value in options.values())
        or Path("manners.toml").is_file()
        or any(name.startswith("MANNERS_") and name not in _BUILD for name in os.environ)
    )


def load_settings(
    config: str | None = None,
    like: str | None = None,
    timeout: float | None = None,
    page_timeout: float | None = None,
    **options: Any,
) -> "Settings":
    """The settings in force, with what the options say; logs are set up as they say.

    `timeout` is for a robots.txt, `page_timeout` for a page.
    """
    from manners import logs
    from manners.settings import load

    for prefix, seconds in (("", timeout), ("page_", page_timeout)):
        if seconds is not None:
            if not 0 < seconds < math.inf:
                raise Unusable(f"--timeout is a number of seconds above 0, not {seconds:g}")
            names = (f"{prefix}{part}_timeout" for part in ("connect", "read", "total"))
            options |= dict.fromkeys(names, seconds)
    settings = load(config, options={"like": like} | options).settings
    logs.configure(settings.log_level, settings.log_format, settings.log_matches)
    return settings


def asked_agent(settings: "Settings") -> str:
    """Whom a question is about that fetches nothing: who is named, else everybody."""
    is_named = settings.agent is not None or settings.user_agent is not None
    return settings.identity.agent if is_named else WILDCARD


def say_whom(agents: list[str]) -> None:
    """Tell somebody who watches that a question is about everybody."""
    if agents == [WILDCARD] and sys.stderr.isatty():
        print("asked for the agent *, everybody; --agent NAME asks for a crawler", file=sys.stderr)


def open_cache(settings: "Settings") -> "AsyncRobotsCache":
    """The cache that retrieves as the settings say."""
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
"""Where commands that fetch keep evidence, unless they are told otherwise."""


def store_option(place: str) -> str:
    """What to type behind a command for it to use this store; nothing where it does anyway."""
    return "" if place == STORE else f" --store {shlex.quote(place)}"


def open_client(settings: "Settings") -> "AsyncClient":
    """The client that fetches as the settings say."""
    from manners.client import AsyncClient

    return AsyncClient(settings=settings, cache_entries=max(settings.cache_entries, _SITES))


_SITES = 10_000
"""Sites that a command remembers while it runs."""


def read_bytes(source: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    with open_input(source, "the robots.txt") as file:
        return file.read()


def all_urls(given: list[str], urls_from: str | None) -> Iterator[str]:
    """The URLs of the arguments, where `-` is standard input, and then those of a file."""
    more = None if urls_from is None else _open_urls(urls_from)  # now: it may not be there

    def each() -> Iterator[str]:
        for url in given:
            if url == "-":
                yield from read_urls(_open_urls("-"))
            else:
                yield with_scheme(url)
        if more is not None:
            with more:
                yield from read_urls(more)

    return each()


def read_urls(file: BinaryIO) -> Iterator[str]:
    """The URLs in an open list: one a line, as they come; `#` begins a comment line."""
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
    return open_input(source, "URLs, one a line,")


def open_input(source: str, what: str) -> BinaryIO:
    """A file, or standard input for `-`; somebody at a terminal is told what to type."""
    if source == "-":
        if sys.stdin is None:
            raise Unusable("standard input is closed")
        if sys.stdin.isatty():
            said = f"manners: reading {what} from standard input; Ctrl-D ends it"
            print(said, file=sys.stderr, flush=True)
        try:
            # A reader of its own: a thread that waits in Python's own one at exit is a fatal error.
            return open(sys.stdin.fileno(), "rb", closefd=False)
        except OSError:  # somebody has put something else in its place
            return sys.stdin.buffer
    try:
        file = Path(source).open("rb")  # noqa: SIM115 (who reads it closes it)
        file.peek(1)  # a folder opens, and does not read
    except OSError as error:
        raise Unusable(f"cannot read {source!r}: {error.strerror}") from None
    return file


def warn(message: str) -> None:
    """A line on standard error that does not change the exit code."""
    print(f"manners: warning: {message}", file=sys.stderr)


class Warnings:
    """Warnings about what sites say, and do not say: one for each robots.txt."""

    def __init__(self) -> None:
        self._about: set[str] = set()

    def about(self, verdict: Verdict) -> None:
        """Warn, if there is a reason to."""
        from manners.retrieval.outcome import Outcome

        if isinstance(verdict.retrieval, Outcome):
            self.say(verdict.retrieval.url, _warning(verdict, verdict.retrieval))

    def say(self, where: str, warning: str) -> None:
        """Warn about a place; not twice, and not without end."""
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
        return "longer than what was read of it"
    return advice(outcome)


def advice(outcome: "Outcome") -> str:
    """What whoever runs the command can do about a failure; empty where nothing can be done."""
    return REFUSED if outcome.note == "refused address" else outcome.advice

"""What the commands are given: options they share, robots.txt files, lists of URLs."""

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from manners.errors import MannersError
from manners.robots.dialects import get
from manners.robots.policy import Robots, parse

if TYPE_CHECKING:
    from manners.cache.robots import AsyncRobotsCache
    from manners.settings import Settings

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
        help="A dialect with the profile that goes with it: scanner, audit.",
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
UserAgentOption = Annotated[
    str | None,
    typer.Option("--user-agent", metavar="TEXT", help="What requests introduce themselves as."),
]
CacheOption = Annotated[
    str | None,
    typer.Option("--cache", metavar="FILE|URL", help="Where files are kept: a file, or valkey://…"),
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


REFUSED = "a private or local address; --allow-private asks it all the same"


_BUILD = ("MANNERS_PURE", "MANNERS_CFLAGS")


def has_settings(**options: Any) -> bool:
    """Whether there is anything to load: an option, a file, a variable of the environment."""
    return (
        any(value is not None for value in options.values())
        or Path("manners.toml").is_file()
        or any(name.startswith("MANNERS_") and name not in _BUILD for name in os.environ)
        or "USER_AGENT" in os.environ
    )


def load_settings(
    config: str | None = None, like: str | None = None, timeout: float | None = None, **options: Any
) -> "Settings":
    """The settings in force, with what the options say; logs are set up as they say."""
    from manners import logs
    from manners.settings import load

    if like is not None:  # what is said outright beats it
        for name, value in (("dialect", like), ("profile", get(like).profile)):
            if options.get(name) is None:
                options[name] = value
    if timeout is not None:
        if not 0 < timeout < math.inf:
            raise Unusable(f"--timeout is a number of seconds above 0, not {timeout:g}")
        options |= dict.fromkeys(("connect_timeout", "read_timeout", "total_timeout"), timeout)
    settings = load(config, options=options).settings
    logs.configure(settings.log_level, settings.log_format, settings.log_matches)
    return settings


def open_cache(settings: "Settings") -> "AsyncRobotsCache":
    """The cache that retrieves as the settings say."""
    from manners.cache.robots import AsyncRobotsCache, default_user_agent
    from manners.net.http import Http

    return AsyncRobotsCache(
        dialect=settings.dialect,
        profile=settings.retrieval,
        entries=max(settings.cache_entries, _SITES),
        store=settings.cache,
        http=Http(
            user_agent=settings.user_agent or default_user_agent(),
            allow_private=settings.allow_private,
            proxy=settings.proxy,
            ca_file=settings.ca_file,
        ),
    )


_SITES = 10_000
"""Sites that a command remembers while it runs."""


def read_bytes(source: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    with open_input(source) as file:
        return file.read()


def read_urls(file: BinaryIO) -> Iterator[str]:
    """The URLs in an open file: one a line, as they come."""
    for line in iter(file.readline, b""):
        if url := line.strip():
            yield url.decode("utf-8", "surrogateescape")


def open_input(source: str) -> BinaryIO:
    """A file, or standard input for `-`."""
    if source == "-":
        if sys.stdin is None:
            raise Unusable("standard input is closed")
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

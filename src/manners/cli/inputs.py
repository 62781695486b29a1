"""What the commands are given: options they share, robots.txt files, lists of URLs."""

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from manners.errors import MannersError
from manners.robots.dialects import DEFAULT, get
from manners.robots.policy import Robots, parse

if TYPE_CHECKING:
    from manners.cache.robots import AsyncRobotsCache

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
    bool,
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


def open_cache(  # noqa: PLR0913 (an argument is an option)
    *,
    dialect: str | None,
    profile: str | None,
    like: str | None,
    allow_private: bool,
    timeout: float | None,
    user_agent: str | None,
) -> "AsyncRobotsCache":
    """The cache that retrieves what the options ask for; what is said outright beats `--like`."""
    from manners.cache.robots import AsyncRobotsCache
    from manners.retrieval import profiles

    model = get(DEFAULT if like is None else like)
    read_as = model if dialect is None else get(dialect)
    chosen = profiles.get(model.profile if profile is None else profile)
    if timeout is not None:
        if not 0 < timeout < math.inf:
            raise Unusable(f"--timeout is a number of seconds above 0, not {timeout:g}")
        chosen = chosen.but(connect=timeout, read=timeout, total=timeout)
    if user_agent is not None and not (user_agent.isascii() and user_agent.isprintable()):
        raise Unusable("--user-agent is a line of printable ASCII")
    return AsyncRobotsCache(
        dialect=read_as,
        profile=chosen,
        user_agent=user_agent,
        allow_private=allow_private,
        entries=_SITES,
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

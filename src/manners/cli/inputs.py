"""What the commands are given: options they share, robots.txt files, lists of URLs."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from manners.robots.agents import product_token
from manners.robots.dialects import Dialect, get
from manners.robots.policy import Robots, parse

RobotsOption = Annotated[
    str, typer.Option("--robots", metavar="FILE|-", help="The robots.txt; - is standard input.")
]
DialectOption = Annotated[
    str, typer.Option("--dialect", metavar="NAME", help="How to read it; see `manners dialects`.")
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


def read_bytes(source: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    if source == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"cannot read {source!r}: {error.strerror}") from None


def read_urls(source: str) -> Iterator[str]:
    """The URLs in a file, or on standard input for `-`: one a line, as they come."""
    if source == "-":
        lines: Iterator[bytes] = iter(sys.stdin.buffer.readline, b"")
        yield from _urls(lines)
        return
    try:
        with Path(source).open("rb") as file:
            yield from _urls(file)
    except OSError as error:
        raise typer.BadParameter(f"cannot read {source!r}: {error.strerror}") from None


def _urls(lines: Iterator[bytes]) -> Iterator[str]:
    for line in lines:
        if url := line.strip():
            yield url.decode("utf-8", "surrogateescape")


def agent_name(agent: str, dialect: Dialect) -> str:
    """The agent as the dialect wants it: a header, or the token in it."""
    return product_token(agent) if dialect.token_from_header else agent


def warn(message: str) -> None:
    """A line on standard error that does not change the exit code."""
    print(f"manners: warning: {message}", file=sys.stderr)

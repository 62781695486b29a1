"""What the commands are given: options they share, robots.txt files, lists of URLs."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from manners.errors import MannersError
from manners.robots.dialects import get
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


class Unusable(MannersError):
    """Something the command was given that it cannot work with."""


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

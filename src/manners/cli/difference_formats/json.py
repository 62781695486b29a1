"""One JSON object for each comparison."""

from collections.abc import Iterator, Sequence

from manners.cli import render
from manners.cli.comparing import Comparison


def report(found: Sequence[Comparison]) -> Iterator[str]:
    """The names of what was compared, and what differs."""
    for comparison in found:
        yield render.as_json(comparison.to_dict())

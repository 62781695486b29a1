"""Options that choose records of evidence, and what their values mean."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from manners.cli import inputs
from manners.errors import UnknownName
from manners.urls import host

if TYPE_CHECKING:
    from manners.evidence.chain import AnchorHead, Head
    from manners.evidence.store import Filter

HostOption = Annotated[
    str | None, typer.Option("--host", metavar="NAME", help="Only records about this host.")
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only from then on: 2026-01-31, 2026-01-31T18:00, 2026-01-31T18:00+01:00 (else UTC).",
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME", help="Only before then; a date is its beginning."),
]
TypeOption = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        help="Only robots_allowed, blocked_by_robots, blocked_by_exclusion, usage_allowed or"
        " blocked_by_usage.",
    ),
]
AgentOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="TEXT", help="Only verdicts for this agent, as it was given."),
]


def parse_filter(
    name: str | None, since: str | None, until: str | None, kind: str | None, agent: str | None
) -> "Filter":
    """The filter that the options describe."""
    from manners.evidence.record import TYPES
    from manners.evidence.store import Filter

    if kind is not None and kind not in TYPES:
        raise UnknownName("type", kind, TYPES)
    return Filter(
        None if name is None else host(name if "://" in name else f"http://{name}/"),
        None if since is None else parse_time("--since", since),
        None if until is None else parse_time("--until", until),
        kind,
        agent,
    )


def parse_time(option: str, text: str) -> float:
    """Seconds since the epoch; a date is its beginning; UTC, unless it has an offset."""
    try:
        found = datetime.fromisoformat(text.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise inputs.Unusable(
            f"{option} is a date, or a date and a time, as in 2026-01-31 or 2026-01-31T18:00+01:00,"
            f" not {text[:100]!r}"
        ) from None


def parse_head(text: str) -> "Head | AnchorHead":
    """The head that `--head` names."""
    from manners.evidence import chain

    try:
        return chain.parse_head(text)
    except ValueError as error:
        raise inputs.Unusable(f"--head: {error}") from None


def parse_number(text: str) -> int:
    """The record that a user names: by its number, or by strand and place."""
    from manners.evidence import numbering

    try:
        number = numbering.parse_number(text)
    except ValueError as error:
        raise inputs.Unusable(f"ID: {error}") from None
    if number < 1:
        raise inputs.Unusable("ID: records are counted from 1")
    return number

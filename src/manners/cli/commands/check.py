"""`manners check`: may this agent fetch these URLs?"""

from collections.abc import Iterable, Iterator
from typing import Annotated, BinaryIO

import typer

from manners._text import printable
from manners.cli import inputs, render
from manners.robots.policy import Policy


def command(
    robots: inputs.RobotsOption,
    urls: Annotated[
        list[str] | None,
        typer.Argument(metavar="[URL]...", help="What to check; none, or -: standard input."),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="Whose verdict; may be given several times (default *).",
        ),
    ] = None,
    dialect: inputs.DialectOption = "rfc9309",
    urls_from: Annotated[
        str | None,
        typer.Option("--urls", metavar="FILE|-", help="A file of URLs, one a line."),
    ] = None,
    json: inputs.JsonOption = False,
) -> int:
    """Check URLs against a robots.txt: verdict, rule and line for each.

    Exit code 0 when all are allowed, 1 when one is not.
    """
    given = urls or ([] if urls_from is not None else ["-"])
    if robots == "-" and "-" in [*given, urls_from]:
        raise inputs.Unusable("standard input cannot hold both the robots.txt and the URLs")
    more = None if urls_from is None else inputs.open_input(urls_from)
    read = inputs.read_robots(robots, dialect)
    agents = agent or ["*"]
    policies = [read.policy(read.dialect.own_name(name)) for name in agents]
    wanted = _all_urls(given, more)
    if json:
        lines = _json(wanted, policies)
    elif len(policies) > 1:
        lines = _table(wanted, policies, agents)
    else:
        lines = _list(wanted, policies[0])
    all_allowed = True
    for line, allowed in lines:
        all_allowed &= allowed
        # Somebody may be waiting for the answer before asking the next question.
        print(line, flush=True)
    return 0 if all_allowed else 1


def _all_urls(given: list[str], more: BinaryIO | None) -> Iterator[str]:
    for url in given:
        if url == "-":
            yield from inputs.read_urls(inputs.open_input("-"))
        else:
            yield url
    if more is not None:
        with more:
            yield from inputs.read_urls(more)


def _list(urls: Iterable[str], policy: Policy) -> Iterator[tuple[str, bool]]:
    for url in urls:
        verdict = policy.check(url)
        yield render.verdict_line(verdict), verdict.allowed


def _json(urls: Iterable[str], policies: list[Policy]) -> Iterator[tuple[str, bool]]:
    """URL by URL, and for each URL agent by agent, in the order given."""
    for url in urls:
        for policy in policies:
            verdict = policy.check(url)
            yield render.as_json(verdict.to_dict()), verdict.allowed


def _table(
    urls: Iterable[str], policies: list[Policy], agents: list[str]
) -> Iterator[tuple[str, bool]]:
    """An agent a column, a URL a row; the URL last, because nobody knows how long it is."""
    shown = [printable(agent) for agent in agents]
    widths = [max(len(agent), len("disallowed, line 99999")) for agent in shown]
    header = "  ".join([*map(str.ljust, shown, widths), "URL"])
    yield render.styled(header, "bold"), True
    for url in urls:
        verdicts = [policy.check(url) for policy in policies]
        cells = [
            render.cell(verdict, True, width)
            for verdict, width in zip(verdicts, widths, strict=True)
        ]
        yield "  ".join([*cells, printable(url)]), all(verdicts)

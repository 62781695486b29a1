"""`manners check`: may this agent fetch these URLs?"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from manners._text import printable
from manners.cli import UNDECIDED, inputs, render
from manners.cli.options import (
    LOGS,
    RETRIEVAL,
    JsonOption,
    Options,
    RobotsOption,
    UrlsArgument,
    UrlsColumnOption,
    UrlsOption,
    takes,
)
from manners.errors import InvalidURL
from manners.robots.agents import WILDCARD
from manners.robots.dialects import DEFAULT
from manners.robots.policy import Policy
from manners.robots.verdict import Verdict
from manners.settings.fields import ROBOTS

if TYPE_CHECKING:
    from manners.cache.robots import AsyncRobotsCache
    from manners.exclusions import Overrides

Answers = Iterator[tuple[str, list[Verdict] | InvalidURL]]
"""For each URL the verdicts, one for each agent, or the error of an invalid URL."""


@takes(*RETRIEVAL, *LOGS)
def command(
    urls: UrlsArgument = None,
    robots: RobotsOption = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="The agent to check for (default *); repeatable.",
            rich_help_panel=ROBOTS,
        ),
    ] = None,
    urls_from: UrlsOption = None,
    urls_column: UrlsColumnOption = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Check URLs against their sites' robots.txt, or against a file.

    Prints the verdict, the rule and its line for each URL. Exit code 0 if all are allowed, 1 if one
    is disallowed, 3 if one could not be decided.
    """
    listed = inputs.UrlList.of(urls, urls_from, urls_column)
    if robots == "-" and listed.reads_input:
        raise inputs.Unusable("standard input cannot hold both the robots.txt and the URLs")
    wanted = listed.read()
    if robots is not None:
        options.refuse_retrieval()
        if not options.has_settings():  # then msgspec is not needed either
            agents, dialect = agent or [WILDCARD], options.values.get("dialect", DEFAULT)
            inputs.say_whom(agents)
            return _print(_by_file(wanted, robots, dialect, agents, None), agents, json)
    settings = options.load()
    agents, overrides = agent or [inputs.asked_agent(settings)], settings.overrides
    inputs.say_whom(agents)
    if robots is not None:
        return _print(_by_file(wanted, robots, settings.dialect, agents, overrides), agents, json)
    from manners._portal import portal

    retrieving = inputs.open_cache(settings)
    try:
        return _print(_live(wanted, retrieving, agents, overrides), agents, json)
    finally:
        portal.run(retrieving.close())


def _by_file(
    urls: Iterable[str], robots: str, dialect: str, agents: list[str], overrides: "Overrides | None"
) -> Answers:
    """Answers from one file for all URLs."""
    read = inputs.read_robots(robots, dialect)
    policies = [read.policy(read.dialect.own_name(name)) for name in agents]
    return ((url, _decide(url, overrides, policies)) for url in urls)


def _decide(url: str, overrides: "Overrides | None", policies: list[Policy]) -> list[Verdict]:
    excluded = overrides.excludes(url) if overrides else None
    if excluded is not None:
        return [excluded] * len(policies)
    verdicts = [policy.check(url) for policy in policies]
    if overrides:
        _log(verdicts)
    return verdicts


def _live(
    urls: Iterable[str], cache: "AsyncRobotsCache", agents: list[str], overrides: "Overrides"
) -> Answers:
    """Answers from the robots.txt of each URL's site."""
    from manners.cli.live import sites

    warnings = inputs.Warnings()
    for url, site in sites(urls, cache, overrides, render.Progress()):
        if isinstance(site, InvalidURL):
            yield url, site
            continue
        if isinstance(site, Verdict):
            yield url, [site] * len(agents)
            continue
        verdicts = [site.check(url, agent) for agent in agents]
        _log(verdicts)
        warnings.about(verdicts[0])
        yield url, verdicts


def _log(verdicts: list[Verdict]) -> None:
    from manners import logs

    for verdict in verdicts:
        logs.matched(verdict)


def _print(answers: Answers, agents: list[str], json: bool) -> int:
    undecided = disallowed = False
    show: Callable[[str, list[Verdict] | InvalidURL], str]
    if json:
        show = _as_json
    elif len(agents) > 1:
        # One column per agent, one row per URL; the URL is last, as it may be long.
        shown = [printable(agent) for agent in agents]
        widths = [max(len(agent), len("disallowed, line 99999")) for agent in shown]
        print(render.styled("  ".join([*map(str.ljust, shown, widths), "URL"]), "bold"), flush=True)

        def show(url: str, answer: list[Verdict] | InvalidURL) -> str:
            return _row(url, answer, widths)
    else:
        show = _line
    for url, answer in answers:
        if isinstance(answer, InvalidURL):
            undecided = True
        else:
            disallowed |= not all(answer)
        # A program may wait for the answer before it sends the next URL.
        print(show(url, answer), flush=True)
    return UNDECIDED if undecided else int(disallowed)


def _line(_: str, answer: list[Verdict] | InvalidURL) -> str:
    if isinstance(answer, InvalidURL):
        return render.invalid_line(answer)
    return render.verdict_line(answer[0])


def _row(url: str, answer: list[Verdict] | InvalidURL, widths: list[int]) -> str:
    if isinstance(answer, InvalidURL):
        cells = [render.styled("invalid-url".ljust(width), "yellow") for width in widths]
    else:
        cells = [
            render.cell(verdict, True, width) for verdict, width in zip(answer, widths, strict=True)
        ]
    return "  ".join([*cells, printable(url)])


def _as_json(_: str, answer: list[Verdict] | InvalidURL) -> str:
    """URL by URL, and for each URL agent by agent, in the order given."""
    if isinstance(answer, InvalidURL):
        return render.as_json(render.invalid_dict(answer))
    return "\n".join(render.as_json(verdict.to_dict()) for verdict in answer)

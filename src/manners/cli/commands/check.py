"""`manners check`: may this agent fetch these URLs?"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from manners._text import cut, printable
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
    from manners.cache.versions import Version
    from manners.cli.history import NotKnownThen, SitesThen
    from manners.exclusions import Overrides
    from manners.settings import Settings

_LONGEST = 2_000
"""Characters of a URL that is not decided."""


class Answer(NamedTuple):
    """What is known about a URL."""

    url: str
    verdicts: list[Verdict]
    """One for each agent; none if there is a problem."""
    problem: "InvalidURL | NotKnownThen | None" = None
    version: "Version | None" = None
    """The robots.txt of an earlier time that decided."""


Answers = Iterator[Answer]


@takes(*RETRIEVAL, "store", *LOGS)
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
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="TIME",
            help="The verdict that held then, by the cache and the store: 2026-01-31, or"
            " 2026-01-31T18:00 (UTC). No request is made.",
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
    is disallowed, 3 if one could not be decided, or with --at, is not known.
    """
    _refuse(robots, at, options)
    listed = inputs.UrlList.of(urls, urls_from, urls_column)
    if robots == "-" and listed.reads_input:
        raise inputs.Unusable("standard input cannot hold both the robots.txt and the URLs")
    wanted = listed.read()
    if robots is not None:
        options.refuse_retrieval("--robots", "dialect")
        if not options.has_settings():  # then msgspec is not needed either
            agents, dialect = agent or [WILDCARD], options.values.get("dialect", DEFAULT)
            inputs.say_whom(agents)
            return _print(_by_file(wanted, robots, dialect, agents, None), agents, json)
    settings = options.load()
    agents, overrides = agent or [inputs.asked_agent(settings)], settings.overrides
    inputs.say_whom(agents)
    if robots is not None:
        return _print(_by_file(wanted, robots, settings.dialect, agents, overrides), agents, json)
    if at is not None:
        return _print_past(wanted, at, settings, agents, json)
    from manners._portal import portal

    retrieving = inputs.open_cache(settings)
    try:
        return _print(_live(wanted, retrieving, agents, overrides), agents, json)
    finally:
        portal.run(retrieving.close())


def _refuse(robots: str | None, at: str | None, options: Options) -> None:
    """Raise for options that do not go together."""
    if at is not None:
        if robots is not None:
            raise inputs.Unusable("--robots and --at contradict each other: which file counts?")
        options.refuse_retrieval("--at", "dialect", "profile", "like", "user_agent", "cache")
    elif "store" in options.values:
        raise inputs.Unusable("--store is for --at: add that, or leave it out")


def _by_file(
    urls: Iterable[str], robots: str, dialect: str, agents: list[str], overrides: "Overrides | None"
) -> Answers:
    """Answers from one file for all URLs."""
    read = inputs.read_robots(robots, dialect)
    policies = [read.policy(read.dialect.own_name(name)) for name in agents]
    return (Answer(url, _decide(url, overrides, policies)) for url in urls)


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
            yield Answer(url, [], site)
            continue
        if isinstance(site, Verdict):
            yield Answer(url, [site] * len(agents))
            continue
        verdicts = [site.check(url, agent) for agent in agents]
        _log(verdicts)
        warnings.about(verdicts[0])
        yield Answer(url, verdicts)


def _print_past(
    urls: Iterable[str], at: str, settings: "Settings", agents: list[str], json: bool
) -> int:
    from manners.cli import history, linting

    moment = history.parse_moment(at)
    try:
        with history.open_histories(settings) as histories:
            sites = history.SitesThen(histories, moment, settings)
            return _print(_past(urls, sites, agents, settings.overrides), agents, json)
    except linting.UnreadFile as error:
        linting.complain(error)
        return UNDECIDED


def _past(
    urls: Iterable[str], sites: "SitesThen", agents: list[str], overrides: "Overrides"
) -> Answers:
    """Answers from the robots.txt that each URL's site had at a time."""
    from manners.cli.history import NotKnownThen

    for url in urls:
        try:
            excluded = overrides.check(url)
            if excluded is not None:
                yield Answer(url, [excluded] * len(agents))
                continue
            site, version = sites.get(url)
        except (InvalidURL, NotKnownThen) as problem:
            yield Answer(url, [], problem)
            continue
        verdicts = [site.check(url, agent) for agent in agents]
        _log(verdicts)
        yield Answer(url, verdicts, version=version)


def _log(verdicts: list[Verdict]) -> None:
    from manners import logs

    for verdict in verdicts:
        logs.matched(verdict)


def _print(answers: Answers, agents: list[str], json: bool) -> int:
    undecided = disallowed = False
    show: Callable[[Answer], str]
    if json:
        show = _as_json
    elif len(agents) > 1:
        # One column per agent, one row per URL; the URL is last, as it may be long.
        shown = [printable(agent) for agent in agents]
        widths = [max(len(agent), len("disallowed, line 99999")) for agent in shown]
        print(render.styled("  ".join([*map(str.ljust, shown, widths), "URL"]), "bold"), flush=True)

        def show(answer: Answer) -> str:
            return _row(answer, widths)
    else:
        show = _line
    for answer in answers:
        undecided |= answer.problem is not None
        disallowed |= not all(answer.verdicts)
        # A program may wait for the answer before it sends the next URL.
        print(show(answer), flush=True)
    return UNDECIDED if undecided else int(disallowed)


def _line(answer: Answer) -> str:
    problem = answer.problem
    if isinstance(problem, InvalidURL):
        return render.invalid_line(problem)
    if problem is not None:
        url = printable(cut(answer.url, _LONGEST))
        return f"{render.styled('not-known ', 'yellow')}  {url}  {printable(problem.known)}"
    return render.verdict_line(answer.verdicts[0]) + _seen(answer)


def _row(answer: Answer, widths: list[int]) -> str:
    if answer.problem is not None:
        word = "invalid-url" if isinstance(answer.problem, InvalidURL) else "not-known"
        cells = [render.styled(word.ljust(width), "yellow") for width in widths]
    else:
        cells = [
            render.cell(verdict, True, width)
            for verdict, width in zip(answer.verdicts, widths, strict=True)
        ]
    return "  ".join([*cells, printable(answer.url)]) + _seen(answer)


def _seen(answer: Answer) -> str:
    """When the robots.txt that decided was seen, if that was not just now."""
    if answer.version is None:
        return ""
    from manners.cli.history import utc

    first, last = utc(answer.version.first), utc(answer.version.last)
    return render.styled(f"; seen {first} to {last}", "dim")


def _as_json(answer: Answer) -> str:
    """URL by URL, and for each URL agent by agent, in the order given."""
    problem = answer.problem
    if isinstance(problem, InvalidURL):
        return render.as_json(render.invalid_dict(problem))
    if problem is not None:
        return render.as_json(problem.to_dict(answer.url))
    version = {"version": answer.version.to_dict()} if answer.version else {}
    return "\n".join(render.as_json(verdict.to_dict() | version) for verdict in answer.verdicts)

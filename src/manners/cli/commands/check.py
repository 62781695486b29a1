"""`manners check`: may this agent fetch these URLs?"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manners._text import printable
from manners.cli import UNDECIDED, inputs, render
from manners.errors import InvalidURL
from manners.robots.agents import WILDCARD
from manners.robots.dialects import DEFAULT
from manners.robots.policy import Policy
from manners.robots.verdict import Verdict

if TYPE_CHECKING:
    from manners.cache.robots import AsyncRobotsCache
    from manners.exclusions import Rulings

Answers = Iterator[tuple[str, list[Verdict] | InvalidURL]]
"""For each URL the verdicts, one for each agent, or what is wrong about it."""


def command(
    urls: inputs.UrlsArgument = None,
    robots: inputs.LiveRobotsOption = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="Whose verdict; may be given several times (default *).",
        ),
    ] = None,
    dialect: inputs.LiveDialectOption = None,
    profile: inputs.ProfileOption = None,
    like: inputs.LikeOption = None,
    urls_from: inputs.UrlsOption = None,
    allow_private: inputs.AllowPrivateOption = None,
    timeout: inputs.TimeoutOption = None,
    user_agent: inputs.UserAgentOption = None,
    cache: inputs.CacheOption = None,
    config: inputs.ConfigOption = None,
    log_level: inputs.LogLevelOption = None,
    log_format: inputs.LogFormatOption = None,
    log_matches: inputs.LogMatchesOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Check URLs against their sites' robots.txt, or against one at hand.

    Verdict, rule and line for each. Exit code 0 when all are allowed, 1 when one is not, 3 when
    one could not be decided.
    """
    given = urls or ([] if urls_from is not None else ["-"])
    if robots == "-" and "-" in [*given, urls_from]:
        raise inputs.Unusable("standard input cannot hold both the robots.txt and the URLs")
    wanted = inputs.all_urls(given, urls_from)
    live: dict[str, Any] = {
        "profile": profile,
        "like": like,
        "allow_private": allow_private,
        "timeout": timeout,
        "user_agent": user_agent,
        "cache": cache,
    }
    others: dict[str, Any] = {
        "config": config,
        "log_level": log_level,
        "log_format": log_format,
        "log_matches": log_matches,
    }
    if robots is not None:
        inputs.refuse_live(live)
        if not inputs.has_settings(**others):  # then the settings' library is not needed either
            agents = agent or [WILDCARD]
            inputs.say_whom(agents)
            read_as = DEFAULT if dialect is None else dialect
            return _print(_at_hand(wanted, robots, read_as, agents, None), agents, json)
    settings = inputs.load_settings(dialect=dialect, **live, **others)
    agents, rulings = agent or [inputs.asked_agent(settings)], settings.rulings
    inputs.say_whom(agents)
    if robots is not None:
        answers = _at_hand(wanted, robots, settings.dialect, agents, rulings)
        return _print(answers, agents, json)
    from manners._portal import portal

    retrieving = inputs.open_cache(settings)
    try:
        return _print(_live(wanted, retrieving, agents, rulings), agents, json)
    finally:
        portal.run(retrieving.close())


def _at_hand(
    urls: Iterable[str], robots: str, dialect: str, agents: list[str], rulings: "Rulings | None"
) -> Answers:
    """Answers by one file for all URLs."""
    read = inputs.read_robots(robots, dialect)
    policies = [read.policy(read.dialect.own_name(name)) for name in agents]
    return ((url, _decide(url, rulings, policies)) for url in urls)


def _decide(url: str, rulings: "Rulings | None", policies: list[Policy]) -> list[Verdict]:
    excluded = rulings.excludes(url) if rulings else None
    if excluded is not None:
        return [excluded] * len(policies)
    verdicts = [policy.check(url) for policy in policies]
    if rulings:
        _log(verdicts)
    return verdicts


def _live(
    urls: Iterable[str], cache: "AsyncRobotsCache", agents: list[str], rulings: "Rulings"
) -> Answers:
    """Answers by the file of each URL's own site."""
    from manners.cli.live import sites

    warnings = inputs.Warnings()
    for url, site in sites(urls, cache, rulings, render.Progress()):
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
        # An agent a column, a URL a row; the URL last, because nobody knows how long it is.
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
        # Somebody may be waiting for the answer before asking the next question.
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

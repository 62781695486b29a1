"""`manners explain`: how a verdict was reached, step by step."""

from typing import TYPE_CHECKING, Annotated

import typer

from manners._text import count, printable
from manners.cli import inputs, render
from manners.cli.options import RETRIEVAL, JsonOption, Options, RobotsOption, UrlArgument, takes
from manners.robots.dialects import DEFAULT
from manners.robots.lines import Line, read_lines
from manners.robots.policy import Policy, Robots
from manners.robots.verdict import Reason, Verdict
from manners.settings.fields import ROBOTS
from manners.tester.choosing import why

if TYPE_CHECKING:
    from manners.retrieval.outcome import Outcome

_WITHOUT_A_FILE = (Reason.UNAVAILABLE, Reason.UNREACHABLE, Reason.TOO_LARGE)
"""Reasons that decide every URL of a site alike, whatever the robots.txt says."""


@takes(*RETRIEVAL, "log_level", "log_format")
def command(
    url: UrlArgument,
    robots: RobotsOption = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="The agent to check for (default *); repeat it for its other names.",
            rich_help_panel=ROBOTS,
        ),
    ] = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Explain a verdict: the file as read, the groups, every matching rule, the winner.

    Without --robots, the site's robots.txt is retrieved. Exit code 0 if the URL is allowed, 1 if it
    is disallowed.
    """
    if robots is not None:
        options.refuse_retrieval("--robots", "dialect")
        if not options.has_settings():  # then msgspec is not needed either
            dialect = options.values.get("dialect", DEFAULT)
            return _by_file(url, robots, dialect, agent or ["*"], json)
    settings = options.load()
    names, overrides = agent or [inputs.asked_agent(settings)], settings.overrides
    ruled = overrides.check(url) if robots is None else overrides.excludes(url)
    if ruled is not None:  # robots.txt has no say
        print(render.as_json({"verdict": ruled.to_dict()}) if json else _verdict(ruled))
        return 0 if ruled else 1
    if robots is not None:
        return _by_file(url, robots, settings.dialect, names, json)
    from manners._portal import portal

    retrieving = inputs.open_cache(settings)
    try:
        site = portal.run(retrieving.get(url))
    finally:
        portal.run(retrieving.close())
    if not json:
        _print_retrieval(site.outcome)
    verdict = site.check(url, names)
    inputs.Warnings().about(verdict)
    return _explain(_policy(site.robots, names), verdict, site.outcome.url, json)


def _by_file(url: str, source: str, dialect: str, agents: list[str], json: bool) -> int:
    policy = _policy(inputs.read_robots(source, dialect), agents)
    shown = "standard input" if source == "-" else source
    return _explain(policy, policy.check(url), shown, json)


def _policy(robots: Robots, agents: list[str]) -> Policy:
    return robots.policy(robots.dialect.own_name(agents))


def _explain(policy: Policy, verdict: Verdict, source: str, json: bool) -> int:
    robots = policy.robots
    lines = list(read_lines(robots.body, robots.dialect, robots.url))
    if json:
        print(render.as_json(_as_dict(policy, verdict, lines)))
    else:
        if verdict.reason not in _WITHOUT_A_FILE:
            _print_file(source, robots, lines)
            _print_groups(policy)
            _print_rules(policy, verdict)
            print()
        print(_verdict(verdict))
    return 0 if verdict else 1


def _verdict(verdict: Verdict) -> str:
    return f"{render.styled('VERDICT', 'bold')}\n  {render.verdict_line(verdict)}"


def _print_retrieval(outcome: "Outcome") -> None:
    print(render.styled("RETRIEVAL", "bold"), f"{printable(outcome.url)}: {outcome},", end=" ")
    print(f"profile {outcome.profile}")
    for hop in outcome.hops:
        print(f"  {hop.status or printable(hop.cause)}  {printable(hop.url)}")
    print()


def _print_file(source: str, robots: Robots, lines: list[Line]) -> None:
    size = count(len(robots.body), "byte")
    print(render.styled("FILE", "bold"), f"{printable(source)}, {size},", end=" ")
    print(f"dialect {robots.dialect.name}{', cut at the size limit' if robots.truncated else ''}")
    width = len(str(len(lines)))
    for line in lines:
        problems = f"   <- {', '.join(line.problems)}" if line.problems else ""
        text = f"  {line.number:>{width}}  {printable(line.text)}".rstrip()
        print(text + render.styled(problems, "yellow"))


def _print_groups(policy: Policy) -> None:
    names = ", ".join(printable(name) for name in policy.agents)
    print(f"\n{render.styled('GROUPS', 'bold')} for {names}")
    chosen = {group.line for group in policy.choice.groups}
    for group in policy.robots.groups:
        agents = ", ".join(printable(agent) for agent in group.agents)
        rules = count(len(group.rules), "rule")
        taken = group.line in chosen
        reason = why(group, policy)
        print(f"{'>' if taken else ' '} line {group.line}: {agents} ({rules}): {reason}")
    if not chosen:
        print("  no group is for this agent, and none is for everybody")


def _print_rules(policy: Policy, verdict: Verdict) -> None:
    print(f"\n{render.styled('PATH', 'bold')} as matched: {printable(verdict.path)}")
    print(f"\n{render.styled('RULES', 'bold')} that match, best first")
    matching = policy.matching(verdict.url)
    for place, rule in enumerate(matching, 1):
        mark = ">" if rule == verdict.rule else " "
        kind = "Allow" if rule.allow else "Disallow"
        print(f"{mark} {place}. line {rule.line}: {kind}: {printable(rule.pattern)}")
    if not matching:
        print("  none")


def _as_dict(policy: Policy, verdict: Verdict, lines: list[Line]) -> dict[str, object]:
    chosen = {group.line for group in policy.choice.groups}
    return {
        "verdict": verdict.to_dict(),
        "lines": [line._asdict() for line in lines],
        "groups": [
            {"line": group.line, "agents": group.agents, "chosen": group.line in chosen}
            for group in policy.robots.groups
        ],
        "matching": [rule._asdict() for rule in policy.matching(verdict.url)],
    }

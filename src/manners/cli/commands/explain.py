"""`manners explain`: how a verdict comes about, step by step."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from manners._text import count, printable
from manners.cli import inputs, render
from manners.robots.dialects import DEFAULT
from manners.robots.groups import Group
from manners.robots.lines import Line, read_lines
from manners.robots.policy import Policy, Robots
from manners.robots.verdict import Reason, Verdict
from manners.urls import with_scheme

if TYPE_CHECKING:
    from manners.retrieval.outcome import Outcome

_WITHOUT_A_FILE = (Reason.UNAVAILABLE, Reason.UNREACHABLE, Reason.TOO_LARGE)
"""What is decided for every URL of a site alike, whatever its robots.txt says."""
_WHY = {
    3: "names the agent",
    2: "names the agent by a pattern or in part",
    1: "is for everybody, and no group names the agent",
}


def command(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="What to explain: a URL or a bare domain.", callback=with_scheme
        ),
    ],
    robots: inputs.LiveRobotsOption = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="Whose verdict (default *); several are the names of one agent.",
        ),
    ] = None,
    dialect: inputs.LiveDialectOption = None,
    profile: inputs.ProfileOption = None,
    like: inputs.LikeOption = None,
    allow_private: inputs.AllowPrivateOption = None,
    timeout: inputs.TimeoutOption = None,
    user_agent: inputs.UserAgentOption = None,
    cache: inputs.CacheOption = None,
    config: inputs.ConfigOption = None,
    log_level: inputs.LogLevelOption = None,
    log_format: inputs.LogFormatOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Explain a verdict: the file as read, the groups, every rule that matches, the winner.

    Without --robots, the site's own robots.txt is retrieved. Exit code 0 when the URL is allowed, 1
    when it is not.
    """
    live: dict[str, Any] = {
        "profile": profile,
        "like": like,
        "allow_private": allow_private,
        "timeout": timeout,
        "user_agent": user_agent,
        "cache": cache,
    }
    others: dict[str, Any] = {"config": config, "log_level": log_level, "log_format": log_format}
    if robots is not None:
        inputs.refuse_live(live)
        if not inputs.has_settings(**others):  # then the settings' library is not needed either
            return _at_hand(url, robots, dialect or DEFAULT, agent or ["*"], json)
    settings = inputs.load_settings(dialect=dialect, **live, **others)
    names, rulings = agent or [inputs.asked_agent(settings)], settings.rulings
    ruled = rulings.check(url) if robots is None else rulings.excludes(url)
    if ruled is not None:  # before any site, or file, is asked
        print(render.as_json({"verdict": ruled.to_dict()}) if json else _verdict(ruled))
        return 0 if ruled else 1
    if robots is not None:
        return _at_hand(url, robots, settings.dialect, names, json)
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


def _at_hand(url: str, source: str, dialect: str, agents: list[str], json: bool) -> int:
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
    choice = policy.choice
    chosen = {group.line for group in choice.groups}
    for group in policy.robots.groups:
        agents = ", ".join(printable(agent) for agent in group.agents)
        rules = count(len(group.rules), "rule")
        taken = group.line in chosen
        why = f"chosen: it {_WHY[choice.specificity]}" if taken else _why_not(group, policy)
        print(f"{'>' if taken else ' '} line {group.line}: {agents} ({rules}): {why}")
    if not chosen:
        print("  no group is for this agent, and none is for everybody")


def _why_not(group: Group, policy: Policy) -> str:
    dialect = policy.robots.dialect
    keys = {dialect.agent_key(agent) for agent in group.agents}
    if keys & {dialect.own_key(agent) for agent in policy.agents} - {None}:
        return "passed: it names the agent, but has no rules"
    return "passed: a group names the agent" if "*" in keys else "passed: it is for others"


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

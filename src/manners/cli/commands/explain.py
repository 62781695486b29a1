"""`manners explain`: how a verdict comes about, step by step."""

from typing import Annotated

import typer

from manners._text import printable
from manners.cli import inputs, render
from manners.robots.groups import Group
from manners.robots.lines import Line, read_lines
from manners.robots.policy import Policy, Robots
from manners.robots.verdict import Verdict

_WHY = {
    3: "names the agent",
    2: "names the agent by a pattern or in part",
    1: "is for everybody, and no group names the agent",
}


def command(
    url: Annotated[str, typer.Argument(metavar="URL", help="What to explain.")],
    robots: inputs.RobotsOption,
    agent: Annotated[
        str, typer.Option("--agent", metavar="NAME", help="Whose verdict (default *).")
    ] = "*",
    dialect: inputs.DialectOption = "rfc9309",
    json: inputs.JsonOption = False,
) -> int:
    """Explain a verdict: the file as read, the groups, every rule that matches, the winner."""
    read = inputs.read_robots(robots, dialect)
    policy = read.policy(read.dialect.own_name(agent))
    verdict = policy.check(url)
    lines = list(read_lines(read.body, read.dialect, read.url))
    if json:
        print(render.as_json(_as_dict(policy, verdict, lines)))
    else:
        _print_file(robots, read, lines)
        _print_groups(policy)
        _print_rules(policy, verdict)
        print(f"\n{render.styled('VERDICT', 'bold')}\n  {render.verdict_line(verdict)}")
    return 0 if verdict else 1


def _print_file(source: str, robots: Robots, lines: list[Line]) -> None:
    shown = "standard input" if source == "-" else printable(source)
    print(render.styled("FILE", "bold"), f"{shown}, {len(robots.body)} bytes,", end=" ")
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
        rules = f"{len(group.rules)} rule{'' if len(group.rules) == 1 else 's'}"
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

"""Why a group is for an agent, or is not, in words. Quiet."""

from manners.robots.groups import Group
from manners.robots.policy import Policy

_WHY = {
    3: "names the agent",
    2: "names the agent by a pattern or in part",
    1: "is for everybody, and no group names the agent",
}


def why(group: Group, policy: Policy) -> str:
    """Why a group of a file is for the agent of a policy, or is not.

    >>> from manners import parse
    >>> file = parse("User-agent: *\\nDisallow: /a\\n\\nUser-agent: MyBot\\nDisallow: /b")
    >>> [why(group, file.policy("MyBot")) for group in file.groups]
    ['skipped: another group names the agent', 'chosen: it names the agent']
    """
    choice = policy.choice
    if any(group.line == chosen.line for chosen in choice.groups):
        return f"chosen: it {_WHY[choice.specificity]}"
    dialect = policy.robots.dialect
    keys = {dialect.agent_key(agent) for agent in group.agents}
    if keys & {dialect.own_key(agent) for agent in policy.agents} - {None}:
        return "skipped: it names the agent, but has no rules"
    return (
        "skipped: another group names the agent"
        if "*" in keys
        else "skipped: it is for other agents"
    )

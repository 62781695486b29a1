"""What a whole robots.txt says about usage to one agent: nothing, the same for all, or by path."""

from collections.abc import Iterable, Sequence

from manners.robots.agents import product_token
from manners.robots.policy import Policy
from manners.signals.readers.content_usage import usage_rule
from manners.signals.robots_lines import RULE_KEYS, AgentLines
from manners.signals.tokens import POLICY_TOKENS, PolicyToken


class SiteSignals:
    """Whether a robots.txt says anything about usage to an agent, and whether paths decide.

    A licence that it announces says nothing by itself.

    >>> from manners import parse
    >>> robots = parse("User-agent: *\\nContent-Usage: /a train-ai=n")
    >>> found = SiteSignals(robots.policy("MyBot"), governing_tokens("MyBot"))
    >>> found.speaks, found.is_by_path
    (True, True)
    """

    def __init__(self, policy: Policy, tokens: frozenset[str]) -> None:
        agent_lines = AgentLines(policy)
        # A Content-Signal line outside any group is for everybody.
        lines = agent_lines.of(*RULE_KEYS) + agent_lines.outside("content-signal")
        names = (name for group in policy.robots.groups for name in group.agents)
        has_token = bool(tokens) and any(product_token(name).lower() in tokens for name in names)
        self.speaks = has_token or bool(lines)
        self.is_by_path = has_token or any(
            line.key.endswith("aitraining")
            or (line.key == "content-usage" and usage_rule(line.value).path != "")
            for line in lines
        )


def governing_tokens(
    agent: str | Sequence[str], policy_tokens: Iterable[PolicyToken] = POLICY_TOKENS
) -> frozenset[str]:
    """The policy tokens that govern the uses of an agent, in lower case.

    >>> sorted(governing_tokens("Googlebot/2.1"))
    ['google-extended']
    """
    given = (agent,) if isinstance(agent, str) else agent
    names = {product_token(name).lower() for name in given}
    found = set()
    for token in policy_tokens:
        crawlers = {name.lower() for name in (token.token, *token.crawlers)}
        if "*" in crawlers or not crawlers.isdisjoint(names):
            found.add(token.token.lower())
    return frozenset(found)


def may_speak(body: bytes, tokens: frozenset[str]) -> bool:
    """Whether a file in UTF-8 has one of the words that a signal needs.

    >>> may_speak(b"Content-Signal: search=yes", frozenset()), may_speak(b"Allow: /", frozenset())
    (True, False)
    """
    lowered = body.lower()
    return any(word.encode() in lowered for word in (*RULE_KEYS, *tokens))

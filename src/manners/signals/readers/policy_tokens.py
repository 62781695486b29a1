"""Policy tokens: groups of robots.txt that speak of a use, such as Google-Extended.

Only a group that names the token counts: whether `*` speaks for it is open, and would make every
closed site a refusal of training. A path that is not disallowed is no grant.
"""

from manners.signals import tokens
from manners.signals.claims import Citation, SignalFindings
from manners.signals.material import Material

EDITIONS = tokens.EDITIONS


def read(material: Material, findings: SignalFindings) -> None:
    """The tokens that govern the agent's uses."""
    if material.policy is None:
        return
    robots = material.policy.robots
    for token in material.policy_tokens:
        crawlers = {name.lower() for name in (token.token, *token.crawlers)}
        if "*" not in crawlers and material.tokens.isdisjoint(crawlers):
            continue
        verdict = robots.check(material.url, agent=token.token)
        if verdict.allowed or verdict.specificity < 2 or verdict.rule is None:
            continue
        rule = verdict.rule
        citation = Citation(
            "robots.txt", material.robots_url, rule.text, rule.line, verdict.agent, rule.pattern
        )
        for purpose in token.purposes:
            findings.claim(purpose, "no", citation)

"""One cell: why this agent may or may not fetch this URL, rule by rule and engine by engine."""

from typing import Any

from manners.robots import dialects
from manners.robots.policy import Policy
from manners.tester.answers.engines import comparable
from manners.tester.answers.verdicts import cell
from manners.tester.choosing import why
from manners.tester.question import Question

MAX_LISTED = 200
"""Rules and groups that are listed."""


def answer(question: Question) -> dict[str, Any]:
    """Every rule that matches, the deciding one first; the groups; what each engine says."""
    agent, url = question.only("agents"), question.only("urls")
    policy = question.policy(agent)
    verdict = policy.check(url)
    matching = policy.matching(url)
    return {
        "agent": agent,
        "url": url,
        "path": verdict.path,
        **cell(verdict),
        "sentence": str(verdict),
        "rules": [
            {
                "line": rule.line,
                "allow": rule.allow,
                "pattern": rule.pattern,
                "decides": rule == verdict.rule,
            }
            for rule in matching[:MAX_LISTED]
        ],
        "rule_count": len(matching),
        "groups": _groups(policy),
        "engines": [_engine(question, name, agent, url) for name in dialects.names()],
    }


def _groups(policy: Policy) -> list[dict[str, Any]]:
    """The groups that were chosen, then others, each with the reason."""
    chosen = {group.line for group in policy.choice.groups}
    groups = sorted(policy.robots.groups, key=lambda group: group.line not in chosen)
    return [
        {
            "line": group.line,
            "agents": list(group.agents[:MAX_LISTED]),
            "chosen": group.line in chosen,
            "why": why(group, policy),
        }
        for group in groups[:MAX_LISTED]
    ]


def _engine(question: Question, name: str, agent: str, url: str) -> dict[str, Any]:
    dialect = dialects.get(name)
    verdict = question.policy(agent, question.parsed(comparable(dialect))).check(url)
    return {"dialect": name, "summary": dialect.summary, **cell(verdict)}

"""The file as a whole: its groups and sitemaps, and what it asks of each agent."""

from typing import Any

from manners._text import duration
from manners.robots.policy import Policy, Robots
from manners.tester.question import Question

MAX_LISTED = 300
"""Groups, their agents, and sitemaps that are listed; their number is always told."""


def answer(question: Question) -> dict[str, Any]:
    """For each agent its groups and pace; all groups; all sitemaps."""
    robots = question.parsed()
    sitemaps = robots.sitemaps
    return {
        "agents": [_agent(agent, question.policy(agent, robots)) for agent in question.agents],
        "groups": _groups(robots),
        "group_count": len(robots.groups),
        "sitemaps": [sitemap._asdict() for sitemap in sitemaps[:MAX_LISTED]],
        "sitemap_count": len(sitemaps),
    }


def _agent(agent: str, policy: Policy) -> dict[str, Any]:
    """What a file says for an agent, whatever the URL."""
    choice = policy.choice
    rate, hours = policy.request_rate, policy.visit_time
    return {
        "agent": agent,
        "group": choice.agent,
        "specificity": choice.specificity,
        "lines": [group.line for group in choice.groups[:MAX_LISTED]],
        "rules": len(policy.rules),
        "crawl_delay": policy.crawl_delay,
        "request_rate": rate and f"{rate.requests} in {duration(rate.seconds)}",
        "visit_time": hours and f"{hours.start:%H:%M}–{hours.end:%H:%M} UTC",
    }


def _groups(robots: Robots) -> list[dict[str, Any]]:
    return [
        {
            "agents": list(group.agents[:MAX_LISTED]),
            "line": group.line,
            "allows": len(group.allows),
            "disallows": len(group.disallows),
        }
        for group in robots.groups[:MAX_LISTED]
    ]

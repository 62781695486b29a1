"""Two files: what the change does, to whom, proved for every URL; and the lines that decide."""

from typing import Any

from manners.lint.difference import (
    AgentChange,
    RobotsDifference,
    count_urls,
    difference,
    witness_dict,
)
from manners.lint.sentences import by_importance, subject
from manners.robots.policy import parse
from manners.tester.question import Question

MAX_LISTED = 50
"""Classes of agents that are listed."""


def answer(question: Question) -> dict[str, Any]:
    """The change from `before` to the file in words, and for each class of agents examples."""
    old = parse(question.before.encode(), question.dialect, question.file_url)
    found = difference(old, question.parsed(), names=question.agents)
    if question.urls:
        found = count_urls([found], [question.urls])[0]
    ordered = by_importance(found.changes)
    return {
        "equal": found.is_equal,
        "sentences": found.sentences,
        "changes": [_change(found, change) for change in ordered[:MAX_LISTED]],
        "change_count": len(ordered),
        "directives": [str(change) for change in found.directives[:MAX_LISTED]],
    }


def _change(found: RobotsDifference, change: AgentChange) -> dict[str, Any]:
    return {
        "who": subject(found, change).removesuffix(","),
        "agents": list(change.names[:MAX_LISTED]),
        "decided": change.is_decided,
        "closed": [witness_dict(witness) for witness in change.closed],
        "opened": [witness_dict(witness) for witness in change.opened],
        "closed_urls": list(change.urls.closed_sample) if change.urls else [],
        "opened_urls": list(change.urls.opened_sample) if change.urls else [],
    }

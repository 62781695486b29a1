"""What the tester shows: answers about a robots.txt as plain values, the same for a server and for
Python inside a browser. Quiet.

`answers` has one file for each question that the page asks. `page` has its HTML, style and scripts.

>>> found = answer("verdicts", {"robots": "User-agent: *\\nDisallow: /a", "agents": ["MyBot"],
...     "urls": ["https://example.com/a"]})
>>> found["rows"][0]["cells"][0]["line"]
2
"""

from collections.abc import Mapping
from typing import Any

from manners import _family
from manners.tester.question import BadQuestion, Question

__all__ = ["BadQuestion", "Question", "answer", "names"]

_ANSWERS = "manners.tester.answers"


def names() -> tuple[str, ...]:
    """The questions that have an answer.

    >>> names()
    ('choices', 'engines', 'findings', 'fixed', 'impact', 'overview', 'rules', 'usage', 'verdicts')
    """
    return _family.names(_ANSWERS)


def answer(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a question of the page, ready for JSON.

    Raises `BadQuestion` for values that are missing, wrong or too many; never for what a robots.txt
    contains.

    >>> answer("verdicts", {"robots": "", "agents": ["a"] * 21, "urls": ["/"]})
    Traceback (most recent call last):
    manners.tester.question.BadQuestion: at most 20 agents are compared, not 21
    """
    found: dict[str, Any] = _family.member(_ANSWERS, "question", name).answer(Question.of(values))
    return found

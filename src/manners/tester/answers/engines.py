"""Engines that disagree: for each URL and agent, the dialects that give another verdict."""

from typing import Any

from manners.robots import dialects
from manners.robots.dialects import Dialect
from manners.tester.question import Question


def answer(question: Question) -> dict[str, Any]:
    """The names of the dialects whose verdict differs from the chosen one's, cell by cell."""
    further = [name for name in dialects.names() if name != question.dialect.name]
    own = _answers(question, question.dialect)
    different: list[list[list[str]]] = [[[] for _ in question.agents] for _ in question.urls]
    for name in further:
        theirs = _answers(question, dialects.get(name))
        for column, pair in enumerate(zip(own, theirs, strict=True)):
            for row, (allowed, otherwise) in enumerate(zip(*pair, strict=True)):
                if allowed != otherwise:
                    different[row][column].append(name)
    return {"dialects": further, "rows": different}


def comparable(dialect: Dialect) -> Dialect:
    """A dialect to be compared with others: whether /robots.txt may be fetched concerns nobody."""
    return dialect.but(robots_txt_allowed=True)


def _answers(question: Question, dialect: Dialect) -> list[list[bool]]:
    """Whether each agent may fetch each URL, agent by agent."""
    robots = question.parsed(comparable(dialect))
    urls = list(question.urls)
    return [question.policy(agent, robots).allowed_many(urls) for agent in question.agents]

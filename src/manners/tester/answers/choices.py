"""What the page offers: dialects, and names of crawlers."""

from typing import Any

from manners.lint.data.known_crawlers import CRAWLERS
from manners.robots import dialects
from manners.tester.question import MAX_AGENTS, MAX_BYTES, MAX_LENGTH, MAX_URLS, Question


def answer(question: Question) -> dict[str, Any]:
    """The dialects, the chosen one first; crawlers, those that most people know first; limits."""
    first = question.dialect.name
    names = (first, *(name for name in dialects.names() if name != first))
    return {
        "dialects": [{"name": name, "summary": dialects.get(name).summary} for name in names],
        "crawlers": list(CRAWLERS),
        "limits": {
            "bytes": MAX_BYTES,
            "agents": MAX_AGENTS,
            "urls": MAX_URLS,
            "length": MAX_LENGTH,
        },
    }

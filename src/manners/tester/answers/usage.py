"""What a robots.txt says about the use of a page: search, AI training, text mining; by agent."""

from typing import Any

from manners.signals import PURPOSES, Usage, usage
from manners.tester.question import Question

MAX_LISTED = 20
"""Claims, and problems, that are listed of each answer."""
MEANINGS = {
    "crawl": "fetch the page",
    "search": "index it, and answer with links to it",
    "snippet": "show an excerpt",
    "archive": "keep a copy, and show it",
    "follow": "follow its links",
    "ai-input": "give it to a model as input",
    "ai-index": "put it into an AI's own index",
    "ai-train": "train a model with it",
    "tdm": "mine text and data at large",
}


def answer(question: Question) -> dict[str, Any]:
    """Yes, no or unknown for each purpose and agent, with the lines that say so."""
    robots, url = question.parsed(), question.only("urls")
    found = [
        (agent, usage(url, question.policy(agent, robots).agents, robots_txt=robots))
        for agent in question.agents
    ]
    problems = dict.fromkeys(
        (problem.code, problem.standard, problem.line, problem.text)
        for _, usages in found
        for problem in usages["crawl"].problems
    )
    return {
        "url": url,
        "purposes": [{"name": name, "meaning": MEANINGS[name]} for name in PURPOSES],
        "agents": [
            {"agent": agent, "answers": [_answer(usages[name]) for name in PURPOSES]}
            for agent, usages in found
        ],
        "problems": [
            {"code": code, "standard": standard, "line": line, "text": text}
            for code, standard, line, text in list(problems)[:MAX_LISTED]
        ],
    }


def _answer(usage: Usage) -> dict[str, Any]:
    return {
        "answer": usage.answer,
        "conflict": usage.conflict,
        "conditions": list(usage.conditions[:MAX_LISTED]),
        "claims": [
            {
                "value": claim.value,
                "standard": claim.standard,
                "line": claim.line,
                "text": claim.text,
            }
            for claim in usage.claims[:MAX_LISTED]
        ],
    }

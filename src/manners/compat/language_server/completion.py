"""What may be typed next: keys, names of crawlers, and names of lint rules."""

import re
from functools import cache
from typing import NamedTuple

from manners.compat.language_server.hover import DIRECTIVES
from manners.lint.data.ai_crawlers import AI_CRAWLERS
from manners.lint.data.crawlers import SEARCH_ENGINES, STAR_IGNORERS
from manners.lint.rule import all_rules
from manners.robots.agents import WILDCARD
from manners.robots.directives import TABLE

_KEY = re.compile(rb"[ \t]*+([A-Za-z-]*)").fullmatch
_AGENT = re.compile(rb"[ \t]*+user-?agent[ \t]*+:([ \t]*+)([^#]*)", re.IGNORECASE).fullmatch
_ALLOW = re.compile(rb"[ \t]*+#[ \t]*+manners:[ \t]*+allow[ \t](?:.*[ \t,])?([a-z0-9-]*)").fullmatch


class Proposal(NamedTuple):
    """Something that may be typed next."""

    label: str
    text: str
    detail: str


def proposals(before: bytes) -> tuple[list[Proposal], int]:
    """What may be typed behind the beginning of a line, and how many bytes of that it replaces.

    >>> found, replaced = proposals(b"user-agent: GPT")
    >>> [proposal.text for proposal in found if proposal.label == "GPTBot"], replaced
    (['GPTBot'], 3)
    """
    if found := _AGENT(before):
        space = "" if found[1] else " "
        return [Proposal(name, space + name, text) for name, text in _crawlers()], len(found[2])
    if found := _ALLOW(before):
        rules = [Proposal(rule.name, rule.name, rule.page.what) for rule in all_rules()]
        return rules, len(found[1])
    if found := _KEY(before):
        return [Proposal(key, f"{key}: ", text) for key, text in _keys()], len(found[1])
    return [], 0


@cache
def _keys() -> list[tuple[str, str]]:
    return [(row.spelling, DIRECTIVES[row.name]) for row in TABLE]


@cache
def _crawlers() -> list[tuple[str, str]]:
    """Names of crawlers that run, and whose they are."""
    names = {WILDCARD: "every crawler that no other group names"}
    names |= {name: f"search engine: {owner}" for name, owner in SEARCH_ENGINES.items()}
    for crawler in AI_CRAWLERS:
        if not crawler.until and not crawler.successor:
            names[crawler.name] = f"AI, {crawler.task}: {crawler.company}"
    for name in STAR_IGNORERS:
        names.setdefault(name, "does not obey the group for *")
    return list(names.items())

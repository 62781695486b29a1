"""One answer for each purpose, from everything that a site says.

Each reader applies the precedence of its own standard; between standards there is none. Any no is
no, else any yes is yes, else it is unknown: an explicit word does not beat an implied one, nor a
close source a distant one, since no standard says so about another.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal

from manners.robots.policy import Robots
from manners.signals import readers
from manners.signals.claims import PURPOSES, Purpose, Usage
from manners.signals.material import Material, moment, pairs
from manners.signals.tokens import POLICY_TOKENS, PolicyToken


def usage(
    url: str,
    agent: str | Sequence[str] = "*",
    robots_txt: bytes | str | Robots | None = None,
    headers: Iterable[tuple[str, str]] | Mapping[str, str] = (),
    html: bytes | str | None = None,
    tdmrep: bytes | str | None = None,
    licences: Mapping[str, bytes | str] | None = None,
    trust_txt: bytes | str | None = None,
    ai_txt: bytes | str | None = None,
    media: str | None = None,
    now: datetime | float | str | None = None,
    *,
    policy_tokens: Iterable[PolicyToken] = POLICY_TOKENS,
) -> dict[Purpose, Usage]:
    """What a page may be used for, by everything that was given; nothing is fetched.

    `None` is a source that nobody asked for; one that does not exist is empty (`b""`). `licences`
    maps the URL of an RSL licence to its XML. `media` is the type of the page where no header says
    it. Without `now`, dates are not compared. Never raises on what a site wrote.

    >>> usages = usage("https://example.com/a", agent="MyBot", headers=[("X-Robots-Tag", "noai")],
    ...     robots_txt="User-agent: *\\nContent-Signal: search=yes, ai-train=yes")
    >>> print(usages["search"], usages["ai-train"], usages["ai-input"], sep="; ")
    search: yes; ai-train: no, conflict; ai-input: unknown
    """
    material = Material(
        url=url,
        agent=agent,
        robots_txt=robots_txt,
        headers=pairs(headers),
        html=html,
        tdmrep=tdmrep,
        licences=licences or {},
        trust_txt=trust_txt,
        ai_txt=ai_txt,
        media=media,
        now=moment(now),
        policy_tokens=tuple(policy_tokens),
    )
    return answers(material)


def answers(material: Material) -> dict[Purpose, Usage]:
    """The answer for each purpose, from what every reader finds."""
    found = [readers.read(standard, material) for standard in readers.names()]
    claims = [claim for findings in found for claim in findings.claims]
    problems = tuple(problem for findings in found for problem in findings.problems)
    return {
        purpose: Usage(
            purpose,
            tuple(claim for claim in claims if claim.purpose == purpose),
            problems,
            tuple(text for findings in found for text in findings.conditions.get(purpose, ())),
        )
        for purpose in PURPOSES
    }


def may(
    usages: Mapping[Purpose, Usage], purpose: Purpose, *, unknown: Literal["allow", "deny"]
) -> bool:
    """Whether a page may be fetched for a purpose: it may be crawled, and the purpose allows it.

    >>> usages = usage("https://example.com/a", robots_txt="User-agent: *\\nDisallow: /a")
    >>> may(usages, "ai-train", unknown="allow")
    False
    """
    return all(usages[wanted].allowed(unknown=unknown) for wanted in ("crawl", purpose))

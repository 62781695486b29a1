"""The purpose that a client fetches for: what refuses it is not requested, or not kept. Quiet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from manners.cache.site import Site
from manners.client.page import LazyVerdict, Page
from manners.robots.policy import Robots
from manners.signals import decision as deciding
from manners.signals.claims import Purpose
from manners.signals.decision import UnknownChoice, UsageDecision
from manners.signals.material import Material
from manners.signals.site_signals import SiteSignals, governing_tokens, may_speak
from manners.signals.sources import FILES, HEADERS
from manners.signals.tokens import POLICY_TOKENS

if TYPE_CHECKING:
    from manners.evidence.record import Clerk, Draft

_PageT = TypeVar("_PageT", bound=Page)
_SITES = 1_024
"""Files of which it is remembered what they say about usage."""
_MARKS = (b"robots", b"content-signal", b"tdm-", b"rsl+xml")
"""What the elements of a page that carry signals contain, one of them at least: each is searched
for in every page. An element about a licence has its media type."""
_SCANNED = 4 * 1_048_576
"""Bytes of a page in which they are looked for; readers read no more."""


@dataclass(slots=True)
class _SiteUsage:
    """What a robots.txt says about usage."""

    decision: UsageDecision | None = None
    """About every URL that may be fetched; None if it is not known, or paths decide."""
    is_by_path: bool = False


class PurposeGate:
    """Decides whether pages may be fetched, and kept, for a purpose.

    Most sites and pages say nothing about usage. That is seen at once, and no reader is asked.
    """

    def __init__(self, purpose: Purpose, unknown: UnknownChoice) -> None:
        self._purpose, self._unknown = purpose, unknown
        self._nothing = deciding.of_nothing(self._purpose, self._unknown)
        self._site = lru_cache(_SITES)(self._read_site)

    def by_robots(self, url: str, site: Site | None, agent: str | Sequence[str]) -> UsageDecision:
        """What the robots.txt of a site says about a URL that it allows; without one, nothing."""
        robots = None if site is None else site.robots_for_usage
        if robots is None:
            return self._nothing
        names = agent if isinstance(agent, str) else tuple(agent)
        known = self._site(robots, names)
        if known.decision is not None:
            return known.decision
        material = Material(
            url=url, agent=agent, robots_txt=robots, licences={}, policy_tokens=POLICY_TOKENS
        )
        decision = deciding.by_site(material, self._purpose, self._unknown)
        if not known.is_by_path:
            known.decision = decision
        return decision

    def _read_site(self, robots: Robots, agent: str | tuple[str, ...]) -> "_SiteUsage":
        if self._purpose == "crawl":  # robots.txt always has an answer to that
            return _SiteUsage(is_by_path=True)
        tokens = governing_tokens(agent)
        if may_speak(robots.body, tokens):
            found = SiteSignals(robots.policy(agent), tokens)
            if found.speaks:
                return _SiteUsage(is_by_path=found.is_by_path)
        return _SiteUsage(self._nothing, is_by_path=False)

    def says_nothing(self, page: Page, material: Material) -> bool:
        """Whether no reader can find anything in a page: there is no word of a signal in it."""
        if not HEADERS.isdisjoint(page.headers):
            return False
        if material.html is None:
            return True
        body = page.body[:_SCANNED].lower()
        # Letters may be written otherwise: in two bytes, or as entities. Single bytes are found
        # much faster than pairs.
        if b"\0" in body or (b"&" in body and (b"&#" in body or b"&fj" in body)):
            return False
        marks = (*_MARKS, *(token.encode() for token in material.tokens))
        return not any(mark in body for mark in marks)

    def by_page(self, page: Page, material: Material) -> UsageDecision | None:
        """The decision on a page that was fetched.

        None where only robots.txt has said anything, and that does not refuse it.
        """
        has_files = bool(material.licences) or any(
            getattr(material, name) is not None for name in FILES
        )
        if not has_files and self.says_nothing(page, material):
            site, _ = _site_and_agent(page)
            if self.by_robots(material.url, site, material.agent).allowed:
                return None
        decision = deciding.by_page(material, self._purpose, self._unknown)
        return None if decision.allowed and decision.is_of_robots else decision


def with_usage(page: _PageT, decision: UsageDecision, **changes: Any) -> _PageT:
    """A page as it is handed out: one that may not be kept is blocked, and has no content.

    `changes` are for what else is content. `page.usage` is what was decided by.
    """
    if not decision.allowed:
        *before, last = page.hops
        verdict = decision.verdict(last.verdict)
        site, agent = _site_and_agent(page)
        lazy_verdict = LazyVerdict(site, last.url, agent, verdict)
        hop = last._replace(was_allowed=False, lazy_verdict=lazy_verdict)
        page = replace(page, hops=(*before, hop), body=b"", **changes)
    object.__setattr__(page, "_usage", MappingProxyType(dict(decision.usages)))
    return page


def with_record(page: _PageT, number: int) -> _PageT:
    """A page whose last decision has another record."""
    *before, last = page.hops
    return replace(page, hops=(*before, last._replace(evidence_id=number)))


def draft_of(clerk: "Clerk", page: Page, decision: UsageDecision, now: float) -> "Draft":
    """The record of a decision on a page that was fetched."""
    verdict, (site, _) = page.verdict, _site_and_agent(page)
    if not decision.allowed:
        verdict = decision.verdict(verdict)
    return clerk.draft(page.final_url, verdict, site, now, usage=decision)


def _site_and_agent(page: Page) -> tuple[Site | None, str | Sequence[str]]:
    """The robots.txt that decided about a page, if one did, and for whom."""
    verdict = page.hops[-1].lazy_verdict
    return (verdict.site, verdict.agent) if isinstance(verdict, LazyVerdict) else (None, "*")

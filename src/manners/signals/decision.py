"""Whether a page may be kept for a purpose, and what a record of that decision holds.

A record has every claim, and the sources of the page that they stand in: replay reads these again.
So the decision is made from the sources as they are recorded, and comes out the same later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

from manners._text import cut, without_surrogates
from manners.robots.groups import Rule
from manners.robots.policy import Robots
from manners.robots.verdict import Reason, Verdict
from manners.signals.claims import PURPOSES, Answer, Claim, Purpose, Usage
from manners.signals.material import Material
from manners.signals.merge import answers
from manners.signals.sources import packed, unpacked
from manners.signals.tokens import POLICY_TOKENS

UnknownChoice = Literal["allow", "deny"]
"""What unknown means to the one who asks."""

MAX_CLAIMS = 50
"""Claims that a record has; those that decide come first."""
_MAX_TEXT = 500
"""Characters of a text in a record."""
_OF_FILES = ("file", "licence")
"""Sources whose URL a record has; others are the page, and its robots.txt."""
_NOTHING: Mapping[Purpose, Usage] = {purpose: Usage(purpose) for purpose in PURPOSES}


@dataclass(frozen=True)
class UsageDecision:
    """Whether a page may be kept for a purpose, with the usage for all purposes.

    >>> robots_txt = "User-agent: *\\nContent-Usage: train-ai=n"
    >>> material = Material(url="https://example.com/", robots_txt=robots_txt, licences={})
    >>> decision = by_site(material, "ai-train", "allow")
    >>> decision.allowed, decision.is_final, decision.text
    (False, True, 'ai-train no, content-usage (attach-05, vocab-08): Content-Usage: train-ai=n')
    """

    purpose: Purpose
    unknown: UnknownChoice
    usages: Mapping[Purpose, Usage]
    sources: Mapping[str, Any] | None = None
    """What the page and its site's files say, as it is recorded; None before the page is known."""

    @property
    def usage(self) -> Usage:
        """The usage for the purpose."""
        return self.usages[self.purpose]

    @property
    def answer(self) -> Answer:
        """Yes, no or unknown."""
        return self.usage.answer

    @property
    def allowed(self) -> bool:
        """Whether the page may be kept."""
        return self.usage.allowed(unknown=self.unknown)

    @property
    def is_final(self) -> bool:
        """Whether no other source can open the page any more: any no is no."""
        return self.answer == "no"

    @property
    def is_of_robots(self) -> bool:
        """Whether every claim stands in robots.txt."""
        claims = (claim for usage in self.usages.values() for claim in usage.claims)
        return all(claim.source == "robots.txt" for claim in claims)

    @cached_property
    def claim(self) -> Claim | None:
        """The claim that decides; the first of several."""
        answer = self.answer
        return next((claim for claim in self.usage.claims if claim.value == answer), None)

    @property
    def line(self) -> int:
        """Where the claim stands in robots.txt; 0 if it stands elsewhere."""
        claim = self.claim
        return claim.line if claim is not None and claim.source == "robots.txt" else 0

    @cached_property
    def text(self) -> str:
        """The deciding claim on one line; that it is unknown where there is none."""
        claim = self.claim
        if claim is None:
            return f"{self.purpose} unknown"
        stands = f"{claim.where}: " if claim.source in ("header", *_OF_FILES) else ""
        quote = " ".join(cut(claim.text, _MAX_TEXT).split())
        return without_surrogates(
            f"{self.purpose} {claim.value}, {claim.standard} ({claim.edition}): {stands}{quote}"
        )

    def verdict(self, verdict: Verdict) -> Verdict:
        """The verdict on a page that is refused, with the deciding claim instead of a rule."""
        rule = Rule(False, self.text, line=self.line, text=self.text)
        return replace(verdict, allowed=False, reason=Reason.USAGE, rule=rule)

    @cached_property
    def recorded(self) -> dict[str, Any]:
        """What a record has of it, as plain values."""
        claims = {
            claim: None
            for name in (self.purpose, *PURPOSES)
            for claim in sorted(self.usages[name].claims, key=lambda one: one.value != "no")
            if name != "crawl" or self.purpose == "crawl"
        }
        values: dict[str, Any] = {
            "purpose": self.purpose,
            "unknown": self.unknown,
            "answer": self.answer,
            "answers": {
                name: usage.answer
                for name, usage in self.usages.items()
                if usage.answer != "unknown" and name != "crawl"
            },
            "conflicts": sorted(name for name, usage in self.usages.items() if usage.conflict),
            "claims": [_recorded(claim) for claim in list(claims)[:MAX_CLAIMS]],
        }
        if self.sources is not None:
            values["sources"] = dict(self.sources)
        return values

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain values, ready for JSON."""
        return {"allowed": self.allowed, **self.recorded, "conditions": [*self.usage.conditions]}


def by_site(material: Material, purpose: Purpose, unknown: UnknownChoice) -> UsageDecision:
    """The decision by robots.txt alone, before the page is fetched."""
    return UsageDecision(purpose, unknown, answers(material))


def by_page(material: Material, purpose: Purpose, unknown: UnknownChoice) -> UsageDecision:
    """The decision by everything that is known of a page."""
    sources = packed(material)
    return UsageDecision(purpose, unknown, answers(unpacked(sources, material)), sources)


def of_record(
    recorded: Mapping[str, Any], url: str, agent: str | Sequence[str], robots: Robots | None
) -> UsageDecision:
    """The decision that a record has, made again; ValueError if its sources are not on record."""
    purpose, unknown = recorded["purpose"], recorded["unknown"]
    if purpose not in PURPOSES or unknown not in get_args(UnknownChoice):
        raise ValueError("it names no purpose, or does not say what unknown means")
    material = Material(
        url=url,
        agent=agent,
        robots_txt=robots,
        licences={},
        policy_tokens=POLICY_TOKENS,
    )
    sources = recorded.get("sources")
    if sources is None:
        return UsageDecision(purpose, unknown, answers(material))
    if sources.get("tooLarge"):
        raise ValueError("its sources were too large to be recorded")
    return UsageDecision(purpose, unknown, answers(unpacked(sources, material)), sources)


def of_nothing(purpose: Purpose, unknown: UnknownChoice) -> UsageDecision:
    """The decision where nobody says anything."""
    return UsageDecision(purpose, unknown, _NOTHING)


def _recorded(claim: Claim) -> dict[str, Any]:
    """A claim as a record has it, without what is as usual."""
    values: dict[str, Any] = {
        "purpose": claim.purpose,
        "value": claim.value,
        "standard": claim.standard,
        "edition": claim.edition,
        "source": claim.source,
        "text": without_surrogates(cut(claim.text, _MAX_TEXT)),
    }
    if claim.source in _OF_FILES:
        values["url"] = without_surrogates(cut(claim.url, _MAX_TEXT))
    for name in ("line", "where", "path", "implied", "conditions"):
        value = getattr(claim, name)
        if value:
            values[name] = (
                without_surrogates(cut(value, _MAX_TEXT)) if isinstance(value, str) else value
            )
    if claim.conditions:
        values["conditions"] = [
            without_surrogates(cut(text, _MAX_TEXT)) for text in claim.conditions
        ]
    if claim.confidence != "high":
        values["confidence"] = claim.confidence
    return values

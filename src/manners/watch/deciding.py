"""What to report after a look at a site. Quiet: the time is an argument.

What is reported depends on what was reported before: a site that cannot be reached is reported
once, and once more when it is back; a file is reported when its bytes differ.
"""

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Literal

from manners._text import duration, printable
from manners.cache.entry import Entry
from manners.cache.freshness import retry_after
from manners.urls import robots_url
from manners.watch.sight import Known, Sight, is_unreachable, moment

Kind = Literal["watching", "changed", "unreachable", "back"]
"""What an event is: the first look at a site, another file than before, no reply, and a reply again
with the same file."""

MAX_BODY = 262_144
"""Bytes of an event: receivers have limits. A larger one comes without its impact."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something to report about a site."""

    identity: str
    """The same whenever this event is delivered, and of no other event."""
    kind: Kind
    site: str
    number: int
    """1 for the first event of a site, then one more each."""
    at: float
    before: Sight | None
    after: Sight | None
    """None when the site cannot be reached."""
    cause: str = ""
    """Why it cannot be reached."""
    unreachable_since: float | None = None
    """Since when it could not be reached until now; None when it could."""

    @property
    def is_news(self) -> bool:
        """Whether others are told: the first look at a site is no change."""
        return self.kind != "watching"

    def sentences(self) -> list[str]:
        """What happened, for people; what it means is said by the impact."""
        lines = []
        url = printable(robots_url(self.site))
        if self.kind == "unreachable":
            return [f"{url} cannot be reached: {printable(self.cause)}."]
        if self.unreachable_since is not None:
            away = duration(self.at - self.unreachable_since)
            same = ", and is the same" if self.kind == "back" else ""
            lines.append(f"{url} can be reached again, after {away}{same}.")
        if self.kind == "watching":
            lines.append(_first_sentence(url, self.after))
        elif self.kind == "changed":
            lines.append(_change(url, self.before, self.after))
        return lines

    def to_dict(self, impact: dict[str, Any] | None, sentences: list[str]) -> dict[str, Any]:
        """The event as plain values, ready for JSON, with what it means."""
        sentences = [*self.sentences(), *sentences]
        return {
            "id": self.identity,
            "event": self.kind,
            "site": self.site,
            "url": robots_url(self.site),
            "number": self.number,
            "at": moment(self.at),
            "text": " ".join(sentences),
            "sentences": sentences,
            "before": self.before.to_dict() if self.before else None,
            "after": self.after.to_dict() if self.after else None,
            "cause": self.cause or None,
            "impact": impact,
        }


def decide(site: str, known: Known | None, entry: Entry, now: float) -> tuple[Known, Event | None]:
    """What is known after a look at a site, and the event to report, if there is one.

    >>> from manners.retrieval.outcome import Availability, Outcome
    >>> gone = Outcome(Availability.UNAVAILABLE, "404", at=100.0)
    >>> entry = Entry("https://example.com", None, "", gone, 100.0, 100.0, 200.0)
    >>> known, event = decide("https://example.com", None, entry, 100.0)
    >>> print(*event.sentences())
    Watching https://example.com/robots.txt: there is none (404), so everything is allowed.
    >>> decide("https://example.com", known, entry, 160.0)[1] is None
    True
    """
    before = known or Known(began=now, looked_at=now)
    after = replace(before, looked_at=now, not_before=_not_before(entry, now))
    if is_unreachable(entry):
        if before.unreachable_since is not None:
            return after, None
        after = replace(after, unreachable_since=now)
        return _reported(site, before, after, "unreachable", None, entry.outcome.note)
    sight = Sight.of(entry)
    after = replace(after, unreachable_since=None)
    if before.sight is None:
        return _reported(site, before, replace(after, sight=sight), "watching", sight)
    if before.sight.digest != sight.digest:
        return _reported(site, before, replace(after, sight=sight), "changed", sight)
    if before.unreachable_since is not None:
        return _reported(site, before, after, "back", before.sight)
    return after, None


def _reported(  # noqa: PLR0917 (the parts of an event)
    site: str, before: Known, after: Known, kind: Kind, sight: Sight | None, cause: str = ""
) -> tuple[Known, Event]:
    number = before.events + 1
    event = Event(
        identity=_identity(site, before.began, number, kind, sight),
        kind=kind,
        site=site,
        number=number,
        at=after.looked_at,
        before=before.sight,
        after=sight,
        cause=cause,
        unreachable_since=before.unreachable_since,
    )
    return replace(after, events=number), event


def _identity(site: str, began: float, number: int, kind: Kind, sight: Sight | None) -> str:
    """Made of what happened, so that an event that is lost and found again is the same one."""
    digest = sight.digest if sight else ""
    text = json.dumps([site, int(began * 1000), number, kind, digest])
    return sha256(text.encode()).hexdigest()[:32]


def _not_before(entry: Entry, now: float) -> float:
    """When a site may be asked again, if it asked for a pause."""
    has_pause = retry_after(entry.outcome.header("retry-after"), now) is not None
    return entry.fresh_until if is_unreachable(entry) and has_pause else 0.0


def _first_sentence(url: str, sight: Sight | None) -> str:
    if sight is None or not sight.has_file:
        note = printable(sight.note) if sight else ""
        return f"Watching {url}: there is none ({note}), so everything is allowed."
    return f"Watching {url}: {sight}."


def _change(url: str, before: Sight | None, after: Sight | None) -> str:
    if after is None or before is None:  # not for a change
        return f"{url} changed."
    if not after.has_file:
        note = printable(after.note)
        return f"{url} is gone ({note}): everything is allowed now. It had {before}."
    if not before.has_file:
        return (
            f"{url} is there now, {after}. There was none ({printable(before.note)}),"
            " and everything was allowed."
        )
    if after.is_html and not before.is_html:
        return (
            f"{url} is a web page (HTML) now, and no robots.txt: what it disallowed is allowed,"
            f" unless a line of the page happens to be a rule. It had {before}."
        )
    return f"{url} changed: {before} before, {after} now."


def body_of(event: Event, impact: dict[str, Any] | None, sentences: list[str]) -> str:
    """The JSON of an event, on one line, in ASCII; a very large impact is left out."""
    values = event.to_dict(impact, sentences)
    text = json.dumps(values)
    if len(text) <= MAX_BODY:
        return text
    values["impact"], values["sentences"] = None, values["sentences"][:_KEPT]
    values["text"] = " ".join(values["sentences"])
    values["is_cut"] = True
    return json.dumps(values)


_KEPT = 20
"""Sentences of an event that is too large."""

"""What the page of a site shows: what its robots.txt says now, said before, and what that means.

It is computed in a thread, from what was retrieved and what is on record.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from manners.cache.site import Site, parse_body
from manners.cache.versions import Version
from manners.lint.ai_access import AiAccess, ai_access
from manners.retrieval.charset import in_utf8
from manners.retrieval.outcome import Availability
from manners.retrieval.profiles import Profile
from manners.robots import dialects
from manners.robots.agents import WILDCARD
from manners.robots.dialects import Dialect
from manners.robots.policy import Robots
from manners.settings import Settings
from manners.tester.answers import findings, overview, usage
from manners.tester.question import MAX_BYTES, BadQuestion, Question
from manners.urls import robots_url
from manners.watch.effect import effect_of

MAX_VERSIONS = 20
_COMPARED = 5
"""Changes that are put into words, the latest: proofs take time."""
_MAX_TEXT = 64 * 1024
"""Bytes of an earlier file that are shown."""
_MAX_AGENTS = 8
"""Agents in the table of usage."""
_MAX_NAMED = 300
"""Agents that a file names, in a list."""


class VersionView(NamedTuple):
    """What a site said for a time."""

    first: float
    last: float
    result: str
    """A file, or why there was none."""
    sha256: str
    text: str | None
    """The file, or its beginning; None if there was none."""
    is_cut: bool
    effect: list[str]
    """What the change to this version did, in sentences; empty if it was not compared."""


class SiteView(NamedTuple):
    """A site and its robots.txt."""

    site: Site
    text: str | None
    """The file; None if there is none."""
    named: list[str]
    """The agents that the file names, as it writes them."""
    overview: dict[str, Any]
    ai: AiAccess
    usage: dict[str, Any]
    findings: dict[str, Any] | None
    """What the linter finds; None for a file that is too large to be linted here."""
    versions: list[VersionView]
    """The latest first."""
    version_count: int


def site_view(
    site: Site,
    versions: Sequence[Version],
    place: str,
    agent: str,
    settings: Settings,
) -> SiteView:
    """All that the page of a site shows; `place` is its origin, `agent` whom it is shown for."""
    dialect, profile = dialects.get(settings.dialect), settings.retrieval
    entry, robots = site.entry, site.robots
    text = None
    if entry is not None and entry.body is not None:
        text = _text(entry.body, entry.charset)[:MAX_BYTES]
    named = list(dict.fromkeys(name for group in robots.groups for name in group.agents))
    agents = dict.fromkeys((agent, WILDCARD, *(name for name in named if name != WILDCARD)))
    question = Question(
        _bounded(text or ""),
        tuple(list(agents)[:_MAX_AGENTS]),
        (f"{place}/",),
        dialect,
        robots_url(place),
    )
    return SiteView(
        site,
        text,
        named[:_MAX_NAMED],
        overview.answer(question),
        ai_access(robots),
        usage.answer(question),
        _findings(question),
        _versions(versions, dialect, profile),
        len(versions),
    )


def _findings(question: Question) -> dict[str, Any] | None:
    try:
        return findings.answer(question)
    except BadQuestion:
        return None


def _bounded(text: str) -> str:
    """As much of a file as is looked at."""
    return text.encode("utf-8", "replace")[:MAX_BYTES].decode("utf-8", "ignore")


def _versions(versions: Sequence[Version], dialect: Dialect, profile: Profile) -> list[VersionView]:
    latest = versions[-MAX_VERSIONS:]
    effects = [list[str]() for _ in latest]
    for at, (before, after) in enumerate(pairwise(latest), start=1):
        if at >= len(latest) - _COMPARED:
            effects[at] = _effect(before, after, dialect, profile)
    views = [_version(version, effect) for version, effect in zip(latest, effects, strict=True)]
    return views[::-1]


def _version(version: Version, effect: list[str]) -> VersionView:
    body = version.body
    text = None if body is None else _text(body[:_MAX_TEXT], version.charset)
    return VersionView(
        version.first,
        version.last,
        str(version.outcome.but(age=0.0)),
        version.sha256,
        text,
        body is not None and len(body) > _MAX_TEXT,
        effect,
    )


def _effect(before: Version, after: Version, dialect: Dialect, profile: Profile) -> list[str]:
    """What a change does; nothing is said of a site that could not be reached."""
    files = [_robots(version, dialect, profile) for version in (before, after)]
    if files[0] is None or files[1] is None:
        return []
    return effect_of(files[0], files[1]).sentences


def _robots(version: Version, dialect: Dialect, profile: Profile) -> Robots | None:
    if version.outcome.availability is Availability.UNREACHABLE:
        return None
    url = robots_url(version.origin)
    return parse_body(version.body or b"", version.charset, dialect, url, profile)


def _text(body: bytes, charset: str) -> str:
    text = in_utf8(body, charset)
    return text if isinstance(text, str) else text.decode("utf-8", "replace")

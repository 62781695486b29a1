"""`/v1/robots`: what the robots.txt of a site says, and how it was retrieved."""

from typing import Any

import msgspec

from manners._text import to_text
from manners.urls import with_scheme
from manners.web.api import Parameters, Resource
from manners.web.api.check import Url
from manners.web.service import Call


class RobotsQuery(Parameters, frozen=True, kw_only=True):
    """A site, by any URL of it."""

    url: Url


class RobotsReply(msgspec.Struct, frozen=True, kw_only=True):
    """The file and its story: what `manners robots --json` prints, and the text."""

    url: str
    outcome: dict[str, Any]
    """How it was retrieved: hops, status, when, and what was wrong."""
    fresh_until: float | None
    """Seconds since the epoch."""
    dialect: str
    truncated: bool
    groups: list[dict[str, Any]]
    sitemaps: list[dict[str, Any]]
    directives: list[dict[str, Any]]
    problems: list[dict[str, Any]]
    text: str | None
    """The file as text; null if there is none."""


async def show_robots(call: Call, query: RobotsQuery) -> dict[str, Any]:
    """What a site says."""
    site = await call.site(with_scheme(query.url))
    has_file = site.entry is not None and site.entry.body is not None
    return site.to_dict() | {"text": to_text(site.robots.body) if has_file else None}


RESOURCES = (
    Resource("GET", "robots", "What does a site say?", RobotsQuery, RobotsReply, show_robots),
)

"""`/v1/usage`: what a page may be used for, and who says so."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from manners.client.page import Page
from manners.signals import Purpose, Usage, usage
from manners.urls import with_scheme
from manners.web.api import Parameters, Resource
from manners.web.api.check import Agent, RobotsText, Url
from manners.web.service import Call

HeaderText = Annotated[str, Meta(max_length=100_000)]


class UsageQuery(Parameters, frozen=True, kw_only=True):
    """A page of a site."""

    url: Url
    agent: Agent | UnsetType = UNSET
    page: bool = True
    """Whether to fetch the page, too, for its headers and its HTML; else robots.txt alone."""


class UsageRequest(Parameters, frozen=True, kw_only=True):
    """What is known of a page; nothing is fetched."""

    url: Url
    agent: Agent | UnsetType = UNSET
    robots: RobotsText | UnsetType = UNSET
    headers: Annotated[tuple[tuple[HeaderText, HeaderText], ...], Meta(max_length=1_000)] = ()
    """Names and values."""
    html: str | UnsetType = UNSET


class UsageReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer for each purpose, with every claim behind it."""

    url: str
    status: int | None = None
    """Of the page; null if it was not fetched."""
    usage: dict[str, dict[str, Any]]
    problems: list[dict[str, Any]]
    """What could not be read: an unreadable signal is no permission."""


async def read_site(call: Call, query: UsageQuery) -> UsageReply:
    """What a site says about a page."""
    url, service = with_scheme(query.url), call.service
    agent = service.asked_agent if query.agent is UNSET else query.agent
    if not query.page:
        robots = (await call.site(url)).robots_for_usage
        return _reply(url, await service.compute(_by_robots, url, agent, robots))
    call.may_retrieve(url)
    page = await service.client.get(url)
    return _reply(page.final_url, await service.compute(_usage_of, page), page.status)


async def read_sources(call: Call, request: UsageRequest) -> UsageReply:
    """What sources say that are in the request."""
    return _reply(request.url, await call.service.compute(_by_sources, request))


def _usage_of(page: Page) -> Mapping[Purpose, Usage]:
    return page.usage


def _by_robots(url: str, agent: str, robots: Any) -> Mapping[Purpose, Usage]:
    return usage(url, agent, robots_txt=robots)


def _by_sources(request: UsageRequest) -> Mapping[Purpose, Usage]:
    return usage(
        request.url,
        "*" if request.agent is UNSET else request.agent,
        robots_txt=None if request.robots is UNSET else request.robots,
        headers=request.headers,
        html=None if request.html is UNSET else request.html,
    )


def _reply(url: str, usages: Mapping[Purpose, Usage], status: int | None = None) -> UsageReply:
    shown: dict[str, dict[str, Any]] = {name: found.to_dict() for name, found in usages.items()}
    problems = [found.pop("problems") for found in shown.values()]
    return UsageReply(url=url, status=status, usage=shown, problems=problems[0])


RESOURCES = (
    Resource("GET", "usage", "What may a page be used for?", UsageQuery, UsageReply, read_site),
    Resource(
        *("POST", "usage", "What do these sources allow?", UsageRequest, UsageReply, read_sources)
    ),
)

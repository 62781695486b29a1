"""`/v1/check`: whether agents may fetch URLs, and why."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from manners.cache.site import Site
from manners.errors import InvalidURL
from manners.exclusions import Overrides
from manners.robots.policy import Policy, parse
from manners.robots.verdict import Verdict
from manners.urls import origin, with_scheme
from manners.web.api import Parameters, Resource, query_values
from manners.web.columns import CONTENT_TYPE, answers, read_column, write_columns
from manners.web.problems import ServiceProblem
from manners.web.service import Call

_MAX_AGENTS, _MAX_SITES = 100, 1_000
_MAX_VERDICTS = 100_000
"""Verdicts with reasons in one reply; answers alone have no limit but that of the body."""

Url = Annotated[str, Meta(min_length=1, max_length=100_000, examples=["https://example.com/"])]
Agent = Annotated[str, Meta(min_length=1, max_length=1_000, examples=["MyBot"])]
RobotsText = Annotated[
    str, Meta(max_length=1_000_000, description="A robots.txt, which decides instead of the site's")
]
DialectName = Annotated[
    str, Meta(max_length=100, description="How it is read; `manners dialects` lists them")
]


class RuleReply(msgspec.Struct, frozen=True):
    """A rule of a robots.txt."""

    allow: bool
    pattern: str
    line: int
    text: str


class VerdictReply(msgspec.Struct, frozen=True, kw_only=True):
    """Whether one agent may fetch one URL, and why: what `manners check --json` prints."""

    allowed: bool | None
    """Null if the URL cannot be requested."""
    reason: str
    url: str
    agent: str | UnsetType = UNSET
    """The group that the rule is in, as it is written."""
    rule: RuleReply | UnsetType | None = UNSET
    line: int | UnsetType = UNSET
    line_text: str | UnsetType = UNSET
    specificity: int | UnsetType = UNSET
    crawl_delay: float | UnsetType | None = UNSET
    path: str | UnsetType = UNSET
    dialect: str | UnsetType = UNSET
    truncated: bool | UnsetType = UNSET
    retrieval: dict[str, Any] | UnsetType | None = UNSET
    """How the robots.txt was retrieved."""
    problem: str | UnsetType = UNSET
    """Why the URL cannot be requested."""


class CheckQuery(Parameters, frozen=True, kw_only=True):
    """One URL and one agent."""

    url: Url
    agent: Agent | UnsetType = UNSET


class CheckRequest(Parameters, frozen=True, kw_only=True):
    """URLs and agents: each agent is checked for each URL."""

    urls: Annotated[list[Url], Meta(min_length=1)]
    agents: Annotated[list[Agent], Meta(min_length=1, max_length=_MAX_AGENTS)] | UnsetType = UNSET
    robots: RobotsText | UnsetType = UNSET
    robots_base64: Annotated[bytes, Meta(max_length=1_000_000)] | UnsetType = UNSET
    """The same as bytes, in base64: whatever a server has sent."""
    dialect: DialectName | UnsetType = UNSET
    detail: Literal["verdict", "allowed"] = "verdict"
    """`allowed` leaves out the reasons: for many URLs."""


class ColumnQuery(Parameters, frozen=True, kw_only=True):
    """What stands beside a column of URLs: its robots.txt is in the metadata of its schema."""

    agent: Annotated[list[Agent], Meta(max_length=_MAX_AGENTS)] | None = None
    dialect: DialectName | UnsetType = UNSET


class CheckReply(msgspec.Struct, frozen=True, kw_only=True):
    """The answers, in the order of the URLs."""

    agents: list[str]
    verdicts: list[list[VerdictReply]] | UnsetType = UNSET
    """For each URL, a verdict for each agent."""
    allowed: dict[str, list[bool | None]] | UnsetType = UNSET
    """For each agent, an answer for each URL; null if the URL cannot be requested."""


async def check_one(call: Call, query: CheckQuery) -> dict[str, Any]:
    """One URL for one agent."""
    url, service = with_scheme(query.url), call.service
    agent = service.asked_agent if query.agent is UNSET else query.agent
    override = service.overrides.check(url)
    if override is not None:
        return override.to_dict()
    return (await call.site(url)).check(url, agent).to_dict()


async def check_many(call: Call, request: CheckRequest) -> CheckReply:
    """Many URLs, live or by a robots.txt that is in the request."""
    service = call.service
    agents = (
        [service.asked_agent] if request.agents is UNSET else list(dict.fromkeys(request.agents))
    )
    urls = list(map(with_scheme, request.urls))
    number = len(urls) * len(agents)
    if request.detail == "verdict" and number > _MAX_VERDICTS:
        raise ServiceProblem(
            413,
            f"{number:,} verdicts are too many for one reply.",
            f'Ask for at most {_MAX_VERDICTS:,}, or add "detail": "allowed".',
        )
    body = request.robots if request.robots_base64 is UNSET else request.robots_base64
    if body is not UNSET:
        dialect = service.settings.dialect if request.dialect is UNSET else request.dialect
        policies = _policies(body, dialect, agents)
        return await service.compute(_by_file, urls, policies, request.detail)
    if request.dialect is not UNSET:
        raise _no_dialect()
    sites, overrides = await _sites(call, urls), service.overrides
    if request.detail == "verdict":
        return await service.compute(_live, urls, agents, sites, overrides)
    allowed = await service.compute(_allowed_live, urls, agents, sites, overrides)
    return CheckReply(agents=agents, allowed=allowed)


async def check_column(call: Call, body: bytes, query: str) -> tuple[bytes, str]:
    """The same for a column of URLs, as a stream of Arrow IPC."""
    service, wanted = call.service, _column_query(query)
    agents = list(dict.fromkeys(wanted.agent or [service.asked_agent]))
    urls, robots = await service.compute(read_column, body)
    if robots is not None:
        dialect = service.settings.dialect if wanted.dialect is UNSET else wanted.dialect
        policies = _policies(robots, dialect, agents)
        return await service.compute(_column_by_file, urls, policies), CONTENT_TYPE
    if wanted.dialect is not UNSET:
        raise _no_dialect()
    given = [with_scheme(url or "") for url in urls.to_pylist()]
    sites = await _sites(call, given)
    overrides = service.overrides
    allowed = await service.compute(_allowed_live, given, agents, sites, overrides)
    return write_columns(allowed), CONTENT_TYPE


def _policies(body: str | bytes, dialect: str, agents: Sequence[str]) -> dict[str, Policy]:
    robots = parse(body, dialect)
    return {name: robots.policy(robots.dialect.own_name(name)) for name in agents}


def _no_dialect() -> ServiceProblem:
    return ServiceProblem(
        422, "'dialect' goes with 'robots'.", "Sites are read as the service was started with."
    )


async def _sites(call: Call, urls: Iterable[str]) -> dict[str, Site]:
    """The sites of URLs, by origin; those that are not URLs are left out."""
    overrides = call.service.overrides
    origins: dict[str, str] = {}
    for url in urls:
        try:
            if overrides.check(url) is None:
                origins.setdefault(origin(url), url)
        except InvalidURL:
            continue
        if len(origins) > _MAX_SITES:
            raise ServiceProblem(
                413,
                f"More than {_MAX_SITES:,} sites in one request.",
                "Ask for fewer at a time, or send the robots.txt with the URLs.",
            )
    sites = await asyncio.gather(*map(call.site, origins.values()))
    return dict(zip(origins, sites, strict=True))


def _by_file(urls: Sequence[str], policies: Mapping[str, Policy], detail: str) -> CheckReply:
    agents = list(policies)
    if detail == "allowed":
        answers: dict[str, list[bool | None]] = {}
        for agent, policy in policies.items():
            answers[agent] = [*policy.allowed_many(urls)]
        return CheckReply(agents=agents, allowed=answers)
    verdicts = [[verdict_reply(policy.check(url)) for policy in policies.values()] for url in urls]
    return CheckReply(agents=agents, verdicts=verdicts)


def _live(
    urls: Sequence[str], agents: list[str], sites: Mapping[str, Site], overrides: Overrides
) -> CheckReply:
    rows: list[list[VerdictReply]] = []
    for url in urls:
        try:
            override = overrides.check(url)
            if override is not None:
                rows.append([verdict_reply(override)] * len(agents))
            else:
                site = sites[origin(url)]
                rows.append([verdict_reply(site.check(url, agent)) for agent in agents])
        except InvalidURL as error:
            rows.append([_invalid(error)] * len(agents))
    return CheckReply(agents=agents, verdicts=rows)


def _allowed_live(
    urls: Sequence[str], agents: list[str], sites: Mapping[str, Site], overrides: Overrides
) -> dict[str, list[bool | None]]:
    """The same without reasons: millions of them would not fit into memory."""
    allowed: dict[str, list[bool | None]] = {agent: [] for agent in agents}
    for url in urls:
        override, site = None, None
        with suppress(InvalidURL):
            override = overrides.check(url)
            site = sites[origin(url)] if override is None else None
        for agent, found in allowed.items():
            if override is not None:
                found.append(override.allowed)
            else:
                found.append(None if site is None else site.allowed(url, agent))
    return allowed


def _column_by_file(urls: Any, policies: Mapping[str, Policy]) -> bytes:
    return write_columns({name: answers(urls, policy) for name, policy in policies.items()})


def _column_query(query: str) -> ColumnQuery:
    """The parameters beside a column."""
    values: dict[str, Any] = {}
    for name, value in query_values(query):
        if name == "agent":
            values.setdefault("agent", []).append(value)
        else:
            values[name] = value
    return msgspec.convert(values, ColumnQuery)


def verdict_reply(verdict: Verdict) -> VerdictReply:
    """A verdict, as replies have it."""
    values = verdict.to_dict()
    rule = values.pop("rule")
    return VerdictReply(rule=None if rule is None else RuleReply(**rule), **values)


def _invalid(error: InvalidURL) -> VerdictReply:
    return VerdictReply(allowed=None, reason="invalid-url", url=error.url, problem=error.problem)


_DESCRIPTION = """\
Many URLs, live or by a robots.txt that is in the request.

A stream of Arrow IPC is the same for millions of URLs: a column `url` of strings, the robots.txt,
if it is to decide, as `robots` in the metadata of the schema, agents as `agent=` in the query, once
for each, and perhaps `dialect=`. The reply has a column of booleans for each agent, null where a
URL cannot be requested.
"""
RESOURCES = (
    Resource("GET", "check", "May an agent fetch a URL?", CheckQuery, VerdictReply, check_one),
    Resource(
        *("POST", "check", "May agents fetch URLs?", CheckRequest, CheckReply, check_many),
        description=_DESCRIPTION,
        answer_bytes=check_column,
        content_type=CONTENT_TYPE,
    ),
)

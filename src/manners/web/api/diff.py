"""`/v1/diff`: what a change of robots.txt does, and to whom, proved for every URL."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from manners.lint.difference import count_urls, difference
from manners.robots.policy import parse
from manners.web.api import Parameters, Resource
from manners.web.api.check import Agent, DialectName, RobotsText, Url
from manners.web.service import Call


class DiffRequest(Parameters, frozen=True, kw_only=True):
    """Two files."""

    before: RobotsText
    after: RobotsText
    agents: Annotated[tuple[Agent, ...], Meta(max_length=100)] = ()
    """Agents that count beside those that the files name."""
    urls: Annotated[tuple[Url, ...], Meta(max_length=100_000)] = ()
    """URLs of your own: how many of them are closed and opened."""
    dialect: DialectName | UnsetType = UNSET


class WitnessReply(msgspec.Struct, frozen=True, kw_only=True):
    """A path that is decided otherwise, and by which lines."""

    path: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class AgentChangeReply(msgspec.Struct, frozen=True, kw_only=True):
    """What changes for agents that both files treat alike."""

    agents: list[str]
    """Those that a file names; `*` is everybody whom neither names."""
    crawlers: list[str]
    """Known crawlers among everybody else."""
    decided: bool
    """False: this is not all that there may be."""
    closed: list[WitnessReply]
    opened: list[WitnessReply]
    urls: dict[str, Any] | None


class DiffReply(msgspec.Struct, frozen=True, kw_only=True):
    """What the change does."""

    equal: bool | None
    """Whether every agent gets the same verdict for every URL; null if not decided."""
    sentences: list[str]
    changes: list[AgentChangeReply]
    directives: list[dict[str, Any]]
    """Lines that decide no verdict and differ: delays, sitemaps, signals."""


async def compare(call: Call, request: DiffRequest) -> dict[str, Any]:
    """Compare two files."""
    dialect = call.service.settings.dialect if request.dialect is UNSET else request.dialect
    return await call.service.compute(compare_files, request, dialect)


def compare_files(request: DiffRequest, dialect: str) -> dict[str, Any]:
    """What differs between two files; nothing is fetched."""
    before, after = parse(request.before, dialect), parse(request.after, dialect)
    found = difference(before, after, names=request.agents)
    if request.urls:
        (found,) = count_urls([found], [request.urls])
    return found.to_dict()


RESOURCES = (Resource("POST", "diff", "What does a change do?", DiffRequest, DiffReply, compare),)

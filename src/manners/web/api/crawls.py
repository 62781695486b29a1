"""`/v1/crawls` and `/v1/crawl`: the crawls of the store, and how one of them goes."""

from typing import Annotated, Any

import msgspec

from manners.crawler.status import crawls_of
from manners.report.progress import HOSTS
from manners.web.api import Parameters, Resource
from manners.web.service import Call

_MAX_NUMBER = 10**15
_MAX_HOSTS = 100


class CrawlsQuery(Parameters, frozen=True, kw_only=True):
    """All crawls."""


class CrawlsReply(msgspec.Struct, frozen=True, kw_only=True):
    """What `manners crawl list --json` prints, in one list."""

    crawls: list[dict[str, Any]]
    """The oldest first."""


class CrawlQuery(Parameters, frozen=True, kw_only=True):
    """One crawl."""

    crawl: Annotated[int, msgspec.Meta(ge=1, le=_MAX_NUMBER)]
    """Its number."""
    hosts: Annotated[int, msgspec.Meta(ge=1, le=_MAX_HOSTS)] = HOSTS
    """How many hosts are listed, of those that are asked or waited for."""


class CrawlReply(msgspec.Struct, frozen=True, kw_only=True):
    """How a crawl goes, and what became of its pages."""

    progress: dict[str, Any]
    """States, budget, hosts, workers and retries, as they are now."""
    status: dict[str, Any]
    """What `manners crawl status --json` prints."""
    latest: list[dict[str, Any]]
    """The latest pages that were answered."""
    slowest: list[dict[str, Any]]
    """Those that took longest."""


async def list_crawls(call: Call, query: CrawlsQuery) -> CrawlsReply:  # noqa: ARG001 (no parameters)
    """The crawls of the store."""
    found = await call.service.crawls.store.read(crawls_of)
    return CrawlsReply(crawls=[crawl.to_dict() for crawl in found])


async def show_crawl(call: Call, query: CrawlQuery) -> CrawlReply:
    """How one of them goes; it may be asked again and again."""
    view = await call.service.crawls.look(query.crawl, query.hosts)
    return CrawlReply(**view.to_dict())


RESOURCES = (
    Resource("GET", "crawls", "Which crawls are there?", CrawlsQuery, CrawlsReply, list_crawls),
    Resource("GET", "crawl", "How does a crawl go?", CrawlQuery, CrawlReply, show_crawl),
)

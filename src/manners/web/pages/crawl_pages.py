"""What a crawl has of each URL, page by page; and its report."""

import time

from aiohttp import web
from markupsafe import Markup

from manners.crawler.frontier.summary import UrlFilter
from manners.evidence.store import EvidenceStore
from manners.report.html import words
from manners.report.html.page import content_policy
from manners.report.html.page import page as report_page
from manners.report.reader import report_of
from manners.report.urls import parse_place, url_of, urls_of
from manners.web.live_parts import page_address, page_link
from manners.web.pages.crawls import CRAWL, crawl_of
from manners.web.problems import ServiceProblem
from manners.web.rendering import page
from manners.web.searching import searched
from manners.web.service import SERVICE

_STATES = ("queued", "done", "failed", "blocked", "kept")


async def show_report(request: web.Request) -> web.Response:
    """The report of a crawl: the same as `manners report` writes."""
    store = request.app[SERVICE].crawls.store
    html = await store.read_long(_report, crawl_of(request), store.redact)
    policy = f"{content_policy()}; frame-ancestors 'none'"
    headers = {"Content-Security-Policy": policy}
    return web.Response(body=html, content_type="text/html", charset="utf-8", headers=headers)


def _report(store: EvidenceStore, crawl: int, redact: bool) -> bytes:
    return report_page(report_of(store, crawl, redact=redact)).encode()


async def show_urls(request: web.Request) -> web.Response:
    """The URLs of a crawl that a filter chooses."""
    store, number = request.app[SERVICE].crawls.store, crawl_of(request)
    chosen = searched(request, ("state", "host", "reason", "text"))
    try:
        after, digest = parse_place(**searched(request, ("after",)))
    except ValueError:
        raise ServiceProblem(422, "'after' is no place in this list.", "Begin anew.") from None
    wanted = UrlFilter(**chosen, after=after, after_digest=digest)
    found = await store.read(urls_of, number, wanted, redact=store.redact)
    following = "" if not found.next else str(request.rel_url.update_query(after=found.next))
    return page(
        request,
        "crawl_urls.html",
        number=number,
        chosen=chosen,
        states=_STATES,
        found=found,
        following=following,
        address=page_address,
        reasons=words.REASONS,
    )


async def show_url(request: web.Request) -> web.Response:
    """One URL: its record, what came of it, and what led to it."""
    store, number = request.app[SERVICE].crawls.store, crawl_of(request)
    place = searched(request, ("host", "key"))
    found = await store.read(url_of, number, **place, redact=store.redact)
    if found is None:
        raise ServiceProblem(
            404, f"Crawl {number} does not know this URL.", f"/crawls/{number}/pages has those."
        )
    return page(
        request,
        "crawl_url.html",
        number=number,
        found=found,
        found_in=Markup(page_link(number, found.found_in)),  # noqa: S704 (an element)
        address=page_address,
        reasons=words.REASONS,
        utc=_utc,
    )


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


ROUTES = (
    web.get(f"{CRAWL}/report", show_report),
    web.get(f"{CRAWL}/pages", show_urls),
    web.get(f"{CRAWL}/page", show_url),
)

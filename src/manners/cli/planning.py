"""What `manners crawl` finds out before it fetches a page: unfinished crawls, and the dry run."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from manners._text import count, duration, minutes, printable
from manners.cli import UNDECIDED, inputs, render
from manners.errors import HostDeferred, PolitenessError, SlotTimeout, StoreError, StoreTimeout
from manners.robots.verdict import Reason
from manners.urls import host

if TYPE_CHECKING:
    from manners.client.async_client import AsyncClient
    from manners.robots.verdict import Verdict
    from manners.settings import Settings


def refuse_if_unfinished(settings: "Settings") -> None:
    """Raise if the last crawl in the store is unfinished."""
    from manners.crawler.frontier import crawls
    from manners.crawler.status import RUNNING, status_of
    from manners.store.database import Store

    try:
        place, timeout = settings.store or inputs.STORE, settings.server_timeout
        store = Store(place, readonly=True, timeout=timeout)
    except StoreTimeout:
        raise
    except StoreError:  # there is none yet; other problems show when the crawl opens it
        return
    with store:
        number = crawls.unfinished(store)
        if not number:
            return
        status = status_of(store, number)
        where = inputs.store_option(store.place)
    if status.ended == RUNNING:
        state, advice = f"is {RUNNING}", "Wait for it"
    else:
        state = f"is unfinished ({status.ended})"
        advice = f"Resume it: manners crawl resume{where}"
    raise inputs.Unusable(
        f"crawl {number} in {store.place} {state}: {status.fetched:,} fetched,"
        f" {status.remaining:,} remaining; nothing was fetched now. {advice};"
        " or start another crawl: --new"
    )


class _Plan(NamedTuple):
    """What a crawl would do from one start URL."""

    url: str
    verdict: "Verdict | None"
    problem: str
    sitemaps: int
    found: int
    allowed: int
    delay: float

    @property
    def exit_code(self) -> int:
        if self.problem or self.verdict is None or self.verdict.reason is Reason.UNREACHABLE:
            return UNDECIDED
        return int(not self.verdict.allowed and not self.allowed)


def dry_run(starts: list[str], settings: "Settings", json: bool) -> int:
    """Show what a crawl would do, without fetching a page; the exit code."""
    from manners._portal import portal

    client, code = inputs.open_client(settings.but(store=None)), 0
    try:
        for start in starts:
            plan = portal.run(_plan(client, start))
            code = max(code, plan.exit_code)
            print(_as_json(plan, settings) if json else "\n".join(_lines(plan, settings)))
    finally:
        portal.run(client.close())
    return code


async def _plan(client: "AsyncClient", start: str) -> _Plan:
    from manners.crawler.discovery import Discovery

    discovery, verdict, problem = Discovery(client, "sitemap"), None, ""
    try:
        verdict = await client.check(start)
        if verdict.allowed:
            await _check_visit_time(client, start)
        if client.settings.source != "links":
            await discovery.run(start)
    except (HostDeferred, PolitenessError, SlotTimeout) as error:
        problem = str(error)
    delay = client.pace_of(host(start))[0]
    if verdict is not None and verdict.crawl_delay:
        delay = max(delay, verdict.crawl_delay)
    sitemaps = sum(sitemap.was_read for sitemap in discovery.sitemaps)
    found = sum(discovery.found.values())
    return _Plan(start, verdict, problem, sitemaps, found, len(discovery.kept), delay)


def _as_json(plan: _Plan, settings: "Settings") -> str:
    values = plan._asdict() | {
        "verdict": None if plan.verdict is None else plan.verdict.to_dict(),
        "delay": round(plan.delay, 3),
        "max_pages": settings.max_pages,
        "max_minutes": settings.max_minutes,
    }
    return render.as_json(values)


def _lines(plan: _Plan, settings: "Settings") -> Iterator[str]:
    if plan.verdict is not None:
        yield render.verdict_line(plan.verdict)
    if plan.problem:
        yield ("" if plan.verdict is None else "  ") + printable(plan.problem)
    elif settings.source != "links":
        found = f"{count(plan.found, 'URL')}, {plan.allowed:,} of them allowed"
        yield f"  {count(plan.sitemaps, 'sitemap')}: {found}" if plan.sitemaps else "  no sitemap"
    limits = f"{count(settings.max_pages, 'page')} in {minutes(settings.max_minutes)}"
    yield f"  {duration(plan.delay)} between requests, at most {limits}"


async def _check_visit_time(
    client: "AsyncClient", start: str, clock: Callable[[], float] = time.time
) -> None:
    """Raise `HostDeferred` if the site's Visit-time does not allow requests now."""
    from manners.politeness.schedule import opens_at

    if client.settings.respects(host(start)):
        site, now = await client.robots.get(start), clock()
        opening = opens_at(site.robots.policy(client.agent).visit_time, now)
        if opening > now:
            raise HostDeferred(host(start), opening)

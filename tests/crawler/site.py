"""A site on loopback made of sitemaps and pages, and what a discovery says about it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from manners import AsyncClient
from manners.crawler.discovery import Discovery, Source
from manners.crawler.frontier.values import FoundUrl
from manners.crawler.inventory import found_urls
from manners.store.database import Store
from tests.client.asking import asking, rules, run
from tests.faults.server import Handler, Site, Visit, by_path, page

HTML = [("Content-Type", "text/html; charset=utf-8")]


def text(*lines: str) -> Handler:
    """A sitemap with one URL a line, or anything else."""
    return page("\n".join(lines).encode())


def urlset(*entries: str | tuple[str, float | str]) -> bytes:
    """A sitemap; of entries that are pairs, the second is the priority."""
    made = []
    for entry in entries:
        url, priority = (entry, None) if isinstance(entry, str) else entry
        more = "" if priority is None else f"<priority>{priority}</priority>"
        made.append(f"<url><loc>{url}</loc>{more}</url>")
    return f"<urlset>{''.join(made)}</urlset>".encode()


def index(*urls: str) -> bytes:
    made = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return f"<sitemapindex>{made}</sitemapindex>".encode()


def html(*links: str, head: str = "", headers: Iterable[tuple[str, str]] = ()) -> Handler:
    """A page; a link is where it leads to, or the whole element."""
    made = (link if link.startswith("<") else f'<a href="{link}">x</a>' for link in links)
    return page(f"<html><head>{head}</head>{''.join(made)}".encode(), headers=[*HTML, *headers])


class Seen(NamedTuple):
    """What a discovery has found, and what the server has seen of it."""

    discovery: Discovery
    told: list[FoundUrl]
    """What the store has of every URL, in the order of URLs."""
    log: list[Visit]
    base: str

    @property
    def paths(self) -> list[str]:
        """What was asked for."""
        return [visit.path for visit in self.log]

    @property
    def kept(self) -> list[str]:
        """What is to be fetched, without the origin."""
        return [each.url.removeprefix(self.base) for each in self.discovery.kept]

    @property
    def fates(self) -> dict[str, str]:
        """Why each URL is blocked: empty where it is to be fetched."""
        return {each.url.removeprefix(self.base): each.reason for each in self.told}

    def about(self, path: str) -> FoundUrl:
        """What became of a URL."""
        url = path if path.startswith("http") else self.base + path
        (found,) = (each for each in self.told if each.url == url)
        return found

    @property
    def sitemaps(self) -> dict[str, tuple[str, int, list[str]]]:
        """Of each sitemap: what came back, how many entries, which problems."""
        return {
            each.url.removeprefix(self.base): (
                each.status,
                each.entries,
                [problem.problem for problem in each.problems],
            )
            for each in self.discovery.sitemaps
        }


Change = Callable[[Discovery, AsyncClient], Coroutine[Any, Any, object]]


def discover(
    make: Callable[[Callable[..., str]], dict[str, Handler]],
    source: Source = "auto",
    start: str = "/",
    *,
    client: dict[str, Any] | None = None,
    otherwise: Callable[[Site], Handler] | None = None,
    during: Change | None = None,
    **changes: Any,
) -> Seen:
    """Let a discovery loose on a site; `make` is told how URLs of the site are written.

    What is not a page of it is 404, unless `otherwise` answers for other addresses.
    """

    async def main() -> Seen:
        pages: dict[str, Handler] = {}
        site = Site(by_path(pages))
        async with site:

            def url(path: str = "/", address: str = "127.0.0.1") -> str:
                return site.url(address, path)

            pages.update({"/robots.txt": rules(), **make(url)})
            own = by_path(pages)
            if otherwise is not None:
                others = otherwise(site)

                async def both(call: Any) -> None:
                    await (own if call.address == "127.0.0.1" else others)(call)

                site.answer = both
            else:
                site.answer = own
            async with asking(**changes, **(client or {})) as asker:
                discovery = Discovery(asker, source, store=store)
                if during is None:
                    await discovery.run(url(start))
                else:
                    await during(discovery, asker)
            assert site.failures == []
            assert await site.emptied()
            told = list(found_urls(store, discovery.number))
            return Seen(discovery, told, site.log, site.url(path=""))

    with TemporaryDirectory() as folder, Store(Path(folder, "found.db")) as store:
        return run(main)


async def interrupted(work: Coroutine[Any, Any, None], when: Callable[[], object]) -> None:
    """Begin some work, and cancel it when something holds."""
    task = asyncio.create_task(work)
    while not when():
        await asyncio.sleep(0.005)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return
    raise AssertionError("it was over before")

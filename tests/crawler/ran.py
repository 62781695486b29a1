"""Crawls let loose on sites on loopback, and what they leave behind."""

from collections.abc import Callable, Mapping
from typing import Any

from manners.crawler.crawl import Crawl
from manners.crawler.frontier import crawls, tables
from manners.crawler.page import CrawledPage
from manners.evidence.store import EvidenceStore
from tests.client.asking import OPEN, run, settings
from tests.crawler.site import html
from tests.faults.server import Call, Handler, Site, page

OTHER, THIRD = "127.0.9.2", "127.0.9.3"
QUICK: dict[str, Any] = {"initial_backoff": 0.01, "backoff_jitter": 0.0}
"""No long pauses before something is tried again."""
Pages = dict[str, Handler]
Make = Callable[[Callable[..., str]], Pages]


def served(pages: Mapping[str, Handler]) -> Handler:
    """Pages by path, of other hosts by address and path; every robots.txt allows everything."""

    async def answer(call: Call) -> None:
        path = (await call.request()).path.partition("?")[0]
        place = path if call.address == "127.0.0.1" else call.address + path
        otherwise = OPEN if path == "/robots.txt" else page(status=404)
        await pages.get(place, otherwise)(call)

    return answer


class Ran:
    """What one crawl after another has left behind, and the site that they are let loose on."""

    def __init__(self, site: Site, store: str) -> None:
        self.site, self.store = site, store
        self.base = site.url(path="")
        self.pages: list[CrawledPage] = []
        self.crawl: Crawl

    def begin(self, *starts: str, **changes: Any) -> Crawl:
        """Make a crawl that is to be run."""
        how = {name: changes.pop(name) for name in ("resume", "keep") if name in changes}
        urls = [self.url(each) for each in (starts or ("/",) * ("resume" not in how))]
        its = settings(**{"store": self.store, **QUICK, **changes})
        self.crawl = Crawl(urls, its, agent="MyBot", **how)
        return self.crawl

    async def go(self, *starts: str, **changes: Any) -> Crawl:
        """Run a crawl to its end."""
        self.pages = [each async for each in self.begin(*starts, **changes)]
        assert self.site.failures == []
        return self.crawl

    def url(self, path: str) -> str:
        """The URL of a path, or of a host and path."""
        if "://" in path:
            return path
        address, slash, rest = path.partition("/")
        return self.site.url(address or "127.0.0.1", slash + rest)

    def path(self, url: str) -> str:
        """The path of a URL, with its host where that is another."""
        if url.startswith(self.base + "/"):
            return url.removeprefix(self.base)
        return url.removeprefix("http://").replace(f":{self.site.ports[0]}", "")

    @property
    def asked(self) -> list[str]:
        """What was asked for, robots.txt files aside."""
        found = [
            visit.path if visit.address == "127.0.0.1" else visit.address + visit.path
            for visit in self.site.log
        ]
        return [each for each in found if not each.endswith("/robots.txt")]

    @property
    def seen(self) -> dict[str, str]:
        """The pages that came: the state of each."""
        return {self.path(each.url): each.state for each in self.pages}

    @property
    def rows(self) -> dict[str, Any]:
        """What the store has of each page of the last crawl."""
        with EvidenceStore(self.store) as store, store.reading() as connection:
            query = tables.urls.select().where(tables.urls.c.crawl == crawls.latest(store))
            found = connection.execute(query.where(tables.urls.c.kind == "page")).all()
        return {self.path(row.url): row for row in found}

    @property
    def states(self) -> dict[str, tuple[str, str]]:
        return {path: (row.state, row.reason) for path, row in self.rows.items()}

    def page(self, path: str) -> CrawledPage:
        return next(each for each in self.pages if self.path(each.url) == path)


def visiting(work: Callable[[Ran], Any], make: Make, place: str, seconds: float = 60.0) -> Ran:
    """Let crawls loose on a site; `make` is told how URLs of the site are written."""

    async def main() -> Ran:
        pages: Pages = {}
        async with Site(served(pages)) as site:

            def url(path: str = "/", address: str = "127.0.0.1") -> str:
                return site.url(address, path)

            pages.update(make(url))
            ran = Ran(site, place)
            await work(ran)
            assert await site.emptied()
            assert site.failures == []
            return ran

    return run(main, seconds)


def crawled(make: Make, place: str, *starts: str, **changes: Any) -> Ran:
    """Let one crawl loose on a site, to its end."""

    async def work(ran: Ran) -> None:
        await ran.go(*starts, **changes)

    return visiting(work, make, place)


def of(**pages: Handler) -> Make:
    """A site of pages by name; `home` is the first."""
    made = {"/" if name == "home" else f"/{name}": each for name, each in pages.items()}
    return lambda _: made


def chain(length: int) -> Pages:
    """Pages that lead from one to the next."""
    made = {f"/{n}": html(f"/{n + 1}") for n in range(length - 1)}
    return {**made, f"/{length - 1}": html()}


def fan(width: int, each: Handler | None = None) -> Pages:
    """A page that leads to many."""
    return {
        "/": html(*(f"/{n}" for n in range(width))),
        **{f"/{n}": each or html() for n in range(width)},
    }

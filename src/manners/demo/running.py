"""Running the demo: the site is started, crawled and stopped."""

from collections.abc import Callable

from manners.crawler.crawl import Crawl
from manners.crawler.page import CrawledPage
from manners.demo.site import LIBRARY, SHOP, DemoSite
from manners.report.html.page import page as report_page
from manners.report.reader import report_of
from manners.settings import Settings
from manners.store.database import Store


async def crawl_site(
    site: DemoSite,
    settings: Settings,
    on_start: Callable[[], object],
    on_page: Callable[[CrawledPage, Crawl], object],
) -> int:
    """Crawl the site; returns the number of the crawl.

    `on_start` is called when the site is running, `on_page` with each page that is finished.
    """
    async with site:
        on_start()
        crawl = Crawl([site.url(f"{name}/") for name in (SHOP, LIBRARY)], settings)
        async for page in crawl:
            on_page(page, crawl)
        return crawl.number


def report_html(store: Store, crawl: int) -> bytes:
    """The report of a crawl, as an HTML file."""
    return report_page(report_of(store, crawl)).encode()

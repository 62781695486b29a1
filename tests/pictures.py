"""The pictures of the documentation: `make pictures`. The same comes out until something changes.

docs/pictures/report.png   the beginning of a report, in Chromium
docs/pictures/tester.png   the tester of `manners serve`, wide
docs/pictures/diff.png     its comparison of two files, in the dark
docs/pictures/live.svg     what `manners crawl` shows on a terminal while it runs
"""

import io
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from manners import Settings, parse
from manners.cli.watching import Watch
from manners.client.page import Hop
from manners.crawler.crawl import CrawlView
from manners.crawler.holdings import HostView
from manners.crawler.page import CrawledPage
from manners.evidence.store import EvidenceStore
from manners.report.html.page import page
from manners.report.reader import report_of
from tests.crawler import shop

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
_WIDTH, _HEIGHT = 1160, 1090
_NOW = 1_798_797_600.0
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def report_png(path: Path) -> None:
    """The beginning of a report."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        store, file = Path(folder, "shop.db"), Path(folder, "report.html")
        shop.made(store)
        with EvidenceStore(store) as opened:
            file.write_text(page(report_of(opened)), encoding="utf-8")
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
            shown = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
            shown.goto(file.as_uri())
            shown.screenshot(path=path)
            browser.close()


def service_pngs(tester: Path, diff: Path) -> None:
    """Pages of the service, with their examples."""
    from playwright.sync_api import sync_playwright

    from tests.web.browser import background, tab
    from tests.web.service import service

    with sync_playwright() as driver, background(service()) as asker:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"))
        with tab(browser, asker.address, width=1280) as seen:
            seen.page.set_viewport_size({"width": 1280, "height": 980})
            seen.page.wait_for_selector(".findings li")
            seen.page.wait_for_selector(".differs:not([hidden])")
            seen.page.screenshot(path=tester)
        with tab(browser, asker.address, "/diff", scheme="dark") as seen:
            seen.page.set_viewport_size({"width": 1280, "height": 1000})
            seen.page.wait_for_selector(".witnesses li")
            seen.page.screenshot(path=diff)
        browser.close()


class _Running:
    """A crawl in the middle of it, as the view asks for one."""

    settings = Settings(max_pages=1_000)

    def view(self, most: int = 20) -> CrawlView:
        hosts = [
            HostView("docs.shop.example", 2.0, _NOW + 1.24, 1, 12),
            HostView("shop.example", 0.35, _NOW + 0.14, 2, 61),
            HostView("news.example", 0.5, _NOW - 1.0, 1, 64),
        ]
        states = {"queued": 268, "leased": 4, "done": 412, "failed": 3, "blocked": 158}
        return CrawlView(states, 4, 415, 1.52, hosts[:most], False)


def _pages() -> list[CrawledPage]:
    """The pages that came last."""
    robots = parse(b"User-agent: *\nDisallow: /cart/\n")
    said = (
        ("/products/41", 200, "Product 41", 18_204, 0.11),
        ("/cart/add?item=42", None, "", 0, 0.0),
        ("/products/43", 200, "Product 43", 22_981, 0.09),
        ("/old/44", 404, "Not found", 612, 0.05),
        ("/products/45", 200, "Product 45", 20_417, 0.13),
    )
    made = []
    for path, status, title, size, seconds in said:
        url = shop.SHOP + path
        verdict = robots.check(url, agent="MyBot")
        hop = Hop(url, verdict.allowed, verdict, status, "", 0.0, 0.0, seconds)
        state = "done" if verdict.allowed else "blocked"
        body = b"x" * size
        made.append(CrawledPage(url, (hop,), {}, body, depth=2, state=state, title=title))
    return made


class _Terminal(io.StringIO):
    """Where lines are in colour."""

    def isatty(self) -> bool:
        return True


def live_svg(path: Path) -> None:
    """The view of a crawl that runs."""
    running: Any = _Running()
    start = iter((_NOW - 91.0,))
    watch = Watch(running, lambda: next(start, _NOW))
    before, sys.stdout = sys.stdout, _Terminal()
    try:
        for each in _pages():
            watch.add(each)
    finally:
        sys.stdout = before
    watch.pages = 573
    console = Console(record=True, width=104, file=io.StringIO(), force_terminal=True)
    said = "crawling https://shop.example/ https://news.example/ as MyBot"
    console.print(said, style="bold", highlight=False)
    console.print(watch.view())
    made = console.export_svg(title="manners crawl", unique_id="live")
    # Its fonts would be loaded from elsewhere; the system has one that is as wide.
    path.write_text(_FONTS.sub("", made), encoding="utf-8")


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    live_svg(PICTURES / "live.svg")
    if shutil.which("chromium") is None:
        sys.exit("no Chromium here, and so no pictures of pages: `make browser` installs it")
    report_png(PICTURES / "report.png")
    service_pngs(PICTURES / "tester.png", PICTURES / "diff.png")

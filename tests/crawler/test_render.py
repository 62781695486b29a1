"""Pages that scripts write: a crawl renders them in a real Chromium."""

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from manners.browser import chromium, rendering
from manners.browser.chromium import NoChromium
from manners.browser.need import needs_browser
from manners.crawler.crawl import crawl
from manners.crawler.page import CrawledPage
from manners.evidence.store import EvidenceStore
from tests.chromium import needs_chromium
from tests.client.asking import rules, settings, silence, until
from tests.faults.server import Call, Handler, Site, by_path, page

HTML = [("Content-Type", "text/html")]
APP = """<title>App</title><div id=app>Loading</div><script src=/app.js></script>"""
SCRIPT = b"""
fetch("/data.json").then(reply => reply.json()).then(names => {
  document.title = "Written";
  for (const name of names) app.insertAdjacentHTML("beforeend", `<a href=${name}>${name}</a> `);
});
fetch("/no/data.json");
fetch("http://127.0.0.2:" + location.port + "/other");
new Image().src = "http://localhost:" + location.port + "/other";
"""
PLAIN = "<title>Plain</title><p>" + "Text that is there. " * 10 + "<a href=/last>last</a>"
GOES = "<title>Goes</title><script>location = '/target'</script>"


def app(**more: Handler) -> Handler:
    """A site whose home is written by scripts."""
    return by_path(
        {
            "/robots.txt": rules("Disallow: /no/"),
            "/": page(APP.encode(), 200, HTML),
            "/app.js": page(SCRIPT, 200, [("Content-Type", "text/javascript")]),
            "/data.json": page(b'["/plain", "/goes", "/no/way"]'),
            "/plain": page(PLAIN.encode(), 200, HTML),
            "/goes": page(GOES.encode(), 200, HTML),
            "/last": page(b"<p>the end</p>", 200, HTML),
            "/target": page(b"<p>reached</p>", 200, HTML),
            **{f"/{name}": handler for name, handler in more.items()},
        }
    )


def crawled(handler: Handler, **changes: Any) -> tuple[dict[str, CrawledPage], list[str]]:
    """The pages of a crawl by path, and what the site was asked for."""

    async def main() -> tuple[dict[str, CrawledPage], list[str]]:
        async with Site(handler) as site, asyncio.timeout(120.0):
            pages = {}
            given = settings(source="links", **changes)
            async for found in crawl([site.url()], given):
                pages["/" + found.url.split("/", 3)[3]] = found
            assert site.failures == []
            assert {visit.address for visit in site.log} == {"127.0.0.1"}
            return pages, [visit.path for visit in site.log]

    return asyncio.run(main())


@needs_chromium
def test_a_crawl_finds_what_scripts_write() -> None:
    """With auto, pages without links or text are rendered; each document is asked for once."""
    pages, asked = crawled(app(), render="auto")
    assert set(pages) == {"/", "/plain", "/goes", "/last", "/target", "/no/way"}
    home = pages["/"]
    assert home.title == "Written"
    assert home.body.decode() == APP
    assert '<a href="/plain">' in home.rendered
    assert pages["/plain"].rendered == ""
    assert pages["/no/way"].state == "blocked"
    assert pages["/target"].found_in.endswith("/goes")
    documents = [path for path in asked if path in pages]
    assert sorted(documents) == sorted({*pages} - {"/no/way"})
    assert {"/app.js", "/data.json"} <= set(asked)
    assert not any(path.startswith("/no/") or path == "/other" for path in asked)


@needs_chromium
def test_always_renders_every_page_and_never_none(tmp_path: Path) -> None:
    """Without the option, no script is asked for; sub-resources have records as well."""
    store = str(tmp_path / "crawl.db")
    pages, _ = crawled(app(), render="always", store=store)
    assert pages["/plain"].rendered
    with EvidenceStore(store) as evidence:
        recorded = {record.url.rpartition("/")[2] for record in evidence.records()}
    assert {"app.js", "data.json", "plain"} <= recorded
    pages, asked = crawled(app())
    assert set(pages) == {"/"}
    assert set(asked) == {"/robots.txt", "/"}


def browsers() -> Iterator[int]:
    """The Chromiums that this process has started, without their own processes."""
    parents: dict[int, int] = {}
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            with suppress(OSError, ValueError):
                parents[int(place.name)] = int(
                    (place / "stat").read_text().rpartition(")")[2].split()[1]
                )
                command = (place / "cmdline").read_bytes()
                if b"--headless" in command and b"--type=" not in command:
                    found.append(int(place.name))
    for process in found:
        parent = process
        while parent > 1 and parent != os.getpid():
            parent = parents.get(parent, 0)
        if parent == os.getpid():
            yield process


@needs_chromium
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")
def test_a_browser_that_is_killed_loses_no_url() -> None:
    """Killed while it renders, twice; another renders the page, which is asked for once."""
    killed: list[int] = []

    async def kill(call: Call) -> None:
        await call.request()
        if len(killed) < 1:
            await until(lambda: [*browsers()])
            for process in browsers():
                killed.append(process)
                os.kill(process, signal.SIGKILL)
        await call.reply(200, SCRIPT, [("Content-Type", "text/javascript")])

    pages, asked = crawled(app(**{"app.js": kill}), render="auto")
    assert killed
    assert set(pages) == {"/", "/plain", "/goes", "/last", "/target", "/no/way"}
    assert asked.count("/") == 1
    assert asked.count("/app.js") == 2
    assert [*browsers()] == []


@needs_chromium
def test_a_page_that_breaks_every_browser_counts_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A page that hangs is given up; the others are rendered."""
    monkeypatch.setattr(rendering, "_TOTAL", 12.0)
    waits = "const x = new XMLHttpRequest(); x.open('GET', '/silent', false); x.send()"
    hangs = page(f"<title>Hangs</title><script>{waits}</script>".encode(), 200, HTML)
    data = page(b'["/hangs", "/goes"]')
    handler = app(hangs=hangs, silent=silence, **{"data.json": data})
    pages, _ = crawled(handler, render="auto")
    assert set(pages) == {"/", "/hangs", "/goes", "/target"}
    assert pages["/hangs"].state == "done"
    assert pages["/hangs"].rendered == ""


@needs_chromium
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc here")
def test_a_browser_that_takes_too_much_memory_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its page counts as the server sent it."""
    monkeypatch.setattr(rendering, "_MEMORY", 1)
    monkeypatch.setattr(rendering, "_LOOK", 0.01)
    pages, _ = crawled(app(**{"app.js": silence}), render="auto")
    assert pages["/"].state == "done"
    assert pages["/"].rendered == ""
    assert [*browsers()] == []


def test_without_chromium_a_crawl_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is asked for."""
    pytest.importorskip("playwright.async_api", reason="Playwright is not installed")
    monkeypatch.setattr(chromium, "_NAMES", ())
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", "/nowhere")
    with pytest.raises(NoChromium, match="playwright install chromium"):
        crawled(app(), render="auto")


@pytest.mark.parametrize(
    ("html", "needed"),
    [
        (APP, True),
        (PLAIN, False),
        (PLAIN + "<script></script>", False),
        ("<p>short, and no script</p>", False),
        ("<a href=/x>x</a><script>" + "code " * 100 + "</script>", True),
        ("<a href=/x>x</a><!-- " + "comment " * 100 + "--><script></script>", True),
        ("<script>" * 20_000, True),
        ("<!--" * 20_000 + "<script>", True),
    ],
)
def test_what_needs_a_browser(html: str, needed: bool) -> None:
    """A page with a script, and without links or text of its own; hostile ones take no time."""
    assert needs_browser(html) is needed

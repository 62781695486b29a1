"""The report in a real browser: nothing in it runs, nothing is loaded, nothing breaks the page.

Chromium comes from the system's packages (`make browser`); without it these tests are skipped.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from manners.evidence.store import EvidenceStore
from manners.report.html.page import page
from manners.report.reader import report_of
from tests.crawler import hostile, shop

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
WIDTHS = (1280, 390)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: `make browser`")


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM)
        yield opened
        opened.close()


def written(folder: Path, make: Any) -> Path:
    make(folder / "crawl.db")
    with EvidenceStore(folder / "crawl.db") as store:
        made = page(report_of(store))
    (folder / "report.html").write_text(made, encoding="utf-8")
    return folder / "report.html"


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("hostile"), hostile.made)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("shop"), shop.made)


class Seen:
    """A page, and what it did when it was opened."""

    def __init__(self, shown: "Page", file: Path) -> None:
        self.page = shown
        self.said: list[str] = []
        self.asked: list[str] = []
        self.dialogs: list[str] = []
        shown.on("console", lambda message: self.said.append(message.text))
        shown.on("pageerror", lambda error: self.said.append(str(error)))
        shown.on("request", lambda request: self.asked.append(request.url))
        shown.on("dialog", self._dismiss)
        shown.goto(file.as_uri())
        shown.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")

    def _dismiss(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


@contextmanager
def opened(
    browser: "Browser", file: Path, width: int = 1280, scheme: Any = "light"
) -> Iterator[Seen]:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=False
    )
    try:
        yield Seen(context.new_page(), file)
    finally:
        context.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_run_and_nothing_is_loaded(
    browser: "Browser", bad: Path, width: int, scheme: str
) -> None:
    """No dialog, no message in the console, no request but for the file itself."""
    with opened(browser, bad, width, scheme) as seen:
        shown = seen.page
        assert (seen.dialogs, seen.said) == ([], [])
        assert [url for url in seen.asked if not url.startswith("data:")] == [bad.as_uri()]
        assert shown.evaluate("typeof window.hacked") == "undefined"
        assert shown.locator("script, iframe, object, embed, img, form, input, base").count() == 0
        assert shown.locator("style").count() == 1
        assert shown.locator("h1").count() == 1
        assert shown.locator("a:not([href^='#'])").count() == 0
        assert shown.evaluate("document.querySelectorAll('[onload], [onerror]').length") == 0
        assert shown.title().startswith("Crawl 1 of https://hostile.example/<script>")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("which", ["bad", "good"])
def test_nothing_is_wider_than_the_page(
    browser: "Browser", request: pytest.FixtureRequest, which: str, width: int
) -> None:
    """Neither the page scrolls sideways, nor is anything cut off at its edge."""
    with opened(browser, request.getfixturevalue(which), width) as seen:
        root = "document.documentElement"
        assert seen.page.evaluate(f"[{root}.scrollWidth, {root}.clientWidth]") == [width, width]
        outside = seen.page.evaluate(
            """width => [...document.querySelectorAll('body *')]
                .filter(each => !each.closest('svg') && !each.closest('.hidden'))
                .filter(each => each.getBoundingClientRect().right > width + 1)
                .map(each => each.outerHTML.slice(0, 200))""",
            width,
        )
        assert outside == []
        clipped = seen.page.evaluate(
            """() => [...document.querySelectorAll('td, li, h1, dd, figcaption')]
                .filter(each => each.scrollWidth > each.clientWidth + 1)
                .map(each => each.outerHTML.slice(0, 200))"""
        )
        assert clipped == []


def test_marks_upon_marks_stay_in_their_line(browser: "Browser", bad: Path) -> None:
    """Letters with hundreds of accents do not paint over what stands above and below."""
    with opened(browser, bad) as seen:
        text = seen.page.locator("td", has_text="Z\u0337").first.inner_text()
        assert "Z\u0337\u0321\u0354\u0301" in text
        assert "\u0301\u0337" not in text
        overflow = (
            "[...document.querySelectorAll('td')].map(each => getComputedStyle(each).overflow)"
        )
        assert set(seen.page.evaluate(overflow)) == {"hidden"}


def test_the_policy_stops_what_would_get_in(browser: "Browser", good: Path, tmp_path: Path) -> None:
    """Even if something were not escaped, it would not run, and would load nothing."""
    through = (
        "<script>window.hacked = 1</script><img src='http://127.0.0.1:9/x' onerror='hacked = 1'>"
        "<link rel=stylesheet href='http://127.0.0.1:9/y'><iframe src='http://127.0.0.1:9/z'></iframe>"
        "<p style='color: red' id=styled>x</p><style>#styled { color: red }</style>"
    )
    file = tmp_path / "report.html"
    html = good.read_text(encoding="utf-8").replace("</main>", f"{through}</main>")
    file.write_text(html, encoding="utf-8")
    with opened(browser, file) as seen:
        assert seen.page.evaluate("typeof window.hacked") == "undefined"
        assert len(seen.said) >= 5
        assert all("Content Security Policy" in said for said in seen.said), seen.said
        colour = "getComputedStyle(document.getElementById('styled')).color"
        body = "getComputedStyle(document.body).color"
        assert seen.page.evaluate(f"{colour} === {body}")


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


TEXTS = ("body", ".soft", ".badge.ok", ".badge.no", ".no-text", ".ok-text", ".wrong", ".sub", "th")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_in_dark(browser: "Browser", good: Path, scheme: str) -> None:
    """Contrast is at least what WCAG asks for, 4.5 to 1, against what is behind it."""
    with opened(browser, good, scheme=scheme) as seen:
        background = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (luminance(background) > 0.5) == (scheme == "light")
        for name in TEXTS:
            front, back = seen.page.evaluate(
                """name => {
                    let each = document.querySelector(name), front = getComputedStyle(each).color
                    let back = getComputedStyle(each).backgroundColor
                    while (back === 'rgba(0, 0, 0, 0)') {
                        each = each.parentElement
                        back = getComputedStyle(each).backgroundColor
                    }
                    return [front, back]
                }""",
                name,
            )
            dark, light = sorted((luminance(front), luminance(back)))
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, front, back)


def test_it_prints(browser: "Browser", good: Path) -> None:
    """On paper it is dark on white, whatever the screen, and without what is for clicking."""
    with opened(browser, good, scheme="dark") as seen:
        seen.page.emulate_media(media="print")
        style = "getComputedStyle(document.body)"
        assert seen.page.evaluate(f"{style}.backgroundColor") == "rgb(255, 255, 255)"
        assert seen.page.evaluate(f"{style}.color") == "rgb(0, 0, 0)"
        assert not seen.page.locator("nav").is_visible()
        hint = "each => getComputedStyle(each.querySelector('summary'), '::after').content"
        for name in ("#pages > details", ".reasons details", "details.numbers"):
            shut = seen.page.locator(name).first
            assert shut.evaluate(f"each => {{ each.open = false; return ({hint})(each) }}") == (
                '" (open it to print it)"'
            )
            assert shut.evaluate(f"each => {{ each.open = true; return ({hint})(each) }}") == "none"
        printed = seen.page.pdf(format="A4")
        assert printed.startswith(b"%PDF")
        assert len(printed) > 20_000


@pytest.mark.parametrize("width", WIDTHS)
def test_numbers_beside_a_chart_stand_apart(browser: "Browser", good: Path, width: int) -> None:
    with opened(browser, good, width) as seen:
        places = seen.page.evaluate(
            """() => [...document.querySelectorAll('.scale')].map(scale =>
                [...scale.children].map(each => {
                    const box = each.getBoundingClientRect()
                    return [box.top, box.bottom, box.left]
                }))"""
        )
        assert len(places) == 3
        for labels in places:
            for (_, above, _), (below, _, _) in pairwise(labels):
                assert below - above >= 3
            assert min(left for *_, left in labels) >= 0


def test_a_chart_says_what_it_shows(browser: "Browser", good: Path) -> None:
    """As screen readers are told: an image with a name, and tables with headings."""
    with opened(browser, good) as seen:
        name = seen.page.get_by_role("img", name="shop.example: ")
        assert name.first.is_visible()
        assert seen.page.get_by_role("table", name="news.example").count() == 1
        assert seen.page.get_by_role("columnheader", name="Shortest gap").count() >= 3
        assert seen.page.get_by_role("region", name="Timeline").count() == 1

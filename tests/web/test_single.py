"""The tester as one file: opened from a disk, without network, with our own engine inside it.

It contains an npm package, which `make tester` downloads; without that these tests are skipped.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from manners.cli import main
from manners.tester import answer, names
from manners.web.single import NPM_PACK, PYODIDE, WrongPackage, engine_archive, single_page
from tests.web.browser import Tab, needs_chromium, tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PACKAGE = Path(__file__).parents[2] / "build" / PYODIDE

needs_package = pytest.mark.skipif(not PACKAGE.exists(), reason="no Pyodide here: `make tester`")

QUESTIONS: dict[str, dict[str, Any]] = {
    "choices": {"robots": ""},
    "verdicts": {"agents": ["MyBot", "GPTBot"], "urls": ["/a", "/é", "https://ü.example/b?x=1#y"]},
    "engines": {"agents": ["MyBot", "GPTBot"], "urls": ["/a", "/é"]},
    "rules": {"agents": ["MyBot"], "urls": ["/a/b"]},
    "overview": {"agents": ["MyBot", "GPTBot"]},
    "usage": {"agents": ["MyBot", "GPTBot"], "urls": ["/a"]},
    "findings": {},
    "fixed": {},
    "impact": {"before": "User-agent: *\nDisallow: /x\n"},
}
ROBOTS = (
    "User-agent: *\nDisalow: /a\nAllow: /a/b\nDisallow: /%C3%A9\nDisallow: /a/c\nCrawl-delay: 3\n"
    "Content-Signal: ai-train=no\n\nUser-agent: GPTBot\nDisallow: /\nSitemap: https://a.example/m\n"
)
"""A file with something for every question."""


def test_another_package_is_refused_with_what_to_do() -> None:
    with pytest.raises(WrongPackage, match=re.escape(NPM_PACK)):
        single_page(b"something else")


def test_the_command_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the package, with another one, or with a name that is no file: usage errors."""
    monkeypatch.chdir(tmp_path)
    Path("other.tgz").write_bytes(b"x")
    for words, said in (
        ([], NPM_PACK),
        (["--pyodide", "other.tgz"], NPM_PACK),
        (["--pyodide", "absent.tgz"], "cannot read"),
        (["-o", ""], "not a file name"),
        (["-o", "folder/"], "not a file name"),
    ):
        assert main(["tester", *words]) == 2, words
        assert said in capsys.readouterr().err
    assert list(Path().iterdir()) == [Path("other.tgz")]


def test_the_archive_has_the_engine_and_nothing_that_asks_a_network() -> None:
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(engine_archive())) as archive:
        members = archive.namelist()
    tops = {name.split("/")[1].removesuffix(".py") for name in members if "manners/" in name}
    assert {"robots", "lint", "signals", "tester"} <= tops
    assert not tops & {"net", "client", "web", "cli", "store"}
    assert all(name.endswith(".py") for name in members)


@cache
def made(folder: Path) -> Path:
    file = folder / "tester.html"
    assert main(["tester", "--pyodide", str(PACKAGE), "-o", str(file)]) == 0
    return file


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("single"))


ASK_WORKER = """
window.Worker = class extends Worker {
    constructor(...given) {
        super(...given);
        window.askWorker = (name, values) => new Promise((resolve) => {
            const number = `test ${Math.random()}`;
            super.addEventListener("message", function hear({ data: { number: its, ...reply } }) {
                if (its === number) resolve(reply);
            });
            this.postMessage({ number, name, values });
        });
    }
    addEventListener(kind, hear) {
        super.addEventListener(kind, (event) => {
            if (!String(event.data?.number).startsWith("test ")) hear(event);
        });
    }
};
"""
"""The page, with a way to ask its worker; its own listener does not hear of that."""


@pytest.fixture(scope="module")
def opened(browser: "Browser", file: Path) -> Iterator[Tab]:
    """The page, opened from a disk by a browser that has no network; Python is started once."""
    with tab(browser, file.as_uri(), "", script=ASK_WORKER, offline=True) as seen:
        seen.page.set_default_timeout(120_000)
        seen.page.wait_for_selector("[data-part=why] .verdict-box")
        yield seen


@needs_package
def test_an_existing_file_is_replaced_only_if_forced(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = file.stat().st_mtime_ns
    words = ["tester", "--pyodide", str(PACKAGE), "-o", str(file)]
    assert main(words) == 2
    assert "--force replaces it" in capsys.readouterr().err
    assert file.stat().st_mtime_ns == before


@needs_package
@needs_chromium
def test_it_works_from_a_disk_without_network(opened: Tab) -> None:
    """Type, see the cell change, follow the line; nothing but the file itself is loaded."""
    page = opened.page
    page.get_by_role("textbox", name="robots.txt", exact=True).fill("User-agent: *\nDisallow: /a\n")
    page.get_by_label("Agents, one a line").fill("MyBot")
    page.get_by_label("URLs, one a line").fill("/a\n/b")
    cell = page.get_by_role("button", name=re.compile("^MyBot: disallowed, line 2"))
    cell.click()
    page.wait_for_selector("text=MyBot may not fetch /a")
    page.locator(".ink .decides").filter(has_text="Disallow: /a").wait_for()
    assert not page.get_by_label("Site", exact=True).is_visible()
    loaded = [url for url in opened.asked if not url.startswith(("data:", "blob:"))]
    assert loaded == [opened.address]
    assert opened.serious == []
    assert opened.too_wide == []


@needs_package
@needs_chromium
def test_a_link_to_it_shares_the_state(opened: Tab) -> None:
    """The fragment is the same as that of the service, so links work with both."""
    state = {"robots": "User-agent: *\nDisallow: /z\n", "agents": "B", "urls": "/z"}
    fragment = opened.page.evaluate(
        "state => '#t=' + btoa(JSON.stringify(state)).replace(/=+$/, '')", state
    )
    opened.page.evaluate("fragment => { location.hash = fragment }", fragment)
    opened.page.get_by_role("button", name=re.compile("^B: disallowed, line 2")).wait_for()


@needs_package
@needs_chromium
def test_files_are_compared_in_it(opened: Tab) -> None:
    page = opened.page
    page.get_by_role("button", name="Compare").click()
    page.get_by_label("robots.txt before").fill("User-agent: *\nDisallow: /a\n")
    page.get_by_label("robots.txt after").fill("User-agent: *\nDisallow: /b\n")
    page.locator(".sentences").filter(has_text="/b").wait_for()
    assert opened.serious == []
    assert opened.too_wide == []
    page.get_by_role("button", name="Test", exact=True).click()
    assert page.get_by_role("textbox", name="robots.txt", exact=True).is_visible()


@needs_package
@needs_chromium
def test_its_answers_are_those_of_this_engine(opened: Tab) -> None:
    """Every question of the page gets the same answer from Python in a browser as from this one."""
    assert set(QUESTIONS) == set(names())
    for name, values in QUESTIONS.items():
        asked = {"robots": ROBOTS, **values}
        found = opened.page.evaluate("([name, values]) => askWorker(name, values)", [name, asked])
        assert found == {"answer": json.loads(json.dumps(answer(name, asked)))}, name
    refused = opened.page.evaluate("askWorker('verdicts', {robots: 1})")
    assert refused == {"problem": "'robots' is a text"}

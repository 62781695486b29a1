"""The tester in a real browser: type, see, follow, share; and whatever a file may contain.

Chromium comes from the system's packages (`make browser`); without it these tests are skipped.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawler import hostile
from tests.faults.server import Site, by_path, page
from tests.web.browser import Tab, background, needs_chromium, tab
from tests.web.service import service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

pytestmark = needs_chromium

FILE = "User-agent: *\nDisallow: /a\nAllow: /a/b\n"
"""What most tests type."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with background(service()) as asker:
        yield asker.address


@pytest.fixture
def shown(browser: "Browser", address: str) -> Iterator[Tab]:
    with tab(browser, address) as seen:
        settle(seen)
        yield seen


def settle(seen: Tab) -> None:
    """Wait until a page has all its answers."""
    seen.page.wait_for_selector("[data-part=why] .verdict-box")
    seen.page.wait_for_selector("[data-part=findings] > *")


def cell(seen: Tab, url: str, agent: str) -> "Locator":
    """The verdict of one URL for one agent, by what screen readers say."""
    name = re.compile(f"^{re.escape(agent)}: .*{url}($|;)".replace("/", r"\/"))
    return seen.page.get_by_role("button", name=name)


def editor(seen: Tab) -> "Locator":
    """Where the file is typed."""
    return seen.page.get_by_role("textbox", name="robots.txt", exact=True)


def ask(seen: Tab, robots: str, agents: str, urls: str) -> None:
    """Fill the whole page; not by typing, which takes a browser minutes for thousands of lines."""
    editor(seen).evaluate(
        """(place, text) => {
            place.value = text;
            place.dispatchEvent(new Event("input"));
        }""",
        robots,
    )
    seen.page.get_by_label("Agents, one a line").fill(agents)
    seen.page.get_by_label("URLs, one a line").fill(urls)


def wait_for(found: "Locator", text: str) -> None:
    """Wait until an element has a text."""
    found.filter(has_text=text).wait_for()


def wait_for_mark(seen: Tab, line: str) -> None:
    """Wait until a line, and no other, lights up in the editor."""
    wait_for(seen.page.locator(".ink .decides"), line)
    assert seen.page.locator(".ink .decides").count() == 1


def selected(seen: Tab) -> str:
    """What is selected in the editor, if the cursor is there."""
    found: str = seen.page.evaluate(
        """() => {
            const at = document.activeElement;
            return at.value?.slice(at.selectionStart, at.selectionEnd) ?? "";
        }"""
    )
    return found


def test_a_keystroke_changes_a_cell_and_its_line_lights_up(shown: Tab) -> None:
    ask(shown, FILE, "MyBot", "/a/b\n/c")
    wait_for(cell(shown, "/a/b", "MyBot"), "line 3")
    assert cell(shown, "/c", "MyBot").inner_text().split() == ["✓", "no", "rule"]
    editor(shown).press("Control+End")
    editor(shown).press_sequentially("Disallow: /c")
    wait_for(cell(shown, "/c", "MyBot"), "line 4")
    cell(shown, "/c", "MyBot").click()
    shown.page.wait_for_selector("text=decides")
    wait_for_mark(shown, "Disallow: /c")
    editor(shown).press("Control+End")
    editor(shown).press("Backspace")
    wait_for(cell(shown, "/a/b", "MyBot"), "line 3")


def test_the_cell_leads_to_the_line_and_says_why(shown: Tab) -> None:
    """Every rule that matches, by rank; the line is selected in the editor."""
    ask(shown, FILE, "MyBot\nOther", "/a/b\n/a/c")
    cell(shown, "/a/b", "Other").click()
    why = shown.page.locator("[data-part=why]")
    wait_for(why, "Other may fetch /a/b")
    rules = why.locator(".rules li")
    assert [text.split()[:3] for text in rules.all_inner_texts()] == [
        ["1.", "Allow", "/a/b"],
        ["2.", "Disallow", "/a"],
    ]
    rules.nth(1).get_by_role("button").click()
    assert selected(shown) == "Disallow: /a"
    wait_for_mark(shown, "Disallow: /a")
    cell(shown, "/a/c", "MyBot").dblclick()
    assert selected(shown) == "Disallow: /a"


def test_it_can_be_used_with_the_keyboard_alone(shown: Tab) -> None:
    """Tab reaches the table once; arrows move in it, Enter opens the line."""
    ask(shown, FILE, "MyBot\nOther", "/a/b\n/a/c")
    wait_for(cell(shown, "/a/c", "Other"), "line 2")
    keyboard, page = shown.page.keyboard, shown.page
    page.get_by_label("URLs, one a line").focus()
    keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Verdicts"
    keyboard.press("Tab")
    for key in ("ArrowUp", "ArrowUp", "ArrowUp", "ArrowLeft", "ArrowDown", "ArrowRight"):
        keyboard.press(key)
    focused = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(focused).startswith("Other: disallowed, line 2, /a/c")
    wait_for(page.locator("[data-part=why]"), "Other may not fetch /a/c")
    assert page.evaluate(focused).startswith("Other: disallowed")  # answers took no focus away
    keyboard.press("Enter")
    assert selected(shown) == "Disallow: /a"
    keyboard.press("Home")
    keyboard.type("# ")
    wait_for(cell(shown, "/a/c", "Other"), "no rule")
    keyboard.press("Tab")  # out of the editor: it is no trap
    assert page.evaluate("document.activeElement.tagName") != "BODY"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") != "robots.txt"


def test_the_first_key_leads_past_the_navigation(shown: Tab) -> None:
    shown.page.keyboard.press("Tab")
    assert shown.page.evaluate("document.activeElement.textContent") == "Skip to the content"


def test_a_link_shares_everything_and_no_server_sees_it(
    browser: "Browser", address: str, shown: Tab
) -> None:
    """The state is in the fragment, which browsers do not send."""
    ask(shown, FILE + "# sécret 𝄞\n", "MyBot", "/a/b")
    shown.page.get_by_label("Read as").select_option("google")
    shown.page.get_by_role("button", name="Copy link").click()
    shown.page.wait_for_selector("text=/Link copied|Copy the address/")
    link = shown.page.url
    assert "#" in link
    with tab(browser, address, link.removeprefix(address.rstrip("/"))) as other:
        settle(other)
        assert editor(other).input_value() == (FILE + "# sécret 𝄞\n")
        assert other.page.get_by_label("Read as").input_value() == "google"
        wait_for(cell(other, "/a/b", "MyBot"), "line 3")
        sent = [url for url in other.asked if not url.startswith("data:")]
        fragment = link.partition("#")[2]
        assert all(fragment not in url for url in sent)
        paths = {url.removeprefix(other.address).split("/")[1] for url in sent}
        assert paths <= {"", "static", "tester"}, paths


def test_a_large_file_is_in_its_link_too(browser: "Browser", address: str, shown: Tab) -> None:
    robots = "User-agent: *\n" + "".join(f"Disallow: /{number}\n" for number in range(5_000))
    ask(shown, robots, "MyBot", "/4999")
    wait_for(cell(shown, "/4999", "MyBot"), "line 5001")
    shown.page.get_by_role("button", name="Copy link").click()
    shown.page.wait_for_selector("text=/Link copied|Copy the address/")
    assert "#z=" in shown.page.url
    assert len(shown.page.url) < 40_000
    with tab(browser, address, "/" + shown.page.evaluate("location.hash")) as other:
        wait_for(cell(other, "/4999", "MyBot"), "line 5001")


@pytest.mark.parametrize(("path", "label"), [("/", "robots.txt"), ("/diff", "robots.txt after")])
def test_what_is_typed_before_the_page_has_started_stays(
    browser: "Browser", address: str, path: str, label: str
) -> None:
    """The example does not replace it."""
    with tab(browser, address, "/healthz") as seen:
        held: list[Any] = []

        def hold(route: Any) -> None:
            held.append(route)

        seen.page.route("**/tester/choices", hold)
        seen.open(path)
        field = seen.page.get_by_role("textbox", name=label, exact=True)
        field.fill("User-agent: *\nDisallow: /typed\n")
        while not held:
            seen.page.wait_for_timeout(20)
        held[0].continue_()
        seen.page.locator("main :is(.verdict, .sentences li)").first.wait_for()
        assert "/typed" in field.input_value()


def test_a_damaged_link_says_so_and_the_page_works(browser: "Browser", address: str) -> None:
    with tab(browser, address) as seen:
        for fragment in ("#t=%%%", "#t=AAAA", "#z=AAAA", "#t=bnVsbA", "#t=WzFd", "#x"):
            seen.page.goto("about:blank")
            seen.open(f"/{fragment}")
            settle(seen)
            damaged = fragment in ("#t=AAAA", "#z=AAAA")
            assert seen.page.get_by_role("alert").is_visible() == damaged, fragment


def test_a_site_is_retrieved_with_its_story(browser: "Browser") -> None:
    """Hops, status and freshness; the URLs move to the site, and a failure is told in words."""
    body = b"User-agent: *\nDisallow: /cart\n"
    moved = page(status=301, headers=[("Location", "/real.txt")])
    site = Site(by_path({"/robots.txt": moved, "/real.txt": page(body)}))
    with background(site), background(service()) as asker, tab(browser, asker.address) as seen:
        settle(seen)
        seen.page.get_by_label("URLs, one a line").fill("/cart/1\nhttps://x.example/b")
        seen.page.get_by_label("Site", exact=True).fill(site.url(path="/anything"))
        seen.page.keyboard.press("Enter")
        story = seen.page.locator("[data-part=story]")
        wait_for(story, "Retrieved just now")
        assert story.locator(".hops .badge").all_inner_texts() == ["301", "200"]
        assert editor(seen).input_value() == body.decode()
        assert seen.page.get_by_label("URLs, one a line").input_value().splitlines() == [
            site.url(path="/cart/1"),
            site.url(path="/b"),
        ]
        wait_for(cell(seen, "/cart/1", "MyBot"), "line 2")
        seen.page.get_by_label("Site", exact=True).fill("http://[not a url")
        seen.page.get_by_role("button", name="Retrieve").click()
        wait_for(story.locator(".wrong"), "not a url")
        seen.messages.clear()  # a browser itself says that a reply was an error


def test_a_private_address_is_refused_with_what_to_do(browser: "Browser") -> None:
    with (
        background(service(allow_private=False)) as asker,
        tab(browser, asker.address) as seen,
    ):
        settle(seen)
        seen.page.get_by_label("Site", exact=True).fill("http://127.0.0.1:1/")
        seen.page.keyboard.press("Enter")
        wait_for(seen.page.locator("[data-part=story]"), "private")
        seen.messages.clear()


DROP = """([name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    return data;
}"""


def test_a_file_is_dropped_or_opened(shown: Tab, tmp_path: Path) -> None:
    """One that is too large is refused, in words."""
    place = shown.page.locator(".editor")
    ask(shown, "", "MyBot", "/a/b")
    wait_for(cell(shown, "/a/b", "MyBot"), "no")
    place.dispatch_event(
        "drop", {"dataTransfer": shown.page.evaluate_handle(DROP, ["robots.txt", FILE])}
    )
    wait_for(cell(shown, "/a/b", "MyBot"), "line 3")
    (tmp_path / "robots.txt").write_text("User-agent: *\nDisallow: /\n", encoding="utf-8")
    with shown.page.expect_file_chooser() as chooser:
        shown.page.get_by_role("button", name="Open…").click()
    chooser.value.set_files(tmp_path / "robots.txt")
    wait_for(cell(shown, "/a/b", "MyBot"), "line 2")
    (tmp_path / "large.txt").write_bytes(b"#" * (1024 * 1024 + 1))
    with shown.page.expect_file_chooser() as chooser:
        shown.page.get_by_role("button", name="Open…").click()
    chooser.value.set_files(tmp_path / "large.txt")
    wait_for(shown.page.get_by_role("alert"), "1,048,576 bytes")
    assert editor(shown).input_value().endswith("/\n")


def test_another_dialect_is_another_answer_and_engines_disagree(shown: Tab) -> None:
    """A mark in the cell, a row for each engine, and the answer of the one that is chosen."""
    ask(shown, "User-agent: *\nDisallow: /a\nAllow: /a/b\n", "MyBot", "/a/b\n/c")
    first = cell(shown, "/a/b", "MyBot")
    wait_for(first, "line 3")
    first.locator(".differs").wait_for()
    assert not cell(shown, "/c", "MyBot").locator(".differs").is_visible()
    assert "otherwise by robotrules" in (first.get_attribute("aria-label") or "")
    first.click()
    engines = shown.page.get_by_role("region", name="What each engine says")
    row = engines.get_by_role("row").filter(has_text="robotrules")
    wait_for(row, "≠ disagrees")
    shown.page.get_by_label("Read as").select_option("robotrules")
    wait_for(first, "line 2")
    assert first.inner_text().startswith("✕")


def test_findings_stand_in_the_gutter_and_fixes_are_applied(shown: Tab) -> None:
    """One alone, or all that change no verdict; a browser can undo them."""
    ask(shown, "User-agent: *\nDisalow: /a\nDisallow: /b\nDisallow: /b/c\n", "MyBot", "/a\n/b/c")
    gutter = shown.page.locator(".number-cell.warning, .number-cell.error")
    gutter.first.wait_for()
    assert "2" in gutter.all_inner_texts()
    findings = shown.page.locator("[data-part=findings] li")
    fix = findings.filter(has_text="line 4").get_by_role("button").nth(1)
    fix.click()
    shown.until("!document.querySelector('[aria-label=\"robots.txt\"]').value.includes('/b/c')")
    shown.page.keyboard.press("Control+z")
    assert "/b/c" in editor(shown).input_value()
    shown.page.get_by_role("button", name="Apply all fixes").click()
    shown.until("!document.querySelector('[aria-label=\"robots.txt\"]').value.includes('/b/c')")
    assert "Disallow: /a\n" in editor(shown).input_value()
    wait_for(cell(shown, "/a", "MyBot"), "line 2")


def test_a_large_file_is_fixed_at_once(shown: Tab) -> None:
    """So that people can undo it, a browser would take minutes."""
    lines = "".join(f"Disalow: /{number:04}/\n" for number in range(3_000))
    ask(shown, f"User-agent: *\n{lines}", "MyBot", "/2999/")
    shown.page.get_by_role("button", name="Apply all fixes").click()
    shown.until("!document.querySelector('[aria-label=\"robots.txt\"]').value.includes('Disalow')")
    wait_for(cell(shown, "/2999/", "MyBot"), "line 3001")


def test_it_says_what_agents_are_told_and_what_pages_may_be_used_for(shown: Tab) -> None:
    """Crawl-delay, sitemaps and usage signals, each with its line."""
    robots = "User-agent: *\nCrawl-delay: 7\nContent-Signal: ai-train=no\nSitemap: https://a.example/map.xml\n"
    ask(shown, robots, "MyBot", "https://a.example/")
    overview = shown.page.locator("[data-part=overview]")
    wait_for(overview, "7 s between requests")
    wait_for(overview, "https://a.example/map.xml")
    cell(shown, "/", "MyBot").click()
    row = shown.page.get_by_role("row", name=re.compile("^ai-train"))
    wait_for(row, "✕ no")
    row.get_by_role("button", name="line 3").click()
    assert selected(shown) == "Content-Signal: ai-train=no"


def test_a_known_crawler_is_added_from_the_list(shown: Tab) -> None:
    shown.page.get_by_label("Add a known crawler").select_option("Applebot")
    agents = shown.page.get_by_label("Agents, one a line").input_value()
    assert agents.splitlines()[-1] == "Applebot"
    cell(shown, "/about", "Applebot").wait_for()


def test_too_many_agents_are_refused_in_words(shown: Tab) -> None:
    ask(shown, FILE, "\n".join(f"Bot{number}" for number in range(21)), "/a")
    wait_for(shown.page.get_by_role("alert"), "at most 20 agents")
    ask(shown, FILE, "MyBot", "/a")
    wait_for(cell(shown, "/a", "MyBot"), "line 2")
    assert not shown.page.get_by_role("alert").is_visible()
    shown.messages.clear()  # a browser itself says that a reply was an error


def test_a_service_that_is_gone_is_told(browser: "Browser") -> None:
    """What was typed stays, and is asked for again with the next keystroke."""
    with background(service()) as asker, tab(browser, asker.address) as seen:
        settle(seen)
        seen.page.context.set_offline(True)
        editor(seen).fill(FILE)
        wait_for(seen.page.get_by_role("alert"), "does not answer")
        seen.page.context.set_offline(False)
        editor(seen).press_sequentially("#")
        seen.page.wait_for_selector("[data-part=trouble]", state="hidden")
        assert editor(seen).input_value() == f"{FILE}#"
        seen.messages.clear()


ATTACKS = [attack for attack in hostile.ATTACKS if "\udcff" not in attack]
HOSTILE = hostile.ROBOTS.decode("utf-8", "replace").replace("\r", "\n")
AGENTS = "\n".join(re.sub(r"\s+", " ", attack)[:200] for attack in ATTACKS[:6])
URLS = "\n".join(
    f"https://a.example/no/{number}/" + re.sub(r"\s+", " ", attack)[:2_000]
    for number, attack in enumerate(ATTACKS)
)


def test_a_hostile_file_controls_nothing(browser: "Browser", address: str) -> None:
    """Markup, control characters and endless words, in a file, agents and URLs: all is text."""
    with tab(browser, address) as seen:
        settle(seen)
        ask(seen, HOSTILE, AGENTS, URLS)
        seen.until("document.querySelectorAll('.verdict').length > 100")
        rows = seen.page.locator(".verdicts tbody tr")
        for number in (0, 4, 13, len(ATTACKS) - 1):
            rows.nth(number).get_by_role("button").first.click()
            wait_for(seen.page.locator("[data-part=why]"), f"/no/{number}/")
        seen.until("document.querySelectorAll('.findings > li').length > 10")
        for each in seen.page.locator("details").all():
            each.evaluate("each => each.open = true")
        seen.fits()
        assert seen.page.locator("h1").all_inner_texts() == ["Test a robots.txt"]
        text = "".join(seen.page.locator(".asked, .answers").all_inner_texts())
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b\x00]", text)


def test_a_hostile_site_controls_nothing(browser: "Browser") -> None:
    """Neither its file nor the addresses that it redirects to."""
    target = "/" + "".join(hostile.ATTACKS[:4]).replace("\n", "") + "/robots.txt"
    moved = page(status=302, headers=[("Location", target)])
    site = Site(by_path({"/robots.txt": moved}, otherwise=page(hostile.ROBOTS)))
    with background(site), background(service()) as asker, tab(browser, asker.address) as seen:
        settle(seen)
        seen.page.get_by_label("Site", exact=True).fill(site.url())
        seen.page.keyboard.press("Enter")
        wait_for(seen.page.locator("[data-part=story]"), "Retrieved just now")
        wait_for(seen.page.locator(".hops"), "hacked")
        settle(seen)
        seen.fits()


def test_hostile_links_control_nothing(browser: "Browser", address: str) -> None:
    """A state of the wrong types, and one with markup, from somebody else's link."""
    import base64
    import json

    states: list[Any] = [
        {"robots": 1, "agents": ["<b>"], "urls": None, "dialect": {"toString": 1}},
        {"robots": ATTACKS[0], "agents": ATTACKS[2], "urls": ATTACKS[9], "file_url": ATTACKS[1]},
        {"page": "diff", "robots": ATTACKS[0]},
    ]
    for state in states:
        packed = base64.urlsafe_b64encode(json.dumps(state).encode()).decode().rstrip("=")
        with tab(browser, address, f"/#t={packed}") as seen:
            seen.page.wait_for_selector("[data-part=findings] > *")
            seen.until("location.hash.length > 3")


# The comparison.

BEFORE = "User-agent: *\nDisallow: /a\n"
AFTER = "User-agent: *\nDisallow: /a/b\nDisallow: /c\n"


def compare(seen: Tab, before: str, after: str) -> None:
    seen.page.wait_for_selector(".sentences li")
    seen.page.get_by_label("robots.txt before").fill(before)
    seen.page.get_by_label("robots.txt after").fill(after)


def test_a_comparison_says_what_changes_and_shows_the_lines(
    browser: "Browser", address: str
) -> None:
    """In words, with examples; an example lights up the lines that decide in both files."""
    with tab(browser, address, "/diff") as seen:
        compare(seen, BEFORE, AFTER)
        impact = seen.page.locator(".impact")
        wait_for(impact.locator(".sentences"), "/c")
        wait_for(impact, "Closed")
        wait_for(impact, "Opened")
        seen.page.get_by_role("button", name="/c: show the lines").click()
        wait_for_mark(seen, "Disallow: /c")
        seen.page.get_by_role("button", name="Swap").click()
        assert seen.page.get_by_label("robots.txt before").input_value() == AFTER
        wait_for(impact.locator(".change").first, "/c")
        compare(seen, BEFORE, BEFORE)
        seen.until("!document.querySelector('.change')")
        seen.page.get_by_role("button", name="Copy link").click()
        seen.page.wait_for_selector("text=/Link copied|Copy the address/")
        with tab(browser, address, "/diff" + seen.page.evaluate("location.hash")) as other:
            other.page.wait_for_selector(".sentences li")
            assert other.page.get_by_label("robots.txt after").input_value() == BEFORE


def test_a_comparison_of_hostile_files_controls_nothing(browser: "Browser", address: str) -> None:
    with tab(browser, address, "/diff") as seen:
        compare(seen, "User-agent: *\nDisallow: /x\n", HOSTILE)
        wait_for(seen.page.locator(".impact .change").first, "Closed")
        seen.fits()
        assert seen.page.locator("h1").count() == 1


# Every page, for everybody.


@pytest.mark.parametrize("path", ["/", "/diff"])
def test_a_page_is_for_everybody(browser: "Browser", address: str, path: str) -> None:
    """axe-core finds nothing serious, light and dark, wide and narrow; nothing is cut off."""
    with tab(browser, address, path) as seen:
        if path == "/":
            settle(seen)
        seen.page.wait_for_selector("main li")
        seen.is_for_everybody()


def test_axe_finds_nothing_serious_on_a_page_about_a_problem(
    browser: "Browser", address: str
) -> None:
    with tab(browser, address, "/nowhere") as seen:
        assert "nothing at this address" in seen.page.locator("main").inner_text()
        assert seen.serious == []
        seen.messages.clear()


def test_axe_would_find_something(shown: Tab) -> None:
    """The check itself works: a field without a name is found."""
    shown.page.evaluate("document.querySelector('main').append(document.createElement('input'))")
    assert any(found.startswith("label: ") for found in shown.serious)

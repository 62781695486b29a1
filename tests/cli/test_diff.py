"""`manners diff`: what is compared, how it is printed, exit codes."""

import asyncio
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from manners.cache.backends import open_backend
from manners.cli.difference_formats import markdown, text
from tests.cache.steps import DAY
from tests.cli.running import Run, runner
from tests.cli.test_history import DAY_ONE, entry, replied
from tests.faults.server import Handler, Site, by_path, in_thread, page

pytestmark = pytest.mark.usefixtures("quick")

OLD = b"User-agent: *\nDisallow: /cart\n\nUser-agent: GPTBot\nDisallow: /\n"
NEW = b"User-agent: *\nDisallow: /\n\nUser-agent: GPTBot\nDisallow: /\n"
LOSS = "Everybody else, such as Googlebot and bingbot, loses everything"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "diff")


@pytest.fixture(autouse=True)
def files(quick: None) -> None:  # noqa: ARG001 (the folder is made first)
    Path("old.txt").write_bytes(OLD)
    Path("new.txt").write_bytes(NEW)


def standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))


def git(*arguments: str) -> None:
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def test_two_files(run: Run) -> None:
    """A sentence first, then the shortest URL and the lines."""
    ran = run("old.txt", "new.txt")
    assert ran.code == 1
    assert ran.lines[:2] == ["old.txt -> new.txt", f"{LOSS}."]
    assert "  closed  /" in ran.lines
    assert "          no rule -> line 2: Disallow: /" in ran.lines


def test_no_change_is_a_yes(run: Run) -> None:
    """Exit code 0, and it is said what that means."""
    Path("same.txt").write_bytes(OLD.replace(b"/cart\n", b"/cart\nDisallow: /cart/x\n"))
    ran = run("old.txt", "same.txt")
    assert (ran.code, ran.lines[1]) == (0, "No verdict changes, for any URL and any crawler.")


def test_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be one of the two."""
    standard_input(monkeypatch, NEW)
    assert run("old.txt", "-").lines[0] == "old.txt -> <stdin>"
    assert run("-", "-").code == 2


def test_revisions_of_a_repository(run: Run) -> None:
    """As git names them; what is wrong with a name is said."""
    git("init", "-q", ".")
    Path("robots.txt").write_bytes(OLD)
    git("add", "robots.txt")
    git("commit", "-q", "-m", "first")
    Path("robots.txt").write_bytes(NEW)
    assert run("git:HEAD:robots.txt", "robots.txt").lines[1] == f"{LOSS}."
    missing = run("git:HEAD:nosuch.txt", "robots.txt")
    assert (missing.code, missing.out) == (3, "")
    assert "nosuch.txt" in missing.err
    for name in ("git:HEAD", "git:-x:robots.txt", "git::robots.txt"):
        ran = run(name, "robots.txt")
        assert ran.code == 2
        assert "write git:REV:path" in ran.err


def test_sites(run: Run) -> None:
    """Their URLs are whole; one without a robots.txt allows everything; one that is away is 3."""
    handlers = {"/robots.txt": page(NEW)}
    with in_thread(Site(by_path(handlers))) as site, in_thread(Site(by_path({}))) as empty:
        place, other = (f"http://127.0.0.1:{each.ports[0]}" for each in (site, empty))
        ran = run("old.txt", place)
        none = run(place, other)
        assert f"  closed  {place}/" in ran.lines
        assert none.code == 1
        assert "404" in none.err
        assert "compared as an empty file" in none.err
        assert "may now fetch everything" in none.lines[1]
    away = run("old.txt", "http://127.0.0.1:1/")
    assert (away.code, away.out) == (3, "")
    assert "unreachable" in away.err


def test_a_site_at_two_times(run: Run) -> None:
    """By what the cache has kept; a time of which nothing is known is 3, with what is known."""

    async def fill() -> None:
        backend = open_backend("cache.db")
        for day, status, body in ((0, 200, OLD), (3, 404, None), (6, 200, NEW), (9, 503, None)):
            await backend.save(entry(DAY_ONE + day * DAY, replied(status), body))
        await backend.close()

    asyncio.run(fill())
    times = [f"a.example@2026-10-{day}" for day in ("01", "04T12:00", "07", "10")]
    ran = run(times[0], times[2], "--cache", "cache.db")
    assert ran.code == 1
    assert ran.lines[0].endswith(f"a.example/robots.txt at {times[2][-10:]}")
    assert ran.lines[1] == f"{LOSS}."
    assert "  closed  https://a.example/" in ran.lines
    none = run(times[1], times[2], "--cache", "cache.db")
    assert "compared as an empty file" in none.err
    for unknown, hint in ((times[3], "not reachable then"), ("a.example@2026-09-01", "not known")):
        missing = run(times[0], unknown, "--cache", "cache.db")
        assert (missing.code, missing.out) == (3, "")
        assert hint in missing.err
    assert run("a.example@2026-99-99", "new.txt", "--cache", "cache.db").code == 2
    assert run(times[0], "new.txt").code == 2


def test_own_urls_from_a_list(run: Run) -> None:
    """Counted, with a sample."""
    urls = [f"https://shop.example/{number}" for number in range(1_204)]
    Path("urls.txt").write_text("\n".join([*urls, "https://shop.example/cart"]), encoding="utf-8")
    ran = run("old.txt", "new.txt", "--urls", "urls.txt")
    assert ran.lines[1] == f"{LOSS}; 1,204 of your 1,205 URLs."
    assert "  of your 1,205 URLs: 1,204 closed, 0 opened" in ran.lines
    assert "    closed  https://shop.example/0" in ran.lines
    Path("urls.csv").write_text("n,page\n1,/x\n2,/cart\n", encoding="utf-8")
    ran = run("old.txt", "new.txt", "--urls", "urls.csv", "--urls-column", "page")
    assert "1 of your 2 URLs" in ran.lines[1]
    assert run("old.txt", "new.txt", "--urls", "nosuch.txt").code == 2


def test_own_urls_from_a_sitemap(run: Run) -> None:
    """Those of an index count, too; only URLs of the site that is compared."""
    handlers: dict[str, Handler] = {}
    with in_thread(Site(by_path(handlers))) as site:
        place = f"http://127.0.0.1:{site.ports[0]}"
        index = f"<sitemapindex><sitemap><loc>{place}/a.xml</loc></sitemap></sitemapindex>"
        pages = "".join(f"<url><loc>{place}/{name}</loc></url>" for name in ("x", "cart", "y"))
        listed = f"<urlset>{pages}<url><loc>https://other.example/</loc></url></urlset>"
        handlers["/robots.txt"] = page(OLD)
        handlers["/map.xml"] = page(index.encode())
        handlers["/a.xml"] = page(listed.encode())
        ran = run(place, "new.txt", "--urls", f"{place}/map.xml")
        broken = run(place, "new.txt", "--urls", f"{place}/nosuch.xml")
    assert ran.code == 1, ran.err
    assert ran.lines[1] == f"{LOSS}; 2 of your 3 URLs."
    assert broken.code == 3
    assert "cannot read the sitemap" in broken.err


def test_own_urls_from_a_store(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """The pages that crawls know, each once, fetched or not."""
    shop = page(
        b'<a href="/x">x</a> <a href="/cart">cart</a>', headers=[("Content-Type", "text/html")]
    )
    with in_thread(Site(by_path({"/robots.txt": page(OLD), "/": shop}, page()))) as site:
        for _ in range(2):
            arguments = f"http://127.0.0.1:{site.ports[0]}/", "--delay", "0", "--store", "crawls.db"
            assert runner(capsys, "crawl")(*arguments).code == 0
    ran = run("old.txt", "new.txt", "--urls", "crawls.db")
    assert ran.lines[1] == f"{LOSS}; 2 of your 3 URLs."
    assert ran.err == ""


def test_a_guard_for_some_agents(run: Run) -> None:
    """Only their verdicts decide the exit code."""
    assert run("old.txt", "new.txt", "--guard", "GPTBot").code == 0
    assert run("old.txt", "new.txt", "--guard", "GPTBot", "--guard", "Googlebot").code == 1
    assert run("old.txt", "new.txt", "--guard", "MyBot/1.0 (+https://bot.example)").code == 1


def test_engines_that_disagree(run: Run) -> None:
    """All dialects, or those that are named."""
    Path("robots.txt").write_bytes(b"User-agent: *\nDisallow: /a\nAllow: /a/b\n")
    ran = run("--engines", "robots.txt", "--for", "rfc9309,robotrules")
    assert ran.code == 1
    assert ran.lines[0] == "rfc9309 -> robotrules"
    assert ran.lines[1].startswith("robotrules disallows /a/b for everybody, such as")
    assert run("--engines", "robots.txt", "--for", "rfc9309,google").code == 0
    headings = [line for line in run("--engines", "robots.txt").lines if " -> " in line[:20]]
    assert len(headings) == 5


def test_agents_that_are_treated_differently(run: Run) -> None:
    """What one may fetch, and the other may not."""
    ran = run("--agents", "Googlebot", "GPTBot", "old.txt")
    assert ran.code == 1
    assert ran.lines[1] == "Googlebot may fetch /, and GPTBot may not."
    assert run("--agents", "one", "two", "old.txt").code == 0


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["old.txt"], "OLD and NEW, not 1"),
        (["old.txt", "new.txt", "old.txt"], "OLD and NEW, not 3"),
        (["--engines", "old.txt", "new.txt"], "--engines looks at one file"),
        (["--agents", "a", "b", "old.txt", "new.txt"], "--agents A B looks at one file"),
        (["--engines", "--agents", "a", "b", "old.txt"], "contradict"),
        (["old.txt", "new.txt", "--for", "google"], "--for goes with --engines"),
        (["--engines", "old.txt", "--for", "google"], "two engines"),
        (["--engines", "old.txt", "--for", "google,bing"], "bing"),
        (["--engines", "old.txt", "--guard", "a"], "--guard goes with two files"),
        (["old.txt", "new.txt", "--urls-column", "x"], "--urls-column needs --urls"),
        (["old.txt", "new.txt", "--output-format", "html"], "html"),
    ],
)
def test_arguments_that_do_not_go_together(run: Run, arguments: list[str], hint: str) -> None:
    """The error says what to do."""
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert hint in ran.err


def test_a_file_that_cannot_be_read(run: Run) -> None:
    """The exit code is 3, and nothing is printed."""
    ran = run("old.txt", "nosuch.txt")
    assert (ran.code, ran.out) == (3, "")
    assert "nosuch.txt" in ran.err


def test_json_has_everything(run: Run) -> None:
    """One object for each comparison."""
    found = run("old.txt", "new.txt", "--json").object
    assert (found["before"], found["after"], found["equal"]) == ("old.txt", "new.txt", False)
    (change,) = found["changes"]
    assert change["agents"] == ["*"]
    assert change["closed"][0] == {
        "path": "/",
        "before": None,
        "after": {"line": 2, "text": "Disallow: /"},
    }
    assert found["sentences"] == [f"{LOSS}."]
    assert len(run("--engines", "old.txt", "--output-format", "json").objects) == 5


def test_markdown_for_a_pull_request(run: Run) -> None:
    """Whatever a file says, no table, link or HTML comes of it."""
    Path("new.txt").write_bytes(
        b"User-agent: *\nDisallow: /<img src=x>|[a](javascript:b)`\n\nUser-agent: </details>@x\n"
        b"Disallow: /\n"
    )
    ran = run("old.txt", "new.txt", "--output-format", "markdown")
    assert ran.lines[0] == "### robots.txt: old\\.txt → new\\.txt"
    assert ran.out.count("</details>") == ran.out.count("<details>") == 1
    assert not re.search(r"(?<!\\)(<img|\]\(|`)", ran.out)


def test_a_comment_mentions_nobody(run: Run) -> None:
    """Sites of social networks have rules such as `/@name`; GitHub would notify a user."""
    Path("new.txt").write_bytes(b"User-agent: *\nDisallow: /@octocat/\n")
    out = run("old.txt", "new.txt", "--output-format", "markdown").out
    assert "octocat" in out
    assert not re.search(r"@(?!&#8203;)", out)


def test_nothing_of_a_file_reaches_a_terminal_raw(run: Run) -> None:
    """Patterns, names and sitemaps are escaped."""
    evil = b"User-agent: *\nDisallow: /\x1b[31m\x07\nSitemap: https://a/\x1b]0;x\x07\n"
    Path("new.txt").write_bytes(evil + b"\nUser-agent: bot\x1b[2J\nDisallow: /x\n")
    for arguments in (["old.txt", "new.txt"], ["--engines", "new.txt"]):
        for form in ("text", "json", "markdown"):
            ran = run(*arguments, "--output-format", form)
            assert "\x1b" not in ran.out
            assert "\x07" not in ran.out


def test_a_file_with_very_many_agents_is_short(run: Run) -> None:
    """Twenty kinds of agents are shown; JSON has all."""
    groups = "".join(f"User-agent: bot-{n}\nDisallow: /{n}\n\n" for n in range(40))
    Path("old.txt").write_text(groups, encoding="utf-8")
    Path("new.txt").write_text(groups.replace("/", "/x"), encoding="utf-8")
    assert len(run("old.txt", "new.txt", "--json").object["changes"]) == 40
    assert run("old.txt", "new.txt").lines[-1].startswith("20 more kinds of agents")
    assert (
        "And 20 more kinds of agents."
        in run("old.txt", "new.txt", "--output-format", "markdown").out
    )


def test_formats_are_found_by_name() -> None:
    """One file each."""
    assert callable(text.report)
    assert callable(markdown.report)
    assert json.loads("{}") == {}

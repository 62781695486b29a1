"""The help of commands can be scanned, in a narrow terminal, too."""

import re
import sys
from pathlib import Path

import pytest

from manners.settings.fields import PANELS
from tests.cli.running import Run, runner
from tests.faults.server import Site, by_path, in_thread, page

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


COMMANDS = ["", "get", "crawl", "crawl resume", "check", "discover", "evidence export", "settings"]


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_and_leaves_room_for_text(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: str, columns: int
) -> None:
    """No line is wider than the terminal, and the text of options has half of it."""
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = run(*command.split(), "-h")
    assert ran.code == 0
    assert max(map(len, ran.lines)) < columns
    options = [line for line in ran.lines if re.match(r"  -\S.*?\S {2,}\S", line)]
    assert options
    for line in options:
        found = re.match(r"  -.*?\S {2,}", line)
        assert found
        assert columns - found.end() >= columns // 2, line


def test_options_stand_under_headings(run: Run) -> None:
    """Each heading once, in one order; an option is where one looks for it."""
    for command in ("get", "crawl"):
        out = run(command, "-h").out
        places = [out.index(f"\n{panel}:") for panel in PANELS]
        assert places == sorted(places)
        speed, requests = out.index("\nHow fast:"), out.index("\nHow requests are sent:")
        assert speed < out.index("--delay SECONDS") < out.index("--concurrency N") < requests
        assert requests < out.index("--header") < out.index("--proxy")


def test_few_options_need_no_headings(run: Run) -> None:
    """A short list is one list."""
    out = run("settings", "-h").out
    assert "Options:" in out
    assert not any(f"{panel}:" in out for panel in PANELS)


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        ("get --outptu x", "No such option: --outptu. Did you mean --output?"),
        ("crawl --dely 3 https://a.example/", "Did you mean --delay?"),
        ("crwl https://a.example/", "No such command 'crwl'. Did you mean 'crawl'?"),
        ("crawl stauts", "'stauts' is not a URL; did you mean `crawl status`?"),
        ("evidence verfy", "Did you mean 'verify'?"),
        (
            "report --store x.db",
            "No such option: --store. It is an argument here: manners report STORE",
        ),
        ("get --quiet https://a.example/", "No such option: --quiet. See manners get -h."),
        ("explain", "Missing argument 'URL'. See manners explain -h."),
        (
            "evidence show one",
            "ID: a record is a number, as in 17, or a strand and a place in it, as in 3/17",
        ),
        ("crawl --delay soon https://a.example/", "'soon' is not a number."),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(run: Run, words: str, suggestion: str) -> None:
    """In one line, with exit code 2."""
    ran = run(*words.split())
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert suggestion in ran.err
    assert list(Path().iterdir()) == []


def test_robots_shows_what_groups_ask_for_and_explain_a_live_site(run: Run) -> None:
    """Crawl-delay stands with its group, and every other directive with its line."""
    body = b"User-agent: a\nCrawl-delay: 10\nDisallow: /x\n\nUser-agent: *\nDisallow:\nHost: h\n"
    with in_thread(Site(by_path({"/robots.txt": page(body)}, page()))) as site:
        place = f"127.0.0.1:{site.ports[0]}"
        shown = run("robots", place)
        groups = run("robots", place, "--json").object["groups"]
        explained = run("explain", f"{place}/x", "--agent", "a")
    assert "  groups     a (line 1): 1 rule, crawl-delay 10\n" in shown.out
    assert "line 7: Host: h" in shown.out
    assert groups[0]["directives"] == [{"name": "crawl-delay", "value": "10", "line": 2}]
    assert explained.code == 1
    assert explained.lines[0].startswith(f"RETRIEVAL http://{place}/robots.txt: available")
    assert "> 1. line 3: Disallow: /x" in explained.out


def test_without_its_packages_the_command_says_what_to_install(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, whatever was typed, with the extra that has everything first."""
    monkeypatch.setitem(sys.modules, "typer", None)
    ran = run("check", "https://a.example/")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(
        "manners: the command needs more packages: pip install 'manners[crawl]'"
    )

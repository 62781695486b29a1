"""The assertions for a site's own tests: what they return, what they say, what they refuse."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import manners
from manners.errors import UnknownName
from manners.testing import assert_allowed, assert_disallowed
from manners.testing.assertions import MAX_FILE

SAMPLE = """\
User-agent: GPTBot
User-agent: CCBot
Disallow: /private/

User-agent: *
Disallow: /search
Allow: /search/help
"""

ASSERTIONS = [assert_allowed, assert_disallowed]


def message(call: Callable[..., object], *arguments: Any, **named: Any) -> str:
    """What an assertion says when it fails."""
    with pytest.raises(AssertionError) as caught:
        call(*arguments, **named)
    return str(caught.value)


@pytest.mark.parametrize("form", [str, str.encode, manners.parse], ids=["str", "bytes", "Robots"])
def test_content_and_parsed_files_are_accepted(form: Callable[[str], Any]) -> None:
    """The verdict comes back, so that a test can look further."""
    verdict = assert_disallowed(form(SAMPLE), "https://example.com/private/", "GPTBot")
    assert (verdict.allowed, verdict.line, verdict.agent) == (False, 3, "GPTBot")
    assert assert_allowed(form(SAMPLE), "/private/", agent="ClaudeBot").allowed


def test_the_path_of_a_file_is_accepted_and_named(tmp_path: Path) -> None:
    """The message has the place of the line, as editors understand it."""
    path = tmp_path / "robots.txt"
    path.write_text(SAMPLE, encoding="utf-8")
    assert_allowed(path, "/search/help", agent="ClaudeBot")
    assert message(assert_allowed, path, "/search?q=tea", "ClaudeBot") == (
        "/search?q=tea is disallowed for ClaudeBot, expected allowed\n"
        f"  {path}:6: Disallow: /search\n"
        "  in the group User-agent: * (line 5)"
    )


def test_the_deciding_line_and_its_group_are_shown() -> None:
    """A group is shown with every agent it names."""
    assert message(assert_allowed, SAMPLE, "https://example.com/private/", "CCBot") == (
        "https://example.com/private/ is disallowed for CCBot, expected allowed\n"
        "  robots.txt:3: Disallow: /private/\n"
        "  in the group User-agent: GPTBot, CCBot (line 1)"
    )
    assert message(assert_disallowed, SAMPLE, "/search/help", "MyBot") == (
        "/search/help is allowed for MyBot, expected disallowed\n"
        "  robots.txt:7: Allow: /search/help\n"
        "  in the group User-agent: * (line 5)"
    )


def test_the_group_is_that_of_the_line_when_several_count() -> None:
    """Of groups that count together, the one that the deciding line stands in is shown."""
    body = (
        "User-agent: a\nDisallow: /a\n\nUser-agent: c\nDisallow: /\n\nUser-agent: b\nDisallow: /b"
    )
    assert message(assert_allowed, body, "/b", ["a", "b"]) == (
        "/b is disallowed for a, b, expected allowed\n"
        "  robots.txt:8: Disallow: /b\n"
        "  in the group User-agent: b (line 7)"
    )
    assert message(assert_disallowed, body, "/c", ["a", "b"]).splitlines()[1:] == [
        "  robots.txt: no rule for this agent matches, so the URL is allowed",
        "  in the group User-agent: a (line 1)",
        "  in the group User-agent: b (line 7)",
    ]


@pytest.mark.parametrize(
    ("body", "url", "dialect", "because"),
    [
        (
            "",
            "/",
            "rfc9309",
            ["no group names this agent and none is for *, so all URLs are allowed"],
        ),
        (
            "User-agent: *\nDisallow: /a",
            "/b",
            "rfc9309",
            [
                "no rule for this agent matches, so the URL is allowed",
                "in the group User-agent: * (line 1)",
            ],
        ),
        (
            "User-agent: *\nDisallow: /",
            "/robots.txt",
            "rfc9309",
            ["/robots.txt itself is always allowed"],
        ),
        (
            "User-agent: *\n" + "Disallow: /\n" * 1001,
            "/",
            "scanner",
            [
                "there are more rules than the dialect reads, so none counts",
                "in the dialect scanner",
            ],
        ),
    ],
    ids=["no group", "no rule", "robots.txt", "too many rules"],
)
def test_where_no_rule_decided_the_reason_is_given_in_words(
    body: str, url: str, dialect: str, because: list[str]
) -> None:
    """The message says which sentence of the specification allows the URL."""
    said = message(assert_disallowed, body, url, "MyBot", dialect=dialect)
    assert said.splitlines() == [
        f"{url} is allowed for MyBot, expected disallowed",
        f"  robots.txt: {because[0]}",
        *(f"  {line}" for line in because[1:]),
    ]


def test_a_file_about_another_server_is_named_as_the_reason() -> None:
    """Where the dialect knows servers, the file is called by its address."""
    address = "https://example.com/robots.txt"
    robots = manners.parse("User-agent: *\nDisallow: /", dialect="robotrules", url=address)
    assert message(assert_disallowed, robots, "https://example.org/", "MyBot").splitlines()[1:] == [
        f"  {address}: the file is about another server, so it does not disallow this URL",
        "  in the dialect robotrules",
    ]


def test_a_file_that_is_cut_is_said_to_be() -> None:
    """A rule beyond the size limit decides nothing, and the message says why."""
    body = "User-agent: *\n" + "# filler\n" * 60_000 + "Disallow: /a\n"
    said = message(assert_disallowed, body, "/a", "MyBot")
    assert said.splitlines()[-1] == "  only the first 512,006 bytes of the file count"


def test_a_dialect_is_used_and_named() -> None:
    """A header is cut to its product token where the dialect leaves that to the caller."""
    body = "User-agent: Googlebot\nDisallow: /a"
    header = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    for agent in ("Googlebot", header, ["MyBot", header]):
        assert assert_disallowed(body, "/a", agent, dialect="google").dialect == "google"
    said = message(assert_allowed, body, "/a", "Googlebot", manners.parse("", "google").dialect)
    assert said.splitlines()[-1] == "  in the dialect google"


def test_text_from_the_file_cannot_reach_the_terminal() -> None:
    """Controls and direction overrides are escaped, and what is endless is cut."""
    hostile = "\x1b]0;x\x07\x9b31m\x85\u202e"
    body = f"User-agent: my{hostile}\nDisallow: /a{hostile}\nDisallow: /{'b' * 5000}"
    for url in (f"/a{hostile}", f"/{'b' * 5000}"):
        said = message(assert_allowed, body, url, f"my{hostile}")
        assert all(line.isprintable() for line in said.split("\n"))
        assert len(said) < 1000


def test_credentials_in_a_url_are_not_shown() -> None:
    """A name and a password stay out of a log."""
    said = message(assert_disallowed, "", "https://me:secret@example.com/", "MyBot")
    assert said.startswith("https://…@example.com/ is allowed")


@pytest.mark.parametrize("call", ASSERTIONS)
@pytest.mark.parametrize("url", ["private/", "example.com/private/", "", " /a", "ftp://a/"])
def test_a_url_that_would_be_misread_is_refused(call: Callable[..., object], url: str) -> None:
    """`private/` is a host to the engine: a test of it would be a test of `/`."""
    with pytest.raises(manners.InvalidURL, match="begin it with https:// or with /") as caught:
        call(SAMPLE, url, "GPTBot")
    assert str(caught.value) == (
        f"{url!r}: neither a URL nor a path; begin it with https:// or with /"
    )


@pytest.mark.parametrize("call", ASSERTIONS)
@pytest.mark.parametrize(
    "place",
    ["robots.txt", "public/robots.txt", "C:\\site\\robots.txt", "http://localhost:8000/robots.txt"],
)
def test_a_path_as_a_string_is_refused(call: Callable[..., object], place: str) -> None:
    """As content it would allow everything, and a test would pass for no reason."""
    expected = f"{place!r} is read as the content of a robots.txt; for a file pass pathlib.Path(…)"
    with pytest.raises(ValueError, match=re.escape(expected)):
        call(place, "/", "GPTBot")


@pytest.mark.parametrize(
    "body", ["", "Disallow: /a.txt", "Disallow:/a.txt", "Sitemap: https://a/b.txt"]
)
def test_short_content_is_content(body: str) -> None:
    """A single line that may come from a robots.txt is taken for one."""
    assert_allowed(body, "/", "GPTBot")


def test_another_dialect_than_that_of_a_parsed_file_is_refused() -> None:
    """A parsed file keeps its dialect; the default stands for it."""
    robots = manners.parse(SAMPLE, dialect="google")
    assert assert_allowed(robots, "/", "GPTBot").dialect == "google"
    assert assert_allowed(robots, "/", "GPTBot", dialect="google").dialect == "google"
    expected = (
        "this Robots was parsed in dialect 'google', not 'scanner'; "
        "leave out dialect=, or pass the content instead"
    )
    with pytest.raises(ValueError, match=re.escape(expected)):
        assert_allowed(robots, "/", "GPTBot", dialect="scanner")


def test_other_mistakes_in_a_call_say_what_they_are(tmp_path: Path) -> None:
    """A wrong type, an unknown dialect and an absent file are errors, never failed tests."""
    wrong: Any = 3
    expected = "robots is a Robots, the content as str or bytes, or a pathlib.Path, not int"
    with pytest.raises(TypeError, match=expected):
        assert_allowed(wrong, "/", "GPTBot")
    with pytest.raises(TypeError, match="an agent is a str or a sequence of str"):
        assert_allowed(SAMPLE, "/", [wrong])
    with pytest.raises(UnknownName, match="unknown dialect 'gogle'; choose from: audit"):
        assert_allowed(SAMPLE, "/", "GPTBot", dialect="gogle")
    with pytest.raises(FileNotFoundError):
        assert_allowed(tmp_path / "robots.txt", "/", "GPTBot")


def test_a_file_that_is_no_robots_txt_is_not_read_whole(tmp_path: Path) -> None:
    """Reading stops at a limit far above any robots.txt."""
    path = tmp_path / "dump"
    with path.open("wb") as file:
        file.truncate(MAX_FILE + 1)
    expected = re.escape(f"{path} has more than 16,777,216 bytes")
    with pytest.raises(manners.MannersError, match=expected):
        assert_allowed(path, "/", "GPTBot")


CALLS = """\
import unittest

from manners.testing import assert_disallowed


class RobotsTest(unittest.TestCase):
    def test_it(self):
        assert_disallowed("User-agent: *", "/", "GPTBot")
"""


@pytest.mark.parametrize("runner", ["unittest", "pytest"])
def test_the_test_that_failed_is_shown_and_nothing_of_ours(tmp_path: Path, runner: str) -> None:
    """With unittest and with pytest alike, a traceback ends at the caller's line."""
    (tmp_path / "test_site.py").write_text(CALLS, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", runner, "test_site.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    printed = ran.stdout + ran.stderr
    assert ran.returncode == 1, printed
    assert 'assert_disallowed("User-agent: *", "/", "GPTBot")' in printed
    assert "AssertionError: / is allowed for GPTBot, expected disallowed" in printed
    assert "testing.py" not in printed


def test_no_test_framework_is_needed() -> None:
    """The module loads neither pytest nor unittest."""
    script = "import sys, manners.testing; print({'pytest', 'unittest'} & set(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "set()\n"

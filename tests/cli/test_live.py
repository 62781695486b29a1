"""`manners check` and `manners robots` on live sites, which here are on loopback."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import IO

import pytest

from manners.cli import main
from tests.cli.running import PlainSite, serving

ROBOTS = b"""\
User-agent: *
Disallow: /private/
Crawl-delay: soon
Sitemap: /sitemap.xml

User-agent: SearchBot
User-agent: NewsBot
Disallow: /drafts/
"""
BROKEN, MISSING, MOVED, LARGE, MANY, SILENT = (f"127.0.0.{last}" for last in range(2, 8))
HOSTILE = b"User-agent: *\nDisallow: / #\x1b]0;x\x07\nSitemap: http://a/\x1b[2J\n"


class Site(PlainSite):
    """Another site for each address, told apart by the Host header."""

    asked: "queue.Queue[tuple[str, str, str]]"
    stop: threading.Event

    def visit(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        self.asked.put((host, self.path, self.headers["User-Agent"]))
        if host == SILENT:
            self.stop.wait(20)
        elif host == BROKEN:
            self.answer(503, b"")
        elif host == MISSING:
            self.answer(404, b"User-agent: *\nDisallow: /")
        elif host == MOVED and self.path == "/robots.txt":
            self.answer(301, b"", ("Location", "/moved.txt"))
        elif host == LARGE:
            self.answer(200, b"#" * 600_000 + b"\nUser-agent: *\nDisallow: /")
        elif host == MANY:
            self.answer(200, b"User-agent: *\n" + b"Disallow: /\n" * 1001)
        else:
            self.answer(200, ROBOTS)


@pytest.fixture(scope="module")
def server() -> Iterator[ThreadingHTTPServer]:
    """One server for all addresses of loopback."""
    Site.asked, Site.stop = queue.Queue(), threading.Event()
    with serving(Site) as server:
        yield server
        Site.stop.set()


@pytest.fixture
def port(server: ThreadingHTTPServer) -> int:
    while not Site.asked.empty():
        Site.asked.get_nowait()
    return server.server_port


def requests() -> list[tuple[str, str, str]]:
    """What has arrived since the test began."""
    return [Site.asked.get_nowait() for _ in range(Site.asked.qsize())]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_each_site_is_asked_once_and_answers_come_in_order(
    capsys: pytest.CaptureFixture[str], port: int
) -> None:
    """Verdicts are in the order of the URLs, and a site's robots.txt is retrieved once."""
    urls = [
        f"http://{host}:{port}{path}"
        for path in ("/private/x", "/")
        for host in (BROKEN, "127.0.0.1", MISSING)
    ]
    code, out, err = run(capsys, "check", "--allow-private", *urls)
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        f"disallowed  {urls[0]}  unreachable (503)",
        f"disallowed  {urls[1]}  line 2: Disallow: /private/",
        f"allowed     {urls[2]}  unavailable (404)",
        f"disallowed  {urls[3]}  unreachable (503)",
        f"allowed     {urls[4]}  no-rule-matched",
        f"allowed     {urls[5]}  unavailable (404)",
    ]
    assert sorted(host for host, _, _ in requests()) == ["127.0.0.1", BROKEN, MISSING]


def test_a_bad_url_is_a_result_and_work_goes_on(
    capsys: pytest.CaptureFixture[str], port: int
) -> None:
    """What is no URL is answered as such, and the exit code says that something is undecided."""
    url = f"http://127.0.0.1:{port}/private/"
    code, out, _ = run(capsys, "check", "--allow-private", "mailto:x", url, "http://[::1")
    assert code == 3
    assert [line.split()[0] for line in out.splitlines()] == [
        "invalid-url",
        "disallowed",
        "invalid-url",
    ]
    code, out, _ = run(capsys, "check", "--allow-private", "--json", "mailto:x", url)
    first, second = map(json.loads, out.splitlines())
    assert (code, first["allowed"], first["reason"]) == (3, None, "invalid-url")
    assert second["retrieval"]["availability"] == "available"
    assert second["retrieval"]["hops"][0]["status"] == 200


def test_several_agents_make_a_table_of_live_sites(
    capsys: pytest.CaptureFixture[str], port: int
) -> None:
    """Each agent has a column, and a bad URL has a row."""
    url = f"http://127.0.0.1:{port}/drafts/"
    code, out, _ = run(
        capsys, "check", "--allow-private", "--agent", "MyBot", "--agent", "NewsBot/1.0", url, "x"
    )
    assert code == 3
    header, row, bad = out.splitlines()
    assert header.split() == ["MyBot", "NewsBot/1.0", "URL"]
    assert row.split() == ["allowed", "disallowed,", "line", "8", url]
    assert bad.split() == ["invalid-url", "invalid-url", "x"]


@pytest.mark.parametrize(
    ("options", "allowed", "confidence"),
    [
        ([], False, "high"),
        (["--profile", "google"], False, "high"),
        (["--profile", "open"], True, "low"),
        (["--like", "scanner"], True, "low"),
        (["--like", "audit"], True, "low"),
        (["--like", "audit", "--profile", "rfc9309"], False, "high"),
    ],
    ids=str,
)
def test_a_profile_says_what_a_failure_means(
    capsys: pytest.CaptureFixture[str],
    port: int,
    options: list[str],
    allowed: bool,
    confidence: str,
) -> None:
    """A site that fails is closed, or open with low confidence; `--like` brings its profile."""
    url = f"http://{BROKEN}:{port}/"
    code, out, _ = run(capsys, "check", "--allow-private", "--json", url, *options)
    found = json.loads(out)
    assert (code, found["allowed"], found["reason"]) == (int(not allowed), allowed, "unreachable")
    assert found["retrieval"]["confidence"] == confidence


@pytest.mark.parametrize(
    ("host", "words"), [(LARGE, "larger than the profile reads"), (MANY, "more rules than")]
)
def test_what_a_scanner_does_not_read_is_warned_about_once(
    capsys: pytest.CaptureFixture[str], port: int, host: str, words: str
) -> None:
    """A file beyond a limit allows everything, and says so on standard error."""
    urls = [f"http://{host}:{port}/{page}" for page in "ab"]
    code, out, err = run(capsys, "check", "--allow-private", "--like", "scanner", *urls)
    assert (code, out.count("allowed  "), err.count(words)) == (0, 2, 1)


def test_private_addresses_are_refused_unless_allowed(
    capsys: pytest.CaptureFixture[str], port: int
) -> None:
    """Nothing arrives at a private address, and the warning says how to change that."""
    code, out, err = run(capsys, "check", f"http://127.0.0.1:{port}/")
    assert code == 1
    assert "unreachable (refused address)" in out
    assert "--allow-private" in err
    assert requests() == []


def test_a_timeout_bounds_the_wait(capsys: pytest.CaptureFixture[str], port: int) -> None:
    """A silent site is given up, and the answer says why."""
    url = f"http://{SILENT}:{port}/"
    code, out, _ = run(capsys, "check", "--allow-private", "--timeout", "0.2", url)
    assert (code, out) == (1, f"disallowed  {url}  unreachable (timeout)\n")


def test_the_user_agent_is_what_is_sent(capsys: pytest.CaptureFixture[str], port: int) -> None:
    """`--user-agent` is sent as it is; by default the package introduces itself."""
    run(capsys, "robots", "--allow-private", f"http://127.0.0.1:{port}/")
    run(capsys, "robots", "--allow-private", f"http://127.0.0.1:{port}/", "--user-agent", "Me/1")
    first, second = (sent for _, _, sent in requests())
    assert first.startswith("manners/")
    assert second == "Me/1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "--timeout", "0", "http://a/"], "--timeout"),
        (["check", "--timeout", "nan", "http://a/"], "--timeout"),
        (["check", "--user-agent", "a\nb", "http://a/"], "--user-agent"),
        (
            ["check", "--profile", "x", "http://a/"],
            "unknown profile 'x'; choose from: google, open",
        ),
        (["check", "--like", "x", "http://a/"], "unknown dialect 'x'"),
        (["check", "--dialect", "", "http://a/"], "unknown dialect ''"),
        (
            ["check", "--robots", "-", "--profile", "open", "/"],
            "nothing is retrieved with --robots",
        ),
        (["robots", "nonsense"], "not an http or https URL"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    """An option that cannot be used is a usage error that names it."""
    code, out, err = run(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("manners: ")
    assert words in err


def test_answers_come_while_urls_are_still_being_written(port: int) -> None:
    """A URL written to standard input is answered before the next one is there."""
    with subprocess.Popen(
        [sys.executable, "-m", "manners", "check", "--allow-private"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for path in ("/private/x", "/", "/private/y"):
            process.stdin.write(f"http://127.0.0.1:{port}{path}\n")
            process.stdin.flush()
            assert path in process.stdout.readline()
        process.stdin.close()
        assert process.wait(timeout=30) == 1


def test_an_endless_list_of_urls_is_read_as_it_is_answered(port: int) -> None:
    """`| head -1` ends the command, however many URLs would come."""
    with subprocess.Popen(
        [sys.executable, "-m", "manners", "check", "--allow-private"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        line = f"http://127.0.0.1:{port}/\n".encode()
        process.stdin.write(line * 500)
        process.stdin.flush()
        assert process.stdout.readline()
        process.stdout.close()
        with pytest.raises(BrokenPipeError):
            write_on(process.stdin, line * 500)
        assert process.stderr.read() == b""
        with suppress(BrokenPipeError):  # something may be left to write
            process.stdin.close()


def write_on(stream: IO[bytes], text: bytes) -> None:
    """Write the same again and again, until nobody reads it."""
    while True:
        stream.write(text)
        stream.flush()


def test_robots_shows_the_whole_story(capsys: pytest.CaptureFixture[str], port: int) -> None:
    """Hops, status, freshness, size, charset, groups, sitemaps and problems are shown."""
    base = f"http://{MOVED}:{port}"
    code, out, err = run(capsys, "robots", "--allow-private", f"{base}/some/page")
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0] == f"{base}/robots.txt"
    assert lines[1].startswith("result available (200), ")
    assert lines[2:4] == [f"hops 301 {base}/robots.txt", f"200 {base}/moved.txt"]
    assert lines[4].startswith("fresh for 1 d, until ")
    assert lines[5:] == [
        f"size {len(ROBOTS)} bytes",
        "charset none named, read as utf-8",
        "groups * (line 1): 1 rule, crawl-delay soon (invalid)",
        "SearchBot, NewsBot (line 6): 1 rule",
        f"sitemaps {base}/sitemap.xml",
        "directives line 3: Crawl-delay: soon (for *)",
        "problems line 3: bad-value: Crawl-delay: soon",
    ]


@pytest.mark.parametrize(("host", "code"), [("127.0.0.1", 0), (MISSING, 1), (BROKEN, 3)])
def test_robots_exits_by_what_it_found(
    capsys: pytest.CaptureFixture[str], port: int, tmp_path: Path, host: str, code: int
) -> None:
    """0 there is a file, 1 there is none, 3 nobody knows; only a file is saved."""
    saved = tmp_path / "saved.txt"
    arguments = ["robots", "--allow-private", f"http://{host}:{port}/", "--json", "--save", saved]
    found, out, err = run(capsys, *map(str, arguments))
    shown = json.loads(out)
    assert found == code
    assert (shown["outcome"]["url"], shown["dialect"]) == (
        f"http://{host}:{port}/robots.txt",
        "rfc9309",
    )
    assert saved.exists() == (code == 0)
    assert ("nothing to save" in err) == (code != 0)
    if code == 0:
        assert saved.read_bytes() == ROBOTS
        assert [group["agents"] for group in shown["groups"]] == [["*"], ["SearchBot", "NewsBot"]]
        assert shown["sitemaps"][0]["line"] == 4
        assert shown["problems"][0]["problems"] == ["bad-value"]


def test_robots_says_when_it_cannot_save(
    capsys: pytest.CaptureFixture[str], port: int, tmp_path: Path
) -> None:
    """A place that cannot be written to is a usage error that names it."""
    code, _, err = run(
        capsys, "robots", "--allow-private", f"http://127.0.0.1:{port}/", "--save", str(tmp_path)
    )
    assert code == 2
    assert "cannot write" in err


def test_hostile_text_of_a_site_is_shown_and_not_sent(
    capsys: pytest.CaptureFixture[str], port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a file contains reaches a terminal as escapes."""
    monkeypatch.setattr(sys.modules[__name__], "ROBOTS", HOSTILE)
    for command in (["check"], ["robots"]):
        _, out, _ = run(capsys, *command, "--allow-private", f"http://127.0.0.1:{port}/")
        assert "\\x1b" in out
        assert "\x1b" not in out
        assert "\x07" not in out


def test_progress_is_shown_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody who watches is told what is being waited for; the line is gone afterwards."""
    arguments = ["check", "--allow-private", "--timeout", "1", f"http://{SILENT}:{port}/"]
    assert run(capsys, *arguments)[2] == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    _, _, err = run(capsys, *arguments)
    assert f"0 checked, waiting for http://{SILENT}:{port}" in err
    assert err.endswith("\r\x1b[2K")

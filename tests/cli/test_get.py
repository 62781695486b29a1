"""`manners get`: pages of a server on loopback, from arguments to files and exit codes."""

import io
import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event

from manners.cli import main
from manners.cli.saving import file_of, save
from manners.evidence.record import engine
from manners.evidence.replay import Replay
from manners.evidence.store import EvidenceStore
from manners.identity import default_user_agent
from tests.cli.running import RanRaw, shown_on_terminal
from tests.contracts.valkey import Valkey
from tests.faults.server import Call, Handler, Site, by_path, in_thread, page

pytestmark = pytest.mark.usefixtures("quick")

ROBOTS = b"User-agent: *\nDisallow: /private/\nDisallow: /secret/\n"
SLOW, DEFERRED, CLOSED, BUSY = (f"127.0.1.{last}" for last in range(1, 5))
ROBOTS_OF = {
    SLOW: b"User-agent: *\nCrawl-delay: 1\n",
    DEFERRED: b"User-agent: *\nCrawl-delay: 1000\n",
}
SENT = f"sent as {default_user_agent()}"
EVIDENCE = "evidence: manners.db; check it with: manners evidence verify"
HOSTILE = "\x1b]0;x\x07\x9b31m\x85\u202e"
BINARY = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe"


async def seen(call: Call) -> None:
    headers = (await call.request()).headers
    shown = {name: headers.get(name) for name in ("user-agent", "x-mine", "cookie")}
    await call.reply(200, json.dumps(shown).encode())


async def breaks(call: Call) -> None:
    call.reset()


PAGES: dict[str, Handler] = {
    "/missing": page(b"not here", 404),
    "/unchanged": page(status=304),
    "/to-private": page(status=302, headers=[("Location", "/private/x")]),
    "/moved": page(status=301, headers=[("Location", "/new")]),
    "/loop": page(status=301, headers=[("Location", "/loop")]),
    "/later": page(status=429, headers=[("Retry-After", "1000")]),
    "/binary": page(BINARY),
    "/large": page(b"x" * 2000),
    "/hostile": page(
        f"a{HOSTILE}\tb\r\nend".encode(),
        headers=[("Content-Type", "text/plain; charset=utf-8"), ("X-Robots-Tag", "\x1b[2J")],
    ),
    "/hangs": Call.pause,
    "/breaks": breaks,
    "/seen": seen,
}


async def robots(call: Call) -> None:
    if call.address == CLOSED:
        await call.reply(503)
    else:
        await call.reply(200, ROBOTS_OF.get(call.address, ROBOTS))


async def otherwise(call: Call) -> None:
    await call.reply(200, f"page {(await call.request()).path}".encode())


class Ran(RanRaw):
    """What one run of the command left behind."""

    @property
    def lines(self) -> list[str]:
        """The lines of standard output, without the seconds, which differ."""
        return re.sub(r"[\d.]+ m?s\b", "_ s", self.out).splitlines()


Run = Callable[..., Ran]


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    with in_thread(Site(by_path({"/robots.txt": robots, **PAGES}, otherwise))) as site:
        yield site
        assert site.failures == []


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, with `stdin` as its standard input."""

    def run(*arguments: str | Path, stdin: str = "") -> Ran:
        typed = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", typed)
        code = main(["get", *map(str, arguments)])
        out, err = capsysbinary.readouterr()
        return Ran(code, out, err.decode())

    return run


def start(*arguments: str, **how: Any) -> "subprocess.Popen[bytes]":
    """The command as its users have it, in a process of its own."""
    return subprocess.Popen([sys.executable, "-m", "manners", "get", *arguments], **how)


def pages(site: Site) -> list[str]:
    """The paths that were asked for, robots.txt files left out."""
    return [visit.path for visit in site.log if visit.path != "/robots.txt"]


def files(folder: Path) -> dict[str, bytes]:
    """What is in the saved pages of a folder, by the name without its digest."""
    return {
        re.sub(r"-[0-9a-f]{12}(?=\.|$)", "", str(path.relative_to(folder))): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "manifest.jsonl"
    }


# One page.


def test_one_page_goes_to_standard_output_as_it_is(run: Run, site: Site) -> None:
    """Every byte of the body, and nothing else; the line about it goes to standard error."""
    url = site.url(path="/binary")
    ran = run(url)
    assert (ran.code, ran.raw) == (0, BINARY)
    assert re.fullmatch(rf"200        {url}  18 bytes  [\d.]+ m?s\n", ran.err)


@pytest.mark.parametrize(
    ("path", "code", "line"),
    [
        ("/missing", 1, "404        {}  8 bytes  _ s"),
        ("/private/x", 1, "blocked    {}  line 2: Disallow: /private/"),
        ("/loop", 1, "301        {}  0 bytes  _ s  redirect loop"),
        ("/breaks", 3, "no-answer  {}  connection lost"),
        ("/unchanged", 0, "304        {}  0 bytes  _ s"),
    ],
)
def test_one_page_that_is_not_there(run: Run, site: Site, path: str, code: int, line: str) -> None:
    """The line says what came instead, and so does the exit code; a body is a body."""
    url = site.url(path=path)
    ran = run(url)
    assert (ran.code, ran.raw) == (code, b"not here" if path == "/missing" else b"")
    assert re.sub(r"[\d.]+ m?s\b", "_ s", ran.err) == line.format(url) + "\n"


def test_one_page_behind_a_redirect(run: Run, site: Site) -> None:
    """Where it ended is said."""
    ran = run(site.url(path="/moved"))
    assert (ran.code, ran.raw) == (0, b"page /new")
    assert f"{site.url(path='/moved')} -> {site.url(path='/new')}  9 bytes" in ran.err


def test_a_url_that_is_none(run: Run) -> None:
    """Nothing can be asked for."""
    ran = run("ftp://example.com/")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "invalid-url  ftp://example.com/  not an http or https URL\n"


# Several pages.


def test_several_pages_have_a_line_each_and_a_summary(run: Run, site: Site) -> None:
    """Bodies are not printed; what was not fetched is grouped by what decided."""
    paths = ("/a", "/private/1", "/to-private", "/private/2", "/secret/", "/missing", "/moved")
    urls = {path: site.url(path=path) for path in paths}
    ran = run(*urls.values(), "mailto:x")
    assert ran.code == 3
    assert sorted(ran.lines) == sorted(
        [
            f"200        {urls['/a']}  7 bytes  _ s",
            f"blocked    {urls['/private/1']}  line 2: Disallow: /private/",
            f"blocked    {urls['/to-private']} -> {site.url(path='/private/x')}"
            "  line 2: Disallow: /private/",
            f"blocked    {urls['/private/2']}  line 2: Disallow: /private/",
            f"blocked    {urls['/secret/']}  line 3: Disallow: /secret/",
            f"404        {urls['/missing']}  8 bytes  _ s",
            f"200        {urls['/moved']} -> {site.url(path='/new')}  9 bytes  _ s",
            "invalid-url  mailto:x  not an http or https URL",
        ]
    )
    first, most, *others = ran.err.splitlines()
    origin = site.url(path="")
    assert first == "3 fetched, 4 blocked, 1 failed"
    assert most == f"  3 blocked: {origin}  line 2: Disallow: /private/"
    assert sorted(others) == [
        f"  1 blocked: {origin}  line 3: Disallow: /secret/",
        "  1 failed: invalid-url  not an http or https URL",
        "  1 fetched: 404",
        EVIDENCE,
        SENT,
    ]
    assert sorted(pages(site)) == ["/a", "/missing", "/moved", "/new", "/to-private"]


@pytest.mark.parametrize(
    ("paths", "code"),
    [
        (["/a", "/b"], 0),
        (["/a", "/unchanged"], 0),
        (["/a", "/missing"], 1),
        (["/a", "/private/x"], 1),
        (["/to-private", "/a"], 1),
        (["/private/x", "/breaks"], 3),
        (["/missing", "/breaks", "/a"], 3),
    ],
    ids=str,
)
def test_exit_codes(run: Run, site: Site, paths: list[str], code: int) -> None:
    """3 when something could not be asked for, else 1 when something was not had, else 0."""
    assert run(*(site.url(path=path) for path in paths)).code == code


def test_a_site_that_fails_is_closed_unless_the_profile_is_open(run: Run, site: Site) -> None:
    """A site whose robots.txt cannot be had is blocked, which is a verdict."""
    url = site.url(CLOSED, "/a")
    ran = run(url)
    assert (ran.code, ran.raw) == (1, b"")
    assert ran.err == f"blocked    {url}  unreachable (503)\n"
    assert run(site.url(CLOSED, "/a"), "--profile", "open", "--dry-run").code == 0
    assert pages(site) == []


def test_a_host_that_wants_to_be_left_alone_is_deferred(run: Run, site: Site) -> None:
    """It is said until when; what the host has answered already counts."""
    urls = [site.url(DEFERRED, f"/{number}") for number in range(4)]
    ran = run("--json", *urls, site.url(path="/a"))
    told = [record for record in ran.objects if record.get("reason") == "deferred"]
    assert ran.code == 3
    assert len(told) >= 3
    for record in told:
        assert set(record) == {"allowed", "reason", "url", "problem", "until"}
        assert 900 < record["until"] - time.time() < 1100
        assert f"{DEFERRED} is deferred until 20" in record["problem"]
    assert re.search(rf"  \d deferred: {DEFERRED} is deferred until 20.* UTC\n", ran.err)


def test_retry_after_defers_the_rest(run: Run, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that says for how long it wants no more requests gets none."""
    monkeypatch.setenv("MANNERS_CONCURRENCY", "1")
    ran = run(site.url(BUSY, "/later"), *(site.url(BUSY, f"/{n}") for n in range(5)))
    assert (ran.code, pages(site)) == (3, ["/later"])
    assert [line.split()[0] for line in ran.lines] == ["429", *["deferred"] * 5]


def test_the_size_of_a_page_is_limited(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read is there, and it is said that it is not all."""
    monkeypatch.setenv("MANNERS_PAGE_MAX_BYTES", "1000")
    ran = run(site.url(path="/large"))
    assert (ran.code, len(ran.raw)) == (1, 1000)
    assert ran.err.endswith("truncated: larger than the limit of a page\n")


def test_the_timeout_is_for_a_page(run: Run, site: Site) -> None:
    """A page that does not come is given up, which says nothing about the page."""
    url = site.url(path="/hangs")
    ran = run("--timeout", "0.3", url)
    assert (ran.code, ran.err) == (3, f"no-answer  {url}  timeout\n")


def test_private_addresses_are_refused_unless_allowed(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing arrives, one warning a site says how to change that; robots.txt asked or not."""
    monkeypatch.delenv("MANNERS_ALLOW_PRIVATE")
    ran = run(site.url(path="/a"), site.url(path="/b"))
    assert (ran.code, ran.err.count("--allow-private")) == (1, 1)
    monkeypatch.setenv("MANNERS_RESPECT_ROBOTS", "false")
    ran = run(site.url(path="/a"))
    assert (ran.code, ran.err.count("--allow-private")) == (3, 1)
    assert site.log == []
    assert run("--allow-private", site.url(path="/a")).code == 0


def test_exclusions_are_told_as_such(run: Run, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the user excludes is blocked by the user's own rule."""
    monkeypatch.setenv("MANNERS_EXCLUDE", "/admin")
    ran = run(site.url(path="/admin/1"), site.url(path="/admin/2"))
    assert (ran.code, site.log) == (1, [])
    assert ran.err.splitlines() == [
        "2 blocked",
        f"  2 blocked: {site.url(path='')}  excluded: /admin",
        SENT,
        EVIDENCE,
    ]


def test_no_urls_at_all(run: Run) -> None:
    """Nothing to do is done, with a warning."""
    assert run(stdin="\n") == Ran(0, b"", "manners: warning: no URL in standard input\n")


# Where URLs come from.


@pytest.mark.parametrize("arguments", [[], ["-"], ["--urls", "-"], ["--urls", "list.txt"]], ids=str)
def test_urls_from_a_file_or_standard_input(run: Run, site: Site, arguments: list[str]) -> None:
    """One a line, as in `check`; one alone is a list, too."""
    listed = f"{site.url(path='/a')}\n\n  {site.url(path='/b')}\n"
    Path("list.txt").write_text(listed)
    ran = run(*arguments, stdin="" if "list.txt" in arguments else listed)
    assert (ran.code, sorted(pages(site)), len(ran.lines)) == (0, ["/a", "/b"], 2)
    ran = run("-", stdin=site.url(path="/a"))
    assert ran.lines == [f"200        {site.url(path='/a')}  7 bytes  _ s"]


def test_a_missing_list_is_noticed_first(run: Run, site: Site) -> None:
    """Nothing is asked for before everything that was given is there."""
    ran = run(site.url(), "--urls", "nowhere.txt", "-o", "pages")
    assert (ran.code, ran.out, site.log) == (2, "", [])
    assert "cannot read 'nowhere.txt'" in ran.err
    assert not Path("pages").exists()


def test_answers_come_while_urls_are_still_being_written(site: Site) -> None:
    """A URL written to standard input is answered before the next one is there."""
    with start(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        for path in ("/private/x", "/a", "/b"):
            process.stdin.write(f"{site.url(path=path)}\n".encode())
            process.stdin.flush()
            assert path.encode() in process.stdout.readline()
        process.stdin.close()
        assert process.wait(timeout=30) == 1


# What is sent.


def test_who_decides_is_who_is_sent(run: Run, site: Site) -> None:
    """With pages and with robots.txt files: the agent, or the package where nobody is named."""
    url = site.url(path="/seen")

    def seen(*arguments: str) -> str:
        return str(json.loads(run(url, *arguments).raw)["user-agent"])

    assert re.fullmatch(r"manners/[\d.]+ \(\+https://\S+\)", seen())
    assert seen("--agent", "MyBot") == "MyBot"
    assert seen("--user-agent", "Me/1 (+x)") == "Me/1 (+x)"
    sent = [visit.headers["user-agent"].partition("/")[0] for visit in site.log]
    assert sent == ["manners", "manners", "MyBot", "MyBot", "Me", "Me"]


def test_headers_are_sent_with_pages_only(run: Run, site: Site) -> None:
    """A robots.txt is asked for as everybody asks for it."""
    ran = run(site.url(path="/seen"), "--header", "X-Mine:  a: b ", "--header", "Cookie: c=d")
    seen = json.loads(ran.raw)
    assert (seen["x-mine"], seen["cookie"]) == ("a: b", "c=d")
    robots, page = site.log
    assert "x-mine" not in robots.headers
    assert "x-mine" in page.headers


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--header", "A: b", "--header", "nonsense"], "header 2 is not written as 'Name: value'"),
        (["--header", "a b: c"], "--header: headers: header 1 is not written as 'Name: value'"),
        (["--header", ": c"], "header 1 is not written as 'Name: value'"),
        (["--header", "A: b\r\nC: d"], r"A has a control character ('\r')"),
        (["--header", "A: \x1b[2J"], r"A has a control character ('\x1b')"),
        (["--header", "A: ü"], "A has a character that is not ASCII"),
        (["--header", "Host: other"], "Host cannot be set"),
        (["--header", "user-agent: x"], "user-agent is a setting of its own: --user-agent"),
        (["--header", "Transfer-Encoding: chunked"], "Transfer-Encoding cannot be set"),
        (["--timeout", "0"], "--timeout"),
        (["--timeout", "nan"], "--timeout"),
        (["--profile", "x"], "unknown profile 'x'"),
        (["--dialect", "x"], "unknown dialect 'x'"),
        (["--agent"], "--agent"),
    ],
    ids=str,
)
def test_mistakes_are_one_line(run: Run, site: Site, arguments: list[str], words: str) -> None:
    """What cannot be used is a usage error that names it, and nothing is asked for."""
    ran = run(site.url(), *arguments)
    assert (ran.code, ran.out, ran.err.count("\n"), site.log) == (2, "", 1, [])
    assert ran.err.startswith("manners: ")
    assert words in ran.err
    assert "\x1b" not in ran.err


# Without a request.


def test_a_dry_run_asks_for_no_page(run: Run, site: Site) -> None:
    """Only robots.txt is asked for; verdicts are printed as `check` does, and nothing is saved."""
    ran = run(
        "--dry-run", "-o", "pages", site.url(path="/a"), site.url(path="/private/x"), "mailto:x"
    )
    assert ran.code == 3
    assert sorted(ran.lines) == [
        f"allowed     {site.url(path='/a')}  no-rule-matched",
        f"disallowed  {site.url(path='/private/x')}  line 2: Disallow: /private/",
        "invalid-url  mailto:x  not an http or https URL",
    ]
    assert ran.err.startswith("1 allowed, 1 blocked, 1 failed\n")
    assert f"  1 blocked: {site.url(path='')}  line 2: Disallow: /private/\n" in ran.err
    assert [visit.path for visit in site.log] == ["/robots.txt"]
    assert not Path("pages").exists()


@pytest.mark.parametrize(("path", "code"), [("/a", 0), ("/private/x", 1)])
def test_a_dry_run_of_one(run: Run, site: Site, path: str, code: int) -> None:
    """The verdict goes to standard output, and exits as `check` does."""
    ran = run("--dry-run", site.url(path=path))
    assert (ran.code, ran.err, len(ran.lines)) == (code, "", 1)
    assert pages(site) == []


def test_a_dry_run_in_json(run: Run, site: Site) -> None:
    """Verdicts as `check --json` has them."""
    ran = run("--dry-run", "--json", site.url(path="/private/x"), "mailto:x")
    invalid, verdict = sorted(ran.objects, key=lambda record: bool(record.get("line")))
    assert invalid == {
        "allowed": None,
        "reason": "invalid-url",
        "url": "mailto:x",
        "problem": "not an http or https URL",
    }
    assert (verdict["allowed"], verdict["line"]) == (False, 2)


# JSON.


def test_json_has_an_object_for_each_url(run: Run, site: Site) -> None:
    """What `Page.to_dict()` has, and the file; of what could not be asked for, why."""
    ran = run("--json", "-o", "pages", *(site.url(path=p) for p in ("/a", "/moved", "/private/x")))
    found = {record["url"].rpartition("/")[2]: record for record in ran.objects}
    assert (ran.code, set(found)) == (1, {"a", "moved", "x"})
    assert (found["a"]["status"], found["a"]["bytes"]) == (200, 7)
    assert Path(found["a"]["file"]).read_bytes() == b"page /a"
    assert found["moved"]["final_url"] == site.url(path="/new")
    assert [hop["status"] for hop in found["moved"]["hops"]] == [301, 200]
    assert (found["x"]["was_allowed"], found["x"]["status"]) == (False, None)
    assert found["x"]["hops"][0]["verdict"]["line_text"] == "Disallow: /private/"
    assert "file" not in found["x"]


def test_json_of_one_has_no_body(run: Run, site: Site) -> None:
    """The object goes to standard output, and nothing else does."""
    ran = run("--json", site.url(path="/a"))
    assert (ran.code, ran.err, len(ran.objects)) == (0, "", 1)


# Files.


def test_pages_are_saved_by_host_and_url(run: Run, site: Site) -> None:
    """Each page in a file of its own, and a line says which; only what was fetched is saved."""
    paths = ("/", "/docs/", "/docs/a.html?x=1&y", "/missing", "/private/x", "/unchanged")
    ran = run("-o", "deep/pages", *(site.url(path=path) for path in paths), site.url("127.0.0.2"))
    port = site.ports[0]
    assert files(Path("deep/pages")) == {
        f"127.0.0.1_{port}/index.html": b"page /",
        f"127.0.0.1_{port}/docs-index.html": b"page /docs/",
        f"127.0.0.1_{port}/docs-a-x-1-y.html": b"page /docs/a.html?x=1&y",
        f"127.0.0.2_{port}/index.html": b"page /",
    }
    (line,) = (line for line in ran.lines if "a.html?x=1" in line)
    assert line.endswith(f"_ s  deep/pages/{file_of(site.url(path=paths[2]))}")
    assert Path(line.split()[-1]).read_bytes() == b"page /docs/a.html?x=1&y"


def test_a_file_is_replaced_by_the_same_url_only(run: Run, site: Site) -> None:
    """Another run writes the same file again; a failure leaves it as it is."""
    url = site.url(path="/a")
    run("-o", "pages", url)
    (path,) = Path("pages").rglob("a-*")
    path.write_bytes(b"old")
    run("-o", "pages", site.url(path="/A"), site.url(path="/a?"), site.url(path="/a/"))
    assert path.read_bytes() == b"old"
    run("-o", "pages", f"{url}#part")
    assert path.read_bytes() == b"page /a"
    assert not list(Path("pages").rglob(".*"))
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask()


def umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


URLS = [
    "http://h/",
    "http://h",
    "https://h/",
    "http://h:81/",
    "http://h/index.html",
    "http://h/../../etc/passwd",
    "http://h/%2e%2e/%2E%2E%2fetc%2fpasswd",
    "http://h/..",
    "http://h/.",
    "http://h/.ssh/authorized_keys",
    "http://h/a/b",
    "http://h/a-b",
    "http://h/A-b",
    "http://h/a?b",
    "http://h/a%2Fb",
    "http://h/a%00b",
    "http://h/a\\b",
    "http://h/a\\..\\..\\b",
    "http://h/C:\\windows",
    "http://h/CON",
    "http://h/nul.txt",
    "http://h/a.",
    "http://h/a ",
    "http://h/-o",
    "http://h/~",
    "http://h/bücher/日本語",
    "http://h/\x1b]0;x\x07\u202e",
    "http://h/\udcff",
    "http://h/" + "x" * 5000,
    "http://h/" + "x" * 5001,
    "http://h/x." + "y" * 5000,
    "http://h/?" + "../" * 3000,
    "http://../x",
    "http://./x",
    "http://.../x",
    "http://con/x",
    "http://aux.example/x",
    "http://manifest.jsonl/x",
    "http://COM1:80/x",
    "http://[::1]:8080/x",
    "http://~/x",
    "http://-rf/x",
    "http://" + "a." * 120 + "example:65535/x",
]


def test_every_url_has_a_safe_file_of_its_own() -> None:
    """One folder, one short name of plain characters; no two are the same, in any case."""
    named = {url: file_of(url).as_posix() for url in URLS}
    assert len({name.lower() for name in named.values()}) == len({*URLS}) - 1  # / and nothing
    assert named["http://h"] == named["http://h/"]
    for url, name in named.items():
        assert re.fullmatch(r"[a-z0-9_-][a-z0-9_.-]*/[A-Za-z0-9_]?[A-Za-z0-9_.-]+", name), url
        folder, file = name.split("/")
        assert max(len(folder), len(file)) <= 128
        assert folder[-1] != "."
        assert file[0] not in ".-"
        for part in (folder, file):
            device = r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)"
            assert not re.match(device, part, re.IGNORECASE), url


def test_every_url_is_saved_below_the_folder(tmp_path: Path) -> None:
    """Nothing is written anywhere else."""
    root = tmp_path / "in" / "here"
    root.mkdir(parents=True)
    for url in URLS:
        assert save(url.encode("utf-8", "surrogateescape"), url, root).is_relative_to(root)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) == len({*URLS}) - 1
    assert all(root in path.parents for path in written)


def test_links_are_not_followed(run: Run, site: Site, tmp_path: Path) -> None:
    """A folder that is a link is an error; a file that is one is replaced."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    precious = elsewhere / "precious"
    precious.write_bytes(b"precious")
    root, url = tmp_path / "pages", site.url(path="/a")
    folder = root / file_of(url).parent
    root.mkdir()
    folder.symlink_to(elsewhere)
    ran = run("-o", root, url)
    assert (ran.code, ran.out) == (2, "")
    assert "is a symbolic link" in ran.err
    assert [path.name for path in elsewhere.iterdir()] == ["precious"]
    folder.unlink()
    folder.mkdir()
    (root / file_of(url)).symlink_to(precious)
    assert run("-o", root, url).code == 0
    assert precious.read_bytes() == b"precious"
    assert not (root / file_of(url)).is_symlink()


def test_the_folder_itself_may_be_a_link(run: Run, site: Site, tmp_path: Path) -> None:
    """Whoever names it knows where it leads."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert run("-o", tmp_path / "link", site.url(path="/a")).code == 0
    assert len(files(tmp_path / "real")) == 1


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nowhere"])
def test_a_folder_that_cannot_be_made(run: Run, site: Site, place: str) -> None:
    """It is noticed before anything is asked for."""
    Path("file").write_text("")
    ran = run("-o", place, site.url(path="/a"))
    assert (ran.code, ran.out, site.log) == (2, "", [])
    assert ran.err.startswith(f"manners: cannot write to '{place}'")


@pytest.mark.parametrize("obstacle", ["folder", "file"])
def test_a_file_that_cannot_be_written(run: Run, site: Site, obstacle: str) -> None:
    """The work stops with one line that names the file, and nothing is left half done."""
    url, root = site.url(path="/a"), Path("pages")
    root.mkdir()
    if obstacle == "folder":
        (root / file_of(url).parent).write_text("not a folder")
    else:
        (root / file_of(url)).mkdir(parents=True)
    ran = run("-o", root, url)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"manners: cannot write 'pages/{file_of(url)}': ")
    assert not list(root.rglob(".*"))


def test_a_full_disk_leaves_nothing_half_written(site: Site, tmp_path: Path) -> None:
    """What does not fit is not there at all; what was saved before stays."""
    urls = [site.url(path="/a"), site.url(path="/large")]
    ran = subprocess.run(
        [sys.executable, "-m", "manners", "get", "--no-evidence", "-o", "pages", "-"],
        input=f"{urls[0]}\n{urls[1]}\n".encode(),
        capture_output=True,
        check=False,
        env={**os.environ, "MANNERS_CONCURRENCY": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert ran.returncode == 2
    assert b"1 fetched\nended early; resume with the same options: manners get" in ran.stderr
    assert b"\nmanners: cannot write 'pages/" in ran.stderr
    assert b"File too large" in ran.stderr
    assert {path.name for path in (tmp_path / "pages").rglob("*") if path.is_file()} == {
        file_of(urls[0]).name,
        "manifest.jsonl",
    }


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("paths", [["/a"], ["/a", "/b"]], ids=str)
def test_output_that_cannot_be_written_is_no_success(site: Site, paths: list[str]) -> None:
    """The exit code is 3, as for every command."""
    with Path("/dev/full").open("wb") as full:
        urls = [site.url(path=path) for path in paths]
        with start(*urls, stdout=full, stderr=subprocess.PIPE) as process:
            _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert b"manners: cannot go on: No space left on device\n" in err


# What reaches a terminal.


def test_hostile_text_is_shown_and_not_sent(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """URLs, robots.txt files and headers are escaped in lines, in the summary and in JSON."""
    monkeypatch.setitem(ROBOTS_OF, "127.0.0.3", f"User-agent: *\nDisallow: /x{HOSTILE}".encode())
    urls = [
        site.url("127.0.0.3", f"/x{HOSTILE}"),
        site.url(path=f"/{HOSTILE}"),
        f"ftp://{HOSTILE}",
        site.url(path="/hostile"),
    ]
    for arguments in ([], ["--json"], ["--dry-run"], ["-o", "pages"]):
        ran = run(*arguments, *urls)
        assert ran.code == 3
        for text in (ran.out, ran.err):
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), arguments


def test_passwords_are_not_shown(run: Run, site: Site) -> None:
    """Nor sent: names and passwords in URLs are left out."""
    url = site.url(path="/a").replace("//", "//me:secret@")
    for arguments in ([], ["--json"], ["--dry-run"], ["-o", "pages"]):
        ran = run(*arguments, url)
        assert ran.code == 0
        assert "secret" not in ran.out + ran.err
    assert not any("authorization" in visit.headers for visit in site.log)


def on_terminal(*arguments: str) -> tuple[int, str]:
    """The exit code, and what a terminal gets to see."""
    import pty

    controller, terminal = pty.openpty()
    with start(*arguments, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        shown = shown_on_terminal(controller)
        return process.wait(timeout=60), shown


def test_a_terminal_gets_text_with_escapes(site: Site) -> None:
    """Lines and tabs are kept, and everything else that a terminal might obey is written out."""
    code, shown = on_terminal(site.url(path="/hostile"))
    assert code == 0
    assert shown.replace("\r\x1b[2K", "").endswith(
        "a\\x1b]0;x\\x07\\x9b31m\\x85\\u202e      b\nend".replace("      b", "\tb")
    )


def test_a_terminal_gets_no_binary(site: Site) -> None:
    """What is no text is refused, with what to do instead."""
    code, shown = on_terminal(site.url(path="/binary"))
    assert code == 2
    assert "-o DIR saves it" in shown
    assert "PNG" not in shown


def test_a_terminal_gets_colours_and_progress(site: Site) -> None:
    """Lines are coloured, and while something is waited for it is said how far the work is."""
    code, shown = on_terminal(*(site.url(SLOW, f"/{number}") for number in range(3)))
    assert code == 0
    assert "\x1b[32m200      \x1b[0m" in shown
    assert "of 3 done, 0 blocked, 1 host under way" in shown
    assert shown.endswith(f"3 fetched\n{SENT}\n{EVIDENCE}\n")


# Side by side.


def test_no_host_waits_for_another(run: Run, site: Site) -> None:
    """Pages of a host with a long delay hold up nobody who comes behind them."""
    slow = [site.url(SLOW, f"/{number}") for number in range(3)]
    quick = [site.url(f"127.0.2.{1 + number % 50}", f"/{number}") for number in range(200)]
    ran = run(*slow, *quick)
    assert ran.code == 0
    last_slow = max(number for number, line in enumerate(ran.lines) if SLOW in line)
    assert last_slow == len(ran.lines) - 1
    starts = [
        visit.at for visit in site.log if visit.address == SLOW and visit.path != "/robots.txt"
    ]
    assert all(late - early > 0.9 for early, late in pairwise(starts)), starts
    assert sum(visit.path == "/robots.txt" for visit in site.log) == 51


def test_slots_that_are_long_in_use_are_waited_for(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No page is given up because others of the same list take long."""
    monkeypatch.setenv("MANNERS_SLOT_TIMEOUT", "0.1")
    monkeypatch.setenv("MANNERS_CONCURRENCY", "1")
    urls = [site.url(path="/hangs"), site.url(path="/a"), site.url(path="/b")]
    ran = run("--timeout", "1", *urls)
    assert [line.split()[0] for line in ran.lines] == ["no-answer", "200", "200"]


# Ctrl-C.


@pytest.mark.parametrize("how", ["arguments", "standard input"])
def test_an_interruption_says_what_was_done(site: Site, tmp_path: Path, how: str) -> None:
    """The exit code is 130, at once, and nothing half done is left, whoever is waited for."""
    urls = [site.url(path="/a"), *(site.url(path=f"/hangs?{n}") for n in range(5))]
    given = urls if how == "arguments" else []
    with start(
        *("-o", "pages", *given),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        if not given:
            process.stdin.write("".join(f"{url}\n" for url in urls).encode())
            process.stdin.flush()
        assert process.stdout.readline().startswith(b"200 ")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        again = f"manners get -o pages --resume {'URL…' if given else '< LIST'}"
        assert process.stderr.read().decode().splitlines() == [
            "1 fetched",
            f"ended early; resume with the same options: {again}",
            SENT,
            EVIDENCE,
        ]
    assert len(files(tmp_path / "pages")) == 1


def test_a_reader_that_stops_early(site: Site) -> None:
    """`| head -1` ends the command quietly."""
    urls = [site.url(SLOW, f"/{number}") for number in range(5)]
    with start(*urls, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert len(pages(site)) < 5


# Evidence.


def recorded(place: str = "manners.db") -> list[str]:
    """What the records of a store say: the type, the URL, and whether it comes out the same."""
    with EvidenceStore(place, create=False) as store:
        assert list(store.verify()) == []
        again = Replay(store.snapshot, engine())
        found = list(store.records())
        assert [again.again(record) for record in found] == [None] * len(found)
        return [f"{record.type} {record.url}" for record in found]


def test_what_is_decided_is_recorded(run: Run, site: Site) -> None:
    """Every URL and every hop, in ./manners.db, with its number in the JSON."""
    ran = run("--json", *(site.url(path=path) for path in ("/a", "/moved", "/private/x")))
    assert sorted(recorded()) == sorted(
        [
            f"robots_allowed {site.url(path='/a')}",
            f"robots_allowed {site.url(path='/moved')}",
            f"robots_allowed {site.url(path='/new')}",
            f"blocked_by_robots {site.url(path='/private/x')}",
        ]
    )
    numbers = [hop["evidence_id"] for record in ran.objects for hop in record["hops"]]
    assert sorted(numbers) == [1, 2, 3, 4]
    assert ran.err.splitlines()[-1] == EVIDENCE
    assert EVIDENCE not in run(site.url(path="/a")).err
    assert len(recorded()) == 5


def test_where_evidence_goes_is_an_option_and_a_setting(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option beats the setting; the line at the end says how to look at it."""
    urls = [site.url(path="/a"), site.url(path="/b")]
    monkeypatch.setenv("MANNERS_STORE", "from environment.db")
    ran = run(*urls)
    assert len(recorded("from environment.db")) == 2
    command = "check it with: manners evidence verify --store 'from environment.db'"
    assert ran.err.splitlines()[-1] == f"evidence: from environment.db; {command}"
    run("--store", "sqlite:///option.db", *urls)
    assert (len(recorded("option.db")), len(recorded("from environment.db"))) == (2, 2)
    assert not Path("manners.db").exists()


@pytest.mark.parametrize("option", ["--no-evidence", "--dry-run"])
def test_no_evidence_where_none_is_wanted(run: Run, site: Site, option: str) -> None:
    """Nothing is written, and nothing is said about it; nor when only verdicts are asked for."""
    ran = run(option, site.url(path="/a"), site.url(path="/b"))
    assert (ran.code, ran.err) == (
        0,
        f"2 fetched\n{SENT}\n" if option == "--no-evidence" else "2 allowed\n",
    )
    assert list(Path().iterdir()) == []


def test_queries_can_be_left_out_of_the_evidence(run: Run, site: Site) -> None:
    """What was asked for is asked for, and the record has the path alone."""
    run("--redact-query", site.url(path="/a?token=hidden"))
    assert recorded() == [f"robots_allowed {site.url(path='/a?…')}"]
    assert pages(site) == ["/a?token=hidden"]
    assert b"hidden" not in Path("manners.db").read_bytes()


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("foreign.db", "'foreign.db': a database of another application: choose another place"),
        ("text", "'text': file is not a database: choose another place"),
        ("nowhere/x.db", "unable to open database file: there is no folder 'nowhere'"),
        ("mysql://me:secret@127.0.0.1/x", "not a store"),
        ("sqlite://", "a store needs a file"),
        ("postgresql://me:secret@127.0.0.1:1/x", "onnection"),
    ],
)
def test_without_a_store_nothing_is_fetched(run: Run, site: Site, place: str, words: str) -> None:
    """One line says what is wrong with it, without passwords, and the exit code is 2."""
    Path("text").write_text("text\n" * 500)
    with closing(sqlite3.connect("foreign.db")) as foreign:
        foreign.execute("CREATE TABLE people (name TEXT)")
    ran = run("--store", place, site.url(path="/a"), site.url(path="/b"))
    assert (ran.code, ran.out, ran.err.count("\n"), site.log) == (2, "", 1, [])
    assert ran.err.startswith("manners: ")
    assert words in ran.err
    assert "secret" not in ran.err


def test_a_place_and_no_evidence_contradict_each_other(run: Run, site: Site) -> None:
    """Nothing is asked for."""
    ran = run("--store", "x.db", "--no-evidence", site.url())
    assert (ran.code, ran.out, site.log) == (2, "", [])
    assert ran.err == "manners: --store and --no-evidence contradict each other\n"


def test_a_full_disk_stops_everything(run: Run, site: Site) -> None:
    """A page whose record cannot be written is not fetched, nor is any after it."""

    def limit(connection: Any, _: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # which is: no more than there are

    run(site.url(path="/a"))
    site.log.clear()
    event.listen(Engine, "connect", limit)
    try:
        ran = run(*(site.url(path=f"/{number}") for number in range(500)))
    finally:
        event.remove(Engine, "connect", limit)
    assert ran.code == 2
    said = "manners: 'manners.db': database or disk is full: free some space, then try again"
    assert ran.err.splitlines()[-1] == said
    asked = [f"robots_allowed {site.url(path=path)}" for path in pages(site)]
    assert len(asked) < 100
    assert set(asked) <= set(recorded())


# Politeness that is shared.


def test_politeness_can_be_shared(run: Run, site: Site, tmp_path: Path) -> None:
    """What one run was told by a host, the next one keeps to."""
    (tmp_path / "valkey").mkdir()
    with Valkey(tmp_path / "valkey") as valkey:
        assert run("--politeness", valkey.url, site.url(BUSY, "/later")).code == 1
        ran = run("--politeness", valkey.url, site.url(BUSY, "/a"))
        assert ran.code == 3
        assert f"{BUSY} is deferred until 20" in ran.err
        assert run(site.url(BUSY, "/a")).code == 0


def test_without_the_server_that_it_is_shared_by_nothing_is_fetched(run: Run, site: Site) -> None:
    """Every URL says so, and the password is not shown."""
    place = "valkey://:secret@127.0.0.1:1/0"
    ran = run("--politeness", place, site.url(path="/a"), site.url(path="/b"))
    assert (ran.code, site.log) == (3, [])
    assert [line.split()[0] for line in ran.lines] == ["failed"] * 2
    assert "'valkey://127.0.0.1:1/0': Error" in ran.lines[0]
    assert "no request may start until it answers again" in ran.lines[0]
    assert "secret" not in ran.out + ran.err


@pytest.mark.parametrize(
    "place", ["valkey://host:port/", "slots.db", "valkey://", "valkey://h/x", "valkey://h/0?foo=9"]
)
def test_a_place_for_politeness_that_is_none(run: Run, site: Site, place: str) -> None:
    ran = run("--politeness", place, site.url(path="/a"))
    assert (ran.code, site.log) == (2, [])
    assert len(ran.err.splitlines()) == 1

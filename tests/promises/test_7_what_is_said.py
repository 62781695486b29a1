"""Section 7 of the list of defects: logs, causes and hints, commands, documents, words."""

import importlib
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import typer

import manners
from manners.cli import main
from manners.cli.app import build
from manners.compat import arrow
from manners.errors import Disallowed, SlotTimeout
from tests.cli.running import AT_ONCE, Ran, Run, runner, settle
from tests.client.asking import blocking, in_turn, rules, settings, site, to
from tests.compat.callers import Caller
from tests.compat.test_arrow import both_ways, way  # noqa: F401 (a fixture)
from tests.compat.test_clients import Make, every_caller, exchange
from tests.docs.test_docs import DOCS
from tests.faults.server import Call, Site, by_address, by_path, in_thread, page
from tests.net.exchanges import certified
from tests.test_logs import _as_imported  # noqa: F401 (loggers as the package makes them)

LOOP, ELSEWHERE, FORBIDDEN, FAR, GONE = (f"127.0.7.{last}" for last in range(1, 6))
HTML = [("Content-Type", "text/html")]
ROBOTS = b"""\
User-agent: *
Disallow: /private/
Crawl-delay: 2.5
Host: main.example
Clean-param: ref /news
"""


async def far(call: Call) -> None:
    """A redirect to the next number, without end."""
    path = (await call.request()).path
    number = int(path.rpartition("/")[2]) if path[1:].isdigit() else 0
    await to(f"/{number + 1}")(call)


SITES = by_address(
    {
        LOOP: to("/robots.txt"),
        ELSEWHERE: to("http://other.example/robots.txt"),
        FORBIDDEN: page(status=403),
        FAR: far,
        GONE: page(status=404),
    },
    by_path({"/robots.txt": page(ROBOTS)}, page(b"hi")),
)


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    with in_thread(Site(SITES)) as running:
        yield running


# Logs.


@pytest.mark.parametrize(
    ("address", "why"),
    [
        (LOOP, "unavailable (redirect loop)"),
        (ELSEWHERE, "unavailable (redirect to another host)"),
        (FORBIDDEN, "unavailable (403)"),
        (FAR, "unavailable (more than 3 redirects)"),
    ],
)
def test_a_failure_that_allows_everything_is_a_warning(
    run: Run, server: Site, address: str, why: str
) -> None:
    """With profile `open`: a loop, another host, 403 and a fourth redirect, one line each."""
    ran = run("check", "--profile", "open", "--log-level", "warning", server.url(address))
    assert ran.code == 0
    place = server.url(address, "/robots.txt")
    assert ran.err.endswith(f"Z manners: warning: {place}: {why}; everything is allowed\n")


def test_a_site_without_a_robots_txt_is_no_failure(run: Run, server: Site) -> None:
    """404 says that there is none."""
    ran = run("check", "--profile", "open", "--log-level", "warning", server.url(GONE))
    assert (ran.code, ran.err) == (0, "")


def events(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, Any]]]:
    """What was logged, by the name of the event."""
    return [
        (record.event, record.args)  # type: ignore[attr-defined]
        for record in caplog.records
        if record.name.startswith("manners.") and isinstance(record.args, dict)
    ]


def test_a_robots_txt_from_memory_is_logged_as_such(
    caplog: pytest.LogCaptureFixture, server: Site
) -> None:
    """fromCache is true from the second page of a site on."""
    with caplog.at_level(logging.INFO), blocking(hosts={"127.0.0.1": {"delay": 0.0}}) as client:
        for path in ("/private/a", "/private/b", "/private/c"):
            assert not client.get(server.url(path=path)).was_allowed
    told = [values for event, values in events(caplog) if event == "retrieval"]
    assert [each["fromCache"] for each in told] == [False, True, True]


def test_with_debug_every_url_wait_pause_and_retry_has_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A crawl of four URLs, one of which says 429 first."""
    links = page(b"<a href=/a>1</a><a href=/busy>2</a><a href=/closed>3</a>", headers=HTML)
    answer = site(rules("Disallow: /closed"), busy=in_turn(page(status=429), page(b"hi")))
    whole = by_path({"/": links}, answer)
    with caplog.at_level(logging.DEBUG), in_thread(Site(whole)) as shop:
        quick = {"initial_backoff": 0.05, "backoff_jitter": 0.0, "source": "links"}
        pages = list(manners.crawl([shop.url()], settings(**quick)))
        assert {each.status for each in pages} == {200, None}
    told = events(caplog)
    base = shop.url(path="")
    decided = {(v["url"], v["decision"]) for event, v in told if event == "decision"}
    assert decided == {
        *((f"{base}{path}", "ALLOW") for path in ("/", "/a", "/busy")),
        (f"{base}/closed", "DISALLOW"),
    }
    answered = [(v["url"], v["status"]) for event, v in told if event == "response"]
    assert sorted(answered) == sorted(
        [
            *((f"{base}{path}", 200) for path in ("/robots.txt", "/", "/a", "/busy")),
            (f"{base}/busy", 429),
        ]
    )
    paused = [v for event, v in told if event == "backoff"]
    assert [(each["host"], each["status"]) for each in paused] == [("127.0.0.1", 429)]
    assert 0 < paused[0]["seconds"] <= 0.06
    retried = [v for event, v in told if event == "retry"]
    where = {"host": "127.0.0.1", "url": f"{base}/busy", "crawl": 1, "worker": 1}
    assert retried == [{**where, "cause": "status 429", "attempt": 2}]


def test_with_debug_a_wait_has_a_line(caplog: pytest.LogCaptureFixture, server: Site) -> None:
    """Before it is waited, and for how long."""
    with caplog.at_level(logging.DEBUG), blocking(min_delay=1.5, max_delay=1.5) as client:
        client.get(server.url(GONE, "/a"))
        client.get(server.url(GONE, "/b"))
    waits = [values for event, values in events(caplog) if event == "wait"]
    assert waits
    assert all(each["host"] == GONE and 0 < each["seconds"] <= 1.51 for each in waits)


def test_logs_in_json_have_time_level_and_event(run: Run, server: Site) -> None:
    """Before the keys of their kind, in `get` as in `check`."""
    ran = run("check", "--log-level", "info", "--log-format", "json", server.url())
    (line,) = map(json.loads, ran.err.splitlines())
    assert list(line) == [
        *("time", "level", "event"),
        *("host", "status", "fromCache", "ageSec", "bytes"),
    ]
    assert (line["level"], line["event"]) == ("info", "retrieval")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    how = ("--no-evidence", "--log-level", "debug", "--log-format", "json")
    ran = run("get", *how, server.url(GONE))
    found = [json.loads(line)["event"] for line in ran.err.splitlines() if line.startswith("{")]
    assert found.count("decision") == 1
    assert found.count("response") == 2  # robots.txt and the page


# Causes and hints.


def test_a_tls_error_says_what_is_wrong(tmp_path: Path, run: Run) -> None:
    """In the page, in the verdict, in the log; the short cause stays what it was."""
    tls, ca_file = certified(tmp_path, "127.0.0.1")
    with in_thread(Site(by_path({}, page(b"hi")), tls=tls)) as secure:
        with blocking(profile="open") as client:
            read = client.get(secure.url())
        assert read.cause == "TLS error"
        assert read.detail.startswith("certificate not trusted (")
        assert str(read) == f"(TLS error: {read.detail})"
        ran = run("check", secure.url(), "--log-level", "warning")
        assert f"unreachable (TLS error: {read.detail})" in ran.out
        assert "set ca_file to its authority, or fix the site" in ran.err
        ran = run("get", "--no-evidence", "--profile", "open", secure.url())
        assert f"TLS error: {read.detail}" in ran.err
        with blocking(ca_file=ca_file) as client:
            assert client.get(secure.url()).ok


@every_caller
def test_a_refused_address_hints_at_allow_private(make: Make) -> None:
    """In the error that every client of another library raises."""

    async def ask(caller: Caller, server: Site) -> None:
        with pytest.raises(Disallowed, match=r"refused address.*allow_private"):
            await caller.fetch(server.url())

    exchange(make, site(), ask, allow_private=False)


def test_in_scrapy_a_refused_address_hints_at_allow_private(tmp_path: Path) -> None:
    """A crawl that brings no items says why in its log."""
    script = """
import scrapy
from scrapy.crawler import CrawlerProcess

process = CrawlerProcess({
    "DOWNLOADER_MIDDLEWARES": {"manners.compat.scrapy.MannersMiddleware": 100},
    "ROBOTSTXT_OBEY": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "WARNING",
    "USER_AGENT": "MyBot/1.0",
})
process.crawl(scrapy.Spider, name="local", start_urls=["http://127.0.0.1:1/"])
process.start()
"""
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=tmp_path,
    )
    assert "refused address" in ran.stderr
    assert "set allow_private to request it" in ran.stderr


def test_the_command_hints_at_allow_private(
    run: Run, server: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As its option, whichever command asks."""
    monkeypatch.delenv("MANNERS_ALLOW_PRIVATE")
    for command in (["check"], ["explain"], ["robots"], ["get", "--no-evidence"]):
        assert "--allow-private" in run(*command, server.url()).err, command


# Commands.


def test_explain_retrieves_where_no_file_is_given(run: Run, server: Site) -> None:
    """As `check` does: how it was retrieved, then the file, the groups and the rules."""
    ran = run("explain", "--agent", "MyBot", server.url(path="/private/x"))
    assert ran.code == 1
    place = server.url(path="/robots.txt")
    assert ran.lines[0] == f"RETRIEVAL {place}: available (200), profile rfc9309"
    assert f"FILE {place}, {len(ROBOTS)} bytes, dialect rfc9309" in ran.lines
    assert "> 1. line 2: Disallow: /private/" in ran.lines
    assert ran.lines[-1].split()[:1] == ["disallowed"]
    ran = run("explain", "--json", server.url(path="/"))
    assert (ran.code, ran.object["verdict"]["retrieval"]["availability"]) == (0, "available")
    ran = run("explain", server.url(GONE))
    assert ran.code == 0
    assert "FILE" not in ran.out
    assert "unavailable (404)" in ran.lines[-1]


def test_explain_heeds_settings_as_check_does(run: Run) -> None:
    """What the user excludes is explained as such, with a file at hand, too."""
    Path("manners.toml").write_text('exclude = ["/admin"]\n')
    Path("robots.txt").write_bytes(ROBOTS)
    ran = run("explain", "--robots", "robots.txt", "/admin/1")
    assert (ran.code, ran.lines[-1].split()) == (
        1,
        ["disallowed", "/admin/1", "excluded:", "/admin"],
    )


def test_robots_shows_crawl_delay_and_all_other_directives(run: Run, server: Site) -> None:
    """In text and in JSON, each with its line."""
    ran = run("robots", server.url())
    assert "directives line 3: Crawl-delay: 2.5 (for *)" in ran.out
    assert "line 4: Host: main.example" in ran.out
    assert "line 5: Clean-param: ref /news" in ran.out
    found = run("robots", "--json", server.url()).object["directives"]
    assert [(each["name"], each["value"], each["line"]) for each in found] == [
        ("crawl-delay", "2.5", 3),
        ("host", "main.example", 4),
        ("clean-param", "ref /news", 5),
    ]
    assert found[0]["agents"] == ["*"]


def test_robots_saves_to_standard_output(
    server: Site,
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """`--save -` writes the file there, and nothing else; no file is named `-`."""
    settle(monkeypatch, tmp_path, **AT_ONCE)
    assert main(["robots", "--save", "-", server.url()]) == 0
    out, err = capsysbinary.readouterr()
    assert out == ROBOTS
    assert b"result" in err
    assert list(Path().iterdir()) == []
    assert main(["robots", "--save", "-", "--json", server.url()]) == 2


# Columns.


@both_ways
def test_a_string_that_is_no_url_has_no_answer_in_a_column() -> None:
    """With one policy and with one for each site, in the kernel and without it."""
    policy = manners.parse("User-agent: *\nDisallow: /a").policy("MyBot")
    none = ["", "n/a", "hello world", "ftp://a.example/a", "mailto:x", "https://", "http:///a", "?"]
    urls = ["https://a.example/a", "HTTP://a.example", *none]
    assert list(arrow.allowed(pyarrow.array(urls), policy)) == [False, True, *[None] * len(none)]
    sites = {"https://a.example": policy, "http://a.example": policy}
    assert list(arrow.allowed(pyarrow.array(urls), sites)) == [False, True, *[None] * len(none)]


# Documents.


def reference(path: str) -> Any:
    """The object that a name of the reference stands for."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            found = getattr(found, name)
        return found
    raise AssertionError(path)


def test_every_name_of_the_reference_exists() -> None:
    """Those that can be imported from `manners`, and those of each module."""
    text = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    said = next(part for part in text.split("\n\n") if part.startswith("These names can be"))
    named = set(re.findall(r"`(\w+)`", said)) - {"manners"}
    assert named == {name for name in manners.__all__ if name != "__version__"}
    for found in re.finditer(r"^::: (\S+)\n((?:    .*\n)*)", text, re.MULTILINE):
        listed = re.search(r"members: \[([^\]]*)\]", found[2])
        where = reference(found[1])
        for name in listed[1].split(", ") if listed else ():
            has = hasattr(where, name) or name in getattr(where, "__annotations__", {})
            assert has, f"{found[1]}.{name}"


def test_the_navigation_has_every_page() -> None:
    """Each once; what is not there is not found."""
    text = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r": ([\w/-]+\.md)$", text, re.MULTILINE)
    assert sorted(listed) == sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def test_the_reasons_that_settings_give_are_documented() -> None:
    """`excluded` and `not-respected` are given by something."""
    text = (DOCS / "explanation" / "engine.md").read_text(encoding="utf-8")
    assert "nothing gives" not in text
    assert "settings.md#exclusions-and-inclusions) add `excluded`" in text


def test_the_pages_agree_on_politeness_with_resume() -> None:
    """A resumed crawl goes on with the same server; `tests/cli/test_crawl.py` shows it."""
    assert "said again with `--resume`" not in (DOCS / "how-to" / "crawl.md").read_text("utf-8")


def test_the_slot_timeout_is_documented_with_its_host() -> None:
    """As it is raised."""
    text = (DOCS / "explanation" / "politeness.md").read_text(encoding="utf-8")
    assert f"SlotTimeout: {SlotTimeout('example.com')}`" in text


# Words.


def all_commands(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, each in getattr(command, "commands", {}).items():
        yield from all_commands((*words, name), each)


@pytest.mark.parametrize("columns", [40, 60, 79, 80, 120])
def test_help_is_never_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """However narrow the terminal is, every option and every summary is there, word by word."""
    monkeypatch.setenv("COLUMNS", str(columns))
    for words, command in all_commands((), typer.main.get_command(build())):
        ran: Ran = runner(capsys)(*words, "--help")
        shown = " ".join(re.sub(r"[│╭╮╰╯─]", " ", ran.out).split())
        for parameter in command.params:
            for option in (*parameter.opts, *parameter.secondary_opts):
                is_old = getattr(parameter, "hidden", False)  # a form that works until 1.0
                if option.startswith("--") and not is_old:
                    assert re.search(rf"{re.escape(option)}(?![\w-])", shown), (words, option)
        for each in getattr(command, "commands", {}).values():
            summary = " ".join(each.help.partition("\n\n")[0].split())
            assert summary in shown, (words, summary)


def test_one_is_not_many() -> None:
    """No message counts one thing as several, or tries as "the 2. try"."""
    source = Path(manners.__file__).parent
    for path in source.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\}\. (try|time|attempt)", text), path
        for line in text.splitlines():
            # A number that may be 1 in front of a plural: `count` is there for that.
            if re.search(r"\{len\([^}]*\}(?::,)? (bytes|rules|pages|URLs|records|reasons)\b", line):
                assert "first" in line or "made" in line, f"{path}: {line.strip()}"

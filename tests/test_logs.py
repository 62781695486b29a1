"""Logs: quiet by default, the keys that are promised, and nothing raw from a server."""

import asyncio
import json
import logging
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import manners
from manners import Reason, Rule, Verdict, events, logs
from manners.cache.blocking import RobotsCache
from manners.cache.robots import AsyncRobotsCache
from manners.cli import main
from manners.net.messages import Response, Unreachable
from manners.testing import ScriptedSender
from tests.cache.steps import BODY, FILE, GONE, START, TIMEOUT

URL = "https://a.example/a"
COMMON = ["time", "level", "event"]
"""What every line in JSON begins with."""
RETRIEVAL = ["host", "status", "fromCache", "ageSec", "bytes"]
MATCHING = ["path", "decision", "winnerPattern", "matchLen"]
NAMES = (
    *("manners.retrieval", "manners.cache", "manners.client", "manners.crawl"),
    "manners.matching",
)
ROBOTS = b"User-agent: *\nDisallow: /private/\nAllow: /private/\xc3\xa9\nDisallow: /\x1b[2J\n"
RAW = ("\x1b", "\x07", "\r", "\u202e", "\u2028", "\x9b")


def answering(reply: Response | Unreachable) -> ScriptedSender:
    """A sender that answers every request alike."""
    return ScriptedSender({}, default=reply)


def as_imported() -> None:
    """Loggers as the package makes them."""
    logs.log_matches(False)
    for name in NAMES:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [], True
        if name != "manners.matching":
            logger.setLevel(logging.NOTSET)


@pytest.fixture(autouse=True)
def _as_imported() -> Iterator[None]:
    """What a command in another test has set up is undone, before and after."""
    as_imported()
    yield
    as_imported()


def asked(
    reply: Response | Unreachable,
    caplog: pytest.LogCaptureFixture,
    url: str = URL,
    **options: Any,
) -> list[logging.LogRecord]:
    """What is logged while a site is asked about a URL."""
    caplog.clear()

    async def ask() -> None:
        async with AsyncRobotsCache(http=answering(reply), clock=lambda: START, **options) as cache:
            await cache.check(url, "MyBot")

    with caplog.at_level(logging.DEBUG):
        asyncio.run(ask())
    return [record for record in caplog.records if record.name.startswith("manners")]


def values(record: logging.LogRecord) -> dict[str, Any]:
    """What a record tells, by name."""
    assert isinstance(record.args, dict)
    return record.args


# The library.

QUIET = """
import asyncio, logging, manners
from manners.cache.blocking import RobotsCache
from manners.testing import ScriptedSender, Unreachable
from manners import events, logs
{setup}
with RobotsCache(http=ScriptedSender({{}}, default=Unreachable("timeout"))) as cache:
    cache.check("https://a.example/", "MyBot")
logs.Reporter().tell(events.CacheProblem(0.0, "a store does not answer"))
"""


def test_the_library_is_quiet_by_default() -> None:
    """With Python's logging as it is, a failure prints nothing."""
    script = QUIET.format(setup="")
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_a_program_that_asks_is_told() -> None:
    """`logging.basicConfig` is enough; matches need their own word, even at level debug."""
    script = QUIET.format(setup="logging.basicConfig(level=logging.DEBUG)")
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    said = [line for line in ran.stderr.splitlines() if ":manners." in line]
    assert said == [
        "INFO:manners.retrieval:host=a.example status=None fromCache=False ageSec=0 bytes=0",
        "WARNING:manners.retrieval:https://a.example/robots.txt: unreachable (timeout)",
        "WARNING:manners.cache:a store does not answer",
    ]
    script = QUIET.format(setup="logging.basicConfig(level=logging.DEBUG); logs.log_matches()")
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "DEBUG:manners.matching:path=/ decision=DISALLOW" in ran.stderr


def test_a_retrieval_is_logged_with_exactly_these_keys(caplog: pytest.LogCaptureFixture) -> None:
    """host, status, fromCache, ageSec, bytes, at level info."""
    (record,) = asked(FILE, caplog)
    assert (record.name, record.levelname) == ("manners.retrieval", "INFO")
    assert list(values(record)) == RETRIEVAL
    assert values(record) == {
        "host": "a.example",
        "status": 200,
        "fromCache": False,
        "ageSec": 0,
        "bytes": len(BODY),
    }
    assert record.getMessage() == (
        f"host=a.example status=200 fromCache=False ageSec=0 bytes={len(BODY)}"
    )


def test_a_site_without_a_file_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    """404 is an answer like any other."""
    (record,) = asked(GONE, caplog)
    assert (record.levelname, values(record)["status"], values(record)["bytes"]) == ("INFO", 404, 0)


@pytest.mark.parametrize("ask", ["check", "allowed", "get"])
def test_what_comes_from_memory_says_so_and_how_old_it_is(
    caplog: pytest.LogCaptureFixture, ask: str
) -> None:
    """fromCache is true for every question but the first, and ageSec counts."""
    clock = iter([START] * 5 + [START + 60] * 100)
    with (
        caplog.at_level(logging.INFO),
        RobotsCache(http=answering(FILE), clock=lambda: next(clock)) as cache,
    ):
        for path in "abc":
            url = f"https://a.example/{path}"
            getattr(cache, ask)(*((url,) if ask == "get" else (url, "MyBot")))
    told = [values(each) for each in caplog.records if each.name == "manners.retrieval"]
    assert [each["fromCache"] for each in told] == [False, True, True]
    assert (told[0]["ageSec"], told[-1]["ageSec"]) == (0, 60)
    assert {each["bytes"] for each in told} == {len(BODY)}


def test_what_comes_from_memory_costs_nothing_when_nobody_looks() -> None:
    """No line is put together for a logger that is off, as it is by default."""
    asked_for = []

    class Watched(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            asked_for.append(record)

    handler = Watched()
    logging.getLogger("manners").addHandler(handler)
    try:
        with RobotsCache(http=answering(FILE)) as cache:
            for path in "abc":
                cache.check(f"https://a.example/{path}", "MyBot")
    finally:
        logging.getLogger("manners").removeHandler(handler)
    assert asked_for == []


def test_what_comes_from_a_store_says_so_and_how_old_it_is(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """fromCache is true, and ageSec counts from when the site last said so."""
    store = str(tmp_path / "cache.db")
    times = [START, START + 100.4]

    async def ask(now: float) -> None:
        async with AsyncRobotsCache(http=answering(FILE), clock=lambda: now, store=store) as cache:
            await cache.check(URL, "MyBot")

    with caplog.at_level(logging.INFO):
        for now in times:
            asyncio.run(ask(now))
    told = [values(each) for each in caplog.records if each.name == "manners.retrieval"]
    assert [(each["fromCache"], each["ageSec"], each["bytes"]) for each in told] == [
        (False, 0, len(BODY)),
        (True, 100, len(BODY)),
    ]


@pytest.mark.parametrize(
    ("reply", "options", "words"),
    [
        (Response(503), {}, "unreachable (503)"),
        (Response(429), {}, "unreachable (429)"),
        (TIMEOUT, {}, "unreachable (timeout)"),
        (
            Unreachable("refused address"),
            {},
            "unreachable (refused address); private or local address; set allow_private to"
            " request it",
        ),
        (
            Unreachable("TLS error", detail="certificate not trusted (self-signed)"),
            {},
            "unreachable (TLS error: certificate not trusted (self-signed)); set ca_file to its"
            " authority, or fix the site",
        ),
        (Response(503), {"profile": "open"}, "unreachable (503)"),
        (Response(200, body=BODY, complete=False), {}, "larger than the profile's limit"),
        (
            Response(200, body=BODY, complete=False),
            {"profile": "open"},
            "larger than the profile's limit",
        ),
    ],
    ids=str,
)
def test_failures_and_limits_are_warnings(
    caplog: pytest.LogCaptureFixture,
    reply: Response | Unreachable,
    options: dict[str, Any],
    words: str,
) -> None:
    """A line of its own, with the address and what happened."""
    told, warned = asked(reply, caplog, **options)
    assert told.levelname == "INFO"
    assert (warned.levelname, warned.name) == ("WARNING", "manners.retrieval")
    assert warned.getMessage() == f"https://a.example/robots.txt: {words}"


# Matches.


def test_a_match_is_logged_with_exactly_these_keys(caplog: pytest.LogCaptureFixture) -> None:
    """path, decision, winnerPattern, matchLen, at level debug."""
    logs.log_matches()
    reply = Response(200, body=ROBOTS)
    record = asked(reply, caplog, "https://a.example/private/é?x")[-1]
    assert (record.name, record.levelname) == ("manners.matching", "DEBUG")
    assert list(values(record)) == MATCHING
    assert values(record) == {
        "path": "/private/%C3%A9?x",
        "decision": "ALLOW",
        "winnerPattern": "/private/%C3%A9",
        "matchLen": 15,
    }
    assert record.getMessage() == (
        "path=/private/%C3%A9?x decision=ALLOW winnerPattern=/private/%C3%A9 matchLen=15"
    )
    record = asked(reply, caplog, "https://a.example/private/x")[-1]
    assert values(record)["decision"] == "DISALLOW"
    record = asked(reply, caplog, "https://a.example/x")[-1]
    assert values(record) == {
        "path": "/x",
        "decision": "ALLOW",
        "winnerPattern": None,
        "matchLen": 0,
    }


def test_matches_are_logged_only_when_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    """The level of the root is not enough, and the wish can be taken back."""

    def names() -> set[str]:
        return {record.name for record in asked(FILE, caplog)}

    assert names() == {"manners.retrieval"}
    logs.log_matches()
    assert names() == {"manners.retrieval", "manners.matching"}
    logs.log_matches(False)
    assert names() == {"manners.retrieval"}


def test_blocking_code_logs_matches_too(caplog: pytest.LogCaptureFixture) -> None:
    """From memory as well as after a retrieval."""
    logs.log_matches()
    with caplog.at_level(logging.DEBUG), RobotsCache(http=answering(FILE)) as cache:
        cache.check(URL, "MyBot")
        cache.check(URL, "MyBot")
    assert [record.name for record in caplog.records].count("manners.matching") == 2


# Nothing raw.

EXPECTED = ("manners: info: host=a", "manners: warning: https://a", "manners: debug: path=/")
"""How each line begins that may be there when a.example was asked."""


@pytest.mark.parametrize("raw", RAW, ids=ascii)
def test_nothing_hostile_is_logged_raw(caplog: pytest.LogCaptureFixture, raw: str) -> None:
    """Whatever was remote is escaped in the record itself, so that no handler can undo it."""
    logs.log_matches()
    verdict = Verdict(True, Reason.RULE_MATCHED, Rule(True, f"/{raw}\n"), path=f"/{raw}\n%s")
    with caplog.at_level(logging.DEBUG):
        logs.matched(verdict)
        tell = logs.Reporter().tell
        tell(events.RobotsUse(0.0, 0, f"a{raw}\nb", 200, "site", 0.0, 0, "available"))
        tell(events.RetrievalProblem(0.0, "a", f"http://a/{raw}\n%(x)s"))
        tell(events.CacheProblem(0.0, f"valkey://{raw}\n%d"))
    assert len(caplog.records) == 4
    for record in caplog.records:
        told = record.args.values() if isinstance(record.args, dict) else record.args or ()
        for text in (record.getMessage(), *map(str, told)):
            assert text.isprintable()
            assert raw not in text


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_hostile_server_cannot_write_lines(capsys: pytest.CaptureFixture[str], form: Any) -> None:
    """Patterns, redirects and notes of a server stay on the line they belong to."""
    logs.configure("debug", form, True)
    evil = "".join(RAW) + "\nmanners: error: forged"
    body = f"User-agent: *\nDisallow: /\x1b[2J{RAW[1]}\u202e*\n".encode()
    replies: list[Response | Unreachable] = [
        Response(200, body=body),
        Response(302, {"location": f"https://b.example/{evil}"}),
        Response(302, {"location": f"ftp://{evil}"}),
        Unreachable(evil),
    ]
    for reply in replies:
        with RobotsCache(http=ScriptedSender({}, default=reply), dialect="scanner") as cache:
            cache.check("https://a.example/%1B[2J\x1b[2J" + evil, "MyBot")
    err = capsys.readouterr().err
    assert [raw for raw in RAW if raw in err] == []
    for line in untimed(err):
        assert line.isprintable()
        if form == "json":
            keys = list(json.loads(line))[3:]
            assert keys in (RETRIEVAL, MATCHING, ["message"], ["message", "host"])
        else:
            assert line.startswith(EXPECTED)


# As the command's options say.

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ")


def untimed(printed: str) -> list[str]:
    """Lines without the time that they begin with, if they do."""
    return [TIME.sub("", line, count=1) for line in printed.splitlines()]


def lines(capsys: pytest.CaptureFixture[str], level: str, form: Any, matches: bool) -> list[str]:
    """What is printed, set up so, when one of everything happens."""
    logs.configure(level, form, matches)
    with RobotsCache(http=answering(Response(503))) as cache:
        cache.check(URL, "MyBot")
    logs.Reporter().tell(events.CacheProblem(0.0, "the store is down"))
    printed = capsys.readouterr().err
    if level != "none" and form == "text":
        assert all(TIME.match(line) for line in printed.splitlines())
    return untimed(printed)


INFO = "manners: info: host=a.example status=503 fromCache=False ageSec=0 bytes=0"
WARNING = "manners: warning: https://a.example/robots.txt: unreachable (503)"
STORE = "manners: warning: the store is down"
MATCH = "manners: debug: path=/a decision=DISALLOW winnerPattern=None matchLen=0"


@pytest.mark.parametrize(
    ("level", "matches", "expected"),
    [
        ("none", False, [STORE]),
        ("error", False, []),
        ("warning", False, [WARNING, STORE]),
        ("info", False, [INFO, WARNING, STORE]),
        ("debug", False, [INFO, WARNING, STORE]),
        ("debug", True, [INFO, WARNING, MATCH, STORE]),
        ("none", True, [MATCH, STORE]),
    ],
)
def test_the_level_says_what_is_printed(
    capsys: pytest.CaptureFixture[str], level: str, matches: bool, expected: list[str]
) -> None:
    """On standard error, in text; matches when they are asked for."""
    assert lines(capsys, level, "text", matches) == expected


def test_lines_in_json_have_exactly_these_keys(capsys: pytest.CaptureFixture[str]) -> None:
    """Time, level and event, then the values of each kind of line, and nothing else."""
    read = [json.loads(line) for line in lines(capsys, "debug", "json", True)]
    keys = [RETRIEVAL, ["message", "host"], MATCHING, ["message"]]
    assert [list(each) for each in read] == [[*COMMON, *each] for each in keys]
    assert [(each.pop("level"), each.pop("event")) for each in read] == [
        ("info", "retrieval"),
        ("warning", "retrieval-failure"),
        ("debug", "match"),
        ("warning", "cache-failure"),
    ]
    for each in read:
        at = datetime.fromisoformat(each.pop("time"))
        assert at.tzinfo == UTC
        assert abs(at.timestamp() - time.time()) < 600
    assert read == [
        {"host": "a.example", "status": 503, "fromCache": False, "ageSec": 0, "bytes": 0},
        {"message": "https://a.example/robots.txt: unreachable (503)", "host": "a.example"},
        {"path": "/a", "decision": "DISALLOW", "winnerPattern": None, "matchLen": 0},
        {"message": "the store is down"},
    ]


def test_to_set_up_again_does_not_print_twice(capsys: pytest.CaptureFixture[str]) -> None:
    """The last word counts."""
    lines(capsys, "debug", "text", True)
    assert lines(capsys, "info", "text", False) == [INFO, WARNING, STORE]
    assert lines(capsys, "none", "text", False) == [STORE]


def test_what_a_command_logs_is_printed_once(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """A handler of the root, be it a library's, does not print it again."""
    with caplog.at_level(logging.DEBUG):
        assert lines(capsys, "info", "text", False) == [INFO, WARNING, STORE]
    assert [record for record in caplog.records if record.name in NAMES] == []


class Site(BaseHTTPRequestHandler):
    """A site with one file, and with trouble at another address."""

    def do_GET(self) -> None:
        broken = self.headers["Host"].startswith("127.0.0.2")
        self.send_response(500 if broken else 200)
        self.send_header("Content-Length", str(0 if broken else len(ROBOTS)))
        self.end_headers()
        if not broken:
            self.wfile.write(ROBOTS)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    made = ThreadingHTTPServer(("0.0.0.0", 0), Site)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made.server_port
    made.shutdown()
    made.server_close()


@pytest.fixture
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, list[str]]:
    """What a command prints, and what it logs."""
    main(list(arguments))
    printed = capsys.readouterr()
    return printed.out, untimed(printed.err)


@pytest.mark.usefixtures("_in_an_empty_folder")
def test_commands_log_nothing_unless_asked(capsys: pytest.CaptureFixture[str], port: int) -> None:
    """Verdicts are the output; logs are for whoever wants them."""
    for name in ("check", "robots"):
        _, logged = command(capsys, name, "--allow-private", f"http://127.0.0.2:{port}/")
        assert logged == []


@pytest.mark.usefixtures("_in_an_empty_folder")
def test_a_command_logs_retrievals_and_failures(
    capsys: pytest.CaptureFixture[str], port: int
) -> None:
    """`--log-level info` has both, `--log-level warning` failures only."""
    told = f"manners: info: host=127.0.0.1 status=200 fromCache=False ageSec=0 bytes={len(ROBOTS)}"
    failed = f"manners: warning: http://127.0.0.2:{port}/robots.txt: unreachable (500)"
    for name in ("check", "robots"):
        good = [name, "--allow-private", f"http://127.0.0.1:{port}/", "--log-level"]
        bad = [name, "--allow-private", f"http://127.0.0.2:{port}/", "--log-level"]
        assert command(capsys, *good, "info")[1] == [told]
        assert command(capsys, *good, "warning")[1] == []
        assert command(capsys, *bad, "warning")[1] == [failed]
        assert command(capsys, *bad, "error")[1] == []


@pytest.mark.usefixtures("_in_an_empty_folder")
def test_a_command_logs_in_json(capsys: pytest.CaptureFixture[str], port: int) -> None:
    """Verdicts on standard output, one object a line on standard error."""
    base = f"http://127.0.0.1:{port}"
    out, logged = command(
        capsys,
        *("check", "--allow-private", "--log-level", "debug", "--log-format", "json"),
        *("--log-matches", f"{base}/private/x", f"{base}/"),
    )
    assert out.count("\n") == 2
    read = [json.loads(line) for line in logged]
    # The second question is answered by the same retrieval, or from memory.
    uses = [each for each in read if each["event"] == "retrieval"]
    assert [each["fromCache"] for each in uses] in ([False], [False, True])
    matches = [each for each in read if each["event"] == "match"]
    assert [list(each) for each in (*uses, *matches)] == [
        *[[*COMMON, *RETRIEVAL]] * len(uses),
        *[[*COMMON, *MATCHING]] * 2,
    ]
    assert {name: value for name, value in matches[0].items() if name in MATCHING} == {
        "path": "/private/x",
        "decision": "DISALLOW",
        "winnerPattern": "/private/",
        "matchLen": 9,
    }


@pytest.mark.usefixtures("_in_an_empty_folder")
def test_a_command_logs_matches_only_when_asked(
    capsys: pytest.CaptureFixture[str], port: int
) -> None:
    """Level debug alone has none of them."""
    arguments = ["check", "--allow-private", "--log-level", "debug", f"http://127.0.0.1:{port}/"]
    assert "debug:" not in "".join(command(capsys, *arguments)[1])
    assert "debug:" in "".join(command(capsys, *arguments, "--log-matches")[1])


def test_a_command_logs_matches_of_a_file_at_hand(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `--robots`, too; patterns of the file are not printed raw."""
    monkeypatch.chdir(tmp_path)
    Path("robots.txt").write_bytes(ROBOTS)
    arguments = ["check", "--robots", "robots.txt", "--dialect", "scanner", "/\x1b[2J"]
    _, logged = command(capsys, *arguments, "--log-matches")
    assert logged == [
        "manners: debug: path=/\\x1b[2J decision=DISALLOW winnerPattern=/\\x1b[2J matchLen=5"
    ]
    _, logged = command(capsys, *arguments, "--log-matches", "--log-format", "json")
    assert json.loads(logged[0])["winnerPattern"] == "/\\x1b[2J"
    assert command(capsys, *arguments)[1] == []


@pytest.mark.usefixtures("_in_an_empty_folder")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--log-level", "loud"], "manners: --log-level: "),
        (["--log-format", "xml"], "manners: --log-format: "),
    ],
)
def test_an_option_that_cannot_be_used_says_what_there_is(
    capsys: pytest.CaptureFixture[str], options: list[str], words: str
) -> None:
    """One line, exit code 2, with the names to choose from."""
    assert main(["check", "http://a.example/", *options]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert words in err
    assert "choose from " in err


def test_settings_say_what_is_logged(
    capsys: pytest.CaptureFixture[str], port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file or the environment does what the options do."""
    monkeypatch.chdir(tmp_path)
    Path("manners.toml").write_text("log_level = 'info'\nlog_format = 'json'\n")
    arguments = ["check", "--allow-private", f"http://127.0.0.1:{port}/"]
    assert list(json.loads(command(capsys, *arguments)[1][0])) == [*COMMON, *RETRIEVAL]
    monkeypatch.setenv("MANNERS_LOG_LEVEL", "none")
    assert command(capsys, *arguments)[1] == []


def test_an_import_changes_nothing_about_other_loggers() -> None:
    """The root has no handler because of this package, and keeps its level."""
    script = (
        "import logging; before = list(logging.root.handlers), logging.root.level;"
        "import manners.logs; print(before == (logging.root.handlers, logging.root.level))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "True\n"
    assert manners.__all__

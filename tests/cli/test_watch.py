"""`manners watch`: what is printed, exit codes, and processes that are killed."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from manners.settings.names import WEBHOOK, WEBHOOK_SECRET
from tests.cli.running import AT_ONCE, Run, runner, settle
from tests.watch.places import PATIENCE, SECRET, Receiver, Sites, receiver, sites, wait_until
from tests.watch.test_delivering import is_running

SETTINGS = AT_ONCE | dict.fromkeys(
    ("CONNECT_TIMEOUT", "READ_TIMEOUT", "TOTAL_TIMEOUT"), str(PATIENCE)
)
SHOP = "User-agent: *\nDisallow: /cart\n"
CLOSED = "User-agent: *\nDisallow: /\n"


@pytest.fixture
def place() -> Iterator[Sites]:
    """A site that has a robots.txt."""
    with sites() as found:
        found.say(SHOP)
        yield found


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    settle(monkeypatch, tmp_path, **SETTINGS)
    for name in (WEBHOOK, WEBHOOK_SECRET):
        monkeypatch.delenv(name, raising=False)
    return runner(capsys, "watch")


@pytest.fixture
def hook(run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver whose secret we have."""
    del run  # which begins without secrets
    monkeypatch.setenv(WEBHOOK_SECRET, SECRET)
    with receiver() as found:
        yield found


# One run after another.


def test_the_first_run_says_what_is_watched(place: Sites, run: Run) -> None:
    """That is no change, and the next run has nothing to say."""
    first = run(place.url(), "--once")
    assert first.code == 0
    assert first.lines[1:] == [f"  Watching {place.url()}/robots.txt: 30 bytes."]
    assert run(place.url(), "--once") == type(first)(0, "", "")
    assert Path("manners-watch.db").exists()


def test_a_change_is_printed_with_its_impact(place: Sites, run: Run) -> None:
    """Sentences for everybody first, then the lines; exit code 1."""
    run(place.url(), "--once")
    place.say(CLOSED)
    ran = run(place.url(), "--once")
    assert ran.code == 1
    assert f"{place.url()}  changed" in ran.lines[0]
    assert ran.lines[1] == f"  {place.url()}/robots.txt changed: 30 bytes before, 26 bytes now."
    assert "loses everything" in ran.lines[2]
    assert ran.lines[3].startswith("  everybody whom no group names: Googlebot, ")
    assert ran.lines[4:6] == ["    closed  /", "            no rule -> line 2: Disallow: /"]
    assert run(place.url(), "--once").code == 0


def test_json_is_one_event_a_line(place: Sites, run: Run) -> None:
    """The same that a webhook gets."""
    place.say("a: b", "127.0.0.2")
    first = run(place.url(), place.url("127.0.0.2"), "--once", "--json")
    assert {event["site"] for event in first.objects} == {place.url(), place.url("127.0.0.2")}
    place.say(CLOSED)
    (event,) = run(place.url(), "--once", "--json").objects
    assert event["event"] == "changed"
    assert event["impact"]["changes"][0]["closed"][0]["path"] == "/"


def test_a_site_out_of_reach_is_printed_once(place: Sites, run: Run) -> None:
    """Exit code 3 each time, but the report comes once; 3 wins over 1."""
    run(place.url(), place.url("127.0.0.2"), "--once")
    place.say("", status=503)
    first = run(place.url(), "--once")
    assert (first.code, first.lines[1]) == (
        3,
        f"  {place.url()}/robots.txt cannot be reached: 503.",
    )
    assert run(place.url(), "--once").out == ""
    place.say("new", "127.0.0.2")
    both = run(place.url(), place.url("127.0.0.2"), "--once")
    assert (both.code, "127.0.0.2" in both.out) == (3, True)
    place.say(SHOP)
    back = run(place.url(), "--once")
    assert (back.code, "can be reached again" in back.out) == (0, True)


def test_a_list_names_sites_once(place: Sites, run: Run) -> None:
    """URLs of one site in a list are one site, with the arguments."""
    Path("sites.txt").write_text(f"# ours\n{place.url()}/a\n\n{place.url()}/b?c\n")
    run(place.url(), "--urls", "sites.txt", "--once")
    assert place.asked == ["127.0.0.1"]


def test_the_identity_is_sent(place: Sites, run: Run) -> None:
    """A site sees who watches it."""
    run(place.url(), "--once", "--agent", "MyWatch/1.0 (+https://example.com/)")
    assert place.headers[0]["user-agent"] == "MyWatch/1.0 (+https://example.com/)"


def test_what_a_site_says_cannot_control_a_terminal(place: Sites, run: Run) -> None:
    """Names, paths and lines are escaped."""
    run(place.url(), "--once")
    place.say(
        "User-agent: ev\x1b[2Jil\nDisallow: /\x1b[2J\n\nUser-agent: *\nDisallow: /cart\x1b[2J\n"
    )
    ran = run(place.url(), "--once")
    assert ran.code == 1
    assert "\x1b" not in ran.out


def test_a_command_is_called(place: Sites, run: Run, tmp_path: Path) -> None:
    """With the event on its standard input; the first look at a site is none."""
    code = "import sys, os; open(os.environ['WATCH_ID'], 'w').write(sys.stdin.read())"
    call = f'{sys.executable} -c "{code}"'
    run(place.url(), "--once", "--exec", call)
    before = set(tmp_path.iterdir())
    place.say(CLOSED)
    assert run(place.url(), "--once", "--exec", call).code == 1
    (written,) = (path for path in set(tmp_path.iterdir()) - before if len(path.name) == 32)
    assert json.loads(written.read_text())["id"] == written.name


def test_a_command_that_fails_is_reported_and_not_called_again(place: Sites, run: Run) -> None:
    """Exit code 3, because somebody was not told; the next run is as if it had worked."""
    run(place.url(), "--once")
    place.say(CLOSED)
    ran = run(place.url(), "--once", "--exec", f"{sys.executable} -c 'raise SystemExit(7)'")
    assert ran.code == 3
    assert "ended with exit code 7" in ran.err
    assert "changed" in ran.out
    assert (
        run(place.url(), "--once", "--exec", f"{sys.executable} -c 'raise SystemExit(7)'").code == 0
    )


def test_a_webhook_gets_what_happened(
    place: Sites, hook: Receiver, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signed with the secret of the environment or of a file, also in a variable with the URL."""
    run(place.url(), "--once", "--webhook", hook.url)
    assert hook.posts == []
    place.say(CLOSED)
    assert run(place.url(), "--once", "--webhook", hook.url).code == 1
    place.say("", status=500)
    assert run(place.url(), "--once", "--webhook", hook.url).code == 3
    monkeypatch.delenv(WEBHOOK_SECRET)
    monkeypatch.setenv(WEBHOOK, hook.url)
    Path("secret").write_text(f"{SECRET}\n")
    place.say(CLOSED)
    assert run(place.url(), "--once", "--webhook-secret-file", "secret").code == 0
    assert [kind for kind, _ in hook.events] == ["changed", "unreachable", "back"]
    assert all(post.is_signed() for post in hook.posts)


def test_a_webhook_that_redirects_gets_no_more(place: Sites, hook: Receiver, run: Run) -> None:
    """The target is not asked, and the message tells what to do without the path of the URL."""
    run(place.url(), "--once")
    place.say(CLOSED)
    with receiver() as private:
        hook.answers = [private.url, 200]
        ran = run(place.url(), "--once", "--webhook", hook.url)
        assert (private.posts, private.gets) == ([], 0)
    assert ran.code == 1  # the second attempt was accepted
    assert "redirects are not followed: give the final address" in ran.err
    assert "hush" not in ran.err + ran.out
    assert SECRET not in ran.err + ran.out


# What cannot be done.


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--every", "1m", "https://shop.example"], "too short: at least 5 min"),
        (["--every", "soon", "https://shop.example"], "is not an interval"),
        (["--every", "6h", "--once", "https://shop.example"], "leave out one"),
        (["--once", "mailto:a@b.c"], "cannot watch"),
        (["--once", "https://shop.example", "--exec", "no-such-command-here"], "no command"),
        (["--once", "https://shop.example", "--exec", "'"], "No closing quotation"),
        (["--once", "https://shop.example", "--exec", ""], "needs a command"),
        (
            ["--once", "https://shop.example", "--webhook", "https://h.example/hush"],
            "needs a secret",
        ),
        (["--once", "https://shop.example", "--webhook", "hush"], "not an http or https URL"),
        (["--once", "https://shop.example", "--webhook-secret-file", "s"], "add --webhook"),
        (["--once", "https://shop.example", "--cache", "valkey://localhost"], "cache in a file"),
        (["--once", "--urls", "no-such-file"], "cannot read"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(run: Run, arguments: list[str], problem: str) -> None:
    """Exit code 2, before anybody is asked; the address of a webhook is not shown."""
    ran = run(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err
    assert "hush" not in ran.err


@pytest.mark.parametrize(("secret", "problem"), [("short", "16"), ("x" * 5000, "more than 4,096")])
def test_a_bad_secret_is_refused_and_not_shown(run: Run, secret: str, problem: str) -> None:
    """Neither a word that can be guessed nor some file that is no secret."""
    Path("secret").write_text(secret)
    hook = ("--webhook", "https://hooks.example/", "--webhook-secret-file", "secret")
    ran = run("--once", "https://shop.example", *hook)
    assert ran.code == 2
    assert problem in ran.err
    assert secret not in ran.err


def test_private_addresses_need_a_word(
    run: Run, place: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a site nor a webhook is asked at a private address unless that is allowed."""
    monkeypatch.setenv("MANNERS_ALLOW_PRIVATE", "false")
    monkeypatch.setenv(WEBHOOK_SECRET, SECRET)
    assert "--allow-private" in run(place.url(), "--once").err
    ran = run("https://shop.example", "--once", "--webhook", "http://10.0.0.1/hush")
    assert (ran.code, "--allow-private" in ran.err, "hush" in ran.err) == (2, True, False)
    assert place.asked == []


# Processes.

DEATHS = {
    "before the entry is saved": "cache.backends.sqlite:SqliteCache:save:before",
    "before the event is recorded": "watch.journal:Journal:record:before",
    "after the event is recorded": "watch.journal:Journal:record:after",
    "before the event is delivered": "watch.delivering:Webhook:deliver:before",
    "after the event is delivered": "watch.delivering:Webhook:deliver:after",
}
_DIE = """
import importlib, os, signal, sys
from manners.cli import main

module, owner, name, when = sys.argv[1].split(":")
owner = getattr(importlib.import_module(f"manners.{module}"), owner)
real = getattr(owner, name)

async def die(*arguments):
    if when == "after":
        await real(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(owner, name, die)
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("death", DEATHS.values(), ids=DEATHS.keys())
def test_a_watch_that_is_killed_delivers_when_it_runs_again(
    place: Sites, hook: Receiver, run: Run, death: str
) -> None:
    """At least once, with one identity, wherever the process was killed; and then never again."""
    arguments = ["watch", place.url(), "--once", "--webhook", hook.url]
    run(*arguments[1:])
    place.say(CLOSED)
    killed = subprocess.run(
        [sys.executable, "-c", _DIE, death, *arguments], capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL
    delivered = len(hook.posts)
    assert delivered == (1 if death.endswith("deliver:after") else 0)
    ran = run(*arguments[1:])
    assert len(hook.posts) == delivered + 1
    assert len(set(hook.events)) == 1
    assert hook.posts[0].body == hook.posts[-1].body
    assert hook.posts[-1].is_signed()
    # What was printed before it was killed is not printed again, unless that is not known.
    assert (ran.code, ran.out.count("  changed")) in ((1, 1), (0, 0))
    printed = killed.stdout.decode().count("  changed") + ran.out.count("  changed")
    assert printed in (1, 2)
    assert run(*arguments[1:]).code == 0
    assert len(hook.posts) == delivered + 1


def test_a_watch_that_is_killed_while_a_receiver_hangs_delivers_later(
    place: Sites, hook: Receiver, run: Run
) -> None:
    """A receiver that did not answer gets the event again, and knows it by its identity."""
    arguments = [place.url(), "--once", "--webhook", hook.url]
    run(*arguments)
    place.say(CLOSED)
    hook.answers = ["hang", 200]
    with started(*arguments) as process:
        wait_until(lambda: hook.posts)
        process.kill()
        process.wait(PATIENCE)
    run(*arguments)
    assert len(hook.posts) == 2
    assert len(set(hook.events)) == 1


@contextmanager
def started(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """The command as a process; it has ended at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "manners", "watch", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def line_of(stream: IO[str] | None) -> str:
    assert stream is not None
    return stream.readline()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_watch_cleanly(place: Sites, run: Run, number: int) -> None:
    """Exit code 0, no traceback, and another watch may begin at once."""
    with started(place.url(), "--every", "6h") as process:
        assert "watching" in line_of(process.stdout)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert run(place.url(), "--once").code == 0
    assert not Path("manners-watch.db-watch").exists()


def test_a_second_signal_ends_a_watch_at_once(place: Sites, run: Run, tmp_path: Path) -> None:
    """The first one lets a command finish; with the second it is killed, and called next time."""
    run(place.url(), "--once")
    place.say(CLOSED)
    code = (
        "import os, pathlib, time;"
        "pathlib.Path('new').write_text(str(os.getpid())); os.rename('new', 'pid');"
        "time.sleep(600)"
    )
    noted = tmp_path / "pid"
    with started(place.url(), "--once", "--exec", f'{sys.executable} -c "{code}"') as process:
        wait_until(noted.exists)
        process.send_signal(signal.SIGTERM)
        assert is_running(int(noted.read_text()))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (130, "")
    wait_until(lambda: not is_running(int(noted.read_text())))
    code = "open('again', 'w').close()"
    assert run(place.url(), "--once", "--exec", f'{sys.executable} -c "{code}"').code == 0
    assert (tmp_path / "again").exists()


def test_a_watch_reports_what_changes_while_it_runs(place: Sites, run: Run) -> None:
    """Sites on this machine may be looked at every second, to try things out."""
    del run
    with started(place.url(), "--every", "1s", "--json") as process:
        assert json.loads(line_of(process.stdout))["event"] == "watching"
        place.say(CLOSED)
        event: dict[str, Any] = json.loads(line_of(process.stdout))
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)
    assert event["event"] == "changed"
    assert process.returncode == 0


def test_a_second_watch_of_a_cache_does_nothing(place: Sites, run: Run) -> None:
    """As when cron starts a run before the last one has ended: exit code 3, and it says why."""
    with started(place.url(), "--every", "6h") as process:
        assert "watching" in line_of(process.stdout)
        ran = run(place.url(), "--once")
    assert (ran.code, ran.out) == (3, "")
    assert "another watch works with this cache" in ran.err
    assert len(place.asked) == 1


def test_a_watch_ends_when_nobody_reads_it(place: Sites, run: Run) -> None:
    """As `head` does; what was not read is delivered by the next run."""
    first = "import sys; sys.stdin.readline()"
    command = [sys.executable, "-m", "manners", "watch", place.url(), "--every", "1s", "--json"]
    reader = subprocess.Popen([sys.executable, "-c", first], stdin=subprocess.PIPE)
    writer = subprocess.Popen(command, stdout=reader.stdin, stderr=subprocess.PIPE, text=True)
    assert reader.stdin is not None
    reader.stdin.close()
    reader.wait(PATIENCE)
    place.say(CLOSED)
    _, err = writer.communicate(timeout=PATIENCE)
    assert (writer.returncode, err) == (141, "")
    (event,) = run(place.url(), "--once", "--json").objects
    assert event["event"] == "changed"

"""Who is told: commands and webhooks, good and bad ones."""

import asyncio
import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from manners.net.posting import Poster
from manners.settings.names import WEBHOOK, WEBHOOK_SECRET
from manners.watch.delivering import Channel, Command, Webhook, webhook_problem
from manners.watch.journal import Delivery
from tests.watch.places import SECRET, receiver, wait_until

EVENT = {
    "id": "0123",
    "event": "changed",
    "site": "https://shop.example",
    "url": "https://shop.example/robots.txt",
    "text": "It changed: $(touch hacked) `touch hacked` ; \x1b[2J\0",
}
DELIVERY = Delivery(1, "exec", 0, 0.0, json.dumps(EVENT))


def deliver(channel: Channel) -> str:
    return asyncio.run(channel.deliver(DELIVERY))


def python(code: str, *arguments: str) -> Command:
    return Command([sys.executable, "-c", code, *arguments])


def test_a_command_gets_the_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON on its standard input and facts in its environment, without our secrets."""
    monkeypatch.setenv(WEBHOOK_SECRET, SECRET)
    monkeypatch.setenv(WEBHOOK, "https://hooks.example/hush")
    place = tmp_path / "event.json"
    code = (
        "import json, os, sys;"
        "json.dump([sys.stdin.read(), dict(os.environ)], open(sys.argv[1], 'w'))"
    )
    assert deliver(python(code, str(place))) == ""
    typed, environment = json.loads(place.read_text())
    assert typed == DELIVERY.text + "\n"
    assert environment["WATCH_EVENT"] == "changed"
    assert environment["WATCH_ID"] == "0123"
    assert environment["WATCH_SITE"] == "https://shop.example"
    assert environment["WATCH_TEXT"].endswith("\\x1b[2J\\x00")
    assert environment["PATH"] == os.environ["PATH"]
    assert "hush" not in str(environment)
    assert SECRET not in str(environment)


def test_no_shell_reads_what_a_site_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text of a site is data: nothing in it is run."""
    monkeypatch.chdir(tmp_path)
    assert deliver(Command(shlex.split("echo $WATCH_TEXT '`touch hacked`'"))) == ""
    assert list(tmp_path.iterdir()) == []


def test_what_a_command_prints_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    """Standard output has events only."""
    assert deliver(python("print('hello')")) == ""
    assert capfd.readouterr() == ("", "hello\n")


def test_a_command_that_fails_is_a_problem() -> None:
    """Its exit code is told, also if it does not read its input."""
    problem = deliver(python("import sys; sys.stdin.close(); sys.exit(3)"))
    assert problem.endswith("ended with exit code 3")


def test_a_command_that_cannot_start_is_a_problem(tmp_path: Path) -> None:
    """Somebody may have removed it meanwhile."""
    assert "No such file" in deliver(Command([str(tmp_path / "gone")]))


def test_a_command_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    """After the timeout nothing of it is there any more."""
    place = tmp_path / "pid"
    code = (
        "import subprocess, sys, pathlib, time;"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        "pathlib.Path(sys.argv[1]).write_text(str(child.pid));"
        "time.sleep(600)"
    )

    async def main() -> str:
        command = Command([sys.executable, "-c", code, str(place)], timeout=600.0)
        task = asyncio.create_task(command.deliver(DELIVERY))
        while not (place.exists() and place.read_text()):
            await asyncio.sleep(0.01)
        task.cancel()  # as a second Ctrl-C does; the timeout ends in the same way
        await asyncio.gather(task, return_exceptions=True)
        return place.read_text()

    child = int(asyncio.run(main()))
    wait_until(lambda: not is_running(child))
    hanging = Command([sys.executable, "-c", "import time; time.sleep(600)"], timeout=0.2)
    assert deliver(hanging).endswith("did not end within 0.2 s, and was killed")


def is_running(process: int) -> bool:
    """Whether a process is there, and has not ended as a child that nobody waits for."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def webhook(url: str) -> Webhook:
    poster = Poster(user_agent="MyBot/1.0", allow_private=True)
    return Webhook(url, SECRET.encode(), poster, clock=lambda: 1_700_000_000.5)


def test_a_webhook_is_signed() -> None:
    """The receiver can see who sent it, when, and which event it is."""
    with receiver() as hook:
        assert deliver(webhook(hook.url)) == ""
    (post,) = hook.posts
    assert post.is_signed()
    assert not post.is_signed("another secret")
    assert not post._replace(body=post.body + b" ").is_signed()
    assert post.headers["manners-signature"].startswith("t=1700000000,v1=")
    assert (post.headers["manners-event"], post.headers["manners-event-id"]) == ("changed", "0123")
    assert post.headers["content-type"] == "application/json"
    assert (post.path, post.event) == ("/hook?token=hush-hush", EVENT)


@pytest.mark.parametrize(
    ("status", "problem"),
    [(500, "replied 500"), (404, "replied 404"), (410, "replied 410"), (303, "are not followed")],
)
def test_what_a_receiver_does_not_accept_is_a_problem(status: int, problem: str) -> None:
    """Everything but a success; the message does not show the path, which may be a secret."""
    with receiver() as hook:
        hook.answers = [status]
        shown = deliver(webhook(hook.url))
    assert problem in shown
    assert "hush" not in shown


def test_a_redirect_to_another_address_is_a_problem() -> None:
    """Nobody is asked there: what is signed is for one receiver only."""
    with receiver() as hook, receiver() as private:
        hook.answers = [private.url]
        assert "redirects are not followed" in deliver(webhook(hook.url))
    assert (private.posts, private.gets) == ([], 0)


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("https://hooks.example/a", ""),
        ("https://me:secret@hooks.example/", "has a user name or password"),
        ("ftp://hooks.example/hush", "not an http or https URL"),
        ("hooks.example/hush", "URL"),
        ("http://[::1]/hush", "private or local"),
        ("http://2130706433/hush", "private or local"),
    ],
)
def test_a_webhook_that_cannot_be_used_is_known_at_once(url: str, problem: str) -> None:
    """The problem does not show the address."""
    found = webhook_problem(url, allow_private=False)
    assert problem in found
    assert bool(found) == bool(problem)
    assert "hush" not in found
    assert "secret" not in found

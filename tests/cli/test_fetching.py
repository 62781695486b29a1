"""Many URLs fetched at once: whose turn it is, how much is read ahead, and how it ends."""

import asyncio
import time
from collections.abc import Iterator
from itertools import count, islice

import pytest

from manners.cli import fetching
from manners.cli.fetching import Fetching
from manners.crawler.scheduler import Scheduler
from manners.errors import HostDeferred, InvalidURL


def scheduler(*, slots: int = 2, connections: int = 256) -> Scheduler[str]:
    """One for hosts that may be asked at any time."""
    return Scheduler(lambda _: (0.0, 0.0), lambda _: slots, connections)


def nothing() -> None:
    """What is done while there is no answer."""


def test_hosts_take_turns_and_few_are_under_way() -> None:
    """With one place, hosts are asked in turn; what is not taken yet keeps its place."""
    asked: list[str] = []

    async def ask(url: str) -> str:
        await asyncio.sleep(0)
        asked.append(url[7:10])
        return url

    urls = [f"http://{host}/{number}" for host in "abc" for number in range(3)]
    work = Fetching(ask, scheduler(connections=1))
    found = []
    for number, (url, answer) in enumerate(work.answers(urls, nothing), 1):
        found.append(url)
        assert url == answer
        time.sleep(0.01)  # long enough to do more than there is a place for
        assert len(asked) == number
    assert sorted(found) == urls
    assert asked.index("c/0") < asked.index("a/2") < asked.index("b/2")
    assert (work.read, work.done) == (9, 9)


def test_a_list_without_an_end_is_read_as_it_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many URLs are read ahead, whatever the answers are."""
    monkeypatch.setattr(fetching, "_MAX_UNANSWERED", 10)

    async def ask(url: str) -> str:
        return url

    work = Fetching(ask, scheduler())
    urls = (f"http://host-{number}/" if number % 3 else "nonsense://" for number in count())
    for number, _ in enumerate(islice(work.answers(urls, nothing), 100), 1):
        assert work.read <= number + 10
    assert work.done == 100


def test_hosts_that_never_answer_keep_nobody_waiting() -> None:
    """There are more of them than places; they have a part of the places only."""
    silent = [f"http://silent-{number}/{page}" for number in range(20) for page in range(2)]
    good = [f"http://good/{page}" for page in range(50)]
    has_hung: set[str] = set()

    async def ask(url: str) -> bool:
        host = url.split("/")[2]
        if host in has_hung:
            await asyncio.Event().wait()
        if host != "good":
            has_hung.add(host)
        return host == "good"

    answers = Fetching(ask, scheduler(connections=8), bool).answers([*silent, *good], nothing)
    found = [url for url, _ in islice(answers, 20 + 50)]
    answers.close()
    assert sorted(found) == sorted([*silent[::2], *good])


def test_a_host_whose_time_has_not_come_keeps_nobody_waiting() -> None:
    """It is asked when its time has come, by the clock that was given."""
    now = [0.0]

    async def ask(_: str) -> float:
        return now[0]

    paced = Scheduler[str](lambda host: (0.0, 1_000.0 if host == "slow" else 0.0), lambda _: 1)
    work = Fetching(ask, paced, clock=lambda: now[0])
    found = {}
    for url, asked_at in work.answers(["http://slow/", "http://quick/"], nothing):
        found[url] = asked_at
        assert work.hosts == 3 - len(found)  # those that are done, and not taken, included
        now[0] = 1_000.0
    assert found == {"http://quick/": 0.0, "http://slow/": 1_000.0}


def test_the_loop_comes_back_when_a_host_may_be_asked() -> None:
    """Though nothing else happens."""
    at = time.monotonic() + 0.05

    async def ask(_: str) -> float:
        return time.monotonic()

    paced = Scheduler[str](lambda _: (0.0, at), lambda _: 1)
    work = Fetching(ask, paced, clock=time.monotonic)
    ((_, asked_at),) = work.answers(["http://slow/"], nothing)
    assert isinstance(asked_at, float)
    assert asked_at >= at


def test_errors_that_are_answers() -> None:
    """An invalid URL, and a host that is not to be asked now; the rest goes on."""

    async def ask(url: str) -> str:
        if "later" in url:
            raise HostDeferred("later", 1.0)
        return url

    urls = ["nonsense://", "http://later/", "http://now/"]
    found = dict(Fetching(ask, scheduler()).answers(urls, nothing))
    assert isinstance(found["nonsense://"], InvalidURL)
    assert isinstance(found["http://later/"], HostDeferred)
    assert found["http://now/"] == "http://now/"


def test_a_mistake_of_ours_ends_the_work() -> None:
    """An error nobody expects is not taken for an answer."""

    async def ask(url: str) -> str:
        raise ZeroDivisionError(url)

    with pytest.raises(ZeroDivisionError):
        list(Fetching(ask, scheduler()).answers(["http://a/"], nothing))


def test_an_error_of_the_list_ends_the_work() -> None:
    """As when its file cannot be read to the end."""

    def urls() -> Iterator[str]:
        yield "http://a/"
        raise OSError("unreadable")

    async def ask(url: str) -> str:
        return url

    with pytest.raises(OSError, match="unreadable"):
        list(Fetching(ask, scheduler()).answers(urls(), nothing))


def test_whoever_stops_reading_ends_the_work() -> None:
    """What is under way is cancelled."""
    ended: list[str] = []

    async def ask(url: str) -> str:
        if url.endswith("/hangs"):
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(url)
        return url

    answers = Fetching(ask, scheduler()).answers(["http://b/hangs", "http://a/"], nothing)
    assert next(answers)[0] == "http://a/"
    answers.close()
    assert ended == ["http://b/hangs"]

"""Each parser in a process of its own, and only one of them at work at a time.

So a parser that never comes back can be stopped, memory is that of one parser, and the plain
engine runs next to the compiled one. Strings and bytes are fresh copies in every process. What a
process is asked for is a job: a function of this module.
"""

import ctypes
import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from benchmarks.peers import PEERS, Peer

Times = tuple[float, ...]
Ask = Callable[[Any, list[str]], list[bool]]


class Failed(Exception):
    """A parser did not do a job: too slow, or an error of its own."""


class Turn:
    """One parser in a process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=_serve, args=(there, self.name), daemon=True)
        with _environment(PEERS[self.name].environment):
            self._process.start()
        there.close()
        self.version = self._answer()

    def ask(self, job: Callable[..., Any], *arguments: Any, limit: float = 60) -> Any:
        """What a job gives, if it is done within so many seconds."""
        try:
            self._pipe.send((job, arguments, limit))
            return self._answer()
        except (EOFError, OSError) as error:  # the process is gone
            self._process.join()
            late = self._process.exitcode == -signal.SIGALRM
            self._start()
            raise Failed(f"> {limit:g} s" if late else "crashed") from error

    def _answer(self) -> Any:
        done, value = self._pipe.recv()
        if not done:
            raise Failed(value)
        return value

    def close(self) -> None:
        self._pipe.close()
        self._process.join()


@contextmanager
def _environment(added: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(added)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _serve(pipe: Connection, name: str) -> None:
    try:
        peer = PEERS[name]()
        pipe.send((True, peer.version()))
    except Exception as error:
        pipe.send((False, f"{type(error).__name__}: {error}"))
        return
    while True:
        try:
            job, arguments, limit = pipe.recv()
        except EOFError:
            return
        # The alarm ends the process, wherever it is stuck and whoever is left to notice.
        signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            answer = (True, job(peer, *arguments))
        except Exception as error:
            answer = (False, f"{type(error).__name__}: {error}")
        signal.setitimer(signal.ITIMER_REAL, 0)
        pipe.send(answer)


# The jobs.


def kernel(peer: Peer) -> str:
    """Which engine of manners answers."""
    return str(getattr(peer, "kernel", ""))


def answers(peer: Peer, body: bytes, urls: list[str]) -> list[bool]:
    """The verdicts."""
    return peer.each(peer.parse(peer.text(body)), peer.paths(urls))


def checks(peer: Peer, body: bytes, warm: list[str], urls: list[str], bulk: bool) -> Times:
    """Nanoseconds a check, once a parser has been asked a while."""
    parsed, warm, urls = peer.parse(peer.text(body)), peer.paths(warm), peer.paths(urls)
    _wake(peer)
    return (_steady(peer.many if bulk else peer.each, parsed, warm, urls),)


def _steady(ask: Ask, parsed: Any, warm: list[str], urls: list[str]) -> float:
    """As many of these URLs as take about 3 ms, after some of `warm`."""
    begin, each = perf_counter_ns(), 0.0
    for i in range(0, len(warm), 10):
        start = perf_counter_ns()
        ask(parsed, warm[i : i + 10])
        now = perf_counter_ns()
        each = (now - start) / 10
        # Fifty checks are a while for any parser here; a slow one is stopped earlier.
        if now - begin > (1_000_000_000 if i < 40 else 100_000_000):
            break
    urls = urls[: max(5, int(3_000_000 / each))]
    start = perf_counter_ns()
    ask(parsed, urls)
    return (perf_counter_ns() - start) / len(urls)


def files(peer: Peer, bodies: list[bytes], urls: list[str]) -> Times:
    """Nanoseconds for all of these files, from bytes to a first verdict; errors count as one."""
    work = list(zip(map(peer.text, bodies), peer.paths(urls), strict=True))
    first = peer.first
    _wake(peer)
    start = perf_counter_ns()
    for body, url in work:
        try:
            first(body, url)
        except Exception:  # a parser may refuse a real file; it took its time all the same
            continue
    return (perf_counter_ns() - start,)


def shape(peer: Peer, body: bytes, warm: list[str], urls: list[str]) -> Times:
    """Nanoseconds from bytes to a first verdict, nanoseconds to the tenth, and nanoseconds a check
    later on."""
    text, warm, urls = peer.text(body), peer.paths(warm), peer.paths(urls)
    _wake(peer)
    start = perf_counter_ns()
    parsed = peer.parse(text)
    peer.each(parsed, warm[:1])
    first = perf_counter_ns()
    peer.each(parsed, warm[1:10])
    tenth = perf_counter_ns()
    return first - start, tenth - start, _steady(peer.each, parsed, warm[10:], urls)


def session(peer: Peer, bodies: list[bytes], urls: list[list[str]]) -> Times:
    """Nanoseconds a file, from bytes to the verdicts on all its URLs."""
    work = [(peer.text(body), peer.paths(own)) for body, own in zip(bodies, urls, strict=True)]
    parse, each = peer.parse, peer.each
    _wake(peer)
    start = perf_counter_ns()
    for body, own in work:
        each(parse(body), own)
    return ((perf_counter_ns() - start) / len(work),)


def _wake(peer: Peer) -> None:
    """A process that slept while others had their turns first finds its own code again."""
    body = b"User-agent: *\nAllow: /a\nDisallow: /*a$\nDisallow: /b"
    urls = peer.paths([f"https://www.example.com/{number}" for number in range(20)])
    for _ in range(10):
        peer.each(peer.parse(peer.text(body)), urls)


def memory(peer: Peer, path: str, sizes: list[int], urls: list[str]) -> tuple[int, int]:
    """Bytes by which the process grows for all files of a file, and how many could be parsed.

    A body is read, parsed, asked for the URLs and dropped; what the parser keeps of it, it keeps.
    """
    urls = peer.paths(urls)
    _wake(peer)
    kept: list[Any] = [None] * len(sizes)
    parsed = 0
    with Path(path).open("rb", buffering=0) as file:
        before = resident()
        for number, size in enumerate(sizes):
            body = peer.text(file.read(size))
            try:
                kept[number] = peer.parse(body)
                peer.each(kept[number], urls)
                parsed += 1
            except Exception:  # see `files`
                continue
            finally:
                del body
    return resident() - before, parsed


def resident() -> int:
    """What is in use: pages that are free already would hide the growth."""
    gc.collect()
    with suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024

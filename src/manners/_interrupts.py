"""The signals that end a program, and what it does at them."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM)
"""Ctrl-C, and what `kill` and containers send."""


@contextmanager
def handling(handler: Callable[[], object], *numbers: signal.Signals) -> Iterator[None]:
    """Call `handler` at signals; in other threads than the main one, nothing is handled.

    A signal that is ignored stays ignored: `nohup`, and scripts with `&`, rely on it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in numbers}
    # None is a handler that Python did not set and cannot restore.
    changed = {
        number: previous
        for number, previous in before.items()
        if previous not in (signal.SIG_IGN, None)
    }
    for number in changed:
        signal.signal(number, lambda *_: handler())
    try:
        yield
    finally:
        for number, previous in changed.items():
            signal.signal(number, previous)


@contextmanager
def defaulting(number: signal.Signals) -> Iterator[None]:
    """A signal does what it does without a handler."""
    before = signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, before)


def ignore_interrupts() -> None:
    """Leave Ctrl-C, which on a terminal reaches every process of its group, to another process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

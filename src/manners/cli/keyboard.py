"""A terminal that is read key by key, and is as it was before, whatever ends the program."""

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from manners._interrupts import ENDING, defaulting, handling

_MAX_KEYS = 256
"""Bytes that are read at a time."""


class LiveScreen(Protocol):
    """What is drawn on the terminal meanwhile; `rich.live.Live` is one."""

    def start(self, refresh: bool = False) -> None:
        """Take the screen."""

    def stop(self) -> None:
        """Give it back."""


class Keyboard:
    """The keys of a terminal while a display has its screen.

    Ctrl-C and SIGTERM set `is_over`. Ctrl-Z gives the screen back, stops the program, and takes
    the screen again when it goes on.
    """

    def __init__(self, display: LiveScreen) -> None:
        self._display = display
        self._terminal = sys.stdin.fileno()
        self._before: list[Any] = []
        self._is_stopping = self._is_resumed = False
        self.is_over = False

    @contextmanager
    def open(self) -> Iterator[None]:
        """Take the terminal, and give it back."""
        self._before = termios.tcgetattr(self._terminal)

        def end() -> None:
            self.is_over = True

        def stop() -> None:
            self._is_stopping = True

        def resume() -> None:
            self._is_resumed = True

        with (
            handling(end, *ENDING, signal.SIGHUP),
            handling(stop, signal.SIGTSTP),
            handling(resume, signal.SIGCONT),
        ):
            try:
                self._take()
                yield
            finally:
                self._give_back()

    def keys(self, seconds: float) -> str:
        """The keys that come within some seconds; returns at the first ones."""
        self._obey()
        ready, _, _ = select.select([self._terminal], [], [], seconds)
        self._obey()
        if not ready:
            return ""
        data = os.read(self._terminal, _MAX_KEYS)
        if not data:  # the terminal was closed
            self.is_over = True
        return plain_keys(data.decode(errors="ignore"))

    def _obey(self) -> None:
        """Do what signals have asked for."""
        if self._is_stopping:
            self._is_stopping = False
            self._give_back()
            with defaulting(signal.SIGTSTP):
                signal.raise_signal(signal.SIGTSTP)  # goes on here at SIGCONT
            self._take()
        elif self._is_resumed:  # from a stop that could not be handled; a shell has had the screen
            self._give_back()
            self._take()
        self._is_resumed = False

    def _take(self) -> None:
        tty.setcbreak(self._terminal)
        self._display.start(refresh=True)

    def _give_back(self) -> None:
        try:
            self._display.stop()
        finally:
            termios.tcsetattr(self._terminal, termios.TCSADRAIN, self._before)


def plain_keys(typed: str) -> str:
    """What was typed, without the sequences of arrows and other keys; Esc alone is a key.

    >>> plain_keys("s\\x1b[Aq"), plain_keys("\\x1b")
    ('sq', '\\x1b')
    """
    if "\x1b" not in typed or typed == "\x1b":
        return typed
    keys, rest = "", typed
    while rest:
        if rest[:2] in ("\x1b[", "\x1bO"):
            end = next((n for n, c in enumerate(rest[2:], 3) if "@" <= c <= "~"), len(rest))
            rest = rest[end:]
        else:
            keys, rest = keys + rest[0], rest[1:]
    return keys

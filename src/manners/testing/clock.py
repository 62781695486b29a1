"""A clock for tests."""

_START = 1_767_225_600.0
"""1 January 2026, 00:00 UTC."""


class Clock:
    """A clock that stands still until a test, or a loop that skips waiting, advances it.

    >>> clock = Clock()
    >>> clock.advance(90)
    >>> clock() - clock.start
    90.0
    """

    def __init__(self, start: float = _START) -> None:
        self.start = self.now = start
        """The current time, in seconds since the epoch."""

    def __call__(self) -> float:
        """The current time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let seconds pass."""
        self.now += seconds

"""How fast a crawl is: differences of what was counted, over a short time. Quiet."""

from collections import deque
from typing import NamedTuple


class Sample(NamedTuple):
    """What was counted until a time."""

    at: float
    requests: int
    bytes: int


class Rate(NamedTuple):
    """How much there is in a second."""

    requests: float
    bytes: float


class Rates:
    """The rate over the last seconds, by samples that somebody takes now and then.

    >>> rates = Rates(seconds=10.0)
    >>> rates.add(Sample(100.0, requests=0, bytes=0))
    >>> rates.add(Sample(104.0, requests=8, bytes=4_000))
    Rate(requests=2.0, bytes=1000.0)
    """

    def __init__(self, seconds: float = 10.0) -> None:
        self._seconds = seconds
        self._samples: deque[Sample] = deque()

    def add(self, sample: Sample) -> Rate | None:
        """Take a sample; returns the rate, or None while there is only one."""
        samples = self._samples
        if samples and sample.at < samples[-1].at:  # the clock was set
            samples.clear()
        samples.append(sample)
        while len(samples) > 2 and samples[1].at <= sample.at - self._seconds:
            samples.popleft()
        first, seconds = samples[0], sample.at - samples[0].at
        if seconds <= 0.0:
            return None
        # A resume may count anew, and then there is less than before.
        requests, size = sample.requests - first.requests, sample.bytes - first.bytes
        return Rate(max(requests, 0) / seconds, max(size, 0) / seconds)

"""What came of retrieving a robots.txt: a value with the whole story."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from manners._text import printable
from manners.net.messages import advice

_ABSENT = ("404", "410")


class Availability(StrEnum):
    """The three cases of RFC 9309 section 2.3.1.

    >>> print(Availability.UNREACHABLE)
    unreachable
    """

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    UNREACHABLE = "unreachable"


class Hop(NamedTuple):
    """One request on the way: where it went, and what came back.

    >>> Hop("https://example.com/robots.txt", 301).status
    301
    """

    url: str
    status: int | None = None
    """None when there was no answer."""
    cause: str = ""
    """Why there was none."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the retrieval of a robots.txt went.

    >>> str(Outcome(Availability.UNREACHABLE, "timeout"))
    'unreachable (timeout)'
    """

    availability: Availability
    note: str = ""
    """What made it so, in a few words: a status, a timeout, a loop."""
    profile: str = "rfc9309"
    url: str = ""
    """The robots.txt that was asked for."""
    hops: tuple[Hop, ...] = ()
    """Every request that was made for it."""
    headers: tuple[tuple[str, str], ...] = ()
    """The headers of the last reply that mattered."""
    bytes: int = 0
    """The size of the body, decompressed; what was read of it when it is too long."""
    charset: str = ""
    """The charset the reply names, if any."""
    complete: bool = True
    """False when the body is longer than what was read of it."""
    not_modified: bool = False
    """True when the server confirmed the copy at hand (304)."""
    at: float = 0.0
    """When, in seconds since the epoch."""
    seconds: float = 0.0
    """How long the requests took."""
    confidence: Literal["high", "low"] = "high"
    """Low where the profile allows what it could not find out."""
    age: float = 0.0
    """Seconds since the site last said so, at the time of a verdict."""
    copy: bool = False
    """True when an earlier copy decided, because the site cannot be reached."""

    @property
    def status(self) -> int | None:
        """The status of the last reply; None when there was none."""
        return self.hops[-1].status if self.hops else None

    @property
    def final_url(self) -> str:
        """Where the last reply came from."""
        return self.hops[-1].url if self.hops else self.url

    @property
    def is_plain(self) -> bool:
        """Whether all went as it should, so that nobody needs to be told."""
        return self.availability is Availability.AVAILABLE

    @property
    def is_failure(self) -> bool:
        """Whether the site did not answer as one with a robots.txt, or without one, does.

        404 and 410 say that there is none. A refusal, or redirects that lead nowhere, do not.
        """
        if self.availability is Availability.UNAVAILABLE:
            return self.note not in _ABSENT
        return self.availability is Availability.UNREACHABLE

    @property
    def advice(self) -> str:
        """What can be done about it; empty where nothing can."""
        return advice(self.note)

    def header(self, name: str) -> str:
        """A header of the last reply; empty when it is not there, or did not matter."""
        return dict(self.headers).get(name, "")

    def __str__(self) -> str:
        said = str(self.availability)
        if self.note:
            said += f" ({printable(self.note)})"
        if self.copy:
            said += f"; copy of {duration(self.age)} ago used"
        return said

    def but(self, **changes: Any) -> "Outcome":
        """The same outcome with some fields changed."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain values, ready for JSON.

        >>> Outcome(Availability.UNAVAILABLE, "404").to_dict()["availability"]
        'unavailable'
        """
        made = asdict(self)
        made["availability"] = self.availability.value
        made["hops"] = [hop._asdict() for hop in self.hops]
        made["headers"] = dict(self.headers)
        return made

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Outcome":
        """The outcome that `to_dict` wrote.

        >>> outcome = Outcome(Availability.UNAVAILABLE, "404", hops=(Hop("http://a/", 404),))
        >>> Outcome.from_dict(outcome.to_dict()) == outcome
        True
        """
        read = dict(values)
        read["availability"] = Availability(read["availability"])
        read["hops"] = tuple(Hop(**hop) for hop in read["hops"])
        read["headers"] = tuple(read["headers"].items())
        return cls(**read)


def duration(seconds: float) -> str:
    """A time span as people say it.

    >>> duration(11_000), duration(42), duration(-1)
    ('3 h', '42 s', '0 s')
    """
    seconds = max(seconds, 0)
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"

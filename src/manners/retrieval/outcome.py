"""The outcome of retrieving a robots.txt: one value, with every request that was made."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from operator import attrgetter
from typing import Any, Literal, NamedTuple

from manners._text import duration, printable
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


class RobotsHop(NamedTuple):
    """One request for a robots.txt, or a redirect of it, and its reply.

    >>> RobotsHop("https://example.com/robots.txt", 301).status
    301
    """

    url: str
    status: int | None = None
    """None when there was no answer."""
    cause: str = ""
    """Why there was no answer."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the retrieval of a robots.txt went.

    >>> str(Outcome(Availability.UNREACHABLE, "timeout"))
    'unreachable (timeout)'
    """

    availability: Availability
    note: str = ""
    """The cause, in a few words: a status, a timeout, a redirect loop."""
    profile: str = "rfc9309"
    url: str = ""
    """The URL of the robots.txt."""
    hops: tuple[RobotsHop, ...] = ()
    """Every request, redirects included."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers of the last reply: those that decide, or say how long it is fresh."""
    bytes: int = 0
    """Size of the body that was read, decompressed."""
    charset: str = ""
    """The charset the reply names, if any."""
    complete: bool = True
    """False when only the beginning of the body was read."""
    not_modified: bool = False
    """True when the server confirmed our copy (304)."""
    at: float = 0.0
    """When, in seconds since the epoch."""
    seconds: float = 0.0
    """How long the requests took."""
    confidence: Literal["high", "low"] = "high"
    """Low where the profile allows a site that is unreachable."""
    age: float = 0.0
    """Seconds between the retrieval and the verdict."""
    copy: bool = False
    """True when an earlier copy decided, because the site is unreachable."""

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
        """Whether the file is available: nothing worth a mention."""
        return self.availability is Availability.AVAILABLE

    @property
    def is_failure(self) -> bool:
        """Whether it remains unknown if the site has a robots.txt.

        404 and 410 say that it has none. Another 4xx, or a redirect loop, does not.
        """
        if self.availability is Availability.UNAVAILABLE:
            return self.note not in _ABSENT
        return self.availability is Availability.UNREACHABLE

    @property
    def advice(self) -> str:
        """What the user can do about it; empty where there is nothing."""
        return advice(self.note)

    def header(self, name: str) -> str:
        """A header of the last reply; empty when it is missing, or not kept."""
        return dict(self.headers).get(name, "")

    def __str__(self) -> str:
        text = str(self.availability)
        if self.note:
            text += f" ({printable(self.note)})"
        if self.copy:
            text += f"; used a copy from {duration(self.age)} ago"
        return text

    def but(self, **changes: Any) -> "Outcome":
        """The same outcome with some fields changed."""
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """The outcome as plain values, ready for JSON.

        >>> Outcome(Availability.UNAVAILABLE, "404").to_dict()["availability"]
        'unavailable'
        """
        values: dict[str, Any] = dict(zip(_FIELDS, _values_of(self), strict=True))
        values["availability"] = self.availability.value
        values["hops"] = [hop._asdict() for hop in self.hops]
        values["headers"] = dict(self.headers)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Outcome":
        """The outcome that `to_dict` wrote.

        >>> outcome = Outcome(Availability.UNAVAILABLE, "404", hops=(RobotsHop("http://a/", 404),))
        >>> Outcome.from_dict(outcome.to_dict()) == outcome
        True
        """
        read = dict(values)
        read["availability"] = Availability(read["availability"])
        read["hops"] = tuple(RobotsHop(**hop) for hop in read["hops"])
        read["headers"] = tuple(read["headers"].items())
        return cls(**read)


_FIELDS = tuple(field.name for field in fields(Outcome))
_values_of = attrgetter(*_FIELDS)

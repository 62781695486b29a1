"""A page: what came of asking for a URL, hop by hop."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urljoin

from manners.errors import InvalidURL
from manners.net.messages import Response, Unreachable
from manners.retrieval.charset import charset_of, in_utf8
from manners.robots.verdict import Verdict
from manners.urls import origin, requestable

_SECRETS = ("authorization", "cookie", "proxy-authorization")
"""Headers that are for one origin, and for no other that it redirects to."""


class Hop(NamedTuple):
    """One URL on the way to a page: what was decided, and what came back."""

    url: str
    verdict: Verdict
    status: int | None = None
    """None when no request was made, or none was answered."""
    cause: str = ""
    """Why there was no answer, or why a redirect was not followed."""
    started: float = 0.0
    """When the request left, in seconds since the epoch."""
    waited: float = 0.0
    """Seconds until then: for the verdict, for the time and for a slot."""
    seconds: float = 0.0
    """How long the request took."""


@dataclass(frozen=True, slots=True)
class Page:
    """What came of asking for a URL.

    A page that robots.txt does not allow is a page, too: `was_allowed` is False, and the verdict
    says why. So is one that no answer came for: `status` is None, and `cause` says why.
    """

    url: str
    """What was asked for."""
    hops: tuple[Hop, ...]
    """Every URL on the way, with its verdict; the last is where it ended."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of the last reply, by name in lower case."""
    body: bytes = b""
    """The body of the last reply, whatever its status."""
    complete: bool = True
    """False when the body is longer than what was read of it."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the last hop."""
        return self.hops[-1].verdict

    @property
    def was_allowed(self) -> bool:
        """Whether every hop was allowed: nothing behind one that is not is ever asked for."""
        return self.verdict.allowed

    @property
    def status(self) -> int | None:
        """The status of the last reply; None when it was blocked, or there was none."""
        return self.hops[-1].status

    @property
    def ok(self) -> bool:
        """Whether the page was fetched, with a status of success."""
        return 200 <= (self.status or 0) < 300

    @property
    def cause(self) -> str:
        """Why there was no answer, or why a redirect was not followed; empty when all went well."""
        return self.hops[-1].cause

    @property
    def final_url(self) -> str:
        """Where it ended."""
        return self.hops[-1].url

    @property
    def seconds(self) -> float:
        """How long the requests took, without the waiting between them."""
        return sum(hop.seconds for hop in self.hops)

    @property
    def text(self) -> str:
        """The body as text, by the charset that the server names, else as UTF-8."""
        found = in_utf8(self.body, charset_of(self.headers.get("content-type", "")))
        return found if isinstance(found, str) else found.decode("utf-8-sig", "replace")

    @property
    def robots_tag(self) -> tuple[str, ...]:
        """What X-Robots-Tag says, directive by directive, as read."""
        parts = self.headers.get("x-robots-tag", "").split(",")
        return tuple(part.strip() for part in parts if part.strip())

    @property
    def not_modified(self) -> bool:
        """Whether the server says that the page is as it was (304)."""
        return self.status == 304

    def __str__(self) -> str:
        if not self.was_allowed:
            return f"blocked: {self.verdict}"
        said = "" if self.status is None else str(self.status)
        return " ".join(part for part in (said, f"({self.cause})" if self.cause else "") if part)

    def to_dict(self) -> dict[str, Any]:
        """What is known of the page, without its body, as plain values, ready for JSON."""
        hops = [{**hop._asdict(), "verdict": hop.verdict.to_dict()} for hop in self.hops]
        return {
            "url": self.url,
            "final_url": self.final_url,
            "was_allowed": self.was_allowed,
            "status": self.status,
            "cause": self.cause,
            "bytes": len(self.body),
            "complete": self.complete,
            "seconds": self.seconds,
            "headers": dict(self.headers),
            "robots_tag": list(self.robots_tag),
            "hops": hops,
        }


class Way:
    """The way from a URL to its page, redirect by redirect."""

    __slots__ = ("_hops", "_most", "_url", "headers", "is_spent", "target")

    def __init__(self, url: str, headers: Mapping[str, str], redirects: int) -> None:
        self._url, self.headers, self._most = url, headers, redirects
        self.target = requestable(url)
        self._hops: tuple[Hop, ...] = ()
        self.is_spent = False
        """Whether a request was made that counts: for a page, not for a redirect."""

    def blocked(self, verdict: Verdict) -> Page:
        """The page that is not asked for."""
        return Page(self._url, (*self._hops, Hop(self.target, verdict)))

    def arrived(
        self, verdict: Verdict, reply: Response | Unreachable, started: float, waited: float
    ) -> Page | None:
        """The page that a reply brings; None when it is a redirect, to `target`."""
        url, seconds = self.target, reply.seconds
        if isinstance(reply, Unreachable):
            hop = Hop(url, verdict, None, reply.cause, started, waited, seconds)
            return Page(self._url, (*self._hops, hop))
        cause = ""
        if 300 <= reply.status < 400 and reply.status != 304:
            cause = self._follow(reply.headers.get("location", "").strip())
        self._hops += (Hop(url, verdict, reply.status, cause, started, waited, seconds),)
        if self.target is not url:
            self.is_spent = False
            return None
        return Page(self._url, self._hops, reply.headers, reply.body, reply.complete)

    def _follow(self, location: str) -> str:
        """Go where a redirect leads to, or say why not."""
        if not location:
            return "redirect without Location"
        if len(self._hops) >= self._most:
            return "too many redirects"
        try:
            target = requestable(urljoin(self.target, location))
        except (InvalidURL, ValueError):
            return "redirect to what is no URL"
        if target == self.target or any(target == hop.url for hop in self._hops):
            return "redirect loop"
        if origin(target) != origin(self.target):
            self.headers = {
                name: value for name, value in self.headers.items() if name.lower() not in _SECRETS
            }
        self.target = target
        return ""

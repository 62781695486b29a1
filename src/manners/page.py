"""A page: what came of asking for a URL, hop by hop."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from manners.charset import decode
from manners.net.messages import Response, Unreachable
from manners.robots.verdict import Verdict
from manners.urls import origin, redirect_target, requestable, without_credentials

_SECRETS = ("authorization", "cookie", "proxy-authorization")
"""Headers that are for one origin, and for no other that it redirects to."""
_TURNS = 10
"""How often a request takes another turn, because it could not leave in one."""


class Hop:
    """One URL on the way to a page: what was decided, and what came back."""

    __slots__ = (
        "_verdict",
        "cause",
        "detail",
        "evidence_id",
        "seconds",
        "started",
        "status",
        "url",
        "waited",
        "was_allowed",
    )

    def __init__(
        self,
        url: str,
        was_allowed: bool,
        verdict: Verdict | Callable[[], Verdict],
        status: int | None = None,
        cause: str = "",
        started: float = 0.0,
        waited: float = 0.0,
        seconds: float = 0.0,
        evidence_id: int | None = None,
        detail: str = "",
    ) -> None:
        self.url = url
        """As it was asked for."""
        self.was_allowed = was_allowed
        """Whether a request could be made."""
        self._verdict = verdict
        self.status = status
        """None when no request was made, or none was answered."""
        self.cause = cause
        """Why there was no answer, or why a redirect was not followed."""
        self.detail = detail
        """More about the cause, where there is more to say: what is wrong with a certificate."""
        self.started = started
        """When the request left, in seconds since the epoch."""
        self.waited = waited
        """Seconds until then: for the verdict, for the time and for a slot."""
        self.seconds = seconds
        """How long the request took."""
        self.evidence_id = evidence_id
        """The number of the record in the store of evidence; None where none is kept."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on this URL, with its reason; worked out when somebody asks for it."""
        if not isinstance(self._verdict, Verdict):
            self._verdict = self._verdict()
        return self._verdict

    def to_dict(self) -> dict[str, Any]:
        """The hop as plain values, ready for JSON."""
        return {
            "url": self.url,
            "was_allowed": self.was_allowed,
            "verdict": self.verdict.to_dict(),
            "status": self.status,
            "cause": self.cause,
            "detail": self.detail,
            "started": self.started,
            "waited": self.waited,
            "seconds": self.seconds,
            "evidence_id": self.evidence_id,
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hop) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.url, self.started))

    def __repr__(self) -> str:
        return f"Hop({self.url!r}, {self.verdict!s}, status={self.status}, cause={self.cause!r})"


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

    def __init__(
        self,
        url: str,
        hops: tuple[Hop, ...],
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        complete: bool = True,
    ) -> None:
        # Slot by slot: half the time of what a frozen dataclass does by itself.
        _set_url(self, url)
        _set_hops(self, hops)
        _set_headers(self, {} if headers is None else headers)
        _set_body(self, body)
        _set_complete(self, complete)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the last hop."""
        return self.hops[-1].verdict

    @property
    def was_allowed(self) -> bool:
        """Whether every hop was allowed: nothing behind one that is not is ever asked for."""
        return self.hops[-1].was_allowed

    @property
    def status(self) -> int | None:
        """The status of the last reply; None when it was blocked, or there was none."""
        return self.hops[-1].status

    @property
    def ok(self) -> bool:
        """Whether the page was fetched, with a status of success."""
        return 200 <= (self.status or 0) < 300

    @property
    def server_failed(self) -> bool:
        """Whether the server answered that it cannot, or not now: 429 and 5xx.

        Such a page counts as failed; with any other status it was fetched.
        """
        return self.status == 429 or (self.status or 0) >= 500

    @property
    def cause(self) -> str:
        """Why there was no answer, or why a redirect was not followed; empty when all went well."""
        return self.hops[-1].cause

    @property
    def detail(self) -> str:
        """More about the cause, where there is more to say: what is wrong with a certificate."""
        return self.hops[-1].detail

    @property
    def final_url(self) -> str:
        """Where it ended."""
        return self.hops[-1].url

    @property
    def evidence_id(self) -> int | None:
        """The number of the last hop's record; None where no evidence is kept."""
        return self.hops[-1].evidence_id

    @property
    def seconds(self) -> float:
        """How long the requests took, without the waiting between them."""
        return sum(hop.seconds for hop in self.hops)

    @property
    def text(self) -> str:
        """The body as text, decoded as the HTML Standard says.

        By its byte order mark, the charset of Content-Type, the `<meta>` of an HTML page; else as
        UTF-8.
        """
        return decode(self.body, self.headers.get("content-type", ""))

    @property
    def robots_tag(self) -> tuple[str, ...]:
        """What X-Robots-Tag says, as read: one text for each header of that name."""
        # An agent that is named counts to the end of its header: they must not run together.
        lines = self.headers.get("x-robots-tag", "").split("\n")
        return tuple(line.strip() for line in lines if line.strip())

    @property
    def not_modified(self) -> bool:
        """Whether the server says that the page is as it was (304)."""
        return self.status == 304

    def __str__(self) -> str:
        if not self.was_allowed:
            return f"blocked: {self.verdict}"
        said = "" if self.status is None else str(self.status)
        why = f"{self.cause}: {self.detail}" if self.detail else self.cause
        return " ".join(part for part in (said, f"({why})" if why else "") if part)

    def to_dict(self) -> dict[str, Any]:
        """What is known of the page, without its body, as plain values, ready for JSON."""
        return {
            "url": self.url,
            "final_url": self.final_url,
            "was_allowed": self.was_allowed,
            "status": self.status,
            "cause": self.cause,
            "detail": self.detail,
            "bytes": len(self.body),
            "complete": self.complete,
            "seconds": self.seconds,
            "evidence_id": self.evidence_id,
            "headers": dict(self.headers),
            "robots_tag": list(self.robots_tag),
            "hops": [hop.to_dict() for hop in self.hops],
        }


_slots: Any = Page
_set_url, _set_hops = _slots.url.__set__, _slots.hops.__set__
_set_headers, _set_body = _slots.headers.__set__, _slots.body.__set__
_set_complete = _slots.complete.__set__


class Way:
    """The way from a URL to its page, redirect by redirect."""

    __slots__ = (
        "_hops",
        "_most",
        "_turns",
        "_url",
        "evidence_id",
        "fresh",
        "headers",
        "is_spent",
        "target",
        "verdict",
    )

    def __init__(self, url: str, headers: Mapping[str, str], redirects: int) -> None:
        self._url = without_credentials(url) if "@" in url else url
        self.headers, self._most = headers, redirects
        self.target = requestable(url)
        """The URL to ask for next."""
        self.verdict: Verdict | Callable[[], Verdict]
        """The verdict on it, or what works it out."""
        self._hops: tuple[Hop, ...] = ()
        self._turns = 0
        self.fresh = False
        """Whether it has to be on a new connection: the one before was a stale one."""
        self.evidence_id: int | None = None
        """The number of the record about it."""
        self.is_spent = False
        """Whether a request was made that counts: for a page, not for a redirect."""

    def written(self) -> Verdict:
        """The verdict on the next hop, worked out."""
        if not isinstance(self.verdict, Verdict):
            self.verdict = self.verdict()
        return self.verdict

    def repeats(self, reply: Response | Unreachable) -> bool:
        """Whether the same URL is to be asked for again: the site has not seen the request."""
        if isinstance(reply, Response):
            return False
        if reply.is_stale:
            self.fresh = True  # so that it cannot happen twice
            return True
        self._turns += reply.is_unsent
        return reply.is_unsent and self._turns <= _TURNS

    @property
    def attempt(self) -> int:
        """How often the next hop will have been asked for: 1 for the first time."""
        return 1 + self.fresh + self._turns

    def blocked(self) -> Page:
        """The page that is not asked for."""
        hop = Hop(self.target, False, self.verdict, evidence_id=self.evidence_id)
        return Page(self._url, (*self._hops, hop))

    def arrived(self, reply: Response | Unreachable, started: float, waited: float) -> Page | None:
        """The page that a reply brings; None when it is a redirect, to a new `target`."""
        url, cause, detail, status = self.target, "", "", None
        if isinstance(reply, Unreachable):
            cause, detail = reply.cause, reply.detail
        else:
            status = reply.status
            if 300 <= status < 400 and status != 304:
                cause = self._follow(reply.headers.get("location", ""))
        seconds, number = reply.seconds, self.evidence_id
        hop = Hop(url, True, self.verdict, status, cause, started, waited, seconds, number, detail)
        self._hops += (hop,)
        if self.target is not url:
            self.is_spent = False
            return None
        if isinstance(reply, Unreachable):
            return Page(self._url, self._hops)
        return Page(self._url, self._hops, reply.headers, reply.body, reply.complete)

    def _follow(self, location: str) -> str:
        """Go where a redirect leads to, or say why not."""
        target, problem = redirect_target(self.target, location)
        if problem:
            return problem
        if len(self._hops) >= self._most:
            return "too many redirects"
        if target == self.target or any(target == hop.url for hop in self._hops):
            return "redirect loop"
        if origin(target) != origin(self.target):
            self.headers = {
                name: value
                for name, value in self.headers.items()
                if name.strip().lower() not in _SECRETS
            }
        self.target, self.fresh = target, False
        return ""

"""What came of asking for a URL: a page, hop by hop. Quiet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from manners.cache.site import Site
from manners.charset import decode
from manners.robots.verdict import Verdict

if TYPE_CHECKING:
    from manners.net.messages import Exchange
    from manners.signals import Purpose, Usage


class LazyVerdict:
    """A verdict that is worked out when first read, by the robots.txt that decides."""

    __slots__ = ("_url", "_verdict", "agent", "site")

    def __init__(
        self,
        site: Site | None,
        url: str,
        agent: str | Sequence[str],
        verdict: Verdict | None = None,
    ) -> None:
        self.site, self._url, self.agent = site, url, agent
        """`site` is None where no robots.txt decided: then the verdict is given."""
        self._verdict = verdict

    def __call__(self) -> Verdict:
        """The verdict."""
        if self._verdict is None:
            self._verdict = cast("Site", self.site).check(self._url, self.agent)
        return self._verdict


class Hop(NamedTuple):
    """One URL on the way to a page: the verdict on it, and the reply.

    Hops are equal when everything they tell is; they hash by URL and start time.
    """

    url: str
    """As it was requested."""
    was_allowed: bool
    """Whether it could be requested; and kept, if it was fetched for a purpose."""
    lazy_verdict: Verdict | LazyVerdict
    """Read `verdict` instead."""
    status: int | None = None
    """The HTTP status; None when no request was sent, or no reply came."""
    cause: str = ""
    """Why there was no reply, or why a redirect was not followed."""
    started: float = 0.0
    """When the request was sent, in seconds since the epoch."""
    waited: float = 0.0
    """Seconds before that: for the verdict, the start time and a slot."""
    seconds: float = 0.0
    """How long the request took."""
    evidence_id: int | None = None
    """The number of the evidence record; None when evidence is off."""
    detail: str = ""
    """More about the cause, for instance what is wrong with a TLS certificate."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on this URL, with its reason; worked out when first read."""
        verdict = self.lazy_verdict
        return verdict() if isinstance(verdict, LazyVerdict) else verdict

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

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.url, self.started))

    def __repr__(self) -> str:
        return f"Hop({self.url!r}, {self.verdict!s}, status={self.status}, cause={self.cause!r})"


class _ReadLater:
    """What comes with a page and is no part of the value, so it is not compared or copied.

    What is worked out when first read; and what was on the wire, until it is archived.
    """

    __slots__ = ("_exchanges", "_usage")
    _usage: "Mapping[Purpose, Usage]"
    _exchanges: "tuple[Exchange | None, ...]"


@dataclass(frozen=True, slots=True)
class Page(_ReadLater):
    """What came of asking for a URL.

    A disallowed URL is a page, too: `was_allowed` is False, and the verdict says why. So is a URL
    that could not be reached: `status` is None, and `cause` says why.

    A page is immutable. Pages are equal when all their parts are; they hash by URL and hops, since
    headers are a mapping.
    """

    url: str
    """The URL that was asked for."""
    hops: tuple[Hop, ...]
    """Every URL on the way, with its verdict; the last is where it ended."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of the last reply, by name in lower case."""
    body: bytes = b""
    """Body of the last reply, whatever its status."""
    complete: bool = True
    """False when the body was longer than the limit, and only its beginning was read."""

    def __init__(
        self,
        url: str,
        hops: tuple[Hop, ...],
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        complete: bool = True,
    ) -> None:
        # Slot by slot: half the time that the __init__ of a frozen dataclass takes.
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
        """Whether every hop was allowed: nothing behind a disallowed one is ever requested."""
        return self.hops[-1].was_allowed

    @property
    def status(self) -> int | None:
        """The status of the last reply; None when it was not requested, or no reply came."""
        return self.hops[-1].status

    @property
    def ok(self) -> bool:
        """Whether the page was fetched, with a 2xx status, and may be kept."""
        return 200 <= (self.status or 0) < 300 and self.was_allowed

    @property
    def server_failed(self) -> bool:
        """Whether the server could not answer, or not now: 429 and 5xx.

        Such a page counts as failed; with any other status it was fetched.
        """
        return self.status == 429 or (self.status or 0) >= 500

    @property
    def cause(self) -> str:
        """Why no reply came, or why a redirect was not followed; empty when neither happened."""
        return self.hops[-1].cause

    @property
    def detail(self) -> str:
        """More about the cause, for instance what is wrong with a TLS certificate."""
        return self.hops[-1].detail

    @property
    def final_url(self) -> str:
        """The URL of the last hop."""
        return self.hops[-1].url

    @property
    def evidence_id(self) -> int | None:
        """The number of the last hop's evidence record; None when evidence is off."""
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
        """The X-Robots-Tag headers, one text each."""
        # An agent named in one counts to the end of that header: they must not run together.
        lines = self.headers.get("x-robots-tag", "").split("\n")
        return tuple(line.strip() for line in lines if line.strip())

    @property
    def usage(self) -> "Mapping[Purpose, Usage]":
        """What the page may be used for, by purpose; read from what was fetched anyway.

        That is the robots.txt that decided, the headers, and the body where it is HTML. Files that
        would have to be asked for (tdmrep.json, licences, trust.txt) do not count.
        """
        try:
            return self._usage
        except AttributeError:
            from manners.client.page_signals import usage_of

            usage = usage_of(self)
            object.__setattr__(self, "_usage", usage)
            return usage

    @property
    def is_redirect(self) -> bool:
        """Whether the last reply redirects elsewhere, and was not followed."""
        return 300 <= (self.status or 0) < 400 and not self.not_modified

    @property
    def not_modified(self) -> bool:
        """Whether the server replied that the page has not changed (304)."""
        return self.status == 304

    def __hash__(self) -> int:
        return hash((self.url, self.hops))

    def __str__(self) -> str:
        if not self.was_allowed:
            return f"blocked: {self.verdict}"
        status = "" if self.status is None else str(self.status)
        why = f"{self.cause}: {self.detail}" if self.detail else self.cause
        return " ".join(part for part in (status, f"({why})" if why else "") if part)

    def to_dict(self) -> dict[str, Any]:
        """The page without its body, as plain values, ready for JSON."""
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


_page: Any = Page
_set_url, _set_hops = _page.url.__set__, _page.hops.__set__
_set_headers, _set_body = _page.headers.__set__, _page.body.__set__
_set_complete = _page.complete.__set__


_PageT = TypeVar("_PageT", bound=Page)


def attach_exchanges(page: Page, exchanges: "tuple[Exchange | None, ...]") -> None:
    """Give a page what was on the wire for each of its hops."""
    object.__setattr__(page, "_exchanges", exchanges)


def take_exchanges(page: Page) -> "tuple[Exchange | None, ...]":
    """What was on the wire for each hop; the page has it no more, since it may be large."""
    exchanges = getattr(page, "_exchanges", ())
    if exchanges:
        object.__setattr__(page, "_exchanges", ())
    return exchanges


def move_exchanges(page: Page, other: _PageT) -> _PageT:
    """Give what a page has to another that is made of it."""
    if exchanges := take_exchanges(page):
        attach_exchanges(other, exchanges)
    return other

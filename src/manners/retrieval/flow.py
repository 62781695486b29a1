"""Retrieving one robots.txt, as RFC 9309 section 2.3.1 describes it, touching no socket.

A generator that yields requests and is sent replies. The caller decides how a request is sent:
with a slot, through a proxy, or not at all, in a test.
"""

from codecs import BOM_UTF8
from collections.abc import Generator, Mapping
from dataclasses import dataclass

from manners._text import count
from manners.charset import charset_of
from manners.net.messages import Get, Response, Send, Unreachable
from manners.retrieval.outcome import Availability, Outcome, RobotsHop
from manners.retrieval.profiles import Profile
from manners.urls import host, redirect_target, without_credentials

_MATTER = (
    *("age", "cache-control", "content-encoding", "content-type", "date", "etag", "expires"),
    *("last-modified", "location", "retry-after"),
)
"""The headers an outcome keeps: those that decide, describe the body, or are about caching."""
_HEADER = 1024
"""Characters of a header that an outcome keeps."""


@dataclass(frozen=True, slots=True)
class Copy:
    """An earlier copy, for a conditional request: its URL and validators."""

    url: str
    etag: str = ""
    last_modified: str = ""

    def conditions(self, url: str) -> dict[str, str]:
        """The headers of a conditional request (RFC 9110 section 13.1); none for another URL."""
        if url != self.url:
            return {}
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        # A validator that no header can contain is dropped: else every request would fail.
        return {
            name: value
            for name, value in headers.items()
            if value and value.isascii() and value.isprintable()
        }


Flow = Generator[Get, Response | Unreachable, tuple[Outcome, bytes]]


def retrieve(robots_url: str, profile: Profile, copy: Copy | None = None) -> Flow:
    """The outcome, and the body when there is one.

    >>> from manners.retrieval.profiles import get
    >>> flow = retrieve("https://example.com/robots.txt", get("rfc9309"))
    >>> next(flow).url
    'https://example.com/robots.txt'
    >>> try:
    ...     flow.send(Response(404))
    ... except StopIteration as end:
    ...     print(end.value[0])
    unavailable (404)
    """
    history = _History(robots_url, profile)
    url = robots_url
    while True:
        conditions = copy.conditions(url) if copy else {}
        reply = yield history.ask(url, conditions)
        history.add(url, reply)
        match reply:
            case Unreachable():  # 2.3.1.4: "server or network errors"
                return history.end(Availability.UNREACHABLE, reply.full)
            case Response(status) if 200 <= status < 300:  # 2.3.1.1: "Successful Access"
                return history.end(Availability.AVAILABLE, str(status))
            case Response(304) if conditions:  # the copy is good, and the server is there
                return history.end(Availability.AVAILABLE, "304", not_modified=True)
            case Response(status, headers) if 300 <= status < 400 and status != 304:  # 2.3.1.2
                target, _ = redirect_target(url, headers.get("location", ""))
                if not target:
                    return history.end(
                        Availability.UNREACHABLE, f"{status} without a usable Location"
                    )
                if refusal := history.refusal(target):
                    return history.end(Availability.UNAVAILABLE, refusal)
                url = target
            # 2.3.1.3: "Unavailable" statuses are 400 to 499. A rate limit (429) is no permission.
            case Response(status) if 400 <= status < 500 and status != 429:
                return history.end(Availability.UNAVAILABLE, str(status))
            case Response(status):
                return history.end(Availability.UNREACHABLE, str(status))


async def finish(flow: Flow, send: Send) -> tuple[Outcome, bytes]:
    """Send the requests of a retrieval, and return what comes of it."""
    get = next(flow)
    while True:
        reply = await send(get)
        try:
            get = flow.send(reply)
        except StopIteration as end:
            result: tuple[Outcome, bytes] = end.value
            return result


class _History:
    """The requests and replies so far."""

    def __init__(self, robots_url: str, profile: Profile) -> None:
        self.robots_url, self.profile = robots_url, profile
        self.hops: list[RobotsHop] = []
        self.seconds = 0.0
        self.last: Response | Unreachable = Unreachable("not asked")

    def ask(self, url: str, conditions: Mapping[str, str]) -> Get:
        profile = self.profile
        remaining = max(profile.total - self.seconds, 0.0)
        return Get(url, conditions, profile.max_read, profile.connect, profile.read, remaining)

    def add(self, url: str, reply: Response | Unreachable) -> None:
        self.last = reply
        self.seconds += reply.seconds
        if isinstance(reply, Unreachable):
            self.hops.append(RobotsHop(url, cause=reply.cause))
        else:
            self.hops.append(RobotsHop(url, reply.status))

    def refusal(self, target: str) -> str:
        """Why a redirect is not followed; empty when it is."""
        most = self.profile.max_redirects
        if target in (hop.url for hop in self.hops):
            return "redirect loop"
        if len(self.hops) > most:
            return f"more than {count(most, 'redirect')}"
        if not self.profile.redirects_leave_host and host(target) != host(self.robots_url):
            return "redirect to another host"
        return ""

    def end(
        self, availability: Availability, note: str, not_modified: bool = False
    ) -> tuple[Outcome, bytes]:
        reply = self.last if isinstance(self.last, Response) else Response(0)
        is_file = availability is Availability.AVAILABLE and not not_modified
        body = reply.body if is_file else b""
        unknown = availability is Availability.UNREACHABLE and self.profile.unreachable == "allow"
        outcome = Outcome(
            availability,
            f"{note}, looks like HTML" if _looks_like_html(body) else note,
            profile=self.profile.name,
            url=self.robots_url,
            hops=tuple(self.hops),
            headers=tuple(
                (name, _kept(name, reply.headers[name]))
                for name in _MATTER
                if name in reply.headers
            ),
            bytes=len(body),
            charset=charset_of(reply.headers.get("content-type", "")) if is_file else "",
            complete=reply.complete or not is_file,
            not_modified=not_modified,
            seconds=self.seconds,
            confidence="low" if unknown else "high",
        )
        return outcome, body


def _kept(name: str, value: str) -> str:
    """A header as an outcome keeps it: without credentials, cut."""
    return (without_credentials(value.strip()) if name == "location" else value)[:_HEADER]


def _looks_like_html(body: bytes) -> bool:
    return body.removeprefix(BOM_UTF8).lstrip().startswith(b"<")

"""The records of one page: its robots.txt, request, response or revisit, and metadata. Quiet."""

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from manners.urls import origin, robots_url

if TYPE_CHECKING:
    from manners.cache.site import Site
    from manners.client.page import Hop, Page
    from manners.net.messages import Exchange

Kind = Literal["warcinfo", "request", "response", "revisit", "metadata", "resource"]

REVISIT = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
"""The profile of a record whose payload is that of an earlier one (WARC 1.1, 6.7.2)."""
FIELDS = "application/warc-fields"
_REQUEST, _RESPONSE = "application/http; msgtype=request", "application/http; msgtype=response"
_MAX_PAYLOADS = 100_000
"""Payloads that are remembered to be told again; beyond that the oldest is forgotten."""
_MAX_SITES = 10_000
_DIGITS = str.maketrans("", "", "-T:")
_BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = [first + second for first in _BASE32 for second in _BASE32]
_LINE_BREAK = re.compile(r"[\r\n]").sub
_CHARSET = re.compile(r"[A-Za-z0-9._:+-]{1,40}").fullmatch
_CONTENT_TYPE = re.compile(
    rb"^content-type[ \t]*:[ \t]*([^;,\s]{1,200})", re.IGNORECASE | re.MULTILINE
)


class WarcDraft(NamedTuple):
    """One record, before it is written."""

    kind: Kind
    name: str
    """The UUID of its WARC-WarcDraft-ID."""
    url: str
    date: str
    content_type: str
    block: bytes
    payload: bytes | None = None
    """The SHA-1 of its payload; None where it has none of its own."""
    headers: tuple[tuple[str, str], ...] = ()
    """Further headers, such as WARC-Concurrent-To."""
    mime: str = ""
    """What its line in the index says; empty where it has no line."""
    status: str = ""

    @property
    def moment(self) -> str:
        """The 14 digits of its time."""
        return self.date[:19].translate(_DIGITS)


class Payload(NamedTuple):
    """A payload that was written, and where."""

    name: str
    url: str
    date: str


@dataclass
class KnownRecords:
    """What was written and need not be written again."""

    payloads: "OrderedDict[bytes, Payload]" = field(default_factory=OrderedDict)
    """By SHA-1; in any file."""
    sites: "OrderedDict[tuple[str, bytes | None], str]" = field(default_factory=OrderedDict)
    """The records of robots.txt, by origin and SHA-1; in this file, so that each has its own."""


class PageRecords:
    """Makes the records of pages; `new_name` draws a UUID for each."""

    def __init__(self, new_name: Callable[[], str]) -> None:
        self._new_name, self.memory = new_name, KnownRecords()

    def of_page(self, page: "Page", exchanges: "Sequence[Exchange | None]") -> Iterator[WarcDraft]:
        """The records of a page, hop by hop; nothing of hops without a reply."""
        last = len(page.hops) - 1
        for number, (hop, exchange) in enumerate(zip(page.hops, exchanges, strict=False)):
            if exchange is None:
                continue
            robots = ""
            site = getattr(hop.lazy_verdict, "site", None)
            if site is not None:
                record, robots = self._robots(site, hop)
                if record is not None:
                    yield record
            date = written_date(hop.started)
            response, request = self._new_name(), self._new_name()
            yield WarcDraft(
                *("request", request, hop.url, date, _REQUEST, exchange.request),
                headers=(("WARC-Concurrent-To", urn(response)),),
            )
            yield self._response(response, hop.url, date, exchange)
            yield self._metadata(response, hop, page if number == last else None, date, robots)

    def _response(self, name: str, url: str, date: str, exchange: "Exchange") -> WarcDraft:
        headers: list[tuple[str, str]] = []
        if exchange.address:
            headers.append(("WARC-IP-Address", exchange.address))
        if exchange.truncated:
            headers.append(("WARC-Truncated", exchange.truncated))
        payload, found = hashlib.sha1(exchange.body, usedforsecurity=False).digest(), None
        is_whole = exchange.body and not exchange.truncated and exchange.method == "GET"
        if is_whole:
            found = self.memory.payloads.get(payload)
        status = exchange.head.split(b" ", 2)[1].decode("ascii", "replace")
        if found is not None:
            headers += [
                ("WARC-Profile", REVISIT),
                ("WARC-Refers-To", urn(found.name)),
                ("WARC-Refers-To-Target-URI", found.url),
                ("WARC-Refers-To-Date", found.date),
            ]
            mime, block = "warc/revisit", exchange.head
            kind: Kind = "revisit"
        else:
            mime, block, kind = mime_of(exchange.head), exchange.head + exchange.body, "response"
            if is_whole:
                _keep(self.memory.payloads, payload, Payload(name, url, date), _MAX_PAYLOADS)
        if exchange.method != "GET":
            mime = ""  # replay would take it for the page
        return WarcDraft(
            kind, name, url, date, _RESPONSE, block, payload, tuple(headers), mime, status
        )

    def _robots(self, site: "Site", hop: "Hop") -> tuple[WarcDraft | None, str]:
        """The record of the robots.txt that decided, unless this file has it, and its name."""
        entry, place = site.entry, origin(hop.url)
        if entry is None:
            return None, ""
        body = entry.body
        payload = None if body is None else hashlib.sha1(body, usedforsecurity=False).digest()
        known = self.memory.sites.get((place, payload))
        if known is not None:
            return None, known
        name, url, date = self._new_name(), robots_url(place), written_date(entry.fetched_at)
        _keep(self.memory.sites, (place, payload), name, _MAX_SITES)
        if body is None:  # there is none, or it could not be had: that decided, too
            status = next((hop.status for hop in reversed(site.outcome.hops)), None)
            lines = [("robots-outcome", str(site.outcome))]
            lines += [] if status is None else [("robots-status", str(status))]
            return WarcDraft("metadata", name, url, date, FIELDS, fields(lines)), name
        charset = f"; charset={entry.charset}" if _CHARSET(entry.charset) else ""
        is_cut = not site.outcome.complete and not site.outcome.copy
        return WarcDraft(
            *("resource", name, url, date, f"text/plain{charset}", body, payload),
            headers=(("WARC-Truncated", "length"),) if is_cut else (),
            mime="text/plain",
            status="200",
        ), name

    def _metadata(
        self, response: str, hop: "Hop", page: "Page | None", date: str, robots: str
    ) -> WarcDraft:
        """Why it was fetched, and where it leads to; links belong to the last hop of a page."""
        verdict = hop.verdict
        decided = {
            "allowed": verdict.allowed,
            "reason": str(verdict.reason),
            "line": verdict.line,
            "rule": verdict.line_text,
            "agent": verdict.agent,
            "dialect": verdict.dialect,
        }
        lines = [
            ("robots-verdict", json.dumps(decided)),
            ("fetchTimeMs", str(round(hop.seconds * 1000))),
        ]
        if robots:
            lines.append(("robots-record", urn(robots)))
        if hop.evidence_id is not None:
            lines.append(("evidence-id", str(hop.evidence_id)))
        if page is not None:
            if found_in := getattr(page, "found_in", ""):
                lines.append(("via", found_in))
            # As Heritrix writes them: the URL, L for a link, and what it is in.
            links = getattr(page, "links", ())
            lines += [("outlink", f"{link.url} L {link.kind}/@href") for link in links]
        return WarcDraft(
            *("metadata", self._new_name(), hop.url, date, FIELDS, fields(lines)),
            headers=(("WARC-Concurrent-To", urn(response)),),
        )


def record_head(record: WarcDraft, payload: str) -> bytes:
    """The header of a record, whose payload has this digest."""
    block = digest(hashlib.sha1(record.block, usedforsecurity=False).digest())
    lines = [
        ("WARC-Type", record.kind),
        ("WARC-Record-ID", urn(record.name)),
        ("WARC-Date", record.date),
        ("Content-Length", str(len(record.block))),
        ("Content-Type", record.content_type),
        ("WARC-Block-Digest", block),
        *record.headers,
    ]
    if record.payload is not None:
        lines.append(("WARC-Payload-Digest", payload))
    if record.url:
        lines.append(("WARC-Target-URI", record.url))
    return b"WARC/1.1\r\n%b\r\n" % fields(lines)


def fields(lines: Sequence[tuple[str, str]]) -> bytes:
    r"""Lines of `application/warc-fields`; none can make another.

    >>> fields([("via", "https://example.com/\r\nfake: 1")])
    b'via: https://example.com/  fake: 1\r\n'
    """
    text = "\r\n".join([f"{name}: {text}" for name, text in lines] + [""])
    if text.count("\n") > len(lines) or text.count("\r") > len(lines):
        text = "".join(f"{name}: {_LINE_BREAK(' ', text)}\r\n" for name, text in lines)
    return text.encode("utf-8", "surrogateescape")


def written_date(time: float) -> str:
    """A time as WARC-Date has it, to the microsecond.

    >>> written_date(1_800_000_000.25)
    '2027-01-15T08:00:00.250000Z'
    """
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="microseconds")[:26] + "Z"


def urn(name: str) -> str:
    """The URI of a record."""
    return f"<urn:uuid:{name}>"


def digest(payload: bytes) -> str:
    """A SHA-1 as archives write it, in base 32.

    >>> digest(bytes(19) + b"\\x21")
    'sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAABB'
    """
    number = int.from_bytes(payload)  # 160 bits; base64.b32encode takes three times as long
    return "sha1:" + "".join([_PAIRS[number >> shift & 1023] for shift in range(150, -1, -10)])


def mime_of(head: bytes) -> str:
    """The media type that the headers of a reply name.

    >>> mime_of(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html; charset=utf-8\\r\\n\\r\\n")
    'text/html'
    """
    found = _CONTENT_TYPE.search(head)
    return found[1].decode("ascii", "replace").lower() if found else "unk"


def _keep(known: "OrderedDict[Any, Any]", key: object, value: object, most: int) -> None:
    known[key] = value
    if len(known) > most:
        known.popitem(last=False)

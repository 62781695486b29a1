"""Evidence: what was decided and why, one record, and whether all records are unchanged."""

from datetime import UTC, datetime
from itertools import islice
from typing import Any, NamedTuple

from aiohttp import web

from manners._text import printable
from manners.errors import InvalidURL
from manners.evidence.chain import parse_head
from manners.evidence.export import as_dict, holds
from manners.evidence.numbering import label, parse_number
from manners.evidence.record import TYPES, Record, engine
from manners.evidence.replay import Replay
from manners.evidence.store import EvidenceStore, Filter
from manners.evidence.words import because, lines_around
from manners.robots.lines import Line
from manners.urls import host
from manners.web.pages import PageLink
from manners.web.problems import ServiceProblem
from manners.web.rendering import page
from manners.web.searching import searched
from manners.web.service import SERVICE

LINK = PageLink(50, "Evidence", "/evidence")
_LISTED = 100
"""Records that are listed, the latest."""
_VERIFIED = 500_000
"""Records that are verified while somebody waits."""
_FINDINGS = 100
_MAX_LENGTH = 200
"""Characters of a head."""
_FIELDS = ("host", "type", "agent", "since", "until")


class _Row(NamedTuple):
    """A record in a list."""

    id: int
    number: str
    """As people read it."""
    at: str
    allowed: bool
    url: str
    why: str


class _Found(NamedTuple):
    """What a search found."""

    rows: list[_Row]
    total: int


class _Shown(NamedTuple):
    """A record with all that is known about it."""

    number: str
    record: Record
    url: str
    why: str
    is_unchanged: bool
    """Whether its hash is right."""
    difference: str
    """How the decision differs if it is made again; empty if it does not."""
    lines: list[Line]
    """Those of the robots.txt around the one that decided."""
    size: int | None
    """Bytes of the robots.txt; None if there is none."""


class _Verified(NamedTuple):
    """What came of verifying a store."""

    total: int
    head: str
    findings: list[str]
    is_all: bool
    """Whether there are no more findings than these."""


async def show_list(request: web.Request) -> web.Response:
    """The latest records that a search finds."""
    store, chosen = request.app[SERVICE].crawls.store, searched(request, _FIELDS)
    found = await store.read(_search, _filter(chosen), store.redact)
    return page(
        request,
        "evidence.html",
        chosen=chosen,
        types=sorted(TYPES),
        found=found,
        place=store.place,
        most=_LISTED,
    )


async def show(request: web.Request) -> web.Response:
    """One record."""
    store = request.app[SERVICE].crawls.store
    try:
        number = parse_number(request.match_info["record"])
    except ValueError:
        raise web.HTTPNotFound from None
    shown = await store.read(_record, number, store.redact)
    if shown is None:
        raise ServiceProblem(404, "There is no such record.", "/evidence has the latest.")
    return page(request, "record.html", shown=shown)


async def verify(request: web.Request) -> web.Response:
    """Verify that no record was changed, added or removed; by POST, because it takes long."""
    store, values = request.app[SERVICE].crawls.store, await request.post()
    noted = values.get("head", "")
    if not isinstance(noted, str) or len(noted) > _MAX_LENGTH:
        raise ServiceProblem(422, "That is no head.", "It is what `manners evidence head` prints.")
    verified = await store.read_long(_verify, noted.strip())
    return page(request, "verified.html", verified=verified, noted=noted.strip())


def _filter(chosen: dict[str, str]) -> Filter:
    """What is searched for; a problem for what cannot be."""
    name, kind = chosen["host"], chosen["type"]
    if kind and kind not in TYPES:
        raise ServiceProblem(422, f"{kind!r} is no type.", f"Choose from {', '.join(TYPES)}.")
    try:
        return Filter(
            (host(name if "://" in name else f"http://{name}/") if name else None),
            _time(chosen["since"]),
            _time(chosen["until"]),
            kind or None,
            chosen["agent"] or None,
        )
    except (InvalidURL, ValueError, OverflowError) as error:
        raise ServiceProblem(
            422, str(error), "A date is 2026-01-31, or 2026-01-31T18:00; a host is example.com."
        ) from None


def _time(text: str) -> float | None:
    """Seconds since the epoch of a date, or a date and a time; in UTC unless it says otherwise."""
    if not text:
        return None
    found = datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _search(store: EvidenceStore, wanted: Filter, redact: bool) -> _Found:
    has_strands = store.has_strands()
    rows = [
        _Row(
            record.id,
            _number(record.id, has_strands),
            printable(str(record.content.get("timestamp", ""))),
            record.content.get("allowed") is True,
            _url(record, redact),
            because(record),
        )
        for record in store.records(wanted, _LISTED)
    ]
    return _Found(rows[::-1], store.count(wanted))


def _record(store: EvidenceStore, number: int, redact: bool) -> _Shown | None:
    record = store.record(number)
    if record is None:
        return None
    sha256 = record.metadata.get("snapshot")
    body = store.snapshot(sha256) if isinstance(sha256, str) else None
    difference = Replay(store.snapshot, engine()).again(record)
    return _Shown(
        _number(number, store.has_strands()),
        record,
        _url(record, redact),
        because(record),
        holds(record),
        "" if difference is None else difference.problem,
        [] if body is None else lines_around(record, body),
        None if body is None else len(body),
    )


def _verify(store: EvidenceStore, noted: str) -> _Verified:
    try:
        expected = parse_head(noted) if noted else None
    except ValueError as error:
        advice = "It is what `manners evidence head` printed at an earlier time."
        raise ServiceProblem(422, f"That is no head: {error}", advice) from None
    total = store.count()
    if total > _VERIFIED:
        raise ServiceProblem(
            422,
            f"The store has {total:,} records: verifying them takes longer than a page may.",
            "Type `manners evidence verify`.",
        )
    findings = [printable(str(found)) for found in islice(store.verify(expected), _FINDINGS + 1)]
    is_all = len(findings) <= _FINDINGS
    return _Verified(total, str(store.head()), findings[:_FINDINGS], is_all)


def _number(identity: int, has_strands: bool) -> str:
    return label(identity) if has_strands else str(identity)


def _url(record: Record, redact: bool) -> str:
    values: dict[str, Any] = as_dict(record, redact)
    return str(values["metadata"].get("url", ""))


ROUTES = (
    web.get("/evidence", show_list),
    web.post("/evidence/verify", verify),
    web.get("/evidence/{record:[0-9]{1,18}(?:/[0-9]{1,18})?}", show),
)

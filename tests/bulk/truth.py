"""What bulk has to answer, worked out row by row with what decides live: the truth of its tests.

Records of an archive are played, in the order of their times, to `retrieval.flow` as the replies of
a server, and kept as the cache keeps them. Nothing here knows `manners.bulk`.
"""

import csv
import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from manners import Reason, Verdict, urls
from manners._text import to_bytes, to_text
from manners.cache.entry import Entry, next_entry
from manners.cache.site import ParsedEntry, Site
from manners.errors import InvalidURL
from manners.evidence.record import matched_rule
from manners.net.messages import Response, Unreachable
from manners.retrieval import profiles
from manners.retrieval.flow import retrieve
from manners.retrieval.outcome import Outcome
from manners.retrieval.profiles import Profile
from manners.robots import dialects
from tests.differential.generate import cases, some_url

pa: Any = pytest.importorskip("pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet")

Agent = str | Sequence[str]
Value = bytes | str | None

ADDED = ("allowed", "reason", "line", "rule", "crawl_delay")
"""The columns of a verdict."""
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
"""When records are from, unless they say otherwise."""
UNDECIDED = ("no-url", "invalid-url", "no-robots")
"""The reasons without an answer."""


class Answer(NamedTuple):
    """A verdict on one row, as its columns have it."""

    allowed: bool | None
    reason: str
    line: int | None = None
    rule: str | None = None
    crawl_delay: float | None = None


NO_URL, INVALID_URL, NO_ROBOTS = (Answer(None, reason) for reason in UNDECIDED)


class Record(NamedTuple):
    """A reply to one request for a robots.txt, or for what it redirects to."""

    origin: str
    body: bytes | None = b""
    status: int | None = 200
    location: str | None = None
    charset: str | None = None
    complete: bool = True
    fetched_at: datetime = NOON
    url: str | None = None
    """What was asked for; None: the robots.txt of the origin."""

    @property
    def asked(self) -> str:
        return urls.requestable(self.url or urls.robots_url(self.origin))


def hours(number: float) -> datetime:
    """So many hours after noon."""
    return NOON + timedelta(hours=number)


def archive(records: Iterable[Record]) -> Any:
    """The records as an Arrow table, in the form that an archive has."""
    rows = list(records)
    types = {
        "origin": pa.string(),
        "url": pa.string(),
        "status": pa.int16(),
        "location": pa.string(),
        "charset": pa.string(),
        "complete": pa.bool_(),
        "fetched_at": pa.timestamp("ms", tz="UTC"),
        "body": pa.binary(),
    }
    columns = {name: [getattr(row, name) for row in rows] for name in types}
    columns["url"] = [row.asked for row in rows]
    columns["origin"] = [urls.origin(row.asked) for row in rows]
    return pa.table({name: pa.array(columns[name], kind) for name, kind in types.items()})


class Truth:
    """What a live client would say, with the records as the servers' replies."""

    def __init__(
        self,
        records: Iterable[Record],
        agent: Agent = "MyBot",
        dialect: str = "rfc9309",
        profile: str = "rfc9309",
    ) -> None:
        self.agent, self.dialect = agent, dialects.get(dialect)
        self.profile: Profile = profiles.get(profile)
        self.records: dict[str, list[Record]] = {}
        for record in sorted(records, key=lambda record: record.fetched_at):
            self.records.setdefault(record.asked, []).append(record)
        self.sites: dict[str, Site | None] = {}

    def site(self, origin: str) -> Site | None:
        """The site at the time of its latest record; None where the archive does not say."""
        if origin not in self.sites:
            self.sites[origin] = self._site(origin)
        return self.sites[origin]

    def _site(self, origin: str) -> Site | None:
        entry: Entry | None = None
        known = False
        for record in self.records.get(urls.robots_url(origin), ()):
            retrieved = self._retrieved(record)
            known = retrieved is not None
            if retrieved is not None:
                at = record.fetched_at.timestamp()
                entry = next_entry(entry, origin, *retrieved, self.profile, at)
        if entry is None or not known:
            return None
        return ParsedEntry(entry, self.dialect, self.profile).at(entry.outcome.at)

    def _retrieved(self, first: Record) -> tuple[Outcome, bytes] | None:
        """How the retrieval went that begins with this record; None where a target is missing."""
        flow = retrieve(first.asked, self.profile)
        asked, record = next(flow).url, first
        while True:
            try:
                asked = flow.send(self._reply(record)).url
            except StopIteration as end:
                retrieved: tuple[Outcome, bytes] = end.value
                return retrieved
            if asked not in self.records:
                return None
            record = self.records[asked][-1]

    def _reply(self, record: Record) -> Response | Unreachable:
        if record.status is None:
            return Unreachable("no answer")
        headers = {}
        if record.location is not None:
            headers["location"] = record.location
        if record.charset is not None:
            headers["content-type"] = f"text/plain; charset={record.charset}"
        body, most = record.body or b"", self.profile.max_read
        complete = record.complete and len(body) <= most
        return Response(record.status, headers, body[:most], complete)

    def answer(self, url: Value) -> Answer:
        """The answer for one row."""
        if url is None:
            return NO_URL
        text = to_text(url) if isinstance(url, bytes) else url
        try:
            site = self.site(urls.origin(text))
        except InvalidURL:
            return INVALID_URL
        return NO_ROBOTS if site is None else in_columns(site.check(text, self.agent))

    def answers(self, column: Iterable[Value]) -> list[Answer]:
        """The answers for all rows."""
        return [self.answer(url) for url in column]


def in_columns(verdict: Verdict) -> Answer:
    """A verdict as the columns of bulk have it."""
    return Answer(
        verdict.allowed,
        str(verdict.reason),
        verdict.line or None,
        matched_rule(verdict),
        verdict.crawl_delay,
    )


# What bulk says.


def read(verdicts: Any) -> list[Answer]:
    """The answers in a batch or a table of verdicts."""
    columns = [verdicts.column(name).to_pylist() for name in ADDED]
    return [Answer(*row) for row in zip(*columns, strict=True)]


def assert_same(
    found: Sequence[object], expected: Sequence[object], asked: Sequence[object], about: object = ""
) -> None:
    """Fails with the first row that differs, what was asked and both answers."""
    assert len(found) == len(expected), f"{len(found)} rows, not {len(expected)}: {about}"
    wrong = [at for at, pair in enumerate(zip(found, expected, strict=True)) if pair[0] != pair[1]]
    if not wrong:
        return
    at = wrong[0]
    raise AssertionError(
        f"{len(wrong)} of {len(found)} rows differ, first row {at}: {_shown(asked[at])}\n"
        f"  bulk says  {found[at]}\n  check says {expected[at]}\n  {about}"
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}… ({len(text)} characters)"


def assert_rows(found: Any, expected: Any) -> None:
    """Two tables have the same columns and types and, in whatever order, the same rows."""
    assert plain_schema(found) == plain_schema(expected)
    ours, theirs = (sorted(map(repr, table.to_pylist())) for table in (found, expected))
    assert len(ours) == len(theirs), f"{len(ours)} rows, not {len(theirs)}"
    wrong = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    assert not wrong, (
        f"{len(wrong)} rows differ:\n  found    {wrong[0][0]}\n  expected {wrong[0][1]}"
    )


def plain_schema(table: Any) -> dict[str, str]:
    """Names and types of columns; a dictionary, a view and a large string are strings."""
    return {field.name: _plain_type(field.type) for field in table.schema}


def _plain_type(kind: Any) -> str:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    text = re.sub(r"^(large_)?(string|binary)(_view)?$", r"\2", str(kind))
    return text.replace("<item: ", "<element: ")  # of a list: Arrow's name, and Parquet's


# Columns of every kind.

KINDS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
_LAYOUT = {"string": "binary", "large_string": "large_binary", "string_view": "binary_view"}


def column(values: Sequence[Value], kind: str = "string") -> Any:
    """An array of a kind, also of texts that are not UTF-8, which pyarrow would refuse."""
    octets = [to_bytes(each) if isinstance(each, str) else each for each in values]
    array = pa.array(octets, getattr(pa, _LAYOUT.get(kind, kind))())
    if kind not in _LAYOUT:
        return array
    wanted = getattr(pa, kind)()
    return pa.Array.from_buffers(wanted, len(array), array.buffers(), array.null_count)


def sliced(values: Sequence[Value], kind: str, before: int, after: int) -> Any:
    """The same as a part of something longer."""
    around: list[Value] = [b"https://a.example/a", None, b"n/a"] * 5
    longer = column([*around[:before], *values, *around[:after]], kind)
    return longer.slice(before, len(values))


def chunked(values: Sequence[Value], kind: str, cuts: Iterable[int]) -> Any:
    """The same in chunks, some of them empty, each a part of something longer."""
    at = [0, *sorted(min(cut, len(values)) for cut in cuts), len(values)]
    parts = [values[i:j] for i, j in pairwise(at)]
    chunks = [sliced(part, kind, n % 9, n % 4) for n, part in enumerate(parts)]
    return pa.chunked_array(chunks, getattr(pa, kind)())


# Random sites and URLs.

ORIGINS = ("http://h", "https://example.com", "http://[::1]", "http://xn--bcher-kva.h")
"""Hosts of the generator's own URLs: the first sites are theirs."""
AGENTS = ("bot", "Bot/1.0", "ab", "*", "", "nobody", "é", ("nobody", "ab"), ("bot", "abc"))
TOKENS = ("bot", "ab", "Bot", "nobody", ("nobody", "ab"))
"""Agents for a dialect that compares them as they are: product tokens."""

_AUTHORITY = re.compile(r"(?:[a-zA-Z]*:)?//[^/?#;]*").match


class Pairs(NamedTuple):
    """Sites, URLs of theirs, and who asks."""

    records: list[Record]
    urls: list[bytes]
    agent: Agent


def agents_for(dialect: str) -> Sequence[Agent]:
    """Agents to ask for in a dialect."""
    return TOKENS if dialects.get(dialect).token_from_header else AGENTS


def pairs(seed: str, dialect: str, sites: int, each: int) -> Pairs:
    """Random robots.txt files, a site each, and URLs that are made from their rules."""
    rng = random.Random(f"{seed} {dialect} sites")
    records, asked = [], []
    for number, case in enumerate(islice(cases(seed, urls=each), sites)):
        origin = ORIGINS[number] if number < len(ORIGINS) else f"https://s{number}.example"
        records.append(Record(origin, case.body))
        asked += [to_bytes(at_site(rng, origin, url)) for url in case.urls]
    return Pairs(records, asked, rng.choice(agents_for(dialect)))


def at_site(rng: random.Random, origin: str, url: str) -> str:
    """A URL of the generator as one of a site, mostly, its host written in one way or another."""
    if rng.random() < 0.1:
        return url
    found = _AUTHORITY(url)
    path = url[found.end() :] if found else url
    if path and path[0] not in "/?#":
        path = "/" + path
    return written(rng, origin) + path


def written(rng: random.Random, origin: str) -> str:
    """An origin as somebody may write it."""
    if rng.random() < 0.7:
        return origin
    scheme, _, host = origin.partition("://")
    port = {"http": ":80", "https": ":443"}[scheme]
    forms = [
        f"{scheme.upper()}://{host}",
        f"{scheme}://{host.upper()}",
        f"{scheme}://{host}{port}",
        f"{scheme}://{host}:",
        f"{scheme}://user:secret@{host}",
        f"{scheme.title()}://u@{host.title()}{port}",
        f"{scheme}://{host}.",
        f"{scheme}://{host}:8443",
    ]
    return rng.choice(forms)


# Sites of every state, and rows of every kind, for runs.

BODY = (
    b"User-agent: *\nCrawl-delay: 2.5\nDisallow: /private/\nAllow: /private/ok\nDisallow: /*.pdf$"
)
OTHER = b"User-agent: MyBot\nDisallow: /\n\nUser-agent: OtherBot\nAllow: /\nDisallow: /x\n"
PATHS = ("/", "/private/a", "/private/ok", "/a.pdf", "/x", "/robots.txt", "/é", "", "?q", "/a#b")
ODD_URLS: tuple[Value, ...] = (
    *(None, "", "n/a", "/private/a", "//host0.example/x", "ftp://host0.example/", "https://"),
    *("http://host0.example:x/", "mailto:a@host0.example", "https://nowhere.example/private/a"),
)


@cache
def world(sites: int = 60) -> tuple[Record, ...]:
    """Sites of which most have rules, and some have another status, a redirect or no record."""
    return tuple(record for number in range(sites) for record in _site_records(number))


def _site_records(number: int) -> Iterator[Record]:
    origin = f"https://host{number}.example"
    own = b"User-agent: *\nDisallow: /private/%d\nDisallow: /x\n" % number
    match number % 12:
        case 0 | 1 | 2:
            yield Record(origin, BODY)
        case 3:
            yield Record(origin, OTHER)
        case 4:
            yield Record(origin, None, 404)
        case 5:
            yield Record(origin, None, 503)
        case 6:  # to a site of another bucket, which comes before it or behind
            yield Record(origin, None, 301, location=f"https://to{number}.example/rules?x=1")
            yield Record(
                f"https://to{number}.example", own, url=f"https://to{number}.example/rules?x=1"
            )
        case 7:
            yield Record(origin, None, 302, location="https://not-in-the-archive.example/")
        case 8:  # an earlier copy
            yield Record(origin, own, fetched_at=hours(-48))
            yield Record(origin, None, 500)
        case 9:  # not the first that comes, but the latest
            yield Record(origin, own)
            yield Record(origin, BODY, fetched_at=hours(-1))
        case 10:
            return
        case _:
            yield Record(origin, own)


def rows(seed: object, count: int, sites: int = 60) -> list[Value]:
    """URLs of these sites and of others, odd ones among them, in any order."""
    rng = random.Random(f"{seed} rows")
    found: list[Value] = []
    for _ in range(count):
        origin = f"https://host{rng.randrange(sites)}.example"
        path = rng.choice(PATHS) if rng.random() < 0.7 else f"/private/{rng.randrange(sites)}"
        found.append(written(rng, origin) + path)
    for at in range(0, count, 17):
        found[at] = rng.choice(ODD_URLS)
    return found


def for_site(seed: object, patterns: Sequence[bytes], origin: str, count: int) -> list[bytes]:
    """URLs of a site that its patterns match, or nearly."""
    rng = random.Random(f"{seed} {origin}")
    return [to_bytes(at_site(rng, origin, some_url(rng, patterns))) for _ in range(count)]


REASONS = {str(reason) for reason in Reason} | set(UNDECIDED)


# Files for runs.

LITTLE = 2**26
"""Bytes of memory that are less than the sites of a heavy world need."""


@cache
def heavy_world() -> tuple[Record, ...]:
    """The same sites, and others that nobody asks about, with 90 MB of comments."""
    filler = (b"\n#" + b"x" * 98) * 9_500
    others = [Record(f"https://more{number}.example", BODY) for number in range(50)]
    return tuple(
        record._replace(body=record.body + filler) if record.body else record
        for record in (*world(), *others)
    )


def input_table(values: Sequence[Value]) -> Any:
    """URLs with columns of other types beside them, whose values say which row it was."""
    count = range(len(values))
    return pa.table(
        {
            "id": pa.array(list(count), pa.int64()),
            "url": column(values),
            "tags": pa.array(
                [[f"t{n}", "é"] if n % 5 else None for n in count], pa.list_(pa.string())
            ),
            "seen": pa.array([hours(n) for n in count], pa.timestamp("us", tz="UTC")),
            "score": pa.array([n / 8 if n % 3 else None for n in count], pa.float32()),
            "raw": pa.array([bytes([n % 256, 255]) for n in count], pa.binary()),
        }
    )


def with_answers(table: Any, answers: Sequence[Answer]) -> Any:
    """A table with the columns of the verdicts on its rows."""
    types = (pa.bool_(), pa.string(), pa.int32(), pa.string(), pa.float64())
    for name, kind in zip(ADDED, types, strict=True):
        table = table.append_column(
            name, pa.array([getattr(answer, name) for answer in answers], kind)
        )
    return table


def written_table(place: Path) -> Any:
    """What a run wrote, in one file or in parts, as a table."""
    files = sorted(place.glob("part-*")) if place.is_dir() else [place]
    assert files, f"{place}: nothing was written"
    return pa.concat_tables([_read_file(file) for file in files], promote_options="permissive")


def _read_file(file: Path) -> Any:
    if file.suffix == ".parquet":
        table = parquet.ParquetFile(file).read()
    elif file.suffix == ".csv":
        with file.open(encoding="utf-8", newline="") as lines:
            table = pa.Table.from_pylist(list(csv.DictReader(lines)))
    else:
        text = file.read_text("utf-8")
        table = pa.Table.from_pylist([json.loads(line) for line in text.splitlines()])
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(field.type.value_type))
    return table

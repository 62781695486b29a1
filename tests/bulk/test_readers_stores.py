"""Caches and evidence stores are archives, too: their records decide as the cache decides."""

import asyncio
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manners.bulk import readers
from manners.bulk.readers import cache
from manners.bulk.readers.evidence import CHANGED
from manners.bulk.records import BulkError, Problems, record_batches
from manners.bulk.resolving import State, resolve
from manners.cache.backends import open_backend
from manners.cache.entry import Entry
from manners.cache.site import ParsedEntry
from manners.evidence.record import Draft
from manners.evidence.store import EvidenceStore
from manners.net.messages import Response, Unreachable
from manners.retrieval import profiles
from manners.robots import dialects
from manners.robots.verdict import Reason
from tests.bulk.live import PROFILES, site_of
from tests.cache.steps import BODY, DAY, DOWN, FILE, GONE, HOUR, SAME, START, TIMEOUT, Step, after
from tests.contracts.postgres import Postgres
from tests.contracts.valkey import Valkey
from tests.evidence.drafts import AGENT, clerk, site
from tests.retrieval.scripted import HOST, ROBOTS, Reply, moved

STATES = {
    None: State.AVAILABLE,
    Reason.TOO_LARGE: State.TOO_LARGE,
    Reason.UNAVAILABLE: State.UNAVAILABLE,
    Reason.STALE_COPY: State.STALE_COPY,
    Reason.UNREACHABLE: State.UNREACHABLE,
}


def live(entry: Entry, profile: str) -> tuple[State, bytes | None]:
    """What decides right after the last retrieval of an entry."""
    parsed = ParsedEntry(entry, dialects.get("rfc9309"), profiles.get(profile))
    state = STATES[parsed.at(entry.outcome.at).reason]
    return state, entry.body if state.has_rules else None


def resolved(entry: Entry, profile: str) -> tuple[State, bytes | None]:
    """What decides by the records of an entry."""
    table = pa.Table.from_batches(record_batches(cache.records_of(entry)))
    row = site_of(table, profiles.get(profile))
    return State(row["state"]), row["body"]


# Caches.

REPLIES: list[Reply | list[Reply]] = [
    *(FILE, SAME, GONE, DOWN, TIMEOUT, Response(200, {}, b""), moved("")),
    [moved("/1"), FILE],
    [moved("/1"), moved("https://other.example/"), GONE],
    [moved("/1"), DOWN],
    [moved("/1"), moved(ROBOTS)],
    [moved(f"/{number}") for number in range(6)],
]
STEP = st.tuples(
    st.sampled_from([1.0, HOUR, 13 * HOUR, 5 * DAY, 20 * DAY]), st.sampled_from(REPLIES)
)


@given(st.lists(STEP, min_size=1, max_size=5), st.sampled_from(["rfc9309", "google"]))
def test_the_records_of_an_entry_decide_as_the_entry(
    steps: list[tuple[float, Reply | list[Reply]]], profile: str
) -> None:
    """Whatever was retrieved, the records of the cache say the same as the cache."""
    at, timed = 0.0, list[Step]()
    for wait, reply in steps:
        at += wait
        timed.append((at, reply))
    entry = after(*timed, profile=profile)
    assert resolved(entry, profile) == live(entry, profile)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "reply", [FILE, GONE, DOWN, moved("https://other.example/"), TIMEOUT], ids=str
)
def test_one_retrieval_decides_as_its_entry(profile: str, reply: Reply) -> None:
    """Also where a profile does not follow a redirect."""
    if profile != "open" and isinstance(reply, Response) and reply.status == 301:
        return
    entry = after((0.0, reply), profile=profile)
    assert resolved(entry, profile) == live(entry, profile)


def saved(place: str, *entries: Entry) -> None:
    async def save() -> None:
        backend = open_backend(place)
        for entry in entries:
            await backend.save(entry)
        await backend.close()

    asyncio.run(save())


def test_a_cache_file_is_found_by_its_content(tmp_path: Path) -> None:
    """A path, or `sqlite:///path`; nothing is created by looking."""
    path = tmp_path / "any-name"
    saved(str(path), after((0.0, FILE), (DAY, DOWN)))
    for place in (str(path), f"sqlite:///{path}", f"cache:{path}"):
        (batch,) = readers.open(place)
        assert batch["status"].to_pylist() == [200, 503]
        assert batch["body"].to_pylist() == [BODY, None]
        assert batch["charset"].to_pylist() == ["utf-8", None]
    with pytest.raises(BulkError, match="there is no cache"):
        list(readers.open(f"cache:sqlite:///{tmp_path}/nosuch"))
    assert not (tmp_path / "nosuch").exists()


def test_a_cache_on_a_server_is_read(valkey: Valkey) -> None:
    """`valkey://…` is a cache."""
    valkey.command("FLUSHALL")
    place = f"valkey://127.0.0.1:{valkey.port}/0"
    saved(place, after((0.0, FILE)))
    (batch,) = readers.open(place)
    assert batch["origin"].to_pylist() == [HOST]


# Evidence.


def drafts(*steps: Step, at: float = 60.0, profile: str = "rfc9309") -> list[Draft]:
    """The evidence of two decisions about a site, after these replies."""
    known, writer = site(*steps, at=at, profile=profile), clerk(profile=profile)
    urls = [f"{HOST}/{number}" for number in range(2)]
    return [writer.draft(url, known.check(url, AGENT), known, START + at) for url in urls]


def stored(place: str, *batches: list[Draft]) -> str:
    with EvidenceStore(place) as store:
        for batch in batches:
            for draft in batch:
                store.append_blocking(draft)
    return place


def of_store(place: str, profile: str = "rfc9309") -> tuple[State, bytes | None]:
    table = pa.Table.from_batches(readers.open(place))
    row = site_of(table, profiles.get(profile))
    return State(row["state"]), row["body"]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([(0.0, FILE)], (State.AVAILABLE, BODY)),
        ([(0.0, [moved("/1"), FILE])], (State.AVAILABLE, BODY)),
        ([(0.0, GONE)], (State.UNAVAILABLE, None)),
        ([(0.0, DOWN)], (State.UNREACHABLE, None)),
        ([(0.0, TIMEOUT)], (State.UNREACHABLE, None)),
        ([(0.0, [moved("/1"), moved(ROBOTS)])], (State.UNAVAILABLE, None)),
        ([(0.0, [moved(f"/{number}") for number in range(6)])], (State.UNAVAILABLE, None)),
        ([(0.0, moved(""))], (State.UNREACHABLE, None)),
        ([(-DAY, FILE), (0.0, DOWN)], (State.STALE_COPY, BODY)),
        ([(-DAY, FILE), (0.0, SAME)], (State.AVAILABLE, BODY)),
    ],
)
def test_evidence_decides_as_it_did(
    tmp_path: Path, steps: list[Step], expected: tuple[State, bytes | None]
) -> None:
    """What was true when the evidence was made is true by its records."""
    place = stored(str(tmp_path / "proof.db"), drafts(*steps))
    assert of_store(place) == expected


def test_a_retrieval_is_one_record_however_many_urls_it_decided(tmp_path: Path) -> None:
    """Evidence has a record for each URL; the archive has one for each reply."""
    place = stored(str(tmp_path / "proof.db"), drafts((0.0, FILE)), drafts((0.0, FILE)))
    (batch,) = readers.open(place)
    assert batch.num_rows == 1
    assert batch["fetched_at"][0].as_py().timestamp() == START


def test_what_came_later_counts(tmp_path: Path) -> None:
    """A store has the whole history of a site."""
    later = drafts((2 * DAY, GONE), at=2 * DAY + 1)
    place = stored(str(tmp_path / "proof.db"), drafts((0.0, FILE)), later)
    assert of_store(place) == (State.UNAVAILABLE, None)


def test_a_file_that_was_changed_in_the_store_is_not_believed(tmp_path: Path) -> None:
    """A snapshot has to have its SHA-256."""
    place = stored(str(tmp_path / "proof.db"), drafts((0.0, FILE)))
    import sqlite3

    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE snapshots SET body = ?", (b"User-agent: *\nAllow: /",))
    connection.close()
    problems = Problems()
    assert list(readers.open(place, problems)) == []
    assert problems == {CHANGED: 1}


def test_a_store_on_a_server_is_read(postgres: Postgres) -> None:
    """`postgresql://…` is evidence."""
    place = stored(postgres.database(), drafts((0.0, FILE)))
    assert of_store(place) == (State.AVAILABLE, BODY)


def test_no_answer_has_no_status() -> None:
    """An unreachable site is a record, too: later it may be seen that it was down."""
    entry = after((0.0, Unreachable("timeout")))
    (record,) = cache.records_of(entry)
    assert (record.url, record.status, record.body) == (ROBOTS, None, None)
    table = pa.Table.from_batches(record_batches([record]))
    assert resolve(table, profiles.get("rfc9309")).num_rows == 1

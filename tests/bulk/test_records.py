"""Users' tables become records, whatever their types; what says nothing is dropped and counted."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from manners.bulk.records import (
    BATCH_BYTES,
    MAX_BODY,
    NO_BODY,
    NO_ORIGIN,
    RECORDS,
    BulkError,
    Problems,
    RobotsRecord,
    normalise,
    record_batches,
)

SITE = "https://a.example"
BODY = b"User-agent: *"


def rows(columns: dict[str, Any], problems: Problems | None = None) -> list[dict[str, Any]]:
    """A table with these columns, as records."""
    table = normalise(pa.table(columns), problems)
    assert table.schema == RECORDS
    table.validate(full=True)
    return list(table.to_pylist())


def row(**columns: Any) -> dict[str, Any]:
    """A table of one row, as a record."""
    columns = {"origin": [SITE], "body": [BODY], **{key: [value] for key, value in columns.items()}}
    return rows(columns)[0]


def test_an_origin_and_a_body_are_enough() -> None:
    """What a table does not say has the values of a plain file."""
    assert rows({"origin": [SITE], "robots": [BODY.decode()]}) == [
        {
            "origin": SITE,
            "url": f"{SITE}/robots.txt",
            "status": 200,
            "location": None,
            "charset": None,
            "complete": True,
            "fetched_at": None,
            "body": BODY,
        }
    ]


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ("https://a.example", "https://a.example"),
        ("https://a.example/page?q", "https://a.example"),
        ("HTTPS://A.Example:443/", "https://a.example"),
        ("http://a.example:8080", "http://a.example:8080"),
        ("a.example", "https://a.example"),
        ("http://b\u00fccher.example", "http://xn--bcher-kva.example"),
        ("http://[::1]/", "http://[::1]"),
        ("https://a.example:443", "https://a.example"),
    ],
)
def test_any_url_of_a_site_is_its_origin(given: str, origin: str) -> None:
    """Origins are written as everywhere in the package."""
    found = row(origin=given)
    assert (found["origin"], found["url"]) == (origin, f"{origin}/robots.txt")


def test_rows_that_say_nothing_are_dropped_and_counted() -> None:
    """No origin, or a success without a file, gives no verdict."""
    problems = Problems()
    origins = [None, "", "mailto:x", "https://", "no host", SITE, SITE]
    found = rows(
        {
            "origin": origins,
            "body": [BODY] * 5 + [None, None],
            "status": [200] * 6 + [404],
        },
        problems,
    )
    assert [one["status"] for one in found] == [404]
    assert problems == {NO_ORIGIN: 5, NO_BODY: 1}


def test_a_url_says_what_was_asked_for() -> None:
    """With a URL, it is what counts, in the form in which it is requested."""
    found = row(url="https://B.example/a b#top")
    assert (found["origin"], found["url"]) == ("https://b.example", "https://b.example/a%20b")
    assert rows({"url": ["https://b.example"], "body": [BODY]})[0]["origin"] == "https://b.example"
    assert row(url=None)["url"] == f"{SITE}/robots.txt"


@pytest.mark.parametrize(
    "type_",
    [
        *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()),
        *(pa.binary_view(), pa.dictionary(pa.int32(), pa.string())),
    ],
    ids=str,
)
def test_text_of_every_arrow_type_is_read(type_: pa.DataType) -> None:
    """Libraries have several types for text and for bytes."""
    text = pa.array([SITE.encode(), None]).cast(pa.string())
    text = text.dictionary_encode() if pa.types.is_dictionary(type_) else text.cast(type_)
    (found,) = rows({"origin": text, "body": text, "location": text, "charset": text})
    assert (found["origin"], found["body"], found["location"]) == (SITE, SITE.encode(), SITE)


def test_bytes_that_are_no_text_do_no_harm() -> None:
    """Files may have any bytes in a column of strings."""
    raw = pa.array([b"https://\xff.example", SITE.encode()])
    lie = pa.Array.from_buffers(pa.string(), 2, raw.buffers())
    problems = Problems()
    found = rows({"origin": lie, "body": lie, "location": lie}, problems)
    assert [one["origin"] for one in found] == [SITE]
    assert problems[NO_ORIGIN] == 1
    assert row(location=b"/caf\xe9")["location"] == "/caf%E9"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        *((404, 404), (404.0, 404), ("404", 404), (None, None), (float("nan"), None)),
        *((0, None), (-1, None), (99, None), (1000, None), (10**12, None), (999, 999)),
    ],
)
def test_statuses_of_any_number_type_are_read(given: object, status: int | None) -> None:
    """What is no status means that there was no answer."""
    assert row(status=given)["status"] == status


@pytest.mark.parametrize(
    "given",
    [
        datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
        datetime(2024, 1, 2, 3, 4, 5),
        pa.scalar(1_704_164_645_000_000_000, pa.timestamp("ns", "Europe/Berlin")),
        1_704_164_645,
        1_704_164_645.0,
    ],
)
@pytest.mark.parametrize("name", ["fetched_at", "fetched"])
def test_times_are_timestamps_or_seconds(given: object, name: str) -> None:
    """Both names, any unit, any time zone."""
    found = row(**{name: given})["fetched_at"]
    assert found == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize("given", [None, float("nan"), float("inf"), -5, 10**18, 1e300])
def test_a_time_that_no_calendar_has_is_not_known(given: object) -> None:
    """Nonsense does not make a record the latest."""
    assert row(fetched_at=given)["fetched_at"] is None


def test_a_long_body_is_cut_and_not_complete() -> None:
    """As much is kept as a live retrieval reads."""
    bodies = [b"#" * MAX_BODY, b"#" * (MAX_BODY + 1), b""]
    found = rows({"origin": [SITE] * 3, "body": bodies, "complete": [None, True, False]})
    assert [(len(one["body"]), one["complete"]) for one in found] == [
        *((MAX_BODY, True), (MAX_BODY, False), (0, False)),
    ]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"body": ["x"]}, "needs the columns 'origin' and 'body'"),
        ({"origin": [SITE], "text": ["x"]}, "it has: origin, text"),
        ({}, "it has: none"),
        ({"origin": [SITE], "body": ["x"], "robots": ["x"]}, "several columns for 'body'"),
        ({"origin": [SITE], "body": [1]}, "column 'body': neither text nor binary"),
        ({"origin": [[SITE]], "body": ["x"]}, "column 'origin': neither text nor binary"),
        ({"origin": [SITE], "body": ["x"], "status": ["ok"]}, "column 'status': not a number"),
        ({"origin": [SITE], "body": ["x"], "complete": [1]}, "column 'complete': not boolean"),
        ({"origin": [SITE], "body": ["x"], "fetched": ["now"]}, "neither a timestamp nor seconds"),
    ],
)
def test_a_table_that_cannot_be_used_says_why(columns: dict[str, Any], problem: str) -> None:
    """The error names the table, the column and what it should be; also if it has no rows."""
    with pytest.raises(BulkError, match=problem):
        normalise(pa.table(columns), place="robots.parquet")
    if columns and "status" not in columns:
        with pytest.raises(BulkError, match=r"^robots\.parquet: "):
            normalise(pa.table(columns).slice(0, 0), place="robots.parquet")


def test_what_is_not_arrow_data_says_so() -> None:
    """A list of dictionaries is not a table."""
    with pytest.raises(BulkError, match="list is not Arrow data"):
        normalise([{"origin": SITE}])


def test_records_stay_as_they_are() -> None:
    """Normalising twice changes nothing, for tables, batches and streams."""
    table = normalise(pa.table({"origin": [SITE, "http://b.example:81"], "body": [BODY, b""]}))
    assert normalise(table) == table
    assert normalise(table.to_batches()[0]) == table.to_batches()[0]
    assert normalise(table.to_reader()) == table
    assert normalise(table.slice(0, 0)) == RECORDS.empty_table()


def test_batches_are_bounded() -> None:
    """Large records make many batches, none of them much larger than the limit."""
    records = (
        RobotsRecord(f"https://{number}.example/robots.txt", 200, body=b"x" * 700_000)
        for number in range(60)
    )
    sizes = [batch.nbytes for batch in record_batches(records)]
    assert len(sizes) > 1
    assert max(sizes) < BATCH_BYTES + 2_000_000

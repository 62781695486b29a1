"""Verdicts go to Parquet, CSV and JSON lines; parts become one file without being decoded."""

import csv
import datetime
import io
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from manners.bulk.joining import join
from manners.bulk.outputs import format_of, is_folder, open_writer
from manners.bulk.records import BulkError

MOMENT = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)


def batch() -> pa.RecordBatch:
    return pa.record_batch(
        {
            "id": [1, None],
            "url": ['https://a.example/ü"\\,', None],
            "allowed": [True, None],
            "reason": pa.array(["rule-matched", None]).dictionary_encode(),
            "delay": [1.5, float("nan")],
            "time": pa.array([MOMENT, None], pa.timestamp("ms", tz="UTC")),
            "raw": [b"\xff", None],
        }
    )


def written(rows: pa.RecordBatch, form: str, **options: Any) -> bytes:
    file = io.BytesIO()
    writer = open_writer(file, form, rows.schema, **options)
    for place in range(len(rows)):
        writer.write(rows.slice(place, 1))
    writer.close()
    return file.getvalue()


def test_json_lines_hold_every_type() -> None:
    """In ASCII, a row an object, nothing that is no JSON."""
    data = written(batch(), "jsonl")
    assert data.isascii()
    first, second = (json.loads(line) for line in data.splitlines())
    assert (first["id"], first["url"], first["allowed"]) == (1, 'https://a.example/ü"\\,', True)
    assert (first["reason"], first["delay"]) == ("rule-matched", 1.5)
    assert first["time"].startswith("2026-01-02")
    assert set(second.values()) == {None}


@given(st.lists(st.one_of(st.none(), st.text()), min_size=1))
def test_any_text_comes_back_from_json_lines(texts: list[str | None]) -> None:
    """Whatever characters a column has."""
    safe = [None if t is None else t.encode("utf-8", "replace").decode() for t in texts]
    rows = pa.record_batch({'a "name"': pa.array(safe, pa.string())})
    lines = written(rows, "jsonl").decode().splitlines()
    assert [json.loads(line)['a "name"'] for line in lines] == safe


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_no_cell_of_csv_is_a_formula(texts: list[str]) -> None:
    """Nor can it control a terminal; the number of cells is right whatever they hold."""
    rows = pa.record_batch({"id": range(len(texts)), "=url": pa.array(texts, pa.string())})
    data = written(rows, "csv").decode()
    found = list(csv.reader(io.StringIO(data, newline="")))
    assert found[0] == ["id", "'=url"]
    assert len(found) == len(texts) + 1
    for text, (_, cell) in zip(texts, found[1:], strict=True):
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
        assert cell.isprintable()
        if text.isprintable() and not text.startswith(tuple("=+-@＝＋－＠")):
            assert cell == text


def test_csv_names_its_columns_once() -> None:
    """A part that will not be the first has no header."""
    assert written(batch(), "csv").startswith(b'"id","url","allowed"')
    assert written(batch(), "csv", header=False).startswith(b"1,")


def test_the_name_says_what_an_output_is() -> None:
    """A folder, or a file in the format that its name ends with; contradictions are errors."""
    assert [format_of(place) for place in ("x.parquet", "X.CSV", "y.ndjson", "z", "-")] == [
        *("parquet", "csv", "jsonl", "parquet", "jsonl")
    ]
    assert is_folder("a/b.csv/")
    assert not is_folder("a/b.csv")
    for place, chosen in (("x.csv", "parquet"), ("-", "parquet"), ("x", "xml")):
        with pytest.raises(BulkError):
            format_of(place, chosen)


def test_joined_parts_are_one_parquet_file(tmp_path: Path) -> None:
    """The rows of all parts, in order, for every reader; with none, the columns."""
    import duckdb
    import polars

    draw = random.Random(1)
    tables, parts = [], []
    for number in range(30):
        size = draw.choice([0, 1, 100, 3000])
        rows = pa.table(
            {
                "id": pa.array(range(-size, 0), pa.int64()),
                "url": pa.array(
                    [f"https://{number}.example/{n}" for n in range(size)], pa.string()
                ),
                "allowed": pa.array(
                    [draw.choice([True, False, None]) for _ in range(size)], pa.bool_()
                ),
                "tags": pa.array([["x"] * (n % 3) for n in range(size)], pa.list_(pa.string())),
            }
        )
        parts.append(tmp_path / f"{number}.parquet")
        parquet.write_table(rows, parts[-1], row_group_size=700, write_page_index=number % 2 == 0)
        tables.append(rows)
    joined = tmp_path / "all.parquet"
    with joined.open("wb") as file:
        join(parts, file, "parquet")
    right = pa.concat_tables(tables)
    assert parquet.read_table(joined) == right
    assert polars.read_parquet(joined)["url"].to_list() == right["url"].to_pylist()
    query = f"SELECT count(*), count(DISTINCT url), min(id) FROM '{joined}'"
    found = duckdb.connect().execute(query).fetchall()
    assert found == [(len(right), len(right), -3000)]


def test_a_part_that_is_no_parquet_file_is_named(tmp_path: Path) -> None:
    """It is not copied as it is."""
    part = tmp_path / "part.parquet"
    part.write_bytes(b"PAR1 and no end")
    with pytest.raises(BulkError, match=r"part\.parquet: not a Parquet file"):
        join([part], io.BytesIO(), "parquet")

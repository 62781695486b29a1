"""Columns of Parquet go to the output as they are, and every reader reads them."""

import datetime
import decimal
import io
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from manners import bulk
from manners.bulk import splicing, stages, thrift
from manners.bulk.footers import MAGIC, Footer, copy
from manners.bulk.records import BulkError
from manners.bulk.splicing import KeptColumns
from manners.bulk.thrift import Field

ROWS = 5_000
MOMENT = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
ROBOTS = {"origin": ["https://a.example"], "body": ["User-agent: *\nDisallow: /1\nDisallow: /22"]}


def rows(count: int = ROWS) -> pa.Table:
    """URLs beside columns of many types, flat and nested, with nulls."""
    numbers = range(count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int32()),
            "tags": pa.array([["x", None] * (n % 3) if n % 7 else None for n in numbers]),
            "url": [f"https://{'ab'[n % 5 > 3]}.example/{n}" if n % 9 else None for n in numbers],
            "kind": pa.array([f"kind {n % 4}" for n in numbers]).dictionary_encode(),
            "time": pa.array([MOMENT if n % 2 else None for n in numbers]),
            "pair": pa.array([{"left": n, "right": {"deep": [n]}} for n in numbers]),
            "amount": pa.array([decimal.Decimal(n) / 4 for n in numbers], pa.decimal128(12, 2)),
            "large": pa.array([b"\xff" * (n % 3) for n in numbers], pa.large_binary()),
        }
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.table(ROBOTS), "robots.parquet")
    monkeypatch.setattr(splicing, "_LEAST_ROWS", 100)
    monkeypatch.setattr(stages, "PART_ROWS", 1_500)
    return tmp_path


def run(urls: Any = "urls.parquet", out: str = "out.parquet", **options: Any) -> pa.Table:
    bulk.run(urls, "robots.parquet", out, agent="MyBot", **options)
    return parquet.read_table(out)


def without_splicing(
    monkeypatch: pytest.MonkeyPatch, urls: Any = "urls.parquet", **options: Any
) -> pa.Table:
    with monkeypatch.context() as patch:
        patch.setattr(KeptColumns, "fit", lambda *_: False)
        return run(urls, "plain.parquet", **options)


def is_copied(column: int = 0, out: str = "out.parquet") -> bool:
    """Whether a column has the compression of the input: columns written anew have zstd."""
    codec = parquet.ParquetFile(out).metadata.row_group(0).column(column).compression
    return bool(codec == "SNAPPY")


def test_the_rows_are_the_same_as_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any types, in one file or several, all columns or some, for every reader."""
    import duckdb
    import polars

    parquet.write_table(rows(), "urls.parquet", row_group_size=700, write_page_index=True)
    shutil.copy("urls.parquet", "more.parquet")
    cases: list[tuple[Any, dict[str, Any]]] = [
        ("urls.parquet", {}),
        ("[mu]*.parquet", {"add": ["line"]}),
        (["urls.parquet", "more.parquet"], {"keep": ["large", "id", "pair"], "threads": 2}),
    ]
    for number, (urls, options) in enumerate(cases):
        out = f"{number}.parquet"
        found = run(urls, out, **options)
        right = without_splicing(monkeypatch, urls, **options)
        assert found.schema == right.schema
        for name in found.schema.names:
            assert found[name].to_pylist() == right[name].to_pylist(), name
        assert is_copied(out=out)
        assert not is_copied(out="plain.parquet")
        Path("plain.parquet").unlink()
        parquet.read_table(out, filters=[("line", "=", 2)])
        assert polars.read_parquet(out)["line"].to_list() == found["line"].to_pylist()
        read = duckdb.connect().execute(f"SELECT line, id FROM '{out}'").fetchall()
        assert read == [(row["line"], row["id"]) for row in found.to_pylist()]


def by_duckdb(table: pa.Table) -> None:  # noqa: ARG001 (DuckDB finds it by its name)
    import duckdb

    duckdb.connect().execute("COPY (SELECT * FROM 'given.parquet') TO 'urls.parquet'")


def by_polars(table: pa.Table) -> None:
    import polars

    frame: Any = polars.from_arrow(table)
    frame.write_parquet("urls.parquet", compression="snappy")


def required(table: pa.Table) -> None:
    fields = [field.with_nullable(field.name != "id") for field in table.schema]
    parquet.write_table(table.cast(pa.schema(fields)), "urls.parquet")


def old_moments(table: pa.Table) -> None:
    parquet.write_table(table, "urls.parquet", use_deprecated_int96_timestamps=True)


def second_pages(table: pa.Table) -> None:
    parquet.write_table(
        table, "urls.parquet", data_page_version="2.0", data_page_size=500, use_dictionary=False
    )


@pytest.mark.parametrize("write", [by_duckdb, by_polars, required, old_moments, second_pages])
def test_files_of_other_writers_are_copied(
    write: Callable[[pa.Table], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever they say about their columns, the output says, too."""
    table = rows(300).drop_columns(["tags", "pair", "kind"])
    parquet.write_table(table, "given.parquet")
    write(table)
    found = run()
    assert is_copied()
    assert found.cast(without_splicing(monkeypatch).schema) == parquet.read_table("plain.parquet")
    assert found["id"].to_pylist() == list(range(300))


def test_rows_are_written_anew_where_they_change() -> None:
    """With several agents, some rows only, another format, or nothing to copy."""
    parquet.write_table(rows(), "urls.parquet")
    assert run(out="a.parquet", only="allowed").num_rows < ROWS
    run(out="b.parquet", keep=[], add=["allowed"])
    run(out="c.parquet", add=[])
    bulk.run("urls.parquet", "robots.parquet", "d.parquet", agent=["MyBot", "Other"])
    assert not any(is_copied(out=f"{name}.parquet") for name in "abcd")


def test_files_that_differ_are_written_anew() -> None:
    """Other types, columns of folders, and very many small row groups."""
    parquet.write_table(rows().select(["id", "url"]), "urls.parquet")
    wide = rows().select(["id", "url"]).cast(pa.schema([("id", "int64"), ("url", "string")]))
    parquet.write_table(wide, "wide.parquet")
    assert run(["urls.parquet", "wide.parquet"], "a.parquet").num_rows == 2 * ROWS
    Path("day=1").mkdir()
    shutil.copy("urls.parquet", "day=1")
    assert set(run("day=1", "b.parquet")["day"].to_pylist()) == {1}
    parquet.write_table(wide, "small.parquet", row_group_size=50)
    assert run("small.parquet", "c.parquet").num_rows == ROWS
    assert not any(is_copied(out=f"{name}.parquet") for name in "abc")


def test_empty_row_groups_are_left_out() -> None:
    """A file may have some, or nothing else."""
    table = rows(300)
    with parquet.ParquetWriter("urls.parquet", table.schema) as writer:
        for size in (0, 200, 0, 100):
            writer.write_table(table.slice(0, size))
    assert run().num_rows == 300
    assert parquet.ParquetFile("out.parquet").num_row_groups == 2
    parquet.write_table(table.slice(0, 0), "none.parquet")
    assert run("none.parquet", "nothing.parquet").num_rows == 0


def test_a_resumed_run_copies_columns_again(tmp_path: Path) -> None:
    """A part that is gone is made again."""
    parquet.write_table(rows(), "urls.parquet", row_group_size=700)
    right = run(out="out/")
    parts = sorted((tmp_path / "out").glob("*.parquet"))
    parts[1].unlink()
    assert run(out="out/", resume=True) == right
    assert len(parts) == 4


def changed(path: str, change: Callable[[list[Field]], list[Field]]) -> None:
    """Write a file with other metadata."""
    with Path(path).open("rb") as file:
        footer, end = Footer.read(file, path)
        file.seek(0)
        data = file.read(end)
    groups = [
        thrift.encode(
            [
                field._replace(value=(field.value[0], [change(chunk) for chunk in field.value[1]]))
                if field.number == 1
                else field
                for field in thrift.decode(group)
            ]
        )
        for group in footer.groups
    ]
    new = io.BytesIO()
    new.write(data)
    Footer(change(footer._fields)).write(new, footer.rows, groups)
    Path(path).write_bytes(new.getvalue())


def statistics() -> Any:
    return parquet.ParquetFile("out.parquet").metadata.row_group(0).column(0).statistics


def test_limits_of_columns_stay_if_their_order_is_known() -> None:
    """Readers skip row groups by them; with writers that say no order, they could be wrong."""
    parquet.write_table(rows(), "urls.parquet")
    run()
    assert (statistics().min, statistics().max) == (0, ROWS - 1)
    Path("out.parquet").unlink()
    changed("urls.parquet", lambda fields: [field for field in fields if field.number != 7])
    run()
    assert is_copied()
    assert statistics() is None


@pytest.mark.parametrize(
    ("number", "kind", "value"),
    [
        (1, 8, b"other.parquet"),  # a column in another file
        (6, 8, b"parquet-mr version 1.2.8 (build x)"),  # a writer that gave wrong sizes
    ],
)
def test_what_cannot_be_copied_is_not(number: int, kind: int, value: bytes) -> None:
    """The file is left to pyarrow."""
    parquet.write_table(rows(100).select(["id", "url"]), "urls.parquet")

    def change(fields: list[Field]) -> list[Field]:
        if (number == 1) == (fields[0].number == 1):  # a file has a version, a chunk an offset
            return fields
        others = [field for field in fields if field.number != number]
        return sorted([*others, Field(number, kind, value)])

    changed("urls.parquet", change)
    kept = KeptColumns(["id"], pa.schema([("id", pa.int32()), ("line", pa.int32())]))
    assert kept._described("urls.parquet") is None
    parquet.write_table(rows(100), "urls.parquet")
    assert kept._described("robots.parquet") is None


def test_a_file_that_became_shorter_is_an_error() -> None:
    """It is not copied as far as it goes."""
    with pytest.raises(BulkError, match="shorter"):
        copy(io.BytesIO(b"abc"), io.BytesIO(), 1, 3)


def test_metadata_is_written_as_it_was_read() -> None:
    """Byte by byte; and what is cut off is an error."""
    parquet.write_table(rows(), "urls.parquet", row_group_size=70, write_page_index=True)
    with Path("urls.parquet").open("rb") as file:
        footer, end = Footer.read(file, "urls.parquet")
        file.seek(end)
        data = file.read()
    again = io.BytesIO()
    footer.write(again, footer.rows, footer.groups)
    assert again.getvalue() == data
    assert data.endswith(MAGIC)
    assert thrift.encode(thrift.decode(data[:-8])) == data[:-8]
    with pytest.raises(BulkError, match="too early"):
        thrift.decode(data[: len(data) // 2])

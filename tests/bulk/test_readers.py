"""Records are found at any place, by looking at it: Parquet and folders here, the rest beside."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from manners.bulk import readers
from manners.bulk.readers.folder import UNNAMED, url_of
from manners.bulk.records import (
    BATCH_BYTES,
    MAX_BODY,
    NO_ORIGIN,
    RECORDS,
    BulkError,
    Problems,
    normalise,
)

BODY = b"User-agent: *"


def read(place: Path | str, problems: Problems | None = None) -> list[dict[str, Any]]:
    """The records at a place, sorted by URL."""
    batches = list(readers.open(place, problems))
    assert all(batch.schema == RECORDS and batch.num_rows for batch in batches)
    return sorted(
        (row for batch in batches for row in batch.to_pylist()), key=lambda row: row["url"]
    )


def origins(place: Path | str) -> list[str]:
    return [row["origin"] for row in read(place)]


def table(*hosts: str) -> pa.Table:
    return pa.table({"origin": [f"https://{host}" for host in hosts], "body": [BODY] * len(hosts)})


# Parquet.


@pytest.mark.parametrize("name", ["robots.parquet", "robots.pq", "data"])
def test_a_parquet_file_is_found_by_its_name_or_its_content(tmp_path: Path, name: str) -> None:
    """The first bytes say what a file is, if its name does not."""
    pq.write_table(table("a.example"), tmp_path / name)
    assert origins(tmp_path / name) == ["https://a.example"]


def test_folders_partitions_and_globs_are_read(tmp_path: Path) -> None:
    """All files below a folder count, but for hidden ones and those of other programs."""
    for place, host in [
        *(("a.parquet", "a"), ("crawl=1/subset=robotstxt/b.parquet", "b"), ("c.PARQUET", "c")),
        *((".hidden.parquet", "x"), ("_temporary/0.parquet", "y"), ("_d.parquet", "z")),
    ]:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table(f"{host}.example"), tmp_path / place)
    (tmp_path / "_SUCCESS").touch()
    assert origins(tmp_path) == [f"https://{host}.example" for host in "abc"]
    assert origins(f"{tmp_path}/**/b.parquet") == ["https://b.example"]


def test_other_columns_are_not_read(tmp_path: Path) -> None:
    """A table may have columns that are nobody's business here, of any type."""
    full = table("a.example").append_column("vector", pa.array([[1.0, 2.0]]))
    pq.write_table(full, tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet")[0]["body"] == BODY


def test_batches_of_large_bodies_are_bounded(tmp_path: Path) -> None:
    """A row group of many megabytes comes in many batches, and bodies are cut."""
    bodies = [os.urandom(1000) * 1500 for _ in range(60)]
    hosts = [f"https://{number}.example" for number in range(60)]
    pq.write_table(pa.table({"origin": hosts, "body": bodies}), tmp_path / "x.parquet")
    batches = list(readers.open(tmp_path / "x.parquet"))
    assert len(batches) > 1
    assert max(batch.nbytes for batch in batches) < 3 * BATCH_BYTES
    assert {len(body.as_py()) for batch in batches for body in batch["body"]} == {MAX_BODY}


def test_a_damaged_file_says_where(tmp_path: Path) -> None:
    """A file that was cut is an error, and among others a warning."""
    pq.write_table(normalise(table("a.example")), tmp_path / "a.parquet")
    whole_file = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole_file[:-20])
    with pytest.raises(BulkError, match=r"b\.parquet: damaged after row 0"):
        origins(tmp_path)
    with pytest.raises(BulkError, match=r"b\.parquet: damaged after row 0"):
        read(tmp_path / "b.parquet", Problems())
    problems = Problems()
    assert len(read(tmp_path, problems)) == 1
    assert len(problems) == 1


def test_a_changed_byte_is_noticed(tmp_path: Path) -> None:
    """Pages with a checksum are checked."""
    path = tmp_path / "a.parquet"
    pq.write_table(table("a.example"), path, write_page_checksum=True, compression="none")
    path.write_bytes(path.read_bytes().replace(BODY, BODY.swapcase(), 1))
    with pytest.raises(BulkError, match="damaged after row 0"):
        read(path)


def test_rows_without_an_origin_are_counted(tmp_path: Path) -> None:
    """Whoever reads a place can say what was skipped."""
    pq.write_table(pa.table({"origin": ["nonsense", None], "body": [BODY] * 2}), tmp_path / "x.pq")
    problems = Problems()
    assert not any(batch.num_rows for batch in readers.open(tmp_path / "x.pq", problems))
    assert problems == {NO_ORIGIN: 2}


def test_a_table_without_the_columns_names_the_file(tmp_path: Path) -> None:
    """The error says which file it is, and what it has."""
    table = pa.table({"id": [1], "url": ["https://a.example"], "fetched": [0]})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(BulkError, match=r"x\.parquet: needs the columns .*: id, url, fetched$"):
        read(tmp_path)


# Folders.


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("example.com", "https://example.com/robots.txt"),
        ("example.com.txt", "https://example.com/robots.txt"),
        ("EXAMPLE.com.txt", "https://example.com/robots.txt"),
        ("example.com_8443", "https://example.com:8443/robots.txt"),
        ("http_example.com", "http://example.com/robots.txt"),
        ("https_example.com_8443.txt", "https://example.com:8443/robots.txt"),
        ("http_example.com_80.txt", "http://example.com/robots.txt"),
        ("my_site.example.com.txt", "https://my_site.example.com/robots.txt"),
        ("b\u00fccher.example", "https://xn--bcher-kva.example/robots.txt"),
        ("http_192.0.2.1_8080", "http://192.0.2.1:8080/robots.txt"),
        ("http_localhost_8080", "http://localhost:8080/robots.txt"),
        ("README.txt", None),
        ("Makefile", None),
        ("a b.example", None),
        ("user@example.com", None),
        ("example.com_99999", None),
        ("..", None),
    ],
)
def test_files_are_named_after_sites(name: str, url: str | None) -> None:
    """Scheme and port are optional; https is what is meant without."""
    assert url_of(name) == url


def test_a_folder_of_files_is_read(tmp_path: Path) -> None:
    """Files, and robots.txt in folders, are records of when they were changed."""
    (tmp_path / "a.example.txt").write_bytes(BODY)
    (tmp_path / "http_b.example").mkdir()
    (tmp_path / "http_b.example" / "robots.txt").write_bytes(b"")
    (tmp_path / "README").write_text("not a site")
    (tmp_path / ".hidden.example").write_text("not data")
    (tmp_path / "c.example").mkdir()
    os.utime(tmp_path / "a.example.txt", (0, 1_700_000_000))
    problems = Problems()
    found = read(tmp_path, problems)
    assert [(row["url"], row["status"], row["body"]) for row in found] == [
        ("http://b.example/robots.txt", 200, b""),
        ("https://a.example/robots.txt", 200, BODY),
    ]
    assert found[1]["fetched_at"].timestamp() == 1_700_000_000
    assert problems == {UNNAMED: 1}


def test_a_long_file_is_cut(tmp_path: Path) -> None:
    """No more is read than a live retrieval reads."""
    (tmp_path / "a.example").write_bytes(b"#" * (MAX_BODY + 1))
    (row,) = read(tmp_path)
    assert (len(row["body"]), row["complete"]) == (MAX_BODY, False)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Only regular files are opened."""
    os.mkfifo(tmp_path / "a.example")
    (tmp_path / "b.example").write_bytes(BODY)
    assert origins(tmp_path) == ["https://b.example"]


# Places.


def test_a_place_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Each error names the place, and says what to do."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "robots.txt").write_bytes(BODY)
    for place, problem in {
        "nosuch": "no such file or folder",
        "*.parquet": "no file matches",
        "empty": "no file in it is named after a site",
        "robots.txt": "cannot tell what it is; put one of these before it: cache:, evidence:",
        "parquet:empty": "no Parquet files in it",
        "warc:empty": "no WARC files in it",
        "folder:robots.txt": "not a folder of robots.txt files",
    }.items():
        name, colon, rest = place.partition(":")
        full = f"{name}:{tmp_path / rest}" if colon else str(tmp_path / place)
        with pytest.raises(BulkError, match=problem):
            read(full)


def test_a_place_elsewhere_is_an_error_that_hides_secrets() -> None:
    """Nothing is fetched from somewhere, and passwords are not shown."""
    with pytest.raises(BulkError, match="copy it to a file") as caught:
        read("s3://user:secret@bucket/robots.parquet")
    assert "secret" not in str(caught.value)


def test_a_reader_can_be_named(tmp_path: Path) -> None:
    """A name before the place says how to read it, whatever it looks like."""
    pq.write_table(table("a.example"), tmp_path / "b.example")
    assert origins(f"parquet:{tmp_path / 'b.example'}") == ["https://a.example"]
    assert origins(f"folder:{tmp_path}") == ["https://b.example"]


def test_several_places_are_read_one_after_the_other(tmp_path: Path) -> None:
    """Places of different kinds make one archive."""
    pq.write_table(table("a.example"), tmp_path / "x.parquet")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "b.example").write_bytes(BODY)
    places = [tmp_path / "x.parquet", tmp_path / "files"]
    batches = list(readers.open_places(places))
    assert [batch["origin"][0].as_py() for batch in batches] == [
        "https://a.example",
        "https://b.example",
    ]
    assert next(readers.open_places(str(places[0]))).num_rows == 1

"""URLs come in batches, in order, from files of any form; columns are chosen by name."""

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from manners.bulk.inputs import ROWS, Reading, Urls, ahead, open_urls
from manners.bulk.records import BulkError

URLS = ["https://a.example/1", "https://b.example/2", "https://a.example/3"]


def rows(urls: Urls, reading: Reading | None = None) -> list[dict[str, Any]]:
    return [row for batch in urls.batches(reading) for row in batch.to_pylist()]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(*urls: str) -> pa.Table:
    return pa.table({"id": list(range(len(urls))), "url": list(urls)})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.txt", "\n".join(URLS)),
        ("x.txt", "# a comment\r\n\r\n" + "\r\n".join(f"  {url} " for url in URLS) + "\r\n"),
        ("x", "\ufeff" + "\n".join(URLS)),
        ("x.csv", "id,url\n" + "".join(f"{n},{url}\n" for n, url in enumerate(URLS))),
        ("x.tsv", "url\tid\n" + "".join(f"{url}\t{n}\n" for n, url in enumerate(URLS))),
        ("x.txt", "id;url\n" + "".join(f'{n};"{url}"\n' for n, url in enumerate(URLS))),
        ("x.jsonl", "".join(json.dumps({"id": n, "url": u}) + "\n" for n, u in enumerate(URLS))),
        ("x", "".join(json.dumps({"url": url}) + "\n" for url in URLS)),
    ],
)
@pytest.mark.parametrize("is_compressed", [False, True])
def test_text_is_read_whatever_its_form(
    folder: Path, name: str, content: str, is_compressed: bool
) -> None:
    """With commas, semicolons or tabs, a byte order mark, Windows' line ends, compressed or not."""
    data = content.encode()
    path = folder / (name + ".gz" * is_compressed)
    path.write_bytes(gzip.compress(data) if is_compressed else data)
    reading = Reading()
    assert [row["url"] for row in rows(open_urls(path), reading)] == URLS
    assert reading.rows == 3
    assert reading.bytes == path.stat().st_size


def test_standard_input_is_a_list_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """`-` reads it once."""

    class Pipe:
        buffer = io.BufferedReader(io.BytesIO(b"\n".join(url.encode() for url in URLS)))

        def fileno(self) -> int:
            raise OSError

    monkeypatch.setattr(sys, "stdin", Pipe())
    urls = open_urls("-")
    assert urls.size is None
    assert [row["url"] for row in rows(urls)] == URLS
    with pytest.raises(BulkError, match="read only once"):
        open_urls(["-", "-"])


def test_folders_and_globs_have_their_partitions_as_columns(folder: Path) -> None:
    """In the order of the paths; what other programs leave there is skipped."""
    for crawl, subset in ((2, "b%20c"), (1, "a"), (10, "__HIVE_DEFAULT_PARTITION__")):
        below = folder / "data" / f"crawl={crawl}" / f"subset={subset}"
        below.mkdir(parents=True)
        parquet.write_table(table(f"https://{crawl}.example/"), below / "x.parquet")
    (folder / "data" / "_temporary").mkdir()
    (folder / "data" / "_temporary" / "y.parquet").write_bytes(b"half")
    (folder / "data" / "_SUCCESS").touch()
    (folder / "data" / ".x.crc").touch()
    for place in ("data", "data/*/*/*.parquet", "data/**/x.parquet"):
        urls = open_urls(place)
        assert urls.schema.field("crawl").type == pa.int64()
        assert [(row["url"], row["crawl"], row["subset"]) for row in rows(urls)] == [
            ("https://1.example/", 1, "a"),
            ("https://10.example/", 10, None),
            ("https://2.example/", 2, "b c"),
        ]


def test_files_may_differ_in_columns_and_types(folder: Path) -> None:
    """What a file lacks is null; a wider type holds both."""
    parquet.write_table(table(*URLS[:2]), folder / "1.parquet")
    other = pa.table({"url": URLS[2:], "id": pa.array([7], pa.int32()), "more": ["x"]})
    parquet.write_table(other, folder / "2.parquet")
    found = rows(open_urls("*.parquet"))
    assert [(row["id"], row["more"]) for row in found] == [(0, None), (1, None), (7, "x")]
    found = rows(open_urls("*.parquet", keep=["more"]))
    assert list(found[0]) == ["more", "url"]


def test_pieces_of_parquet_files_are_all_of_it(folder: Path) -> None:
    """Read by themselves and put together, they are the rows in their order."""
    for name in ("1", "2"):
        listed = [f"https://{name}.example/{number}" for number in range(1000)]
        parquet.write_table(table(*listed), folder / f"{name}.parquet", row_group_size=90)
    urls = open_urls(".")
    whole = rows(urls)
    for size in (1, 90, 200, 5000):
        pieces = urls.slices(size)
        assert pieces is not None
        assert [row for p in pieces for batch in urls.read(p) for row in batch.to_pylist()] == whole
    skipped = [row for batch in urls.batches(skip=333) for row in batch.to_pylist()]
    assert skipped == whole[333:]


def test_batches_are_bounded(folder: Path) -> None:
    """By rows; and by bytes, where rows are large."""
    parquet.write_table(table(*["https://a.example/"] * 300_000), folder / "many.parquet")
    assert max(len(batch) for batch in open_urls("many.parquet").batches()) == ROWS
    pages = pa.table(
        {"url": ["https://a.example/"] * 500, "text": [f"{n:0400000}" for n in range(500)]}
    )
    parquet.write_table(pages, folder / "large.parquet", use_dictionary=False, compression="zstd")
    sizes = [batch.nbytes for batch in open_urls("large.parquet").batches()]
    assert len(sizes) > 3
    assert max(sizes) < 40_000_000


def test_bytes_that_are_no_utf8_are_escaped_as_rules_see_them(folder: Path) -> None:
    """A row of such bytes is no reason to stop, and its verdict is that of the bytes."""
    (folder / "x.txt").write_bytes(b"https://a.example/\xff\xe9\nhttps://a.example/\xc3\xa9\n")
    found = [row["url"] for row in rows(open_urls("x.txt"))]
    assert found == ["https://a.example/%FF%E9", "https://a.example/é"]


def test_rows_of_csv_with_other_numbers_of_cells_are_counted(folder: Path) -> None:
    """They are skipped; a cell may hold line breaks, and an empty one is null."""
    (folder / "x.csv").write_text('id,url\n1,"a\nb"\n2\n3,\n4,5,6\n')
    reading = Reading()
    assert rows(open_urls("x.csv"), reading) == [
        {"id": "1", "url": "a\nb"},
        {"id": "3", "url": None},
    ]
    assert reading.dropped == 2


@pytest.mark.parametrize(
    ("name", "content", "column", "problem"),
    [
        ("x.csv", b"link,uri,id\n", "url", "no column 'url'; there are: uri, link, id"),
        ("x.csv", b"", "url", "empty: the first line has to name the columns"),
        ("x.csv", b"url,url\n", "url", "two columns 'url'"),
        ("x.txt", b"link,id\n", "url", "no column 'url'; the first line has: link, id"),
        ("x.txt", b"\xff\xfeh\0t\0t\0p\0", "url", "not text in UTF-8"),
        ("x.jsonl", b'{"id":1}\n{"url"', "url", "cannot be read as JSON lines"),
        ("x.parquet", b"PAR1nonsense", "url", "cannot be read as Parquet"),
        ("x.arrow", b"ARROW1nonsense", "url", "cannot be read as Arrow"),
        ("x.gz", gzip.compress(b"https://a.example/\n" * 99)[:-20], "url", "cannot be read"),
        ("x.txt", b"x" * 5_000_000, "url", "a line of more than"),
    ],
)
def test_errors_say_what_and_where(
    folder: Path, name: str, content: bytes, column: str, problem: str
) -> None:
    """The file, the problem, and the columns that there are, the nearest first."""
    (folder / name).write_bytes(content)
    with pytest.raises(BulkError, match=name) as raised:
        rows(open_urls(name, column))
    assert problem in str(raised.value)


def test_places_that_hold_nothing_are_errors(folder: Path) -> None:
    """No file, no match, nothing in a folder, no file system."""
    (folder / "empty").mkdir()
    for place in ("nosuch", "nosuch*.parquet", "empty", "s3://bucket/x.parquet"):
        with pytest.raises(BulkError, match=place.replace("*", r"\*")):
            open_urls(place)
    parquet.write_table(pa.table({"url": [1]}), "numbers.parquet")
    with pytest.raises(BulkError, match="no text"):
        open_urls("numbers.parquet")


def test_reading_ahead_ends_with_its_reader() -> None:
    """Whoever stops reading stops the thread; an error comes to the reader."""
    closed = []

    def numbers() -> Any:
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    read = ahead(numbers())
    assert [next(read), next(read)] == [0, 1]
    read.close()  # type: ignore[attr-defined]
    assert closed == [True]

    def broken() -> Any:
        yield 1
        raise BulkError("x", "broken")

    with pytest.raises(BulkError, match="broken"):
        list(ahead(broken()))

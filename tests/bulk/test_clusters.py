"""What engines have their workers do, without an engine; and the page about it."""

import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from manners.bulk import Sites
from manners.bulk.decisions import ADD
from manners.bulk.engines import TYPES, TableCheck
from manners.bulk.records import BulkError
from manners.errors import MissingExtra, UnknownName
from tests.bulk.clusters import PAGE, recipes

ROBOTS = pa.table(
    {"origin": ["https://a.example"], "body": ["User-agent: *\nDisallow: /x\nCrawl-delay: 2"]}
)
URLS = pa.table(
    {
        "id": [1, 2, 3],
        "url": ["https://a.example/x", "https://a.example/y", None],
        "note": ["theirs"] * 3,
    }
)


def test_added_columns_have_types_that_every_engine_has() -> None:
    """No dictionaries, and no other types when there are no rows."""
    for urls in (URLS, URLS.slice(0, 0)):
        found = TableCheck("MyBot", add=tuple(TYPES)).with_records(urls, ROBOTS)
        assert {name: found.schema.field(name).type for name in TYPES} == TYPES
        assert found.num_rows == urls.num_rows


def test_batches_stay_batches() -> None:
    """As Spark hands them over, and wants them back."""
    (batch,) = URLS.to_batches()
    found = TableCheck("MyBot").with_records(batch, ROBOTS)
    assert isinstance(found, pa.RecordBatch)
    assert pa.Table.from_batches([found]) == TableCheck("MyBot").with_records(URLS, ROBOTS)


def test_columns_are_kept_and_added() -> None:
    """Those that are kept keep their order, and others are not even needed."""
    check = TableCheck("MyBot", keep=["id"], add=["line", "allowed"])
    assert check.needed(URLS.column_names) == ["id", "url"]
    assert check.with_records(URLS, ROBOTS).to_pylist() == [
        {"id": 1, "line": 2, "allowed": False},
        {"id": 2, "line": None, "allowed": True},
        {"id": 3, "line": None, "allowed": None},
    ]


def test_a_column_of_the_input_with_the_name_of_an_added_one_is_refused() -> None:
    """Nothing of the user's is replaced in silence."""
    check = TableCheck("MyBot", keep=["id", "line"])
    with pytest.raises(BulkError, match="there is a column 'line' already"):
        check.with_records(URLS.append_column("line", URLS["id"]), ROBOTS)


def test_it_travels_to_workers() -> None:
    """Small, because the archive does not travel with it."""
    travelled = pickle.dumps(TableCheck("MyBot", keep=["id"], profile="google"))
    assert len(travelled) < 2000
    check = pickle.loads(travelled)
    assert check.with_records(URLS, ROBOTS).column_names == ["id", *ADD]


def test_threads_of_a_process_read_an_archive_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those who come while it is read wait for it."""
    pq.write_table(ROBOTS, tmp_path / "robots.parquet")
    reads: list[object] = []
    read = Sites.read

    def counted(places: Any, **options: Any) -> Sites:
        reads.append(places)
        time.sleep(0.2)  # so that the others come meanwhile
        return read(places, **options)

    monkeypatch.setattr(Sites, "read", counted)
    check = TableCheck("MyBot", add=["allowed"])
    with ThreadPoolExecutor(4) as threads:
        futures = [
            threads.submit(check.with_place, URLS, tmp_path / "robots.parquet") for _ in range(4)
        ]
    assert {tuple(future.result()["allowed"].to_pylist()) for future in futures} == {
        (False, True, None)
    }
    assert len(reads) == 1


def test_what_is_wrong_is_said_before_anything_runs() -> None:
    """By the process that asks, not by a worker somewhere."""
    with pytest.raises(ValueError, match="unknown column 'answer'; choose from: allowed, reason"):
        TableCheck("MyBot", add=["answer"])
    with pytest.raises(UnknownName, match="gogle"):
        TableCheck("MyBot", dialect="gogle")
    with pytest.raises(UnknownName, match="gogle"):
        TableCheck("MyBot", profile="gogle")
    with pytest.raises(BulkError, match="no column 'link'; there are: id, url"):
        TableCheck("MyBot", column="link").needed(["id", "url"])


@pytest.mark.parametrize(
    ("engine", "library"), [("spark", "pyspark"), ("ray", "ray"), ("dask", "dask")]
)
def test_without_an_engine_the_error_says_what_to_install(
    engine: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module can be imported without it."""
    module = import_module(f"manners.compat.{engine}")
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"'{library}': pip install 'manners\[{engine}\]'"):
        module.verdicts(None, "robots.parquet", agent="MyBot")


def test_programs_of_the_page_are_short() -> None:
    """At most ten lines of code each, besides those that are empty."""
    assert set(recipes()) >= {"spark_job.py", "spark_by_host.py", "ray_job.py", "dask_job.py"}
    for name, program in recipes().items():
        lines = [line for line in program.splitlines() if line.strip()]
        assert len(lines) <= 10, f"{name} in {PAGE.name}"

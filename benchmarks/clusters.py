"""Verdicts by engines: what it costs to start each, and how many URLs it decides a core-second.

    python -m benchmarks.clusters [ENGINE …] [--sites 10000] [--per-site 100]

Parquet to Parquet, with reason, line and rule, two worker processes each. The processor time is
that of all processes which an engine starts. `make cluster` installs the engines.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

AGENT = "MyBot"


def say(mark: str) -> None:
    """Tell the process that measures."""
    print(json.dumps(mark), flush=True)


# The jobs, each in a process of its own.


def copy(urls: str, _: str, out: str) -> None:
    """The same rows, read and written without verdicts."""
    import pyarrow.parquet as pq

    say("started")
    source = pq.ParquetFile(urls)
    with pq.ParquetWriter(f"{out}.parquet", source.schema_arrow, compression="zstd") as writer:
        for batch in source.iter_batches(131_072):
            writer.write_batch(batch)


def one_machine(urls: str, robots: str, out: str) -> None:
    """`manners.bulk.run`, without an engine."""
    from manners import bulk

    say("started")
    bulk.run(urls, robots, out, agent=AGENT, threads=2)


@contextmanager
def spark_session() -> Iterator[Any]:
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.files.maxPartitionBytes", "4m")
    session = builder.config("spark.sql.parquet.compression.codec", "zstd").getOrCreate()
    session.range(1).count()
    say("started")
    yield session
    session.stop()


def spark(urls: str, robots: str, out: str) -> None:
    """The archive at a place."""
    from manners.compat.spark import verdicts

    with spark_session() as session:
        verdicts(session.read.parquet(urls), robots, agent=AGENT).write.parquet(out)


def spark_by_host(urls: str, robots: str, out: str) -> None:
    """Both sides shuffled."""
    from manners.compat.spark import verdicts

    with spark_session() as session:
        files = session.read.parquet(robots)
        found = verdicts(session.read.parquet(urls), files, agent=AGENT, buckets=64)
        found.write.parquet(out)


def ray(urls: str, robots: str, out: str) -> None:
    """Plain tasks."""
    import ray as engine
    from ray import data

    from manners.compat.ray import verdicts

    size = 256 * 2**20
    engine.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=size)
    engine.get(engine.remote(lambda: None).remote())
    say("started")
    found = verdicts(data.read_parquet(urls), robots, agent=AGENT)
    found.write_parquet(out, compression="zstd")
    engine.shutdown()


def dask(urls: str, robots: str, out: str) -> None:
    """Two processes with one thread each."""
    from dask import dataframe
    from dask.distributed import Client

    from manners.compat.dask import verdicts

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        client.submit(int).result()
        say("started")
        frame = dataframe.read_parquet(urls, split_row_groups=1)
        found = verdicts(frame, robots, agent=AGENT)
        found.to_parquet(out, compression="zstd", write_index=False)


JOBS: dict[str, Callable[[str, str, str], None]] = {
    "copy": copy,
    "one-machine": one_machine,
    "spark": spark,
    "spark-by-host": spark_by_host,
    "ray": ray,
    "dask": dask,
}


# The process that measures.


class Usage:
    """Processor time and memory of a process and of all that it starts, looked at often."""

    def __init__(self, pid: int) -> None:
        import psutil

        self._error, self._root = psutil.Error, psutil.Process(pid)
        self._seconds: dict[tuple[int, float], float] = {}
        self._lock = threading.Lock()
        self.peak = 0

    def look(self) -> float:
        """The processor seconds so far."""
        with self._lock:
            memory = 0
            for process in self._processes():
                try:
                    times = process.cpu_times()
                    key = process.pid, process.create_time()
                    self._seconds[key] = times.user + times.system
                    memory += process.memory_info().rss
                except self._error:
                    continue
            self.peak = max(self.peak, memory)
            return sum(self._seconds.values())

    def _processes(self) -> list[Any]:
        try:
            return [self._root, *self._root.children(recursive=True)]
        except self._error:
            return []


def measure(engine: str, urls: Path, robots: Path, folder: Path) -> dict[str, Any]:
    """Run one engine; what it took, and how many of its rows are allowed."""
    out = folder / engine
    command = [sys.executable, "-m", "benchmarks.clusters", "--job", engine]
    begin = time.perf_counter()
    marks = {}
    with (folder / f"{engine}.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, str(urls), str(robots), str(out)],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        usage, over = Usage(process.pid), threading.Event()

        def watch() -> None:
            while not over.wait(0.2):
                usage.look()

        threading.Thread(target=watch, daemon=True).start()
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() in ('"started"', '"done"'):
                marks[json.loads(line)] = time.perf_counter() - begin, usage.look()
        over.set()
        if process.wait():
            raise SystemExit((folder / f"{engine}.log").read_text()[-4000:])
    (start_wall, start), (wall, total) = marks["started"], marks["done"]
    rows, allowed = count(out)
    return {
        "engine": engine,
        "rows": rows,
        "allowed": allowed,
        "start (s)": round(start_wall, 1),
        "start (core-seconds)": round(start, 1),
        "job (s)": round(wall - start_wall, 1),
        "job (core-seconds)": round(total - start, 1),
        "URLs a core-second": round(rows / (total - start)),
        "peak MB": round(usage.peak / 1e6),
    }


def count(out: Path) -> tuple[int, int | None]:
    """The rows that were written, and how many of them are allowed."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    files = sorted(out.rglob("*.parquet")) or [out.with_suffix(".parquet")]
    if "allowed" not in pq.read_schema(files[0]).names:
        return sum(pq.read_metadata(file).num_rows for file in files), None
    tables = [pq.read_table(file, columns=["allowed"]) for file in files]
    return sum(map(len, tables)), sum(pc.sum(table["allowed"]).as_py() or 0 for table in tables)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", default=[])
    parser.add_argument("--job")
    parser.add_argument("--sites", type=int, default=10_000)
    parser.add_argument("--per-site", type=int, default=100)
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "bulk")
    given = parser.parse_args()
    if given.job:
        JOBS[given.job](*given.engines)
        say("done")
        return
    from benchmarks.bulk_data import make

    urls, robots = make(given.data, given.sites, given.per_site, is_shuffled=False)
    folder = Path(tempfile.mkdtemp(prefix="clusters"))
    try:
        for engine in given.engines or JOBS:
            print(json.dumps(measure(engine, urls, robots, folder)), flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

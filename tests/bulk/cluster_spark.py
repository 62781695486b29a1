"""Jobs on Spark: a master, two workers and their executors on loopback, in processes of their own.

Run in a folder with data. Each job writes a folder:

    verdicts, verdicts_by_host   the programs of the page about clusters
    killed_python                the Python processes of an executor are killed in the middle
    killed_executor              an executor is killed in the middle, by host
"""

import os
import runpy
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.bulk.clusters import AGENT, end_with_parent, first, kill, parent

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java that starts quickly, and does not run for long enough to be compiled well."""
CONFIGURATION = {
    "spark.master": "local-cluster[2,1,1024]",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "400",
    "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
}


def trap(flag: Path, victims: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """A step of a job that kills somebody, once, when a part of its rows is done."""
    for number, batch in enumerate(batches):
        if number == 1 and first(flag):
            kill(*victims())
        yield batch


def python_workers() -> list[int]:
    """The Python processes of this executor: this one last."""
    daemon = os.getppid()
    text = Path(f"/proc/{daemon}/task/{daemon}/children").read_text()
    return sorted(map(int, text.split()), key=lambda pid: pid == os.getpid())


def executor() -> list[int]:
    """The Java process of this executor."""
    pid = parent(os.getppid())
    assert b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return [pid]


def main() -> None:
    end_with_parent()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    from manners.compat.spark import verdicts

    builder = SparkSession.builder
    for name, value in CONFIGURATION.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    here = Path.cwd()
    for program in ("spark_job.py", "spark_by_host.py"):  # they use the session that there is
        runpy.run_path(program, run_name="__main__")
    urls, robots = spark.read.parquet("urls"), spark.read.parquet("robots.parquet")

    trapped = urls.mapInArrow(partial(trap, here / "python", python_workers), urls.schema)
    found = verdicts(trapped, str(here / "robots.parquet"), agent=AGENT)
    found.write.parquet("killed_python")

    found = verdicts(urls, robots, agent=AGENT, buckets=16)
    trapped = found.mapInArrow(partial(trap, here / "executor", executor), found.schema)
    trapped.write.parquet("killed_executor")
    spark.stop()


if __name__ == "__main__":
    main()

"""Verdicts on Spark: the same rows as on one machine, whatever is killed on the way."""

from pathlib import Path

from tests.bulk.clusters import expected, needs, run, write_data, write_recipes, written

pytestmark = needs("pyspark", "pandas", "pyarrow", program="java")


def test_the_rows_are_those_of_one_machine(tmp_path: Path) -> None:
    """At a place, by host, and although processes of an executor, or all of it, are killed.

    One test, because a Spark takes long to start.
    """
    write_data(tmp_path)
    write_recipes(tmp_path)
    run("-m", "tests.bulk.cluster_spark", folder=tmp_path, SPARK_LOCAL_IP="127.0.0.1")
    rows = expected(tmp_path)
    for job in ("verdicts", "verdicts_by_host", "killed_python", "killed_executor"):
        assert written(tmp_path / job) == rows, job
    for victim in ("python", "executor"):
        assert (tmp_path / victim).exists(), f"no {victim} was killed"

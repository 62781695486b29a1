"""Verdicts on Ray: the same rows as on one machine, whatever is killed on the way."""

from pathlib import Path

from tests.bulk.clusters import expected, needs, run, write_data, write_recipes, written

pytestmark = needs("ray", "pyarrow")


def test_the_rows_are_those_of_one_machine(tmp_path: Path) -> None:
    """At a place, by part, and although a process, or a whole node, is killed.

    One test, because a cluster takes long to start.
    """
    write_data(tmp_path)
    write_recipes(tmp_path)
    run("-m", "tests.bulk.cluster_ray", folder=tmp_path, RAY_USAGE_STATS_ENABLED="0")
    rows = expected(tmp_path)
    for job in ("verdicts", "verdicts_by_part", "killed_process", "killed_node"):
        assert written(tmp_path / job) == rows, job
    for job in ("killed_process", "killed_node"):
        assert (tmp_path / f"{job}.flag").exists(), f"{job}: nobody was killed"

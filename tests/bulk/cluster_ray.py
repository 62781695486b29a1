"""Jobs on Ray: a cluster of two nodes on loopback, in a process of its own.

Run in a folder with data. Each job writes a folder:

    verdicts, verdicts_by_part   the programs of the page about clusters
    killed_process               a worker process is killed in the middle
    killed_node                  a node is killed in the middle, with everything on it
"""

import os
import runpy
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.bulk.clusters import AGENT, end_with_parent, first, kill, wait_until
from tests.compat import ray_process


def trap(flag: Path, table: Any) -> Any:
    """A step of a job that kills its process, once."""
    if first(flag):
        kill(os.getpid())
    return table


def trap_of_node(address: str, flag: Path, table: Any) -> Any:
    """A step of a job that kills its node if it has this address; others wait for that."""
    import ray

    if ray.util.get_node_ip_address() == address and first(flag):
        kill(os.getppid())  # its raylet; workers end without theirs
        kill(os.getpid())
    wait_until(flag.exists, "work on the second node")
    return table


def main() -> None:
    end_with_parent()
    with tempfile.TemporaryDirectory(prefix="ray") as folder:
        cluster = ray_process.start_nodes(folder)
        try:
            work()
        finally:
            import ray

            ray.shutdown()
            cluster.shutdown()


def work() -> None:
    import pyarrow.parquet as pq
    import ray.data

    from manners.compat.ray import verdicts

    here = Path.cwd()
    for program in ("ray_job.py", "ray_by_part.py"):  # they use the cluster that there is
        runpy.run_path(program, run_name="__main__")
    # More blocks than a node has CPUs, so that both have work.
    tables = [pq.read_table(path) for path in sorted(here.glob("urls/*"))]
    assert len(tables) > ray_process.CPUS
    traps: dict[str, Callable[..., Any]] = {
        "killed_process": trap,
        "killed_node": partial(trap_of_node, ray_process.NODES[1]),
    }
    for name, step in traps.items():
        urls = ray.data.from_arrow(tables)
        flag = here / f"{name}.flag"
        urls = urls.map_batches(partial(step, flag), batch_format="pyarrow", batch_size=None)
        found = verdicts(urls, str(here / "robots.parquet"), agent=AGENT)
        found.write_parquet(str(here / name))


if __name__ == "__main__":
    main()

"""A job on Dask: two worker processes on loopback, one of which is killed in the middle.

Run in a folder with data; it writes the folder `killed`.
"""

import os
from pathlib import Path
from typing import Any

from tests.bulk.clusters import AGENT, end_with_parent, first, kill


def trap(frame: Any, flag: Path) -> Any:
    """A step of a job that kills its process, once; not while Dask tries what it returns."""
    if len(frame) > 2 and first(flag):
        kill(os.getpid())
    return frame


def main() -> None:
    end_with_parent()
    import dask.dataframe
    from dask.distributed import Client

    from manners.compat.dask import verdicts

    here = Path.cwd()
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        started = set(client.scheduler_info(-1)["workers"])
        frame = dask.dataframe.read_parquet("urls", split_row_groups=1)
        frame = frame.map_partitions(trap, here / "killed.flag", meta=frame._meta)
        verdicts(frame, here / "robots.parquet", agent=AGENT).to_parquet(
            "killed", write_index=False
        )
        assert started != set(client.scheduler_info(-1)["workers"]), "no worker is new"


if __name__ == "__main__":
    main()

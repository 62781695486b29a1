"""A Ray cluster of two nodes on loopback, and crawls on it, in a process of its own.

It is told what to do line by line, and answers line by line:

    ["crawl", store, number, workers, folder]   begins a crawl; its pages are listed in the folder
    ["lose"]                                    kills the second node, as a power cut would
    ["end"]                                     waits for the crawl, and tells how it ended

SIGINT interrupts the crawl. All that it starts ends with it: Ray has the kernel end the nodes with
their parent, and the processes of a node end with the node.
"""

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

NODES = tuple(f"127.{os.getpid() // 250 % 250 + 1}.{os.getpid() % 250}.{n}" for n in (2, 3))
"""Their addresses: no others, because Ray has ports that are the same for all clusters of an
address; and not 127.0.0.1, which Ray replaces by an address that others can reach."""
CPUS = 3
"""Of each node, as far as Ray knows: one has room for all workers of a lost one."""
STORE_BYTES = 80 * 2**20
"""Of the shared memory of a node, the least that Ray takes; nothing is kept there."""


def note(folder: str, page: Any) -> None:
    """List a page, with the process and the node that have fetched it."""
    import ray

    node = ray.util.get_node_ip_address()
    line = json.dumps({"url": page.url, "state": page.state, "process": os.getpid(), "node": node})
    with (Path(folder) / f"{os.getpid()}.jsonl").open("a") as file:
        file.write(line + "\n")


def start_nodes(folder: str) -> Any:
    """Start both nodes, and connect to the first."""
    # Ray notes the address of its last cluster in a folder that it does not make: one for each.
    os.environ["RAY_TMPDIR"] = folder
    (Path(folder) / "ray").mkdir(exist_ok=True)
    import ray
    from ray.cluster_utils import Cluster

    common = {"num_cpus": CPUS, "object_store_memory": STORE_BYTES, "include_dashboard": False}
    cluster = Cluster()
    for address in NODES:
        cluster.add_node(node_ip_address=address, temp_dir=folder, **common)
    ray.init(cluster.address, _node_ip_address=NODES[0], log_to_driver=False)
    return cluster


def lose(cluster: Any) -> None:
    """Kill the second node with all its processes."""
    (node,) = cluster.worker_nodes
    parents = [each.process.pid for group in node.all_processes.values() for each in group]
    pids = parents + [child for parent in parents for child in children(parent)]
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    cluster.remove_node(node, allow_graceful=False)


def children(parent: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    found = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            found += list(map(int, task.read_text().split()))
    return found + [each for child in found for each in children(child)]


class Running:
    """A crawl in the main thread: only that one hears of SIGINT."""

    def __init__(self) -> None:
        self._work: Callable[[], object] | None = None
        self._is_there, self._is_over = threading.Event(), threading.Event()
        self._is_over.set()
        self.outcome = ""

    def begin(self, work: Callable[[], object]) -> None:
        self._work = work
        self._is_over.clear()
        self._is_there.set()

    def serve(self) -> None:
        """Do what is begun, until nothing is."""
        while self._is_there.wait() and self._work is not None:
            self._is_there.clear()
            try:
                self.outcome = str(self._work())
            except BaseException as error:
                self.outcome = f"{type(error).__name__}: {error}"
            self._is_over.set()

    @property
    def is_over(self) -> bool:
        return self._is_over.is_set()

    def end(self) -> str:
        self._is_over.wait()
        return self.outcome

    def quit(self) -> None:
        self._work = None
        self._is_there.set()


def crawl(store: str, number: int, workers: int, folder: str) -> str:
    """Crawl on the cluster; why it has ended."""
    from manners.compat import ray

    return ray.crawl(store, number, workers=workers, keep=partial(note, folder)).ended


def obey(cluster: Any, running: Running) -> None:
    """Do as told on standard input."""
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        answer = None
        if name == "crawl":
            running.begin(partial(crawl, *arguments))
        elif name == "lose":
            lose(cluster)
        else:
            answer = running.end()
        print(json.dumps(answer), flush=True)
    running.quit()
    if not running.is_over:
        os.kill(os.getpid(), signal.SIGINT)  # nobody waits for it


def main() -> None:
    """Serve until nobody is left to tell what to do."""
    # Paths of sockets are short: a folder of a test would be too deep.
    with tempfile.TemporaryDirectory(
        prefix="ray-", dir="/tmp", ignore_cleanup_errors=True
    ) as folder:
        import ray

        cluster, running = start_nodes(folder), Running()
        try:
            print(json.dumps(NODES), flush=True)
            threading.Thread(target=obey, args=(cluster, running), daemon=True).start()
            running.serve()
        finally:
            ray.shutdown()
            cluster.shutdown()


if __name__ == "__main__":
    main()

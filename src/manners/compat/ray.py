"""A crawl on a Ray cluster: its workers are actors, which Ray places, and restarts if need be.

    number = manners.crawl(["https://example.com/"], store=STORE).start()
    manners.compat.ray.crawl(STORE, number, workers=8, keep=keep)

Ray starts processes, and nothing more. PostgreSQL knows who is alive, who owns which host, and what
is done: if a node is lost, the other workers have its hosts after one `worker_lease`, however long
Ray takes to notice.
"""

import threading
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from manners.errors import Extra

if TYPE_CHECKING:
    from manners.crawler.crawl import Crawl
    from manners.crawler.page import CrawledPage
    from manners.crawler.status import Status

_PATIENCE = 60.0
"""Seconds in which a worker answers that is alive, however busy its machine is."""


class _RayWorker:
    """One worker of a crawl, in a process of its own somewhere on the cluster.

    Ray calls `stop` and `is_alive` in another thread than `run`. When the process is lost, it makes
    another one and calls `run` again: that joins the crawl as a new worker.
    """

    def __init__(self, number: int | bool, arguments: Mapping[str, Any]) -> None:
        self._number, self._arguments = number, arguments
        self._lock = threading.Lock()
        self._crawl: Crawl | None = None
        self._is_stopped = False

    def run(self) -> None:
        """Work until the crawl has ended; its pages go to `keep`."""
        from manners.crawler.crawl import crawl

        with self._lock:
            if self._is_stopped:
                return
            self._crawl = crawl([], work=self._number, **self._arguments)
        for _ in self._crawl:
            pass

    def stop(self) -> None:
        """Finish what is under way, hand the hosts back, and end."""
        with self._lock:
            self._is_stopped = True
            if self._crawl is not None:
                self._crawl.stop()

    def is_alive(self) -> bool:
        """Answer."""
        return True


def crawl(
    store: str,
    number: int | None = None,
    *,
    workers: int = 4,
    keep: "Callable[[CrawledPage], object] | None" = None,
    resources: Mapping[str, Any] | None = None,
    **settings: Any,
) -> "Status":
    """Work on a crawl with actors on a Ray cluster, and return its status when it has ended.

    `store` is its PostgreSQL database, as every node reaches it, and `number` its number, by
    default that of the last one. `ray.init` is yours to call; without it, the cluster of this
    machine is used. `keep` is pickled, and called on the node that has fetched a page, before the
    page counts as fetched. `resources` are options of `ray.remote` for each worker, one CPU by
    default: `{"num_cpus": 0.5, "memory": 2**29}`. Settings that a store does not have, because they
    may hold a password, are keywords: `headers`, `proxy`.

    Ctrl-C lets the workers finish what is under way. If this program is killed, Ray ends them, and
    the crawl can be resumed by anybody.
    """
    with Extra("ray"):
        import ray
    from manners.crawler.status import status_of
    from manners.store.database import Store

    if workers < 1:
        raise ValueError(f"a crawl needs at least one worker, not {workers}")
    if not ray.is_initialized():
        ray.init(address="auto")  # raises what to do, if there is none
    options = {
        # Tasks of an actor that was lost are given to the next one, as often as it takes.
        "max_restarts": -1,
        "max_task_retries": -1,
        "max_concurrency": 4,
        "num_cpus": 1,
        "scheduling_strategy": "SPREAD",
        **(resources or {}),
    }
    make = ray.remote(**options)(_RayWorker).remote
    arguments = {"store": store, "keep": keep, **settings}
    actors = [make(number or True, arguments) for _ in range(workers)]
    try:
        _wait(ray, {actor.run.remote(): actor for actor in actors})
    finally:
        for actor in actors:
            ray.kill(actor)
    with Store(store, readonly=True) as opened:
        return status_of(opened, number)


def _wait(ray: ModuleType, runs: dict[Any, Any]) -> None:
    """Wait until one worker has ended, and then for the others that are alive.

    The first one ends because the crawl has ended, or with an error, or because of Ctrl-C.
    """
    questions = _ask(runs)
    try:
        (ended,), _ = ray.wait(list(runs))
        ray.get(ended)
    except BaseException:
        for actor in runs.values():
            actor.stop.remote()
        _finish(ray, runs, questions)
        raise
    _finish(ray, runs, questions)


def _finish(ray: ModuleType, runs: dict[Any, Any], questions: dict[Any, Any]) -> None:
    """Wait for workers that finish; not for those that are lost, or found no place."""
    while questions:
        answered, _ = ray.wait(list(questions), num_returns=len(questions), timeout=0)
        runs = {questions[answer]: runs[questions[answer]] for answer in answered}
        questions = _ask(runs)
        _, running = ray.wait(list(runs), num_returns=len(runs), timeout=_PATIENCE)
        questions = {question: run for question, run in questions.items() if run in running}


def _ask(runs: dict[Any, Any]) -> dict[Any, Any]:
    """Ask each worker whether it is alive; the questions, with the runs they are about."""
    return {actor.is_alive.remote(): run for run, actor in runs.items()}

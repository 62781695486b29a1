"""A crawl on a Ray cluster, and verdicts for a Ray data set.

The workers of a crawl are actors, which Ray places, and restarts if need be.

    number = manners.crawl(["https://example.com/"], store=STORE).start()
    manners.compat.ray.crawl(STORE, number, workers=8, keep=keep)

Ray starts processes, and nothing more. PostgreSQL knows who is alive, who owns which host, and what
is done: if a node is lost, the other workers have its hosts after one `worker_lease`, however long
Ray takes to notice.

Verdicts for a data set of URLs are plain tasks, which Ray runs again if a process is lost.

    urls = ray.data.read_parquet("urls/")
    manners.compat.ray.verdicts(urls, "robots.parquet", agent="MyBot").write_parquet("verdicts/")
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any

from manners.errors import Extra

if TYPE_CHECKING:
    from manners.bulk.engines import TableCheck
    from manners.crawler.crawl import Crawl
    from manners.crawler.page import CrawledPage
    from manners.crawler.status import Status

Place = str | PathLike[str]

_PATIENCE = 60.0
"""Seconds in which a worker answers that is alive, however busy its machine is."""


class _RayWorker:
    """One worker of a crawl, in a process of its own somewhere on the cluster.

    Ray calls `stop` and `is_alive` in another thread than `run`. When the process is lost, it makes
    another one and calls `run` again: that joins the crawl as a new worker.
    """

    def __init__(self, number: int, arguments: Mapping[str, Any]) -> None:
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
    default that of the last one that runs. `ray.init` is yours to call; without it, the cluster of
    this machine is used. `keep` is pickled, and called on the node that has fetched a page, before
    the page counts as fetched. `resources` are options of `ray.remote` for each worker, one CPU by
    default: `{"num_cpus": 0.5, "memory": 2**29}`. Settings that a store does not have, because they
    may hold a password, are keywords: `headers`, `proxy`.

    Ctrl-C lets the workers finish what is under way. If this program is killed, Ray ends them, and
    the crawl can be resumed by anybody.
    """
    with Extra("ray"):
        import ray
    from manners.crawler.crawl import open_settings
    from manners.crawler.status import status_of
    from manners.store.database import TIMEOUT, Store

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
    # Once for all: a worker that is restarted later might find another one to be the last.
    number, _ = open_settings(store, number, timeout=settings.get("server_timeout", TIMEOUT))
    make = ray.remote(**options)(_RayWorker).remote
    arguments = {"store": store, "keep": keep, **settings}
    actors = [make(number, arguments) for _ in range(workers)]
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


def verdicts(
    urls: Any,
    robots: Place | Sequence[Place],
    agent: str | Sequence[str],
    *,
    resources: Mapping[str, Any] | None = None,
    **options: Any,
) -> Any:
    """A data set of URLs with what was decided about each: allowed, reason, line, rule.

    `robots` is an archive of robots.txt files, at a place that every node can read. Each worker
    process reads it once, when its first block comes. Options are `column` (`"url"`), `keep` (the
    columns to keep; all by default), `add` (`allowed`, `reason`, `line`, `rule` and `crawl_delay`
    by default), `dialect` and `profile`. `resources` are options of `map_batches` for each task:
    `{"num_cpus": 1, "memory": 2**30}`.

    Nothing is computed before Ray is asked to. The tasks are plain ones, without a pool of actors:
    a pool waits for ever if its actors take every CPU, or if one of them is lost.
    """
    with Extra("ray"):
        import ray.data  # noqa: F401  what is missing is said here, not by a worker
    from manners.bulk.engines import TableCheck

    check = TableCheck(agent, **options)
    if check.keep is not None:  # other columns are not even read
        urls = urls.select_columns(check.needed(dict.fromkeys((*check.keep, check.column))))
    return urls.map_batches(
        partial(_with_place, check, robots),
        batch_format="pyarrow",
        batch_size=None,
        zero_copy_batch=True,
        **(resources or {}),
    )


def _with_place(check: "TableCheck", place: Place | Sequence[Place], table: Any) -> Any:
    return check.with_place(table, place)

"""A bulk run: URLs and an archive of robots.txt in, verdicts out.

If the archive fits into memory, it is read once and the URLs stream through it in their order.
Otherwise both sides are sorted by host into parts on disk (`bucketing`), and the parts are worked
on one after the other, or one by one on any number of machines.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manners.bulk import stages
from manners.bulk.deciding import Decider
from manners.bulk.decisions import ADD
from manners.bulk.inputs import Urls, ahead, open_urls
from manners.bulk.jobs import MEMORY, Job, Places, job
from manners.bulk.parts import Output, UnwritableOutput
from manners.bulk.records import BulkError
from manners.bulk.stages import Archive, BucketedRun, OnProgress, StreamedRun
from manners.bulk.summary import Summary
from manners.retrieval import profiles
from manners.retrieval.profiles import Profile
from manners.robots import dialects
from manners.robots.dialects import Dialect

if TYPE_CHECKING:
    from manners.settings import Settings


def run(  # noqa: PLR0913 (a keyword is an option)
    urls: Places,
    robots: Places,
    out: str | Path,
    *,
    agent: str | Sequence[str],
    column: str = "url",
    keep: Sequence[str] | None = None,
    add: Sequence[str] = ADD,
    only: str | None = None,
    format: str | None = None,  # noqa: A002 (the option is called so)
    dialect: str | Dialect = dialects.DEFAULT,
    profile: str | Profile = profiles.DEFAULT,
    memory: int = MEMORY,
    parts: int | None = None,
    part: str | None = None,
    prepare: bool = False,
    threads: int | None = None,
    resume: bool = False,
    fetch: "Settings | None" = None,
    on_progress: OnProgress | None = None,
) -> Summary:
    """Decide about every URL of some files, by an archive of robots.txt.

    `urls` and `robots` are files, folders or globs; `out` is a folder, a file or `-`. With several
    agents, there is a row for each URL and agent. `keep` names the columns of the input to write.
    `only` is `allowed`, `disallowed` or `undecided`. `part` is one of several parts by host, as
    `0/256`; `prepare` sorts the inputs into such parts. `fetch` retrieves what the archive lacks.
    """
    given = job(
        urls, robots, out, agent=agent, column=column, keep=keep, add=tuple(add), only=only,
        form=format, dialect=dialect, profile=profile, memory=memory, parts=parts, part=part,
        prepare=prepare, threads=threads, resume=resume, fetch=fetch,
    )  # fmt: skip
    began = time.monotonic()
    try:
        summary = _run(given, on_progress or (lambda _: None))
    except BrokenPipeError:  # the reader of standard output went away
        raise
    except OSError as error:
        raise UnwritableOutput.because(given.out, error) from error
    summary.seconds = time.monotonic() - began
    return summary


def _run(given: Job, on_progress: OnProgress) -> Summary:
    if given.out == "-":
        return _print(given, on_progress)
    output = Output(given.out, given.form)
    plan = _plan(given)
    part = None if given.part is None else f"{given.part}/{given.parts}"
    finished = _finished(given, output)
    if finished is not None:
        return finished
    output.lock(part)
    try:
        if part is None:
            if not output.is_worth_keeping:
                output.clean(but_locks=True)
            output.remove_temporary()
        output.agree(plan)
        return _work(given, output, on_progress)
    finally:
        if part is None and not output.is_worth_keeping:
            output.clean()
        output.unlock()


def _plan(given: Job) -> dict[str, Any]:
    """What decides about the output, and how it is cut into parts."""
    return {**given.plan(), "rows of a part": stages.PART_ROWS}


def _finished(given: Job, output: Output) -> Summary | None:
    """The summary if there is nothing left to do; raises if an output is in the way."""
    if given.part is not None:
        path = output.part(given.part, given.parts)
        if not path.exists():
            return None
        if not given.resume:
            raise BulkError(str(path), "exists already: skip it (--resume), or remove it")
        return output.summary(path) if output.is_done(path) else None
    if not given.resume:
        output.refuse_existing(resume=False)
        return None
    found = output.finished(_plan(given))
    if found is None and not output.is_folder and Path(given.out).exists():
        # The last thing that a run does is to remove its work folder.
        if not output.work.exists():
            raise BulkError(given.out, "complete, nothing to resume: remove it to run again")
        found = output.counted()
        output.clean()
    return found


def _work(given: Job, output: Output, on_progress: OnProgress) -> Summary:
    with closing(open_urls(given.urls, given.column, given.keep)) as urls:
        return _work_on(urls, given, output, on_progress)


def _work_on(urls: Urls, given: Job, output: Output, on_progress: OnProgress) -> Summary:
    decider = Decider(given, urls)
    archive = Archive(given, on_progress)
    stage = given, output, urls, decider, on_progress
    if given.part is not None:
        return BucketedRun(*stage).run_part(given.part, archive)
    if given.prepare:
        buckets = BucketedRun(*stage)
        buckets.prepare(archive)
        return Summary(urls=buckets.rows, problems=+archive.problems)
    parts = output.mode(lambda: given.parts or archive.parts_needed())
    if parts is None:
        done, sites = StreamedRun(*stage).run(archive)
    else:
        buckets = BucketedRun(replace(given, parts=parts), *stage[1:])
        done, sites = buckets.run(archive), None
    summary = output.finish(done, _plan(given), sites, +archive.problems)
    output.unlock()
    output.clean()
    return summary


def _print(given: Job, on_progress: OnProgress) -> Summary:
    """Write to standard output: at once if the archive fits into memory, else at the end."""
    archive = Archive(given, on_progress)
    form = Output(given.out, given.form).form
    if given.parts is None and given.fetch is None and archive.parts_needed() is None:
        with closing(open_urls(given.urls, given.column, given.keep)) as urls:
            decider, summary = Decider(given, urls), Summary()
            sites = decider.sites(archive.take())
            writer = decider.open(sys.stdout.buffer, form, True)
            decider.write(ahead(urls.batches()), sites, writer, summary, lambda _: None)
        sys.stdout.buffer.flush()
        summary.sites, summary.problems = len(sites[0]), +archive.problems
        return summary
    archive.close()
    with tempfile.TemporaryDirectory(prefix="manners-") as folder:
        place = Path(folder) / f"verdicts.{form}"
        summary = _run(replace(given, out=str(place), form=form), on_progress)
        with place.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
    return summary

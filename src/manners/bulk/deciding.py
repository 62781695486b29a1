"""Batches of URLs with what was decided about them, written to a part of the output."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from manners.bulk.decisions import ADD_USAGE, ALLOWED, DISALLOWED, UNDECIDED, Decisions
from manners.bulk.hosts import buckets
from manners.bulk.inputs import Urls
from manners.bulk.jobs import Job, check_names
from manners.bulk.outputs import RowWriter, open_writer
from manners.bulk.sites import Sites
from manners.bulk.summary import Summary, Tally

_ANSWERS = {"allowed": ALLOWED, "disallowed": DISALLOWED, "undecided": UNDECIDED}
_TYPES = {
    "agent": pa.string(),
    "allowed": pa.bool_(),
    "reason": pa.dictionary(pa.int8(), pa.string()),
    "line": pa.int32(),
    "rule": pa.dictionary(pa.int32(), pa.string()),
    "crawl_delay": pa.float64(),
    **dict.fromkeys(ADD_USAGE, pa.dictionary(pa.int8(), pa.string())),
}
_FEW_SITES = 10_000
"""Sites that a processor's cache has room for."""
_TOGETHER, _TOGETHER_BYTES = 524_288, 134_217_728
"""Rows that are decided together if their sites are mixed, or fewer that are so large."""
Notice = Callable[[int], None]
"""Is told how many more rows are done."""


class Stopped(Exception):
    """The run is to end: another part failed, or the user interrupted it."""


class Decider:
    """Adds verdicts to batches, and writes parts."""

    def __init__(self, job: Job, urls: Urls) -> None:
        check_names(urls.kept, job.add, job.agents)
        self._job, self._kept, self.column = job, urls.kept, urls.column
        self._several = len(job.agents) > 1
        added = [*(["agent"] if self._several else []), *job.add]
        fields = [(name, urls.types[name]) for name in urls.kept]
        self.schema = pa.schema([*fields, *((name, _TYPES[name]) for name in added)])
        self.stop = threading.Event()
        """When it is set, parts that are being written are given up."""

    def sites(self, records: Sequence[pa.RecordBatch]) -> list[Sites]:
        """The sites for each agent."""
        job = self._job
        usage = not set(ADD_USAGE).isdisjoint(job.add)
        return [
            Sites(records, agent=name, dialect=job.dialect, profile=job.profile, usage=usage)
            for name in job.agents
        ]

    def open(self, file: BinaryIO, form: str, header: bool) -> RowWriter:
        """A writer of the rows to a file."""
        return open_writer(file, form, self.schema, plain=[self.column], header=header)

    def write(
        self,
        batches: Iterable[pa.RecordBatch],
        sites: list[Sites],
        writer: RowWriter,
        summary: Summary,
        notice: Notice,
    ) -> None:
        """Decide about some batches and write them; count them in the summary."""
        tallies = [Tally(found) for found in sites]
        for batch, found in self._decided(batches, sites):
            if self.stop.is_set():
                raise Stopped
            for tally, decisions in zip(tallies, found, strict=True):
                tally.add(decisions)
            rows = self._rows(batch, sites, found, writer.schema)
            writer.write(rows if rows.schema == writer.schema else rows.cast(writer.schema))
            summary.urls += len(batch)
            summary.written += len(rows)
            notice(len(batch))
        writer.close()
        names = self._job.agents
        summary.agents = {name: tally.summary() for name, tally in zip(names, tallies, strict=True)}

    def _decided(
        self, batches: Iterable[pa.RecordBatch], sites: list[Sites]
    ) -> Iterator[tuple[pa.RecordBatch, list[Decisions]]]:
        """Batches with what is decided about them, by each agent's sites.

        Where URLs of very many sites are mixed, several batches are decided together, ordered by
        host: to look at one site after the other is much faster than at all of them by turns.
        """
        gathered: list[pa.RecordBatch] = []
        is_mixed = False
        for batch in batches:
            if not is_mixed:
                found = [known.decide(batch.column(self.column)) for known in sites]
                is_mixed = len(sites[0]) > _FEW_SITES and _changes(found[0]) > 0.5
                yield batch, found
                continue
            gathered.append(batch)
            size = sum(known.column(self.column).nbytes for known in gathered)
            if sum(map(len, gathered)) >= _TOGETHER or size >= _TOGETHER_BYTES:
                yield from self._together(gathered, sites)
                gathered = []
        if gathered:
            yield from self._together(gathered, sites)

    def _together(
        self, batches: list[pa.RecordBatch], sites: list[Sites]
    ) -> Iterator[tuple[pa.RecordBatch, list[Decisions]]]:
        urls = pa.concat_arrays([batch.column(self.column) for batch in batches])
        order = np.argsort(buckets(urls, 1 << 16).astype(np.uint16), kind="stable")
        ordered = urls.take(pa.array(order))
        del urls
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        found = [known.decide(ordered) for known in sites]
        del ordered, order
        begin = 0
        for batch in batches:
            own = places[begin : begin + len(batch)]
            yield batch, [decisions.take(own) for decisions in found]
            begin += len(batch)

    def _rows(
        self,
        batch: pa.RecordBatch,
        sites: list[Sites],
        found: list[Decisions],
        schema: pa.Schema,
    ) -> pa.RecordBatch:
        """The rows of the output for a batch: URL by URL, and for each URL agent by agent."""
        kept = [batch.column(name) for name in self._kept if name in schema.names]
        only = None if self._job.only is None else _ANSWERS[self._job.only]
        agents = []
        urls = batch.column(self.column)
        for name, own, decisions in zip(self._job.agents, sites, found, strict=True):
            agent = [pa.repeat(name, len(batch))] if self._several else []
            added = [own.array(column, urls, decisions) for column in self._job.add]
            columns = [*kept, *agent, *added]
            agents.append(pa.RecordBatch.from_arrays(columns, schema.names))
        answers = [decisions.codes & 3 for decisions in found]
        if not self._several:
            return agents[0] if only is None else agents[0].filter(pa.array(answers[0] == only))
        order = np.arange(len(batch) * len(agents)).reshape(len(agents), -1).T.ravel()
        if only is not None:
            order = order[np.concatenate(answers)[order] == only]
        table = pa.Table.from_batches(agents).unify_dictionaries().take(pa.array(order))
        return pa.concat_batches(table.to_batches()) if table.num_rows else agents[0].slice(0, 0)


def _changes(decisions: Decisions) -> float:
    """How often a row is of another site than the row before, from 0 to 1."""
    return np.count_nonzero(np.diff(decisions.sites)) / max(len(decisions), 1)

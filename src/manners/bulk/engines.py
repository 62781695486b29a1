"""What engines have their worker processes do: Spark, Ray and Dask alike.

An engine pickles a `TableCheck` and calls it in its workers for one table after the other. The
archive is read once in each process, not once for each table.
"""

from collections.abc import Iterable, Sequence
from os import PathLike
from threading import Lock
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from manners.bulk.decisions import ADD, ADD_USAGE
from manners.bulk.records import BulkError
from manners.bulk.sites import Sites, cached_sites

if TYPE_CHECKING:
    from manners.retrieval.profiles import Profile
    from manners.robots.dialects import Dialect

Place = str | PathLike[str]

TYPES = {
    "allowed": pa.bool_(),
    "reason": pa.string(),
    "line": pa.int32(),
    "rule": pa.string(),
    "crawl_delay": pa.float64(),
    **dict.fromkeys(ADD_USAGE, pa.string()),
}
"""The columns that verdicts add, with types that every engine has."""

_READING = Lock()
"""Threads of one process wait for the first to read an archive, instead of reading it, too."""


class TableCheck:
    """Adds verdicts to tables of URLs: it says for whom, which columns to keep and which to add.

    >>> check = TableCheck(agent="MyBot", keep=["id"], add=["allowed"])
    >>> rules = "User-agent: *\\nDisallow: /x"
    >>> robots = pa.table({"origin": ["https://a.example"], "body": [rules]})
    >>> urls = pa.table({"id": [7], "url": ["https://a.example/x"]})
    >>> check.with_records(urls, robots).to_pylist()
    [{'id': 7, 'allowed': False}]
    """

    def __init__(  # noqa: PLR0913
        self,
        agent: str | Sequence[str],
        *,
        column: str = "url",
        keep: Sequence[str] | None = None,
        add: Sequence[str] = ADD,
        dialect: "str | Dialect" = "rfc9309",
        profile: "str | Profile" = "rfc9309",
    ) -> None:
        from manners.retrieval import profiles
        from manners.robots import dialects

        unknown = [name for name in add if name not in TYPES]
        if unknown:
            raise ValueError(f"unknown column {unknown[0]!r}; choose from: {', '.join(TYPES)}")
        # What is wrong is said here, not by a worker somewhere.
        dialects.get(dialect)
        self.profile = profiles.get(profile)
        self.agent = agent if isinstance(agent, str) else tuple(agent)
        self.column, self.add = column, tuple(dict.fromkeys(add))
        self.keep = None if keep is None else tuple(dict.fromkeys(keep))
        is_usage = not set(ADD_USAGE).isdisjoint(add)
        self._options: dict[str, Any] = {
            "dialect": dialect,
            "profile": profile,
            "usage": is_usage,
        }

    def needed(self, names: Iterable[str]) -> list[str]:
        """The input columns that are read, out of those there are."""
        kept = self.kept(names)
        return kept if self.column in kept else [*kept, self.column]

    def kept(self, names: Iterable[str]) -> list[str]:
        """The input columns that are kept, out of those there are."""
        names = list(names)
        for name in (self.column, *(self.keep or ())):
            if name not in names:
                raise BulkError("URLs", f"no column {name!r}; there are: {', '.join(names)}")
        kept = names if self.keep is None else list(self.keep)
        if taken := [name for name in kept if name in self.add]:
            raise BulkError("URLs", f"there is a column {taken[0]!r} already; rename or drop it")
        return kept

    def with_place(self, table: Any, place: Place | Sequence[Place]) -> Any:
        """A table or batch with verdicts; the archive at a place is read once in each process."""
        with _READING:
            sites = cached_sites(place, self.agent, **self._options)
        return self._checked(table, sites)

    def with_records(self, table: Any, records: Any) -> Any:
        """A table or batch with verdicts from a table of records: the only sites there are."""
        return self._checked(table, Sites.from_table(records, agent=self.agent, **self._options))

    def _checked(self, table: Any, sites: Sites) -> Any:
        kept = self.kept(table.schema.names)
        urls = table.column(self.column)
        decisions = sites.decide(urls)
        arrays = [table.column(name) for name in kept]
        arrays += [sites.array(name, urls, decisions).cast(TYPES[name]) for name in self.add]
        return type(table).from_arrays(arrays, names=[*kept, *self.add])

"""Verdicts for a Dask data frame of URLs, from an archive that every worker can read.

frame = dask.dataframe.read_parquet("urls/")
manners.compat.dask.verdicts(frame, "robots.parquet", agent="MyBot").to_parquet("verdicts/")
"""

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from manners.errors import Extra

if TYPE_CHECKING:
    from manners.bulk.engines import TableCheck

Place = str | PathLike[str]


def verdicts(frame: Any, robots: Place | Sequence[Place], agent: str, **options: Any) -> Any:
    """A data frame of URLs with what was decided about each: allowed, reason, line, rule.

    `robots` is an archive of robots.txt files, at a place that every worker can read. Each worker
    process reads it once, when its first partition comes. Options are `column` (`"url"`), `keep`
    (the columns to keep; all by default), `add` (`allowed`, `reason`, `line`, `rule` and
    `crawl_delay` by default), `dialect` and `profile`.

    Nothing is computed before Dask is asked to. A partition whose worker is killed is computed
    again by another.
    """
    with Extra("dask"):
        import dask.dataframe  # noqa: F401  what is missing is said here, not by a worker
    from manners.bulk.engines import TableCheck

    check = TableCheck(agent, **options)
    frame = frame[check.needed(frame.columns)]
    return frame.map_partitions(_checked, robots, check, meta=_with_columns(frame._meta, check, {}))


def _checked(frame: Any, place: Place | Sequence[Place], check: "TableCheck") -> Any:
    """One partition, which is a pandas data frame, with verdicts; the index stays."""
    import pyarrow

    urls = pyarrow.table({check.column: pyarrow.array(frame[check.column], from_pandas=True)})
    table = check.with_place(urls, place)
    return _with_columns(frame, check, {name: table[name] for name in check.add})


def _with_columns(frame: Any, check: "TableCheck", found: dict[str, Any]) -> Any:
    """The columns to keep and those that are added; without rows, if none were found."""
    import pandas

    from manners.bulk.engines import TYPES

    kept = frame[check.kept(frame.columns)]
    added = {}
    for name in check.add:
        dtype = pandas.ArrowDtype(TYPES[name])
        values = found[name].combine_chunks() if name in found else []
        added[name] = pandas.Series(pandas.array(values, dtype=dtype), index=kept.index)
    return kept.assign(**added)

"""Which records of a sorted archive say something new."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_CONTENT = ("url", "status", "location", "charset", "complete", "body")


def changes(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Records that are sorted by URL and time, without those that say nothing new.

    - A record that is there several times is kept once.
    - Of records of a URL that say the same, one after the other, the first and the last are kept.
    - A record without a time is not between any others, and is kept.
    """
    waiting: pa.Table | None = None
    is_repeated = False
    for table in tables:
        if waiting is not None:
            table = pa.concat_tables([waiting, table])
        table, repeated = _without_duplicates(table, is_repeated)
        # The first of a run differs from the one before it, the last from the one after it. What
        # comes after the last record of this table is not known yet.
        is_kept = ~repeated[:-1] | ~repeated[1:]
        if is_kept.any():
            yield table.slice(0, len(is_kept)).filter(pa.array(is_kept))
        waiting, is_repeated = table.slice(table.num_rows - 1).combine_chunks(), bool(repeated[-1])
    if waiting is not None:
        yield waiting


def _without_duplicates(table: pa.Table, is_repeated: bool) -> tuple[pa.Table, Any]:
    """The records without copies, and whether each says the same as the one before it."""
    repeated, is_same_time = _like_previous(table, _CONTENT), _like_previous(table, ["fetched_at"])
    is_kept = ~(repeated & is_same_time)
    is_kept &= ~_older_copies(table, is_kept, is_same_time & _like_previous(table, ["url"]))
    is_kept[0] = True  # what came before it may have been dropped because of it
    if not is_kept.all():
        table = table.filter(pa.array(is_kept))
        repeated = _like_previous(table, _CONTENT)
    timeless = table["fetched_at"].is_null().to_numpy()
    repeated[1:] &= timeless[1:] == timeless[:-1]
    repeated[0] = is_repeated
    return table, repeated


def _older_copies(table: pa.Table, is_kept: Any, is_same_moment: Any) -> Any:
    """Records that are there again among those of the same URL and time: the last of them stays."""
    dropped = np.zeros(table.num_rows, bool)
    moment = np.cumsum(~is_same_moment)
    rows = np.flatnonzero(is_kept)
    is_shared = np.zeros(len(rows), bool)
    is_shared[1:] = moment[rows[1:]] == moment[rows[:-1]]
    is_shared[:-1] |= is_shared[1:].copy()
    seen: set[tuple[Any, ...]] = set()
    for row in rows[is_shared][::-1].tolist():
        values = [table[name][row].as_py() for name in _CONTENT]
        body = values.pop()
        key = (int(moment[row]), *values, None if body is None else sha256(body).digest())
        dropped[row] = key in seen
        seen.add(key)
    return dropped


def _like_previous(table: pa.Table, names: Iterable[str]) -> Any:
    """Whether each row has the same values as the row before it; two nulls are the same."""
    same = np.ones(table.num_rows, bool)
    for name in names:
        before, after = table[name].slice(0, table.num_rows - 1), table[name].slice(1)
        equal = pc.fill_null(pc.equal(before, after), False)
        both_null = pc.and_(pc.is_null(before), pc.is_null(after))
        same[1:] &= pc.or_(equal, both_null).to_numpy()
    same[0] = False
    return same

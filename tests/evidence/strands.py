"""Stores with strands for tests: several writers, one strand each, and anchors between."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from manners.evidence.chain import AnchorHead
from manners.evidence.record import Draft
from manners.evidence.store import EvidenceStore
from manners.evidence.strands import add_strand, close_strand
from tests.evidence.drafts import NOW, drafts


def add(place: str) -> int:
    """A new strand of a store."""
    with EvidenceStore(place) as store, store.writing() as connection:
        return add_strand(connection)


def close(place: str, strand: int) -> bool:
    """Close a strand."""
    with EvidenceStore(place) as store, store.writing() as connection:
        return close_strand(connection, strand)


@contextmanager
def writers(place: str, number: int) -> Iterator[list[EvidenceStore]]:
    """So many stores at one place: the first appends to strand 1, each other to its own."""
    with ExitStack() as stack:
        stores = [stack.enter_context(EvidenceStore(place))]
        for _ in range(number - 1):
            store = stack.enter_context(EvidenceStore(place))
            store.use_strand(add(place))
            stores.append(store)
        yield stores


def write(stores: Sequence[EvidenceStore], made: Sequence[Draft]) -> list[int]:
    """Append drafts, each to the next strand."""
    return [stores[n % len(stores)].append_blocking(each) for n, each in enumerate(made)]


def with_strands(place: str, strands: int = 3, rounds: int = 3, closed: int = 2) -> AnchorHead:
    """Make a store: in each round two records for each strand, then an anchor; one is closed.

    Records are a second apart. After the last anchor comes one more record in strand 1.
    """
    with writers(place, strands) as stores:
        for number in range(rounds):
            size = 2 * strands
            write(stores, drafts(size, number * size))
            assert stores[0].anchor(NOW + (number + 1) * size) is not None
        close(place, closed)
        anchor = stores[0].anchor(NOW + rounds * 2 * strands + 1)
        assert anchor is not None
        stores[0].append_blocking(drafts(1, rounds * 2 * strands)[0])
    return anchor.head


def tables(place: str) -> dict[str, list[tuple[object, ...]]]:
    """All of the evidence in a file."""
    connection = sqlite3.connect(place)
    try:
        names = ("evidence", "evidence_head", "evidence_anchors", "evidence_checkpoints")
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    finally:
        connection.close()

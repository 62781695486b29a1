"""A store and its exports that an older version wrote: `data/how_it_was_made.txt`."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from manners.evidence.chain import Head, canonical
from manners.evidence.export import Exported, holds
from manners.evidence.record import Record, engine
from manners.evidence.replay import Replay
from manners.evidence.store import EvidenceStore
from tests.evidence.drafts import drafts

DATA = Path(__file__).parent / "data"
HEAD = Head.parse("28:f3fa934d77fc3647a0dc0a3c523760df79c817c0ef6caaba4a3eab1b0d601a69")
"""What `evidence head` of the older version printed."""


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """A copy of the store, which may be written."""
    path = tmp_path / "before.db"
    path.write_bytes(gzip.decompress((DATA / "before.db.gz").read_bytes()))
    return path


@pytest.mark.parametrize("readonly", [True, False])
def test_a_store_of_before_is_verified(before: Path, readonly: bool) -> None:
    """Up to the head that was noted then, and every record has its own hash."""
    with EvidenceStore(before, create=False, readonly=readonly) as store:
        assert list(store.verify(HEAD)) == []
        records = list(store.records())
    assert len(records) == HEAD.number
    assert all(map(holds, records))


def test_a_store_of_before_is_decided_again_and_continued(before: Path) -> None:
    """With the same results, whatever the numbers; and its chain goes on."""
    with EvidenceStore(before, create=False) as store:
        replay = Replay(store.snapshot, engine())
        assert [replay.again(record) for record in store.records()] == [None] * HEAD.number
        assert store.append_blocking(drafts(1)[0]) == HEAD.number + 1
        assert list(store.verify(HEAD)) == []


@pytest.mark.parametrize("name", ["before.jsonl", "before-redacted.jsonl"])
def test_an_export_of_before_is_verified(name: str) -> None:
    """Line by line, up to the head; what was redacted stays unknown."""
    checked = Exported(HEAD)
    assert list(checked.findings((DATA / name).read_bytes().splitlines())) == []
    assert (checked.records, checked.trailer and checked.trailer.head) == (HEAD.number, HEAD)
    assert bool(checked.redacted) == ("redacted" in name)


def values(name: str) -> list[dict[str, Any]]:
    """The records of an export, as any reader of JSON has them."""
    lines = (DATA / name).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines][:-1]


@pytest.mark.parametrize(
    "has",
    [
        lambda found: not found["metadata"]["url"].isascii(),
        lambda found: not found["metadata"]["agent"].isascii(),
        lambda found: "\ufffd" in found["metadata"]["url"],  # a byte that was no UTF-8
        lambda found: found["metadata"]["crawlDelay"] == 1e-7,
        lambda found: found["metadata"]["crawlDelay"] == 1e300,
        lambda found: (
            isinstance(found["metadata"]["crawlDelay"], int)
            and found["metadata"]["crawlDelay"] > 2**53
        ),
        lambda found: found["metadata"].get("exclusion", {}).get("include"),
        lambda found: found["metadata"].get("redacted"),
    ],
)
def test_what_is_hard_to_write_is_there(has: Callable[[dict[str, Any]], object]) -> None:
    """What one library may write otherwise than another."""
    assert any(map(has, values("before.jsonl")))


def test_integers_beyond_doubles_are_numbers_of_json() -> None:
    """rfc8785 refuses them, and old records have them: a double is written like that."""
    large = next(
        found["metadata"]["crawlDelay"]
        for found in values("before.jsonl")
        if isinstance(found["metadata"]["crawlDelay"], int)
        and found["metadata"]["crawlDelay"] > 2**53
    )
    with pytest.raises(rfc8785.IntegerDomainError):
        rfc8785.dumps(large)
    assert canonical(large) == canonical(float(large)) == str(large)
    record = Record.from_dict(values("before.jsonl")[0])
    assert holds(record)

"""Rows that were put aside on disk."""

from pathlib import Path

import pyarrow as pa
import pytest

from manners.bulk import bucketing

ROWS = [pa.record_batch({"url": [f"https://{name}.example/" * 50] * 20}) for name in "abc"]


@pytest.mark.parametrize("lost", [1, 8, 100])
def test_rows_that_were_being_added_when_a_process_died_are_cut_off(
    tmp_path: Path, lost: int
) -> None:
    """What was added before is there, and more can be added behind it."""
    path = tmp_path / "rows.arrow"
    for rows in ROWS[:2]:
        bucketing.append(path, rows)
    path.write_bytes(path.read_bytes()[:-lost])
    assert bucketing.recover(path) == ROWS[:1]
    bucketing.append(path, ROWS[2])
    assert bucketing.recover(path) == [ROWS[0], ROWS[2]]
    assert list(bucketing.read(path)) == [ROWS[0], ROWS[2]]


def test_no_file_has_no_rows(tmp_path: Path) -> None:
    """Nothing was added yet."""
    assert bucketing.recover(tmp_path / "rows.arrow") == []

"""Locks on a part of a store: one process at a time, and never after it has ended."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from manners.errors import StoreError
from manners.evidence.store import EvidenceStore
from manners.store.database import Store
from manners.store.locks import InUse
from tests.evidence.places import Places, all_ended, process


def test_one_is_alone_however_many_want_to_be(places: Places, tmp_path: Path) -> None:
    """Processes that come and go: no two of them are at work at the same time, and some are."""
    place = places.new()
    EvidenceStore(place).close()
    started = [process("alone", place, str(tmp_path / "mark")) for _ in range(3)]
    found = [json.loads(told) for told in all_ended(started)]
    assert [each["met"] for each in found] == [0, 0, 0]
    assert all(each["was"] for each in found)


def test_what_is_in_the_way_of_a_lock_is_said(tmp_path: Path) -> None:
    """A lock that cannot be taken is not the same as one that somebody has."""
    with EvidenceStore(tmp_path / "store.db") as store:
        (tmp_path / "store.db-crawl-1").mkdir()
        with pytest.raises(StoreError) as caught, store.lock("crawl", 1):
            pass
        assert not isinstance(caught.value, InUse)
        with store.lock("crawl", 2), pytest.raises(InUse), store.lock("crawl", 2):
            pass


HOLDER = """
import os, sys, time
from manners.store.database import Store

with Store(sys.argv[1]) as store, store.lock("crawl", 1):
    child = os.fork()
    if not child:
        time.sleep(60)
        os._exit(0)
    print(child, flush=True)
    time.sleep(60)
"""


def test_a_lock_ends_with_its_process_though_a_child_lives_on(tmp_path: Path) -> None:
    """What was forked has the files of its parent, and not its locks."""
    place = str(tmp_path / "store.db")
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, place], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    child = int(holder.stdout.readline())
    try:
        with Store(place) as store:
            assert store.is_locked("crawl", 1)
            with pytest.raises(InUse), store.lock("crawl", 1):
                pass
            holder.kill()
            holder.wait()
            with store.lock("crawl", 1, wait=10.0):
                assert store.is_locked("crawl", 1)
            assert not store.is_locked("crawl", 1)
    finally:
        os.kill(child, signal.SIGKILL)
        holder.kill()
        holder.stdout.close()


def test_a_lock_file_is_removed_and_one_that_was_left_is_free(tmp_path: Path) -> None:
    """Nothing stays beside the store, and what a killed process left blocks nobody."""
    with Store(tmp_path / "store.db") as store:
        (tmp_path / "store.db-crawl-1").touch()
        assert not store.is_locked("crawl", 1)
        with store.lock("crawl", 1):
            assert (tmp_path / "store.db-crawl-1").exists()
        assert not (tmp_path / "store.db-crawl-1").exists()

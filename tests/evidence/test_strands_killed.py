"""Processes with strands of their own, killed at any moment; and a server that is restarted."""

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from manners.evidence.chain import AnchorHead
from manners.evidence.numbering import strand_of
from manners.evidence.store import EvidenceStore
from tests.contracts.postgres import Postgres
from tests.evidence.places import process
from tests.sizes import seed, size

MODULE = "tests.evidence.strand_process"
SEED = seed("KILLED_SEED")


@pytest.fixture
def server() -> Iterator[Postgres]:
    """One that may be ended."""
    with Postgres() as made:
        yield made


def verified(place: str, answers: Counter[int]) -> AnchorHead:
    """Everything that was answered is there, and all of it is intact; the head."""
    with EvidenceStore(place) as store:
        kept = {record.id for record in store.records()}
        missing = answers.keys() - kept
        assert not missing, sorted(missing)[:10]
        assert max(answers.values(), default=1) == 1
        store.anchor(0.0, wait=True)
        head = store.head()
        assert isinstance(head, AnchorHead)
        assert [str(finding) for finding in store.verify(head)] == []
    return head


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL here")
def test_processes_with_strands_may_be_killed(server: Postgres) -> None:
    """One of four after the other: every record that was answered is there, in an intact strand."""
    place, draw, answers = server.database(), random.Random(f"strands {SEED}"), Counter[int]()
    EvidenceStore(place).close()
    alive = [process("endless", place, number, module=MODULE) for number in range(4)]
    heads: list[AnchorHead] = []
    try:
        for number in range(size("KILLS")):
            for each in alive:
                read(each, answers, 1)
            doomed = alive.pop(draw.randrange(4))
            read(doomed, answers, draw.choice([1, 10, 100]))
            end(doomed, answers)
            alive.append(process("endless", place, number + 4, module=MODULE))
            if number % 5 == 4:
                heads.append(verified(place, answers))
    finally:
        for each in alive:
            end(each, answers)
    head = verified(place, answers)
    assert len({strand_of(number) for number in answers}) >= 4
    with EvidenceStore(place) as store:
        for noted in (*heads, head):
            assert [str(finding) for finding in store.verify(noted)] == []


def read(started: Any, answers: Counter[int], count: int) -> None:
    """Read so many answers of a process."""
    for _ in range(count):
        line = started.stdout.readline()
        assert line, started.stderr.read()
        answers.update(numbers(line))


def end(started: Any, answers: Counter[int]) -> None:
    """Kill a process, and read its last answers."""
    started.kill()
    answers.update(numbers(started.stdout.read()))
    started.communicate()


def numbers(text: str) -> list[int]:
    """Whole lines that are numbers."""
    found = []
    for line in text.split("\n")[:-1]:
        with suppress(ValueError):
            found.append(int(line))
    return found


def test_every_record_is_written_once_though_the_server_is_restarted(server: Postgres) -> None:
    """Two processes wait for it, and go on: as many records as answers, and none twice."""
    place, records = server.database(), 400
    EvidenceStore(place).close()
    started = [process("counted", place, n, records, module=MODULE) for n in range(2)]
    try:
        for each in started:
            assert each.stdout.readline() == "half\n", each.stderr.read()
        for _ in range(2):
            server.kill()  # in the middle of the second half
            server.start()
        answers = list[int]()
        for each in started:
            told, complaints = each.communicate("\n", timeout=120)
            assert each.returncode == 0, complaints
            answers += json.loads(told)
    finally:
        for each in started:
            each.kill()
            each.communicate()
    with EvidenceStore(place) as store:
        found = list(store.records())
        assert sorted(record.id for record in found) == sorted(answers)
        assert max(Counter(record.url for record in found).values()) == 1
    verified(place, Counter(answers))

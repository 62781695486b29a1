"""The memory tier: bounded in number and in bytes, the least recently used goes first."""

from collections import OrderedDict

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from manners.cache.backends.memory import Memory
from manners.cache.entry import next_entry
from manners.cache.site import ParsedEntry
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability, Outcome
from manners.robots import dialects

PLENTY = 10**9
FOUND = Outcome(Availability.AVAILABLE, "200")


def held(origin: str, size: int = 0) -> ParsedEntry:
    """A file of so many bytes."""
    profile = profiles.get("rfc9309")
    entry = next_entry(None, origin, FOUND, b"#" * size, profile, 0.0)
    return ParsedEntry(entry, dialects.get("rfc9309"), profile)


def origins(number: int) -> list[str]:
    return [f"https://{n}.example" for n in range(number)]


def filled(memory: Memory, number: int, size: int = 0) -> list[str]:
    names = origins(number)
    for name in names:
        memory.put(held(name, size))
    return names


def _overhead() -> int:
    memory = Memory(10, PLENTY)
    memory.put(held("https://a.example"))
    return memory.bytes


OVERHEAD = _overhead()
"""What an entry without a body is counted for."""


def test_what_is_put_is_found() -> None:
    """An entry is found by its origin; another origin has none."""
    memory = Memory(10, PLENTY)
    one = held("https://a.example")
    memory.put(one)
    assert memory.get("https://a.example") is one
    assert memory.get("http://a.example") is None
    assert len(memory) == 1


def test_the_oldest_goes_when_there_are_too_many() -> None:
    """The number of entries is bounded."""
    memory = Memory(3, PLENTY)
    names = filled(memory, 5)
    assert [memory.get(name) is not None for name in names] == [False, False, True, True, True]
    assert (len(memory), memory.evicted) == (3, 2)


def test_use_keeps_an_entry() -> None:
    """What was looked up last goes last."""
    memory = Memory(3, PLENTY)
    names = filled(memory, 3)
    memory.get(names[0])
    memory.put(held("https://new.example"))
    assert memory.get(names[0]) is not None
    assert memory.get(names[1]) is None


def test_a_new_entry_for_an_origin_takes_the_place_of_the_old() -> None:
    """An origin has one entry, and only the last one is counted."""
    memory = Memory(3, PLENTY)
    names = filled(memory, 3, size=1000)
    new = held(names[0], 10)
    memory.put(new)
    assert memory.get(names[0]) is new
    assert (len(memory), memory.evicted) == (3, 0)
    assert memory.bytes == 2010 + 3 * OVERHEAD


def test_bytes_are_bounded() -> None:
    """Large files make room for themselves."""
    memory = Memory(100, 3 * (1000 + OVERHEAD))
    names = filled(memory, 10, size=1000)
    assert len(memory) == 3
    assert memory.bytes <= memory.max_bytes
    assert memory.get(names[-1]) is not None


def test_one_that_is_too_large_is_held_alone() -> None:
    """The entry just put is there, whatever it takes: it was asked for."""
    memory = Memory(100, 10)
    filled(memory, 3)
    assert len(memory) == 1
    assert memory.get(origins(3)[-1]) is not None


def test_forgetting_makes_room() -> None:
    """What is forgotten is gone, and counts no more; it is not an eviction."""
    memory = Memory(3, PLENTY)
    names = filled(memory, 2, size=100)
    assert memory.forget(names[0])
    assert not memory.forget(names[0])
    assert memory.get(names[0]) is None
    assert memory.bytes == 100 + OVERHEAD
    assert memory.forget(names[1])
    assert (len(memory), memory.bytes, memory.evicted) == (0, 0, 0)


class Model(RuleBasedStateMachine):
    """The memory tier beside a model of it."""

    def __init__(self) -> None:
        super().__init__()
        self.entries, self.max_bytes = 4, 4 * OVERHEAD + 1000
        self.memory = Memory(self.entries, self.max_bytes)
        self.model: OrderedDict[str, tuple[ParsedEntry, int]] = OrderedDict()
        self.evicted = 0

    def taken(self) -> int:
        return sum(size + OVERHEAD for _, size in self.model.values())

    @rule(name=st.sampled_from(origins(8)), size=st.sampled_from([0, 100, 600, 1500]))
    def put(self, name: str, size: int) -> None:
        new = held(name, size)
        self.memory.put(new)
        self.model.pop(name, None)
        self.model[name] = (new, size)
        while len(self.model) > 1 and (
            len(self.model) > self.entries or self.taken() > self.max_bytes
        ):
            self.model.popitem(last=False)
            self.evicted += 1

    @rule(name=st.sampled_from(origins(8)))
    def get(self, name: str) -> None:
        expected = self.model.get(name)
        if expected is not None:
            self.model.move_to_end(name)
        assert self.memory.get(name) is (expected[0] if expected else None)

    @rule(name=st.sampled_from(origins(8)))
    def forget(self, name: str) -> None:
        assert self.memory.forget(name) is (self.model.pop(name, None) is not None)

    @invariant()
    def sums_agree(self) -> None:
        assert len(self.memory) == len(self.model)
        assert self.memory.bytes == self.taken()
        assert self.memory.evicted == self.evicted


TestModel = Model.TestCase
TestModel.settings = settings(deadline=None)

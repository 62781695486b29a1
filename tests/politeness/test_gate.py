"""The way to a slot: who goes when, whatever happens to those who wait. Seconds pass at once."""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manners.errors import ClientClosed, HostDeferred, LeaseOver, SlotTimeout
from manners.politeness.backends import Lease, NotBefore
from manners.politeness.backends.memory import MemoryBackend
from manners.politeness.gate import Gate
from manners.politeness.schedule import Pace
from manners.testing import Clock, run
from tests.sizes import examples

HOST, OTHER = "example.com", "other.example"
START = Clock().start


def now() -> float:
    """Seconds since the loop began, to the millisecond."""
    return round(asyncio.get_running_loop().time() - START, 3)


class Scene:
    """A gate with its backend, who goes through it, and when each started and ended."""

    def __init__(
        self,
        pace: Pace = Pace(min_delay=0.5, max_delay=0.5),  # noqa: B008 (a pace does not change)
        own: Mapping[str, int] | None = None,
        backend: MemoryBackend | None = None,
    ) -> None:
        clock = asyncio.get_running_loop().time
        self.pace = pace
        self.backend = backend or MemoryBackend(pace.concurrency, pace.lease, own, clock)
        self.gate = Gate(self.backend, pace, lambda: 0.5, clock)
        self.starts: dict[str, float] = {}
        self.ends: dict[str, float] = {}
        self.refused: dict[str, tuple[type[Exception], float]] = {}

    def go(
        self, name: str, seconds: float = 0.0, host: str = HOST, gap: float | None = None
    ) -> "asyncio.Task[None]":
        """Somebody who comes to a host, stays for so many seconds, and leaves."""
        return asyncio.create_task(self._go(name, seconds, host, gap))

    async def _go(self, name: str, seconds: float, host: str, gap: float | None) -> None:
        draw: Callable[[float], float] = self.pace.gap if gap is None else lambda _: gap
        try:
            lease = await self.gate.enter(host, draw)
        except (SlotTimeout, HostDeferred, ClientClosed) as error:
            self.refused[name] = type(error), now()
            return
        self.starts[name] = now()
        try:
            await asyncio.sleep(seconds)
        finally:
            await self.gate.leave(lease)
        self.ends[name] = now()

    async def free(self, host: str = HOST, slots: int = 2) -> None:
        """All slots of a host are free, much later, and it can be entered."""
        await asyncio.sleep(100)
        held = [await self.backend.take(host, START + 200 + 10 * n) for n in range(slots + 1)]
        assert [isinstance(each, Lease) for each in held] == [True] * slots + [False]
        for each in held[:slots]:
            assert isinstance(each, Lease)
            await self.backend.release(each)


async def cancelled(task: "asyncio.Task[None]") -> None:
    """Cancel a task, and see it end."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def all_of(*tasks: "asyncio.Task[None]") -> None:
    await asyncio.gather(*tasks)


# In order, apart by the gap.


def test_starts_are_in_order_and_apart_by_the_gap() -> None:
    """First come, first served; the first at once."""

    async def test() -> None:
        scene = Scene()
        await all_of(*(scene.go(name) for name in "abcdef"))
        assert scene.starts == {"a": 0, "b": 0.5, "c": 1, "d": 1.5, "e": 2, "f": 2.5}
        assert list(scene.starts) == list("abcdef")

    run(test())


def test_whoever_comes_later_is_behind() -> None:
    """Also when the first in line has long been waiting."""

    async def test() -> None:
        scene, tasks = Scene(), []
        for name in "abcd":
            tasks.append(scene.go(name, gap=3.0))
            await asyncio.sleep(0.25)
        await all_of(*tasks, scene.go("e", gap=3.0))
        assert scene.starts == {"a": 0, "b": 3, "c": 6, "d": 9, "e": 12}

    run(test())


def test_after_a_break_nobody_waits() -> None:
    """The gap is from start to start, not from end to start."""

    async def test() -> None:
        scene = Scene()
        await scene.go("a", 0.25)
        await asyncio.sleep(0.25)
        await scene.go("b")
        assert scene.starts == {"a": 0, "b": 0.5}

    run(test())


def test_the_gap_is_drawn_once_for_each() -> None:
    """From 200 to 500 ms, for the start behind it."""

    async def test() -> None:
        draws = iter([0.0, 1.0, 0.5, 0.0])
        scene = Scene(Pace())
        scene.gate._draw = lambda: next(draws)
        await all_of(*(scene.go(name) for name in "abcd"))
        assert scene.starts == {"a": 0, "b": 0.2, "c": 0.7, "d": 1.05}

    run(test())


def test_no_more_than_the_slots_are_in_use() -> None:
    """The third starts when one of two leaves, and at once."""

    async def test() -> None:
        scene = Scene()
        await all_of(scene.go("a", 4.017), scene.go("b", 2.019), scene.go("c", 2), scene.go("d"))
        assert scene.starts == {"a": 0, "b": 0.5, "c": 2.519, "d": 4.017}

    run(test())


def test_a_host_may_have_its_own_slots() -> None:
    """One at a time here, as many as there are elsewhere."""

    async def test() -> None:
        scene = Scene(own={HOST: 1, OTHER: 3})
        tasks = [scene.go(name, 3, HOST) for name in "ab"]
        tasks += [scene.go(name, 3, OTHER) for name in "ABC"]
        await all_of(*tasks)
        assert scene.starts == {"a": 0, "A": 0, "B": 0.5, "C": 1, "b": 3}

    run(test())


def test_starts_are_apart_when_slots_were_scarce() -> None:
    """Those who had a start time long ago do not start together when slots come free."""

    async def test() -> None:
        scene = Scene()
        first = [scene.go(name, 5 - 0.5 * n) for n, name in enumerate("ab")]
        await all_of(*first, *(scene.go(name) for name in "cdef"))
        assert scene.ends["a"] == scene.ends["b"] == 5
        assert [scene.starts[name] for name in "cdef"] == [5, 5.5, 6, 6.5]

    run(test())


def test_a_start_is_waited_for_once() -> None:
    """Whoever has waited for it, and then for a slot, starts when there is one."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go("a", 12, gap=4.0), scene.go("b", 9, gap=4.0), scene.go("c", gap=4.0)]
        await all_of(*tasks)
        assert scene.starts == {"a": 0, "b": 4, "c": 12}

    run(test())


def test_one_host_does_not_stand_in_the_way_of_another() -> None:
    """A line of fifty at one host, and others come and go."""

    async def test() -> None:
        scene = Scene()
        line = [scene.go(f"a{n}", 3, gap=5.0) for n in range(50)]
        for n in range(5):
            await scene.go(f"b{n}", host=OTHER)
        assert [scene.starts[f"b{n}"] for n in range(5)] == [0, 0.5, 1, 1.5, 2]
        assert [name for name in scene.starts if name.startswith("a")] == ["a0"]
        await all_of(*line)
        assert [scene.starts[f"a{n}"] for n in range(50)] == [5 * n for n in range(50)]

    run(test())


# Waiting for a slot has an end.


def test_a_slot_is_waited_for_10_s() -> None:
    """Counted from when all are in use; then it is a SlotTimeout, and the next one's turn."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go(name, 30) for name in "ab"]
        await asyncio.sleep(1)
        with pytest.raises(SlotTimeout, match="Timeout waiting for host concurrency slot: exam"):
            await scene.gate.enter(HOST, scene.pace.gap)
        assert now() == 11
        tasks.append(scene.go("c"))
        await all_of(*tasks)
        assert scene.refused == {"c": (SlotTimeout, 21)}

    run(test())


def test_everybody_in_line_has_the_same_patience() -> None:
    """It counts from when each came, and runs out in order."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go(name, 30) for name in "ab"]
        await asyncio.sleep(1)
        for name in "cdef":
            tasks.append(scene.go(name))
            await asyncio.sleep(2)
        await all_of(*tasks)
        assert [scene.refused[name][0] for name in "cdef"] == [SlotTimeout] * 4
        ends = [scene.refused[name][1] for name in "cdef"]
        # Each comes two seconds later, and waits for its start time once the one before is gone.
        assert ends == pytest.approx([11, 13, 15, 17], abs=1.5)
        assert ends == sorted(ends)

    run(test())


def test_waiting_for_a_start_is_not_waiting_for_a_slot() -> None:
    """However long a line is, while there are slots nobody runs out of patience."""

    async def test() -> None:
        scene = Scene()
        await all_of(*(scene.go(f"{n}", gap=7.0) for n in range(10)))
        assert [scene.starts[f"{n}"] for n in range(10)] == [7 * n for n in range(10)]

    run(test())


def test_waiting_for_a_penalty_is_not_waiting_for_a_slot() -> None:
    """Nor is it counted when a slot is waited for afterwards."""

    async def test() -> None:
        scene = Scene()
        await scene.backend.penalise(HOST, START + 40)
        tasks = [scene.go("a", 9), scene.go("b", 9), scene.go("c")]
        await all_of(*tasks)
        assert scene.starts == {"a": 40, "b": 40.5, "c": 49}

    run(test())


def test_only_the_time_without_a_slot_counts() -> None:
    """Two times six seconds with a start in between are more than ten, for who waited for both."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go("a", 7.0), scene.go("b", 6.5)]
        await asyncio.sleep(1)
        tasks += [scene.go("c", 100), scene.go("d", 100), scene.go("e")]
        await all_of(*tasks)
        assert scene.starts == {"a": 0, "b": 0.5, "c": 7, "d": 7.5}
        # Six seconds until 7, and four more from 8 on, when e is first and has its start.
        assert scene.refused == {"e": (SlotTimeout, 12)}

    run(test())


def test_whoever_does_not_want_to_wait_is_told_at_once() -> None:
    """A patience of none."""

    async def test() -> None:
        scene = Scene(Pace(slot_timeout=0.0, max_delay=0.2))
        tasks = [scene.go("a", 5), scene.go("b", 5), scene.go("c")]
        await all_of(*tasks)
        assert scene.refused == {"c": (SlotTimeout, 0.4)}

    run(test())


# What is too far ahead.


def test_a_host_is_deferred_beyond_60_s() -> None:
    """Until when is told, nothing is reserved, and a minute is still waited for."""

    async def test() -> None:
        scene = Scene()
        await scene.go("a", gap=61.0)
        for _ in range(3):
            with pytest.raises(HostDeferred) as caught:
                await scene.gate.enter(HOST, lambda _: 61.0)
            assert caught.value.host == HOST
            assert round(caught.value.until - START, 3) == 61
        await asyncio.sleep(2)
        await scene.go("b", gap=60.0)
        await scene.go("c")
        assert scene.starts == {"a": 0, "b": 61, "c": 121}

    run(test())


def test_everybody_in_line_is_deferred() -> None:
    """All of them at once, until the same time."""

    async def test() -> None:
        scene = Scene()
        await all_of(*(scene.go(name, gap=3600.0) for name in "abcd"))
        assert scene.starts == {"a": 0}
        assert scene.refused == dict.fromkeys("bcd", (HostDeferred, 0))

    run(test())


def test_a_penalty_defers_who_is_waiting() -> None:
    """Whoever sleeps for a start, or for a slot, is told when it is time to look."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go("a", 3, gap=2.0), scene.go("b", gap=2.0)]
        tasks += [scene.go(name, 4, OTHER) for name in "AB"] + [scene.go("C", host=OTHER)]
        await asyncio.sleep(1)
        for host in (HOST, OTHER):
            await scene.gate.penalise(host, START + 900)
        await all_of(*tasks)
        assert scene.refused == {
            "b": (HostDeferred, 2),
            "C": (HostDeferred, pytest.approx(1, abs=0.06)),
        }

    run(test())


def test_a_penalty_that_is_near_is_waited_for() -> None:
    """By all who wait, and then they go on in order."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go(name) for name in "abc"]
        await asyncio.sleep(0.25)
        await scene.gate.penalise(HOST, START + 30)
        await all_of(*tasks)
        assert scene.starts == {"a": 0, "b": 30, "c": 30.5}

    run(test())


# Cancelled.


@pytest.mark.parametrize("rounds", range(6))
def test_whoever_is_cancelled_in_line_is_passed_over(rounds: int) -> None:
    """However far it got by then: the others go on, and no slot is lost."""

    async def test() -> None:
        scene = Scene()
        tasks = {name: scene.go(name, 1) for name in "abcd"}
        for _ in range(rounds):
            await asyncio.sleep(0)
        await cancelled(tasks.pop("c"))
        await all_of(*tasks.values())
        assert scene.starts == {"a": 0, "b": 0.5, "d": 1}
        await scene.free()

    run(test())


def test_whoever_is_cancelled_before_its_start_makes_room_for_the_next() -> None:
    """Who begins at once, and the start that was reserved is the next one's."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go("a", gap=6.0), sleeping := scene.go("b", gap=6.0)]
        tasks += [scene.go("c", gap=6.0), scene.go("d", gap=6.0)]
        await asyncio.sleep(1)
        await cancelled(sleeping)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert scene.starts == {"a": 0, "c": 6, "d": 12}
        await scene.free()

    run(test())


def test_giving_up_again_and_again_does_not_put_a_host_off() -> None:
    """Starts that nobody made do not add up to a host that is deferred."""

    async def test() -> None:
        scene = Scene()
        await scene.go("a", gap=20.0)
        for _ in range(10):
            impatient = scene.go("b", gap=20.0)
            await asyncio.sleep(1)
            await cancelled(impatient)
        await scene.go("c", gap=20.0)
        assert scene.starts == {"a": 0, "c": 20}

    run(test())


def test_a_start_that_was_given_up_is_not_used_by_who_has_to_keep_more_distance() -> None:
    """Meanwhile the site has asked for ten seconds: those behind keep to it."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go("a"), waiting := scene.go("b")]
        await asyncio.sleep(0.25)
        await cancelled(waiting)
        await all_of(*tasks[:1], scene.go("c", gap=10.0), scene.go("d", gap=10.0))
        assert scene.starts["d"] - scene.starts["c"] == 10

    run(test())


def test_whoever_is_cancelled_waiting_for_a_slot_makes_room_for_the_next() -> None:
    """The next one waits for the slot instead."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go(name, 6) for name in "ab"]
        tasks += [waiting := scene.go("c"), scene.go("d")]
        await asyncio.sleep(3)
        await cancelled(waiting)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert scene.starts == {"a": 0, "b": 0.5, "d": 6}
        await scene.free()

    run(test())


@pytest.mark.parametrize("how_many", [1, 2, 3])
def test_whoever_is_cancelled_when_its_turn_comes_hands_it_on(how_many: int) -> None:
    """The turn was given and not yet used; it goes to the next who is still there."""

    async def test() -> None:
        scene = Scene()
        first = scene.go("a", 9, gap=4.0)
        second = scene.go("b", 9, gap=4.0)
        line = [scene.go(f"c{n}") for n in range(4)]
        await asyncio.sleep(1)
        handed = scene.gate._lanes[HOST].waiting[0]
        second.cancel()
        while not handed.done():  # until b has handed its turn to c0, which has not run yet
            await asyncio.sleep(0)
        for each in line[:how_many]:
            each.cancel()
        await asyncio.gather(first, second, *line, return_exceptions=True)
        assert list(scene.starts) == ["a", *(f"c{n}" for n in range(how_many, 4))]
        await scene.free()

    run(test())


def test_whoever_is_cancelled_with_a_slot_gives_it_back() -> None:
    """As soon as it leaves."""

    async def test() -> None:
        scene = Scene()
        tasks = [running := scene.go("a", 50), scene.go("b", 50), scene.go("c")]
        await asyncio.sleep(3)
        await cancelled(running)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert scene.starts == {"a": 0, "b": 0.5, "c": 3}
        await scene.free()

    run(test())


def test_a_gap_that_fails_holds_nobody_up() -> None:
    """Its error goes to whoever brought it; the others go on."""

    async def test() -> None:
        scene = Scene()

        def broken(_: float) -> float:
            raise ZeroDivisionError

        task = scene.go("a")
        with pytest.raises(ZeroDivisionError):
            await scene.gate.enter(HOST, broken)
        await all_of(task, scene.go("b"))
        assert scene.starts == {"a": 0, "b": 0.5}

    run(test())


STORIES = st.lists(
    st.tuples(
        st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0]),  # when the next one comes
        st.sampled_from([0.0, 0.25, 2.0, 5.0, 20.0]),  # for how long
        st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, 9.0]),  # cancelled after
    ),
    max_size=25,
)


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STORIES, st.integers(1, 3))
def test_whatever_happens_nobody_is_forgotten(
    story: list[tuple[float, float, float | None]], slots: int
) -> None:
    """In order, apart by the gap, within the slots; in the end all are free."""

    async def test() -> None:
        scene = Scene(Pace(slots, min_delay=0.5, max_delay=0.5))
        loop, tasks = asyncio.get_running_loop(), []
        for number, (later, seconds, until) in enumerate(story):
            await asyncio.sleep(later)
            task = scene.go(f"{number}", seconds)
            tasks.append(task)
            if until is not None:
                loop.call_later(until, task.cancel)
        await asyncio.gather(*tasks, return_exceptions=True)
        assert all(
            task.cancelled() or f"{number}" in scene.ends or f"{number}" in scene.refused
            for number, task in enumerate(tasks)
        )
        starts = list(scene.starts.values())
        assert all(late - early >= 0.499 for early, late in itertools.pairwise(starts))
        names = [int(name) for name in scene.starts]
        assert names == sorted(names)
        for name, start in scene.starts.items():
            running = [
                other
                for other, begun in scene.starts.items()
                if begun <= start < scene.ends.get(other, begun)
            ]
            assert len({*running, name}) <= slots
        assert not scene.gate._lanes or scene.gate._lanes[HOST].running == 0
        await asyncio.sleep(300)
        await all_of(*(scene.go(f"last {n}", 8) for n in range(slots)))
        assert all(f"last {n}" in scene.ends for n in range(slots))

    run(test())


# Closing.


def test_closing_turns_away_whoever_waits() -> None:
    """In line, before a start, for a slot, and whoever comes; those under way end as they do."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go("a", 5, gap=30.0), *(scene.go(name) for name in "bcd")]
        tasks += [scene.go(name, 5, OTHER) for name in ("A", "B")]
        tasks += [scene.go(name, 5, OTHER) for name in ("C", "D", "E")]
        await asyncio.sleep(2)
        await scene.gate.close()
        await asyncio.sleep(0.5)
        assert scene.refused == dict.fromkeys("bcdCDE", (ClientClosed, 2))
        for host in (HOST, OTHER, "third.example"):
            with pytest.raises(ClientClosed):
                await scene.gate.enter(host, scene.pace.gap)
        await all_of(*tasks)
        assert scene.ends == {"a": 5, "A": 5, "B": 5.5}
        await scene.gate.close()

    run(test())


def test_a_backend_is_not_asked_after_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is closed, too."""

    async def test() -> None:
        scene = Scene()
        await scene.go("a")
        await scene.gate.close()
        monkeypatch.setattr(scene.backend, "reserve", None)
        monkeypatch.setattr(scene.backend, "take", None)
        await all_of(*(scene.go(name) for name in "bc"))
        assert scene.refused == dict.fromkeys("bc", (ClientClosed, 0))

    run(test())


@pytest.mark.parametrize("rounds", range(5))
def test_whoever_comes_while_it_closes_is_turned_away(rounds: int) -> None:
    """Several at a time, to a line that is just breaking up, at any moment of it."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go(name) for name in "abcd"]
        await asyncio.sleep(0.25)
        await scene.gate.close()
        for _ in range(rounds):
            await asyncio.sleep(0)
        await all_of(*tasks, *(scene.go(name) for name in "efg"))
        assert list(scene.starts) == ["a"]
        assert sorted(scene.refused) == list("bcdefg")

    run(test())


@pytest.mark.parametrize("rounds", range(5))
def test_a_turn_that_was_just_handed_on_is_no_use_after_closing(rounds: int) -> None:
    """Whoever was made first, and those behind, are turned away like all others."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go("a"), leading := scene.go("b"), *(scene.go(name) for name in "cde")]
        await asyncio.sleep(0.25)
        leading.cancel()
        for _ in range(rounds):
            await asyncio.sleep(0)
        await scene.gate.close()
        tasks += [scene.go(name) for name in "fg"]
        await asyncio.gather(*tasks, return_exceptions=True)
        assert list(scene.starts) == ["a"]
        assert sorted(scene.refused) == list("cdefg")

    run(test())


def test_whoever_has_waited_for_a_start_and_waits_for_a_slot_is_turned_away_at_once() -> None:
    """No start is waited for again."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go("a", 20, gap=5.0), scene.go("b", 20, gap=5.0), scene.go("c", gap=5.0)]
        await asyncio.sleep(12)
        await scene.gate.close()
        await all_of(*tasks)
        assert scene.refused == {"c": (ClientClosed, 12)}

    run(test())


# Other processes.


def test_a_slot_of_another_process_is_tried_for_again() -> None:
    """Nobody tells when it is given back: it is looked for every 50 ms."""

    async def test() -> None:
        scene = Scene()
        theirs = [await scene.backend.take(HOST) for _ in range(2)]
        task = scene.go("a")
        await asyncio.sleep(3)
        assert isinstance(theirs[0], Lease)
        await scene.backend.release(theirs[0])
        await task
        assert 3 <= scene.starts["a"] <= 3.06

    run(test())


def test_a_slot_of_another_process_is_tried_for_while_one_is_ours() -> None:
    """Whichever comes free first."""

    async def test() -> None:
        scene = Scene()
        theirs = await scene.backend.take(HOST)
        tasks = [scene.go("a", 30), scene.go("b")]
        await asyncio.sleep(3)
        assert isinstance(theirs, Lease)
        await scene.backend.release(theirs)
        await all_of(*tasks)
        assert scene.starts["a"] == 0
        assert 3 <= scene.starts["b"] <= 3.06

    run(test())


def test_slots_of_other_processes_are_waited_for_10_s() -> None:
    """As for our own."""

    async def test() -> None:
        scene = Scene()
        for _ in range(2):
            await scene.backend.take(HOST)
        await scene.go("a")
        assert scene.refused == {"a": (SlotTimeout, 10)}

    run(test())


def test_a_start_of_another_process_is_kept_free() -> None:
    """Whoever leaves meanwhile wakes nobody up who waits for a start."""

    async def test() -> None:
        scene = Scene()
        tasks = [scene.go("a", 2)]
        await asyncio.sleep(0.25)
        theirs = await scene.backend.reserve(HOST, 5.0)
        assert theirs - START == pytest.approx(0.5, abs=0.001)
        await all_of(*tasks, scene.go("b"))
        assert scene.starts == {"a": 0, "b": 5.5}

    run(test())


def test_a_slot_whose_lease_ends_is_free() -> None:
    """Whatever became of its holder."""

    async def test() -> None:
        scene = Scene(Pace(lease=4.0))
        for _ in range(2):
            await scene.backend.take(HOST)
        await scene.go("a")
        assert scene.starts["a"] == pytest.approx(4, abs=0.06)

    run(test())


def test_gates_that_share_a_backend_share_a_host() -> None:
    """Two clients of one process: starts are apart, and slots are two, for both together."""

    async def test() -> None:
        one = Scene()
        two = Scene(backend=one.backend)
        tasks = [one.go("a", 5), two.go("A", 5), one.go("b", 5), two.go("B", 5)]
        await all_of(*tasks)
        starts = sorted([*one.starts.values(), *two.starts.values()])
        assert starts == pytest.approx([0, 0.5, 5, 5.5], abs=0.06)
        gaps = [late - early for early, late in itertools.pairwise(starts)]
        assert min(gaps) >= 0.499

    run(test())


def test_a_child_begins_with_lines_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those who wait, and those who run, are the parent's; when to start holds for both."""

    async def test() -> None:
        scene = Scene()
        for _ in range(2):
            await scene.gate.enter(HOST, lambda _: 5.0)
        scene.gate._lanes[HOST].is_led = True  # by somebody who does not live here
        monkeypatch.setattr("manners._forks.generation", 1)
        await all_of(scene.go("a"), scene.go("b"))
        assert scene.starts == {"a": 10, "b": 10.5}

    run(test())


class Slow(MemoryBackend):
    """A backend that takes its time, and fails when it is told to, as one on a network does."""

    is_away = False

    async def _pass(self) -> None:
        await asyncio.sleep(0.01)
        if self.is_away:
            raise ConnectionError

    async def reserve(self, *args: Any) -> float:
        await self._pass()
        return await super().reserve(*args)

    async def take(self, *args: Any) -> Lease | float:
        await self._pass()
        return await super().take(*args)

    async def release(self, *args: Any) -> None:
        await self._pass()
        await super().release(*args)


def slow() -> Slow:
    return Slow(clock=asyncio.get_running_loop().time)


def test_a_backend_may_take_its_time() -> None:
    """In order, apart by the gap, within the slots."""

    async def test() -> None:
        scene = Scene(backend=slow())
        await all_of(*(scene.go(name, 0.25) for name in "abcd"))
        starts = list(scene.starts.items())
        assert [name for name, _ in starts] == list("abcd")
        assert all(
            0.499 <= late - early <= 0.6 for (_, early), (_, late) in itertools.pairwise(starts)
        )

    run(test())


def test_a_backend_that_fails_stops_requests_and_they_go_on_when_it_is_back() -> None:
    """Everybody gets the error, nobody is stuck, and a slot that could not be given back ends."""

    async def test() -> None:
        backend = slow()
        scene = Scene(backend=backend)
        lost = [scene.go(name, 5) for name in "ab"]
        await asyncio.sleep(3)
        backend.is_away = True
        waiting = [scene.go(name) for name in "cde"]
        found = await asyncio.gather(*lost, *waiting, return_exceptions=True)
        assert [type(each) for each in found] == [ConnectionError] * 5
        assert scene.gate._lanes[HOST].running == 0
        backend.is_away = False
        await asyncio.sleep(300)
        await all_of(*(scene.go(name) for name in "fgh"))
        assert list(scene.starts) == list("abfgh")

    run(test())


@pytest.mark.parametrize("seconds", [0.005, 0.015, 0.025, 0.505])
def test_closing_does_not_wait_while_a_backend_takes_its_time(seconds: float) -> None:
    """Whoever was asking it then is turned away when the answer comes, not at its start."""

    async def test() -> None:
        scene = Scene(backend=slow())
        await scene.go("a", gap=50.0)
        before = now()
        tasks = [scene.go(name, gap=50.0) for name in "bc"]
        await asyncio.sleep(seconds)
        await scene.gate.close()
        await all_of(*tasks)
        assert {kind for kind, _ in scene.refused.values()} == {ClientClosed}
        assert all(at - before <= seconds + 0.03 for _, at in scene.refused.values())

    run(test())


def test_a_slot_that_comes_after_closing_is_given_back() -> None:
    """It was being taken when the gate closed."""

    async def test() -> None:
        scene = Scene(backend=slow())
        task = scene.go("a", 5)
        await asyncio.sleep(0.015)
        await scene.gate.close()
        await task
        assert scene.refused["a"][0] is ClientClosed
        await scene.free()

    run(test())


# Not without end.


def test_lines_that_nobody_stands_in_are_forgotten() -> None:
    """Those with somebody in them, or under way, are not; nor is what a host was promised."""

    async def test() -> None:
        scene = Scene(Pace(min_delay=0.0, max_delay=0.0))
        await scene.gate.penalise("third.example", START + 900)
        await scene.gate.leave(await scene.gate.enter("fourth.example", lambda _: 800.0))
        await scene.gate.penalise(OTHER, START + 50)
        tasks = [scene.go("running", 900), scene.go("waiting", host=OTHER)]
        await asyncio.sleep(1)
        busy = [scene.gate._lanes[host] for host in (HOST, OTHER)]
        for number in range(25_000):
            await scene.gate.leave(await scene.gate.enter(f"{number}.example", scene.pace.gap))
        assert len(scene.gate._lanes) <= 10_000
        assert [scene.gate._lanes[host] for host in (HOST, OTHER)] == busy
        assert scene.gate.earliest("third.example") == START + 900
        assert round(scene.gate.earliest("fourth.example") - START) == 800
        await all_of(*tasks)
        assert scene.starts == {"running": 0, "waiting": 50}

    run(test())


def test_no_more_requests_are_under_way_than_there_are_places() -> None:
    """All hosts together: who comes later waits, in turn, and holds no slot meanwhile."""

    async def main() -> None:
        clock = asyncio.get_running_loop().time
        backend = MemoryBackend(2, 300.0, clock=clock)
        gate = Gate(backend, Pace(min_delay=0.0, max_delay=0.0), lambda: 0.5, clock, places=2)
        held = [await gate.enter(f"h{n}.example", lambda _: 0.0) for n in range(2)]
        order: list[int] = []

        async def ask(number: int) -> None:
            lease = await gate.enter(f"w{number}.example", lambda _: 0.0)
            order.append(number)
            await gate.leave(lease)

        waiting = [asyncio.create_task(ask(number)) for number in range(5)]
        await asyncio.sleep(1)
        assert order == []
        waiting[1].cancel()
        await asyncio.sleep(1)
        await gate.leave(held[0])
        await asyncio.gather(*waiting, return_exceptions=True)
        assert order == [0, 2, 3, 4]
        await gate.leave(held[1])
        assert isinstance(await backend.take("w1.example"), Lease)

    run(main())


def test_who_waits_for_a_place_is_turned_away_by_closing() -> None:
    """The requests that hold the places end with the client, and give them on."""

    async def main() -> None:
        clock = asyncio.get_running_loop().time
        backend = MemoryBackend(2, 300.0, clock=clock)
        gate = Gate(backend, Pace(), lambda: 0.5, clock, places=1)
        held = await gate.enter("a.example", lambda _: 0.0)
        waiting = [asyncio.create_task(gate.enter(f"{n}.example", lambda _: 0.0)) for n in range(3)]
        await asyncio.sleep(1)
        await gate.close()
        await gate.leave(held)
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(each) for each in found] == [ClientClosed] * 3

    run(main())


# Without a slot.


def test_who_passes_by_waits_for_the_time_and_takes_no_slot() -> None:
    """For all that a host has said, and for the requests that were made here."""

    async def main() -> None:
        scene = Scene()
        await scene.gate.pass_by(HOST, 0.0)
        assert now() == 0
        await scene.gate.enter(HOST, lambda _: 3.0)
        await scene.gate.pass_by(HOST, 0.0)
        assert now() == pytest.approx(3, abs=0.01)
        await scene.gate.penalise(HOST, START + 20)
        await asyncio.gather(*(scene.gate.pass_by(HOST, 5.0) for _ in range(10)))
        assert now() == pytest.approx(20, abs=0.01)

    run(main())


def test_who_would_wait_for_too_long_does_not_pass() -> None:
    """Where requests are to be further apart than anything is waited for, one passes at a time."""

    async def main() -> None:
        scene = Scene()
        await scene.gate.penalise(OTHER, START + 61)
        with pytest.raises(HostDeferred):
            await scene.gate.pass_by(OTHER, 0.0)
        await scene.gate.penalise(HOST, START + 10)
        tasks = [asyncio.create_task(scene.gate.pass_by(HOST, 3600.0)) for _ in range(3)]
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in found] == [type(None), HostDeferred, HostDeferred]
        assert scene.gate.earliest(HOST) == pytest.approx(START + 3610, abs=0.01)
        await scene.gate.close()
        with pytest.raises(ClientClosed):
            await scene.gate.pass_by("third.example", 0.0)

    run(main())


# When requests leave.


class Telling(Scene):
    """Those who tell when their request leaves, some seconds after they could have sent it."""

    def leaves(
        self, name: str, late: float, seconds: float = 0.0, host: str = HOST
    ) -> "asyncio.Task[None]":
        return asyncio.create_task(self._leaves(name, late, seconds, host))

    async def _leaves(self, name: str, late: float, seconds: float, host: str) -> None:
        lease = await self.gate.enter(host, self.pace.gap, tells=True)
        try:
            await asyncio.sleep(late)
            while self.gate.is_late(lease) and not await self.gate.may_depart(lease):
                await self.gate.leave(lease)
                lease = await self.gate.enter(host, self.pace.gap, tells=True)
            self.gate.departed(lease)
            self.starts[name] = now()
            await asyncio.sleep(seconds)
        finally:
            await self.gate.leave(lease)


def test_the_gap_counts_from_when_a_request_left() -> None:
    """However late that was; the one behind it waits for it, and for the gap."""

    async def test() -> None:
        scene = Telling()
        late = {"a": 0.3, "b": 0.0, "c": 2.0, "d": 0.0, "e": 0.1}
        await all_of(*(scene.leaves(name, each, 0.7) for name, each in late.items()))
        assert scene.starts == {"a": 0.3, "b": 0.8, "c": 3.3, "d": 3.8, "e": 4.4}

    run(test())


def test_a_request_that_never_leaves_counts_from_when_it_was_given_up() -> None:
    """Its connection failed, or it was cancelled."""

    async def test() -> None:
        scene = Telling()
        lost = scene.leaves("lost", 60.0)
        await asyncio.sleep(3)
        behind = scene.leaves("behind", 0.0)
        await asyncio.sleep(1)
        await cancelled(lost)
        await behind
        assert scene.starts == {"behind": 4.5}

    run(test())


def test_without_a_gap_nobody_waits_for_another_to_leave() -> None:
    """There is nothing to keep to."""

    async def test() -> None:
        scene = Telling(Pace(min_delay=0.0, max_delay=0.0))
        await all_of(scene.leaves("a", 3.0), scene.leaves("b", 1.0))
        assert scene.starts == {"b": 1, "a": 3}

    run(test())


def test_whoever_waits_for_another_to_leave_may_give_up_or_be_turned_away() -> None:
    """A cancellation is one's own; a gate that is shut turns away everybody."""

    async def test() -> None:
        scene = Telling()
        first = scene.leaves("first", 5.0)
        await asyncio.sleep(0.1)
        gone, waits = scene.go("gone"), scene.go("waits")
        await asyncio.sleep(0.1)
        await cancelled(gone)
        await asyncio.sleep(0.1)
        scene.gate.shut()
        await all_of(first, waits)
        assert scene.starts == {"first": 5}
        assert scene.refused == {"waits": (ClientClosed, 0.3)}

    run(test())


def test_gates_that_share_a_backend_keep_the_gap_between_what_leaves() -> None:
    """Who stands still and was overtaken takes another turn; who was not moves the next start."""

    async def test() -> None:
        one = Telling()
        two = Telling(backend=one.backend)
        await all_of(one.leaves("slow", 0.7), two.leaves("quick", 0.0))
        assert (one.starts, two.starts) == ({"slow": 1.0}, {"quick": 0.5})
        await asyncio.sleep(4)
        slow = one.leaves("slower", 0.4)
        await asyncio.sleep(0.45)
        await all_of(slow, two.leaves("behind", 0.0))
        assert (one.starts["slower"], two.starts["behind"]) == (5.4, 5.9)

    run(test())


def test_a_request_whose_lease_ends_while_it_asks_does_not_leave() -> None:
    """The process may stand still while the backend answers: it is asked again afterwards."""

    class Far(MemoryBackend):
        async def renew(self, *arguments: Any) -> Lease | None:
            renewed = await super().renew(*arguments)
            may_send.clear()
            return renewed

    may_send = {"yes"}

    async def test() -> None:
        scene = Telling(backend=Far(9, 300.0, clock=asyncio.get_running_loop().time))
        scene.gate.fence(lambda: bool(may_send), admit)
        lease = await scene.gate.enter(HOST, scene.pace.gap, tells=True)
        with pytest.raises(LeaseOver):
            await scene.gate.may_depart(lease)
        assert not may_send
        await scene.gate.leave(lease)

    async def admit(_: str) -> None:
        """Any host."""

    run(test())


@pytest.mark.parametrize("answer_time", [0.005, 0.08, 0.6])
def test_a_backend_that_answers_slowly_holds_nobody_up_for_ever(answer_time: float) -> None:
    """Others allow for as long as it takes, and what leaves is apart by the gap."""

    class Far(MemoryBackend):
        async def begin(self, host: str, delay: float, _: None, within: float) -> Lease | float:
            start = await self.reserve(host, delay, None, within)
            taken = (
                NotBefore(start) if start > self._clock() else await self.take(host, None, delay)
            )
            await asyncio.sleep(answer_time)
            return taken

        async def renew(self, *arguments: Any) -> Lease | None:
            renewed = await super().renew(*arguments)
            await asyncio.sleep(answer_time)
            return renewed

    async def test() -> None:
        clock = asyncio.get_running_loop().time
        scenes = [Telling(backend=Far(9, 300.0, clock=clock))]
        scenes.append(Telling(backend=scenes[0].backend))
        late = [0.0, 0.3, 0.0, 0.9, 0.0, 0.1]
        tasks = [scenes[n % 2].leaves(str(n), each) for n, each in enumerate(late)]
        await all_of(*tasks)
        starts = sorted(scenes[0].starts.values()) + sorted(scenes[1].starts.values())
        assert len(starts) == 6
        assert all(b - a >= 0.499 for a, b in itertools.pairwise(sorted(starts)))
        assert max(starts) < 30

    run(test())

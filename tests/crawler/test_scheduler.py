"""The scheduler: what it starts and when, without an event loop and without a clock."""

from collections import Counter, defaultdict, deque
from itertools import count

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from manners.crawler.scheduler import MAX_BATCH, Batch, NextSteps, Request, Scheduler
from tests.sizes import examples

Schedule = Scheduler[str]


class Paces:
    """The pace of each host, as politeness would tell it."""

    def __init__(self, **delays: float) -> None:
        self.delays = delays
        self.at: dict[str, float] = {}

    def __call__(self, host: str) -> tuple[float, float]:
        return self.delays.get(host, 0.0), self.at.get(host, 0.0)


def schedule(
    paces: Paces | None = None, *, slots: int = 2, connections: int = 256
) -> Scheduler[str]:
    return Scheduler(paces or Paces(), lambda _: slots, connections)


def add(scheduler: Schedule, *items: str) -> None:
    """Add URLs, each written as host/path."""
    for item in items:
        scheduler.add(item.partition("/")[0], item)


def items(steps: NextSteps[str]) -> list[str]:
    return [request.item for request in steps.start]


def answer(scheduler: Schedule, *requests: Request[str], **more: bool) -> None:
    for request in requests:
        scheduler.finished(request, answered=True, **more)


def acquainted(scheduler: Schedule, *hosts: str) -> None:
    """Let hosts answer a first request."""
    add(scheduler, *(f"{host}/first" for host in hosts))
    answer(scheduler, *scheduler.next(0.0).start)


# One host.


def test_nothing_to_do() -> None:
    """There is nothing to start, nothing to lease, and no time at which to look again."""
    scheduler = schedule()
    assert scheduler.next(0.0) == ([], [], None)
    assert not scheduler.is_busy


def test_a_host_that_is_not_known_has_one_request_until_it_answers() -> None:
    """Then as many as it has slots."""
    scheduler = schedule(slots=2)
    add(scheduler, "a/1", "a/2", "a/3", "a/4")
    first = scheduler.next(0.0)
    assert items(first) == ["a/1"]
    assert items(scheduler.next(0.0)) == []
    answer(scheduler, *first.start)
    assert items(scheduler.next(0.0)) == ["a/2", "a/3"]
    assert items(scheduler.next(0.0)) == []


def test_a_host_that_stops_answering_has_one_request_again() -> None:
    """Also when some of its requests are still under way."""
    scheduler = schedule(slots=2)
    add(scheduler, *(f"a/{n}" for n in range(6)))
    answer(scheduler, *scheduler.next(0.0).start)
    first, second = scheduler.next(0.0).start
    scheduler.finished(first, answered=False)
    assert items(scheduler.next(0.0)) == []
    scheduler.finished(second, answered=None)
    (third,) = scheduler.next(0.0).start
    answer(scheduler, third)
    assert len(scheduler.next(0.0).start) == 2


def test_a_host_is_asked_when_its_time_has_come() -> None:
    """Not before, and the steps says when that is."""
    paces = Paces(a=5.0)
    scheduler = schedule(paces)
    paces.at["a"] = 10.0
    add(scheduler, "a/1")
    assert scheduler.next(9.0) == ([], [], 10.0)
    assert items(scheduler.next(10.0)) == ["a/1"]


def test_a_pace_that_changes_is_heeded() -> None:
    """A host that was to be asked at 10 wants to be asked at 20."""
    paces = Paces()
    paces.at["a"] = 10.0
    scheduler = schedule(paces)
    add(scheduler, "a/1")
    assert scheduler.next(0.0).look_again_at == 10.0
    paces.at["a"] = 20.0
    assert scheduler.next(10.0) == ([], [], 20.0)
    assert items(scheduler.next(20.0)) == ["a/1"]


def test_a_request_that_could_not_start_is_the_next_one() -> None:
    """Not before the time that was reported, however quick the host is."""
    scheduler = schedule()
    add(scheduler, "a/1", "a/2")
    (request,) = scheduler.next(0.0).start
    scheduler.returned(request, 30.0)
    assert not scheduler.is_busy
    assert scheduler.next(0.0) == ([], [], 30.0)
    assert items(scheduler.next(30.0)) == ["a/1"]


def test_a_request_that_is_returned_without_a_time_may_start_at_once() -> None:
    """As when a budget was used up, and a page was given back."""
    scheduler = schedule()
    add(scheduler, "a/1")
    (request,) = scheduler.next(0.0).start
    scheduler.returned(request)
    assert items(scheduler.next(0.0)) == ["a/1"]


def test_a_host_that_waits_its_turn_may_be_told_to_wait_longer() -> None:
    """It is in the heap for 10 when another of its requests comes back for 30."""
    paces = Paces()
    scheduler = schedule(paces)
    add(scheduler, "a/1", "a/2", "a/3")
    answer(scheduler, *scheduler.next(0.0).start)
    first, second = scheduler.next(0.0).start
    answer(scheduler, second)
    paces.at["a"] = 10.0
    add(scheduler, "a/4")
    assert scheduler.next(0.0).look_again_at == 10.0
    scheduler.returned(first, 30.0)
    assert scheduler.next(10.0) == ([], [], 30.0)
    assert items(scheduler.next(30.0)) == ["a/2", "a/4"]


def test_a_time_that_was_replaced_wakes_nobody() -> None:
    """A host was to be asked at 7, then at 5, and after that at 9."""
    paces = Paces()
    scheduler = schedule(paces)
    paces.at["a"] = 7.0
    add(scheduler, "a/1")
    paces.at["a"] = 5.0
    add(scheduler, "a/2")
    (request,) = scheduler.next(5.0).start
    paces.at["a"] = 9.0
    answer(scheduler, request)
    assert scheduler.next(5.0).look_again_at == 9.0


def test_what_says_nothing_about_a_host_changes_nothing() -> None:
    """As a page that robots.txt disallows: the host still has all its slots."""
    scheduler = schedule(slots=2)
    add(scheduler, *(f"a/{n}" for n in range(5)))
    answer(scheduler, *scheduler.next(0.0).start)
    for request in scheduler.next(0.0).start:
        scheduler.finished(request)
    assert len(scheduler.next(0.0).start) == 2


def test_the_end_of_a_request_counts_once() -> None:
    """To report it again changes nothing, whatever it says."""
    scheduler = schedule()
    add(scheduler, "a/1", "a/2")
    (request,) = scheduler.next(0.0).start
    scheduler.finished(request)
    scheduler.finished(request, answered=True)
    scheduler.returned(request, 100.0)
    assert scheduler.running == 0
    assert items(scheduler.next(0.0)) == ["a/2"]


# Batches.


@pytest.mark.parametrize(
    ("delay", "slots", "size"),
    [(0.0, 2, MAX_BATCH), (0.001, 2, MAX_BATCH), (0.5, 2, 4), (1.0, 2, 2), (60.0, 3, 3)],
)
def test_a_batch_lasts_about_two_seconds(delay: float, slots: int, size: int) -> None:
    """At most 64 URLs, and at least one for each slot."""
    scheduler = schedule(Paces(a=delay), slots=slots)
    scheduler.found("a")
    assert scheduler.next(0.0).fill == [Batch("a", size)]


def test_one_batch_of_a_host_is_leased_at_a_time() -> None:
    """What is found meanwhile is leased afterwards."""
    scheduler = schedule()
    scheduler.found("a")
    assert len(scheduler.next(0.0).fill) == 1
    assert scheduler.is_busy
    scheduler.found("a")
    assert scheduler.next(0.0).fill == []
    scheduler.leased("a", [])
    assert len(scheduler.next(0.0).fill) == 1
    scheduler.leased("a", [])
    assert scheduler.next(0.0) == ([], [], None)
    assert not scheduler.is_busy


def test_the_next_batch_is_leased_before_a_host_runs_out() -> None:
    """When a quarter is left."""
    scheduler = schedule(Paces(a=0.25), slots=1)
    scheduler.found("a")
    scheduler.next(0.0)
    scheduler.leased("a", [f"a/{n}" for n in range(8)], more_at=0.0)
    for left in (7, 6, 5, 4, 3):
        steps = scheduler.next(0.0)
        assert steps.fill == [], left
        answer(scheduler, *steps.start)
    assert scheduler.next(0.0).fill == [Batch("a", 8)]


def test_one_batch_is_leased_at_a_time_also_of_a_host_that_is_asked_meanwhile() -> None:
    """The second waits for the first."""
    scheduler = schedule(slots=3)
    acquainted(scheduler, "a")
    for number in range(3):
        scheduler.found("a")
        add(scheduler, f"a/{number}")
        steps = scheduler.next(0.0)
        assert (len(steps.start), len(steps.fill)) == (1, number == 0)
        answer(scheduler, *steps.start)


def test_a_host_that_runs_low_leases_no_sooner_than_there_is_something() -> None:
    """Its next URL is to be tried again in a minute."""
    scheduler = schedule()
    scheduler.found("a")
    scheduler.next(0.0)
    scheduler.leased("a", ["a/1"], more_at=60.0)
    steps = scheduler.next(0.0)
    assert (items(steps), steps.fill) == (["a/1"], [])


def test_what_may_be_leased_later_is_leased_then() -> None:
    """A URL that is to be tried again in a minute."""
    scheduler = schedule()
    scheduler.found("a")
    scheduler.next(0.0)
    scheduler.leased("a", [], more_at=60.0)
    assert scheduler.next(0.0) == ([], [], 60.0)
    assert scheduler.next(60.0).fill == [Batch("a", MAX_BATCH)]


def test_a_host_without_work_is_forgotten() -> None:
    """A crawl may have millions of hosts."""
    scheduler = schedule()
    acquainted(scheduler, *"abcdef")
    assert scheduler.queues == {}
    scheduler.found("a")
    scheduler.next(0.0)
    assert list(scheduler.queues) == ["a"]
    scheduler.leased("a", [])
    assert scheduler.queues == {}


# Several hosts.


def test_a_slow_host_delays_no_other() -> None:
    """One may be asked in an hour, another now."""
    paces = Paces()
    paces.at["slow"] = 3_600.0
    scheduler = schedule(paces)
    add(scheduler, "slow/1", "quick/1")
    steps = scheduler.next(0.0)
    assert (items(steps), steps.look_again_at) == (["quick/1"], 3_600.0)


def test_hosts_take_turns_where_connections_are_few() -> None:
    """With one connection, and hosts that could be asked all the time."""
    scheduler = schedule(connections=1)
    add(scheduler, *(f"{host}/{n}" for host in "abc" for n in range(3)))
    started: list[str] = []
    while steps := scheduler.next(0.0).start:
        started += [request.host for request in steps]
        answer(scheduler, *steps)
    assert "".join(started) == "abcabcabc"


def test_no_more_connections_than_there_are() -> None:
    """However many hosts could be asked."""
    scheduler = schedule(connections=4)
    acquainted(scheduler, "a")
    add(scheduler, *(f"{host}/{n}" for host in "abcdef" for n in range(4)))
    assert len(scheduler.next(0.0).start) == 4
    assert scheduler.next(0.0) == ([], [], None)


def test_without_room_for_results_nothing_starts() -> None:
    """Nor is anything leased; and then it goes on."""
    scheduler = schedule()
    scheduler.found("b")
    add(scheduler, "a/1")
    assert scheduler.next(0.0, has_room=False) == ([], [], None)
    steps = scheduler.next(0.0)
    assert (items(steps), steps.fill) == (["a/1"], [Batch("b", MAX_BATCH)])


# Kinds of hosts.


def test_new_hosts_leave_a_quarter_of_the_connections() -> None:
    """They may turn out to hang."""
    scheduler = schedule(connections=8)
    add(scheduler, *(f"new{n}/1" for n in range(20)))
    assert len(scheduler.next(0.0).start) == 6
    assert scheduler.next(0.0).start == []


def test_silent_hosts_have_a_quarter_of_the_connections() -> None:
    """Hosts that answer have what is left, and do not wait for them."""
    scheduler = schedule(connections=8)
    add(scheduler, *(f"s{n}/{m}" for n in range(6) for m in range(2)))
    for request in scheduler.next(0.0).start:
        scheduler.finished(request, answered=False)
    assert len(scheduler.next(0.0).start) == 2
    add(scheduler, "good/1", "good/2", "good/3")
    (first,) = scheduler.next(0.0).start
    answer(scheduler, first)
    assert items(scheduler.next(0.0)) == ["good/2", "good/3"]


def test_a_silent_host_is_not_new_when_there_is_more_of_it() -> None:
    """Though it had nothing to do meanwhile: it may hang again, and new hosts wait for nobody."""
    scheduler = schedule(connections=8)
    for number in range(6):
        add(scheduler, f"s{number}/0")
        (request,) = scheduler.next(0.0).start
        scheduler.finished(request, answered=False)
    assert not scheduler.queues
    add(scheduler, *(f"s{number}/1" for number in range(6)))
    assert len(scheduler.next(0.0).start) == 2
    add(scheduler, "new/0")
    assert items(scheduler.next(0.0)) == ["new/0"]


def test_silent_hosts_wait_in_line() -> None:
    """First come, first served; when one ends, the next may be asked."""
    scheduler = schedule(connections=4)
    add(scheduler, *(f"{host}/{n}" for host in "abc" for n in range(2)))
    for request in scheduler.next(0.0).start:
        scheduler.finished(request, answered=False)
    seen = []
    for _ in range(3):
        (request,) = scheduler.next(0.0).start
        seen.append(request.item)
        scheduler.finished(request, answered=False)
    assert seen == ["a/1", "b/1", "c/1"]


def test_hosts_with_large_pages_wait_while_many_are_unread() -> None:
    """Hosts with ordinary pages do not."""
    scheduler = schedule()
    add(scheduler, "large/1", "large/2", "small/1", "small/2")
    for request in scheduler.next(0.0).start:
        answer(scheduler, request, is_large=request.host == "large")
    add(scheduler, "other/1")
    assert items(scheduler.next(0.0, large_pages=8)) == ["small/2", "other/1"]
    assert items(scheduler.next(0.0, large_pages=8)) == []
    assert items(scheduler.next(0.0, large_pages=7)) == ["large/2"]


def test_a_host_has_large_pages_until_it_has_a_small_one() -> None:
    """What says nothing about its pages changes nothing."""
    scheduler = schedule(slots=1)
    add(scheduler, *(f"a/{n}" for n in range(4)))
    (request,) = scheduler.next(0.0).start
    answer(scheduler, request, is_large=True)
    (request,) = scheduler.next(0.0).start
    answer(scheduler, request)
    assert items(scheduler.next(0.0, large_pages=8)) == []
    (request,) = scheduler.next(0.0).start
    answer(scheduler, request, is_large=False)
    assert items(scheduler.next(0.0, large_pages=8)) == ["a/3"]


# Hosts that are handed back.


def test_a_host_with_nothing_to_do_is_reported_as_idle() -> None:
    """Once each time; whoever owns it may hand it back."""
    scheduler = schedule()
    acquainted(scheduler, "a", "b")
    assert sorted(scheduler.idle) == ["a", "b"]
    scheduler.idle.clear()
    scheduler.found("a")
    scheduler.next(0.0)
    assert scheduler.idle == []
    scheduler.leased("a", [], None)
    assert scheduler.idle == ["a"]


def test_a_host_is_dropped_unless_something_is_under_way() -> None:
    """With all that was leased for it: nothing of that starts, and it may come back."""
    scheduler = schedule(Paces(a=1.0))
    add(scheduler, "a/1", "a/2", "b/1")
    assert scheduler.drop("a")
    assert items(scheduler.next(0.0)) == ["b/1"]
    assert not scheduler.drop("a")  # it is not there any more
    assert not scheduler.drop("b")  # a request is under way
    scheduler.found("c")
    assert scheduler.next(0.0).fill == [Batch("c", MAX_BATCH)]
    assert not scheduler.drop("c")  # a batch is being leased
    add(scheduler, "a/3")
    assert items(scheduler.next(0.0)) == ["a/3"]
    assert scheduler.next(100.0) == ([], [], None)


def test_a_host_that_waits_in_line_is_dropped_from_it() -> None:
    """The others move up."""
    scheduler = schedule(connections=4)
    add(scheduler, *(f"{host}/1" for host in "abcdef"))
    started = scheduler.next(0.0).start
    assert [request.host for request in started] == ["a", "b", "c"]
    assert scheduler.drop("d")
    answer(scheduler, started[0])
    assert items(scheduler.next(0.0)) == ["e/1"]
    answer(scheduler, started[1])
    assert items(scheduler.next(0.0)) == ["f/1"]


def test_distant_hosts_are_known() -> None:
    """The furthest first; those with requests under way are not named."""
    paces = Paces()
    scheduler = schedule(paces)
    for number, host in enumerate("abcd"):
        paces.at[host] = 10.0 * number
        add(scheduler, f"{host}/1", f"{host}/2")
    scheduler.found("late", 500.0)
    assert items(scheduler.next(0.0)) == ["a/1"]
    assert scheduler.distant(10.0) == ["late", "d", "c"]
    assert scheduler.distant(-1.0) == ["late", "d", "c", "b"]
    assert scheduler.first_time() == 10.0
    assert scheduler.time_of("late") == 500.0
    assert scheduler.time_of("d") == 0.0  # there is something to do at any time; it has a pace
    assert scheduler.drop("b")
    assert scheduler.first_time() == 20.0


# Everything at once, against a model.

HOSTS = st.sampled_from("abcde")


class Crawling(RuleBasedStateMachine):
    """A frontier, politeness and a network that behave as badly as they may."""

    @initialize(
        connections=st.integers(1, 9),
        slots=st.lists(st.integers(1, 3), min_size=5, max_size=5),
        delays=st.lists(st.sampled_from([0.0, 0.3, 1.0, 7.0]), min_size=5, max_size=5),
    )
    def begin(self, connections: int, slots: list[int], delays: list[float]) -> None:
        self.now, self.connections = 100.0, connections
        self.slots = dict(zip("abcde", slots, strict=True))
        self.paces = Paces(**dict(zip("abcde", delays, strict=True)))
        self.scheduler = Scheduler[str](self.paces, self.slots.__getitem__, connections)
        self.numbers = count()
        self.frontier: dict[str, list[tuple[float, str]]] = defaultdict(list)
        """What may be leased, and from when on."""
        self.waiting: dict[str, deque[str]] = defaultdict(deque)
        """What was leased or added and is not started."""
        self.not_before: dict[str, float] = {}
        self.answers: dict[str, bool] = {}
        self.running: list[Request[str]] = []
        self.kinds: dict[str, str] = {}
        """The kind of host that a request counts for."""
        self.batches: list[Batch] = []
        self.added: set[str] = set()
        self.done: list[str] = []

    def item(self, host: str) -> str:
        item = f"{host}/{next(self.numbers)}"
        self.added.add(item)
        return item

    # What happens.

    @rule(host=HOSTS, number=st.integers(1, 9), later=st.sampled_from([0.0, 0.0, 5.0]))
    def find(self, host: str, number: int, later: float) -> None:
        self.frontier[host] += [(self.now + later, self.item(host)) for _ in range(number)]
        self.scheduler.found(host, min(at for at, _ in self.frontier[host]))

    @rule(host=HOSTS)
    def add(self, host: str) -> None:
        item = self.item(host)
        self.waiting[host].append(item)
        self.scheduler.add(host, item)

    @precondition(lambda self: self.batches)
    @rule(data=st.data())
    def lease(self, data: st.DataObject) -> None:
        self.hand_out(self.batches.pop(data.draw(st.integers(0, len(self.batches) - 1))))

    def hand_out(self, batch: Batch) -> None:
        host, size = batch
        known = sorted(self.frontier[host])
        due = [item for at, item in known if at <= self.now][:size]
        rest = self.frontier[host] = [each for each in known if each[1] not in due]
        self.waiting[host].extend(due)
        self.scheduler.leased(host, due, rest[0][0] if rest else None)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), answered=st.sampled_from([True, True, False, None]), large=st.booleans())
    def finish(self, data: st.DataObject, answered: bool | None, large: bool) -> None:
        request = self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))
        self.end(request, answered, large)

    def end(self, request: Request[str], answered: bool | None, large: bool = False) -> None:
        if answered is not None:
            self.answers[request.host] = answered
        self.done.append(request.item)
        del self.kinds[request.item]
        self.scheduler.finished(request, answered=answered, is_large=large)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), pause=st.sampled_from([None, 0.0, 20.0]))
    def turn_away(self, data: st.DataObject, pause: float | None) -> None:
        request = self.running.pop(data.draw(st.integers(0, len(self.running) - 1)))
        self.waiting[request.host].appendleft(request.item)
        del self.kinds[request.item]
        if pause is not None:
            self.not_before[request.host] = self.now + pause
        self.scheduler.returned(request, None if pause is None else self.now + pause)

    @rule(host=HOSTS, pause=st.sampled_from([3.0, 40.0]))
    def slow_down(self, host: str, pause: float) -> None:
        """Politeness learns that a host wants to be left in peace."""
        self.paces.at[host] = max(self.paces.at.get(host, 0.0), self.now + pause)

    @rule(seconds=st.sampled_from([0.1, 1.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(has_room=st.sampled_from([True, True, True, False]), large=st.sampled_from([0, 0, 8]))
    def look(self, has_room: bool, large: int) -> None:
        self.decide(has_room, large)

    def decide(self, has_room: bool, large: int) -> NextSteps[str]:
        times = {
            host: max(self.paces(host)[1], self.not_before.get(host, 0.0)) for host in self.slots
        }
        steps = self.scheduler.next(self.now, has_room=has_room, large_pages=large)
        for request in steps.start:
            assert times[request.host] <= self.now
            self.start(request)
        for batch in steps.fill:
            assert batch.host not in {each.host for each in self.batches}
            self.batches.append(batch)
        assert has_room or steps[:2] == ([], [])
        assert steps.look_again_at is None or steps.look_again_at > self.now
        if has_room and not large and len(self.running) < self.connections:
            self.check_that_nobody_was_passed_over()
        return steps

    def start(self, request: Request[str]) -> None:
        host = request.host
        assert self.waiting[host].popleft() == request.item
        others = sum(each.host == host for each in self.running)
        assert others < (self.slots[host] if self.answers.get(host) else 1)
        assert request.kind is not None
        self.running.append(request)
        self.kinds[request.item] = request.kind.value
        delay, at = self.paces(host)
        self.paces.at[host] = max(at, self.now + delay)

    def check_that_nobody_was_passed_over(self) -> None:
        """Whoever could be asked and was not waits for others of its kind."""
        for queue in self.scheduler.queues.values():
            at = max(self.paces(queue.name)[1], self.not_before.get(queue.name, 0.0))
            if queue.items and not queue.is_busy and at <= self.now:
                assert queue.is_waiting
                assert queue.kind.value in ("new", "silent")

    # What holds at any time.

    @invariant()
    def limits(self) -> None:
        if not hasattr(self, "scheduler"):
            return
        assert self.scheduler.running == len(self.running) <= self.connections
        assert self.scheduler.is_busy == bool(self.running or self.batches)
        kinds = Counter(self.kinds.values())
        quarter = self.connections // 4
        assert kinds["silent"] <= max(quarter, 1)
        assert kinds["new"] <= max(self.connections - quarter, 1)

    def teardown(self) -> None:
        """From any state: whatever is known is asked for, each URL once, and then it ends."""
        if not hasattr(self, "scheduler"):
            return
        for _ in range(20 * len(self.added) + 200):
            steps = self.decide(True, 0)
            if steps == ([], [], None) and not self.scheduler.is_busy:
                break
            while self.batches:
                self.hand_out(self.batches.pop())
            while self.running:
                self.end(self.running.pop(), answered=True)
            if steps.look_again_at is not None:
                self.now = steps.look_again_at
        assert sorted(self.done) == sorted(self.added)
        assert self.scheduler.queues == {}


TestCrawling = Crawling.TestCase
TestCrawling.settings = settings(max_examples=examples(100), stateful_step_count=80, deadline=None)

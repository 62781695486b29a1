"""How many URLs a crawl takes in: shares of hosts, without a database."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from manners.crawler.frontier.room import Room


def filled(limit: int, **hosts: int) -> Room:
    room = Room("page", limit, "max_discovered")
    room.load(())
    for host, number in hosts.items():
        for _ in range(number):
            assert room.admit(host, "queued")
    return room


def test_nothing_is_dropped_while_there_is_room() -> None:
    """Up to the limit, however it is spread."""
    assert list(filled(10, a=9, b=1).excess()) == []
    assert filled(10).setting == "max_discovered = 10"


def test_who_has_most_loses_until_shares_are_equal() -> None:
    """And what is dropped takes no room."""
    room = filled(12, a=20, b=5, c=1)
    assert dict(room.excess()) == {"a": 14}
    assert room.by_host is not None
    assert (room.total, room.by_host["a"], room.by_host["b"]) == (12, 6, 5)
    assert list(room.excess()) == []


def test_only_queued_urls_can_be_dropped() -> None:
    """So a host within its share may take the total beyond the limit."""
    room = filled(6, a=6)
    room.queued["a"] = 0
    for _ in range(5):
        room.admit("b", "queued")
    assert dict(room.excess()) == {"b": 2}
    assert room.total == 9


def test_blocked_urls_take_half_of_it() -> None:
    """One that is queued later takes the room of a URL to fetch."""
    room = filled(5)
    assert [room.admit("a", "blocked") for _ in range(4)] == [True, True, True, False]
    room.move("a", "blocked", "queued")
    assert (room.blocked, room.total) == (2, 1)
    assert room.admit("a", "blocked")
    room.move("a", "blocked", "kept")
    assert (room.blocked, room.total, room.queued["a"]) == (2, 2, 1)
    room.move("a", "kept", "queued")
    assert (room.blocked, room.total, room.queued["a"]) == (2, 2, 2)


def test_hosts_are_counted_when_it_is_full() -> None:
    """Until then nobody has to know them; then the store tells, and changes count."""
    room = Room("page", 4, "max_discovered")
    for _ in range(6):
        assert room.admit("a", "queued")
    assert (room.numbers(), room.is_over, room.by_host) == ((6, 0, 0), True, None)
    assert list(room.excess()) == []
    room.load([("a", 5, 3), ("b", 1, 1)])
    room.queue("a", -1)  # it is being fetched
    assert dict(room.excess()) == {"a": 2}
    assert (room.numbers(), room.is_over) == ((4, 0, 0), False)
    room.set(7, 2, 1)
    assert (room.numbers(), room.by_host, room.is_over) == ((7, 2, 1), None, True)


def test_what_could_not_be_dropped_is_counted_again() -> None:
    """Another worker took its host, or has fetched it meanwhile."""
    room = filled(4, a=6)
    assert dict(room.excess()) == {"a": 2}
    room.restore("a", 2)
    assert (room.numbers(), room.by_host, room.queued["a"]) == ((6, 0, 0), {"a": 6}, 4)


def test_a_copy_is_changed_by_itself() -> None:
    """A transaction may fail: then nothing has happened."""
    room = filled(4, a=3)
    other = room.copy()
    other.admit("a", "queued")
    other.admit("b", "blocked")
    assert (room.numbers(), room.by_host, room.queued) == ((3, 0, 0), {"a": 3}, {"a": 3})
    assert (other.numbers(), other.by_host, other.queued) == ((4, 0, 0), {"a": 4}, {"a": 4})


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 40), min_size=1), st.integers(1, 60)
)
def test_shares_are_fair(hosts: dict[str, int], limit: int) -> None:
    """The rest fits, nobody within an equal share loses, and the losers end at the same number."""
    room = filled(limit, **hosts)
    losses: Counter[str] = Counter(dict(room.excess()))
    share = max(limit // len(hosts), 1)
    kept = {host: number - losses[host] for host, number in hosts.items()}
    assert room.by_host is not None
    assert kept == {host: room.by_host[host] for host in hosts}
    assert sum(kept.values()) == room.total
    assert room.total <= max(limit, share * len(hosts))
    for host in losses:
        assert kept[host] >= share
        assert kept[host] >= max(kept.values()) - 1

"""How many URLs a crawl takes in: shares of hosts, without a database."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from manners.crawler.frontier.room import Room


def filled(limit: int, **hosts: int) -> Room:
    room = Room("page", limit, "max_discovered")
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
    room = Room("page", 5, "max_discovered")
    assert [room.admit("a", "blocked") for _ in range(4)] == [True, True, True, False]
    room.move("a", "blocked", "queued")
    assert (room.blocked, room.total) == (2, 1)
    assert room.admit("a", "blocked")
    room.move("a", "blocked", "kept")
    assert (room.blocked, room.total, room.queued["a"]) == (2, 2, 1)
    room.move("a", "kept", "queued")
    assert (room.blocked, room.total, room.queued["a"]) == (2, 2, 2)


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 40), min_size=1), st.integers(1, 60)
)
def test_shares_are_fair(hosts: dict[str, int], limit: int) -> None:
    """The rest fits, nobody within an equal share loses, and the losers end at the same number."""
    room = filled(limit, **hosts)
    losses: Counter[str] = Counter(dict(room.excess()))
    share = max(limit // len(hosts), 1)
    kept = {host: number - losses[host] for host, number in hosts.items()}
    assert kept == {host: room.by_host[host] for host in hosts}
    assert sum(kept.values()) == room.total
    assert room.total <= max(limit, share * len(hosts))
    for host in losses:
        assert kept[host] >= share
        assert kept[host] >= max(kept.values()) - 1

"""What a transaction knows of URLs that are being fetched."""

from types import SimpleNamespace
from typing import Any

from manners.crawler.frontier.writing import Effects


def effects(**in_hand: set[str]) -> Effects:
    frontier: Any = SimpleNamespace(rooms={}, sequence=0, owned=set(), in_hand=in_hand)
    return Effects(frontier)


def test_urls_that_the_same_transaction_hands_out_are_in_hand() -> None:
    """So no job behind the one that takes them drops them: they are still queued in the store."""
    found = effects(a={"1"})
    found.in_hand += [(("a", "2"), True), (("b", "3"), True), (("a", "1"), False)]
    assert found.in_hand_of("a") == {"2"}
    assert found.in_hand_of("b") == {"3"}
    assert found.in_hand_of("c") == set()
    assert found.hosts_in_hand() == {"a", "b"}

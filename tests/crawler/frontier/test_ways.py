"""Which way to a URL counts, without a database: plain rows in, plain rows out."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from manners.crawler.frontier.room import Room
from manners.crawler.frontier.values import FoundUrl, Key, pack, place_of
from manners.crawler.frontier.ways import (
    ANY_NUMBER,
    Alike,
    Judge,
    KnownUrl,
    Limits,
    Ways,
    moved,
    rank_of,
)
from manners.crawler.reasons import DEPTH, NOFOLLOW, NOT_NAMED, OTHER_HOST, TOO_MANY_HOPS
from tests.sizes import examples

SITE = "https://example.com"


class Memory:
    """What a store would know: the URLs, and what fetched pages lead to."""

    def __init__(self) -> None:
        self.urls: dict[Key, KnownUrl] = {}
        self.names: dict[Key, FoundUrl] = {}
        self.pages: dict[Key, tuple[bytes, str]] = {}
        self.forms: Counter[tuple[str, int]] = Counter()
        self.judge: Judge = lambda *_: ("", "", None)
        self.alike = ANY_NUMBER
        self.rooms = {kind: Room(kind, 1_000, "limit") for kind in ("page", "sitemap")}

    def known(self, keys: Sequence[Key]) -> Iterator[tuple[Key, KnownUrl]]:
        for key in keys:
            if key in self.urls:
                row = self.urls[key]
                values = (row.depth, row.hops, row.state, row.reason, row.kind, row.priority)
                yield key, KnownUrl(*values)

    def targets(self, keys: Sequence[Key]) -> Iterable[tuple[Key, bytes, str]]:
        return [(key, *self.pages[key]) for key in keys if key in self.pages]

    def origin(self, key: Key) -> tuple[str, str, str]:
        found = self.names[key]
        return found.url, found.source, found.found_in

    def count_forms(
        self, forms: Mapping[tuple[str, int], int]
    ) -> Iterable[tuple[tuple[str, int], int]]:
        self.forms.update(forms)
        return [(form, self.forms[form]) for form in forms]

    def ways(self, limits: Limits) -> Ways:
        return Ways(self, limits, self.rooms, self.judge, self.alike)

    def write(self, ways: Ways) -> None:
        for key, url in ways.urls.items():
            if url.is_new or url.is_changed or url.found is not None:
                self.urls[key] = url
                if url.found is not None:
                    self.names[key] = url.found

    def add(self, *found: FoundUrl, limits: Limits | None = None) -> Ways:
        ways = self.ways(limits or Limits())
        ways.add(found)
        self.write(ways)
        return ways

    def row(self, path: str) -> KnownUrl:
        return self.urls[place_of(SITE + path)]


def link(path: str, depth: int = 1, **more: object) -> FoundUrl:
    return FoundUrl(SITE + path, "link", f"{SITE}/", depth)._replace(**more)  # type: ignore[arg-type]


def fate(url: KnownUrl) -> tuple[str, str, int]:
    return url.state, url.reason, url.depth


REASONS = [NOT_NAMED, NOFOLLOW, OTHER_HOST, TOO_MANY_HOPS, DEPTH, ""]


def test_reasons_are_ranked_from_the_worst_way_to_the_best() -> None:
    """A reason that is about the URL itself has no rank: no way to it changes anything."""
    assert [rank_of(reason) for reason in REASONS] == sorted(map(rank_of, REASONS))
    assert rank_of("rule-matched") == rank_of("trap: too-long") == -1


@pytest.mark.parametrize("better", range(len(REASONS)))
@pytest.mark.parametrize("worse", range(len(REASONS)))
def test_the_better_reason_counts_in_either_order(worse: int, better: int) -> None:
    """Whichever way is found first."""
    first, second = link("/a", reason=REASONS[worse]), link("/a", reason=REASONS[better])
    fates = []
    for found in ((first, second), (second, first)):
        memory = Memory()
        for item in found:
            memory.add(item)
        fates.append(memory.row("/a").reason)
    assert fates == [REASONS[max(worse, better)]] * 2


def test_limits_say_why_a_way_does_not_count() -> None:
    """What names a URL has the first word, then redirects, then depth; sitemaps have no depth."""
    limits = Limits(max_depth=2, max_hops=3)
    assert limits.reason(link("/", 2, hops=3)) == ""
    assert limits.reason(link("/", 3)) == DEPTH
    assert limits.reason(link("/", 3, hops=4)) == TOO_MANY_HOPS
    assert limits.reason(link("/", 3, hops=4, reason=NOFOLLOW)) == NOFOLLOW
    assert limits.reason(link("/", 9, kind="sitemap")) == ""
    assert Limits().reason(link("/", 10**6)) == ""


def test_a_shorter_way_is_passed_on_through_fetched_pages_and_redirects() -> None:
    """Until it changes nothing; loops end."""
    memory, limits = Memory(), Limits(max_depth=3)
    memory.add(link("/a", 3), link("/b", 4), link("/c", 4), limits=limits)
    a, b, c = (place_of(SITE + path) for path in ("/a", "/b", "/c"))
    memory.row("/a").state = "done"
    memory.pages[a] = (pack([b]), "")
    memory.pages[b] = (b"", f"{SITE}/c")
    memory.pages[c] = (pack([a]), "")
    assert fate(memory.row("/c")) == ("blocked", DEPTH, 4)
    ways = memory.add(link("/a", 1), limits=limits)
    assert fate(memory.row("/a")) == ("done", "", 1)
    assert fate(memory.row("/b")) == ("queued", "", 2)
    assert fate(memory.row("/c")) == ("blocked", DEPTH, 4)  # nobody has fetched /b yet
    assert ways.hosts == {"example.com"}
    assert ways.counts == {("page", "blocked"): -1, ("page", "queued"): 1}
    memory.row("/b").state = "done"
    memory.add(link("/a", 0), limits=limits)
    assert fate(memory.row("/b")) == ("done", "", 1)
    assert fate(memory.row("/c")) == ("queued", "", 1)
    assert memory.row("/c").hops == 0  # a link to it is known: the fewest redirects count


def test_what_a_page_names_moves_with_the_page() -> None:
    """By as many links and redirects; a link has no redirects before it."""
    found = [link("/a", 4), link("/b", 3, hops=5)]
    assert moved(found, -2, -4) == [link("/a", 2), link("/b", 1, hops=1)]


# URLs that are alike.


def alike(limit: int) -> Memory:
    """A memory that takes so many URLs whose path is a letter and a number."""
    memory = Memory()
    memory.judge = lambda found, reason: ("", "", None if reason else ord(found.url[-2]))
    memory.alike = Alike(limit, "trap: alike", "limit")
    return memory


def reasons(memory: Memory) -> dict[str, str]:
    found = memory.names.items()
    return {item.url.removeprefix(SITE): memory.urls[key].reason for key, item in found}


def test_so_many_of_one_form_are_taken() -> None:
    """The rest is blocked with the rule; at once or one after the other; each form by itself."""
    together, apart = alike(2), alike(2)
    found = [link(path) for path in ("/a1", "/a2", "/b1", "/a3", "/a1", "/a4", "/b2")]
    together.add(*found)
    for item in found:
        apart.add(item)
    expected = {"/a1": "", "/a2": "", "/b1": "", "/a3": "trap: alike", "/a4": "trap: alike"}
    assert reasons(together) == reasons(apart) == {**expected, "/b2": ""}
    assert together.row("/a3").rule == "limit"
    assert together.forms == apart.forms == {("example.com", 97): 4, ("example.com", 98): 2}


def test_each_host_has_its_own_forms() -> None:
    """What one has too much of is another's first."""
    memory = alike(1)
    memory.add(link("/a1"), link("/a2"))
    memory.add(FoundUrl("https://other.example/a3", "link", "", 1))
    assert memory.urls[place_of("https://other.example/a3")].state == "queued"


def test_what_is_not_followed_is_counted_when_it_is() -> None:
    """A way that may be followed counts it, once."""
    memory = alike(1)
    memory.add(link("/a1", reason=NOFOLLOW), link("/a2", reason=NOFOLLOW))
    assert not memory.forms
    memory.add(link("/a2"), link("/a2", 0))
    memory.add(link("/a1"))
    assert reasons(memory) == {"/a1": "trap: alike", "/a2": ""}
    assert memory.forms == {("example.com", 97): 2}


# Against a plain search.

NODES = 9
Edges = list[tuple[int, int, bool]]


def searched(edges: Edges, limit: int | None) -> dict[int, tuple[str, int]]:
    """What has to become of each page: why it is blocked, and its depth; by a plain search."""
    depths = {0: 0}
    waiting = [0]
    for node in waiting:
        if limit is not None and depths[node] > limit:
            continue
        for source, target, nofollow in edges:
            if source == node and not nofollow and target not in depths:
                depths[target] = depths[node] + 1
                waiting.append(target)
    fates = {
        node: ("" if limit is None or depth <= limit else DEPTH, depth)
        for node, depth in depths.items()
    }
    for source, target, nofollow in edges:
        fetched = fates.get(source, (DEPTH, 0))[0] == ""
        if nofollow and fetched and target not in fates:
            fates[target] = (NOFOLLOW, 0)
    return fates


@example([(0, 1, False), (1, 2, False), (2, 3, False), (0, 4, False), (4, 3, False)], 2, 3)
@given(
    st.lists(
        st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.booleans()), max_size=30
    ),
    st.sampled_from([None, 1, 2, 3, 4]),
    st.integers(0, 2**32),
)
@settings(max_examples=examples(200), deadline=None)
def test_any_order_of_fetching_ends_as_a_plain_search_does(
    edges: Edges, limit: int | None, seed: int
) -> None:
    """Pages are fetched in any order, and found by any way first; the result is the same."""
    draw, memory, limits = random.Random(seed), Memory(), Limits(limit)
    memory.add(FoundUrl(f"{SITE}/0", "start", "", 0), limits=limits)
    while queued := [key for key, row in memory.urls.items() if row.state == "queued"]:
        key = draw.choice(sorted(queued))
        row, node = memory.urls[key], int(memory.names[key].url.rpartition("/")[2])
        row.state = "done"
        named = [(target, nofollow) for source, target, nofollow in edges if source == node]
        draw.shuffle(named)
        followed = [place_of(f"{SITE}/{target}") for target, nofollow in named if not nofollow]
        memory.pages[key] = (pack(followed), "")
        found = [
            link(f"/{target}", row.depth + 1, reason=NOFOLLOW if nofollow else "")
            for target, nofollow in named
        ]
        memory.add(*found, limits=limits)
    result = {
        int(memory.names[key].url.rpartition("/")[2]): (
            row.reason,
            0 if row.reason == NOFOLLOW else row.depth,
        )
        for key, row in memory.urls.items()
    }
    expected = searched(edges, limit)
    if limit is None:  # without a limit nothing needs to be passed on
        assert {node: why for node, (why, _) in result.items()} == {
            node: why for node, (why, _) in expected.items()
        }
    else:
        assert result == expected

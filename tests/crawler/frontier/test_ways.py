"""Which way to a URL counts, without a database: plain rows in, plain rows out."""

import random
from collections.abc import Iterable, Iterator, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from manners.crawler.frontier.room import Room
from manners.crawler.frontier.values import FoundUrl, digest_of
from manners.crawler.frontier.ways import KnownUrl, Limits, Ways, moved, rank_of
from manners.crawler.reasons import DEPTH, NOFOLLOW, NOT_NAMED, OTHER_HOST, TOO_MANY_HOPS
from tests.sizes import examples

SITE = "https://example.com"


class Memory:
    """What a store would know: the URLs, and what fetched pages lead to."""

    def __init__(self) -> None:
        self.urls: dict[str, KnownUrl] = {}
        self.names: dict[str, FoundUrl] = {}
        self.pages: dict[str, tuple[bytes, str]] = {}
        self.rooms = {kind: Room(kind, 1_000, "limit") for kind in ("page", "sitemap")}

    def known(self, digests: Sequence[str]) -> Iterator[tuple[str, KnownUrl]]:
        for digest in digests:
            if digest in self.urls:
                row = self.urls[digest]
                values = (row.depth, row.hops, row.state, row.reason, row.kind, row.priority)
                yield digest, KnownUrl(*values)

    def targets(self, digests: Sequence[str]) -> Iterable[tuple[str, bytes, str]]:
        return [(digest, *self.pages[digest]) for digest in digests if digest in self.pages]

    def origin(self, digest: str) -> tuple[str, str, str]:
        found = self.names[digest]
        return found.url, found.source, found.found_in

    def ways(self, limits: Limits) -> Ways:
        return Ways(self, limits, self.rooms, lambda *_: ("", ""))

    def write(self, ways: Ways) -> None:
        for digest, url in ways.urls.items():
            if url.is_new or url.is_changed or url.found is not None:
                self.urls[digest] = url
                if url.found is not None:
                    self.names[digest] = url.found

    def add(self, *found: FoundUrl, limits: Limits | None = None) -> Ways:
        ways = self.ways(limits or Limits())
        ways.add(found)
        self.write(ways)
        return ways

    def row(self, path: str) -> KnownUrl:
        return self.urls[digest_of(SITE + path)]


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
    a, b, c = (digest_of(SITE + path) for path in ("/a", "/b", "/c"))
    memory.row("/a").state = "done"
    memory.pages[a] = (bytes.fromhex(b), "")
    memory.pages[b] = (b"", f"{SITE}/c")
    memory.pages[c] = (bytes.fromhex(a), "")
    assert fate(memory.row("/c")) == ("blocked", DEPTH, 4)
    ways = memory.add(link("/a", 1), limits=limits)
    assert fate(memory.row("/a")) == ("done", "", 1)
    assert fate(memory.row("/b")) == ("queued", "", 2)
    assert fate(memory.row("/c")) == ("blocked", DEPTH, 4)  # nobody has fetched /b yet
    assert ways.hosts == {"example.com"}
    assert ways.states == {"blocked": -1, "queued": 1}
    memory.row("/b").state = "done"
    memory.add(link("/a", 0), limits=limits)
    assert fate(memory.row("/b")) == ("done", "", 1)
    assert fate(memory.row("/c")) == ("queued", "", 1)
    assert memory.row("/c").hops == 0  # a link to it is known: the fewest redirects count


def test_what_a_page_names_moves_with_the_page() -> None:
    """By as many links and redirects; a link has no redirects before it."""
    found = [link("/a", 4), link("/b", 3, hops=5)]
    assert moved(found, -2, -4) == [link("/a", 2), link("/b", 1, hops=1)]


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
    while queued := [digest for digest, row in memory.urls.items() if row.state == "queued"]:
        digest = draw.choice(sorted(queued))
        row, node = memory.urls[digest], int(memory.names[digest].url.rpartition("/")[2])
        row.state = "done"
        named = [(target, nofollow) for source, target, nofollow in edges if source == node]
        draw.shuffle(named)
        followed = [digest_of(f"{SITE}/{target}") for target, nofollow in named if not nofollow]
        memory.pages[digest] = (bytes.fromhex("".join(followed)), "")
        found = [
            link(f"/{target}", row.depth + 1, reason=NOFOLLOW if nofollow else "")
            for target, nofollow in named
        ]
        memory.add(*found, limits=limits)
    result = {
        int(memory.names[digest].url.rpartition("/")[2]): (
            row.reason,
            0 if row.reason == NOFOLLOW else row.depth,
        )
        for digest, row in memory.urls.items()
    }
    expected = searched(edges, limit)
    if limit is None:  # without a limit nothing needs to be passed on
        assert {node: why for node, (why, _) in result.items()} == {
            node: why for node, (why, _) in expected.items()
        }
    else:
        assert result == expected

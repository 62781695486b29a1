"""Which way to a URL counts, and what a newly found way changes. Quiet.

A URL may be found several times: by pages at different depths, with nofollow and without, through
redirects. The best way counts: one that may be followed before one that may not, then the
shortest. When a page turns out to be less deep than was known, so are the pages it leads to.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from manners.crawler.frontier.room import Room
from manners.crawler.frontier.values import FoundUrl, clean, digest_of
from manners.crawler.reasons import DEPTH, NOFOLLOW, NOT_NAMED, OTHER_HOST, TOO_MANY_HOPS, TRAP
from manners.urls import host

RANKS = {NOT_NAMED: 0, NOFOLLOW: 1, OTHER_HOST: 2, TOO_MANY_HOPS: 3, DEPTH: 4, "": 5}
"""How good a way to a URL is. These reasons depend on where a URL was found: another way to it may
be better. Any other reason is about the URL itself, and final."""
_FINAL = -1
_INSIDE, _COUNTED, _OPEN = RANKS[TOO_MANY_HOPS], RANKS[DEPTH], RANKS[""]
"""The ranks from which a way stays inside the crawl, counts for the depth, and may be followed."""
_DIGEST = 16
"""Bytes of a digest."""

Judge = Callable[[FoundUrl, str], tuple[str, str]]
"""Called with a URL before it is queued for the first time, and the reason that the way to it
gives. Returns why the URL itself is blocked, and the rule; or two empty strings."""


def rank_of(reason: str) -> int:
    """How good a way to a URL is that is blocked for a reason; below 0 where no way is better.

    >>> rank_of("nofollow") < rank_of("depth") < rank_of(""), rank_of("rule-matched")
    (True, -1)
    """
    return RANKS.get(reason, _FINAL)


class Limits(NamedTuple):
    """How far a crawl goes."""

    max_depth: int | None = None
    max_hops: int = 10
    """Redirects one after the other."""

    def reason(self, found: FoundUrl) -> str:
        """Why a URL is blocked, going by this way to it; empty where it is not.

        >>> Limits(max_depth=2).reason(FoundUrl("https://example.com/", "link", "", depth=3))
        'depth'
        """
        if found.reason:
            return found.reason
        if found.hops > self.max_hops:
            return TOO_MANY_HOPS
        is_deep = self.max_depth is not None and found.depth > self.max_depth
        return DEPTH if is_deep and found.kind == "page" else ""


class KnownUrl:
    """What is known of a URL while one transaction looks at it."""

    __slots__ = (
        *("depth", "found", "hops", "is_changed", "is_counted", "is_new", "kind", "line"),
        *("priority", "reason", "rule", "state"),
    )

    def __init__(
        self, depth: int, hops: int, state: str, reason: str, kind: str, priority: float
    ) -> None:
        self.depth, self.hops, self.state, self.reason = depth, hops, state, reason
        self.kind, self.priority = kind, priority
        self.rule, self.line = "", 0
        self.is_new = False
        """Whether the store does not have it yet."""
        self.is_changed = False
        """Whether its depth, hops, priority or state changed."""
        self.is_counted = True
        """Whether it counts among what there is room for."""
        self.found: FoundUrl | None = None
        """What decided its state anew."""

    @property
    def rank(self) -> int:
        """How good the best way to it is."""
        return rank_of(self.reason) if self.state == "blocked" else _OPEN


class Stored(Protocol):
    """What the store knows of a crawl's URLs."""

    def known(self, digests: Sequence[str]) -> Iterable[tuple[str, KnownUrl]]:
        """Those of the URLs that it has."""
        ...

    def targets(self, digests: Sequence[str]) -> Iterable[tuple[str, bytes | None, str]]:
        """Fetched pages: the digest of each, the digests it leads to, where it redirects to."""
        ...

    def origin(self, digest: str) -> tuple[str, str, str]:
        """A URL, its source, and what names it."""
        ...


class Ways:
    """Looks at found URLs in one transaction, and gathers what is new or better about them."""

    def __init__(
        self, stored: Stored, limits: Limits, rooms: Mapping[str, Room], judge: Judge
    ) -> None:
        self._stored, self._limits, self._rooms, self._judge = stored, limits, rooms, judge
        self.urls: dict[str, KnownUrl] = {}
        """By digest, all that were looked at."""
        self.hosts: set[str] = set()
        """Hosts with newly queued URLs."""
        self.states: Counter[str] = Counter()
        """By how many the pages in each state change."""
        self.is_cut = False
        """Whether there was no room for a URL."""

    def load(self, digests: Iterable[str]) -> dict[str, KnownUrl]:
        """Look URLs up; returns all that were looked up so far."""
        missing = [digest for digest in dict.fromkeys(digests) if digest not in self.urls]
        if missing:
            self.urls.update(self._stored.known(missing))
        return self.urls

    def add(self, found: Sequence[FoundUrl]) -> None:
        """Look at URLs that were found."""
        if not found:
            return
        digests = [digest_of(clean(item.url)) for item in found]
        urls, shorter = self.load(digests), []
        for digest, item in zip(digests, found, strict=True):
            known = urls.get(digest)
            if known is None:
                self._add_new(digest, item)
            elif self._improve(known, item):
                shorter.append(digest)
        self.shorten(shorter)

    def _add_new(self, digest: str, found: FoundUrl) -> None:
        known = KnownUrl(found.depth, found.hops, "blocked", "", found.kind, found.priority)
        known.is_new, known.is_counted = True, False
        self._settle(known, self._limits.reason(found), found)
        known.is_counted = True
        if self._rooms[found.kind].admit(host(found.url), known.state):
            self.urls[digest] = known
        else:
            self.is_cut = True

    def _settle(self, known: KnownUrl, reason: str, found: FoundUrl) -> None:
        """Queue a URL, keep or block it: what it looks like counts before where it was found."""
        why, rule = self._judge(found, reason)
        known.reason, known.rule, known.line = why or reason, rule, 0
        if reason and not why:
            known.rule, known.line = found.rule, found.line
        known.found = found
        if known.reason:
            known.state = "blocked"
        else:
            self._move(known, "queued" if found.to_fetch else "kept", found)

    def _move(self, known: KnownUrl, state: str, found: FoundUrl) -> None:
        """Queue or keep a URL."""
        before, known.state = known.state, state
        if known.is_counted and before != state:
            name = host(found.url)
            self._rooms[known.kind].move(name, before, state)
            if not known.is_new:
                self.count(known.kind, before, state)
                if state == "queued":
                    self.hosts.add(name)

    def _improve(self, known: KnownUrl, found: FoundUrl) -> bool:
        """Note what is better about a way to a known URL; whether what it leads to gets nearer."""
        if found.is_forced and known.state in ("blocked", "kept"):
            self._settle(known, "", found)
            return False
        reason, before = self._limits.reason(found), known.rank
        rank = rank_of(reason)
        if before == _FINAL or rank < min(before, _COUNTED):
            return False
        depth, hops, priority = found.depth, found.hops, max(known.priority, found.priority)
        if before >= _COUNTED or rank == before:
            depth, hops = min(depth, known.depth), min(hops, known.hops)
        is_shorter = depth < known.depth or hops < known.hops
        if (depth, hops, priority) != (known.depth, known.hops, known.priority):
            known.depth, known.hops, known.priority = depth, hops, priority
            known.is_changed = True
        if rank > before:
            self._settle(known, reason, found)
        elif known.state == "kept" and found.to_fetch and rank == _OPEN:
            known.depth, known.hops, known.is_changed = found.depth, found.hops, True
            self._move(known, "queued", found)
        return is_shorter and before == _OPEN

    def count(self, kind: str, before: str, after: str) -> None:
        """Count a page that goes from one state to another."""
        if kind == "page":
            self.states[before] -= 1
            self.states[after] += 1

    def shorten(self, digests: Iterable[str]) -> None:
        """Pass shorter ways to pages on to all that these pages lead to."""
        waiting = list(dict.fromkeys(digests))
        while waiting:
            pages, waiting = self._stored.targets(waiting), []
            for digest, blob, location in pages:
                page = self.urls[digest]
                depth, hops, targets = page.depth + 1, 0, list(_split(blob or b""))
                if location:
                    depth, hops, targets = page.depth, page.hops + 1, [digest_of(location)]
                urls = self.load(targets)
                for target in targets:
                    known = urls.get(target)
                    if known is not None and self._shorten_one(known, target, depth, hops):
                        waiting.append(target)

    def _shorten_one(self, known: KnownUrl, digest: str, depth: int, hops: int) -> bool:
        """Note a shorter way to one URL; whether it has to be passed on."""
        if known.rank < _INSIDE or (known.depth <= depth and known.hops <= hops):
            return False
        found = known.found or FoundUrl("", "link", "", depth)
        if known.found is None and known.state == "blocked":  # it may have to be judged again
            found = FoundUrl(*self._stored.origin(digest), depth)
        found = found._replace(depth=depth, hops=hops, reason="", rule="", kind=known.kind)
        return self._improve(known, found)


def _split(blob: bytes) -> Iterator[str]:
    """The digests that a page leads to."""
    for place in range(0, len(blob), _DIGEST):
        yield blob[place : place + _DIGEST].hex()


def moved(found: Iterable[FoundUrl], nearer: int, fewer: int) -> list[FoundUrl]:
    """URLs as found from a page that turned out to be so much nearer, by fewer redirects."""
    return [
        item._replace(depth=item.depth + nearer, hops=item.hops and item.hops + fewer)
        for item in found
    ]


def never_queued(reason: str) -> bool:
    """Whether a blocked URL was blocked before it was ever queued, going by the reason.

    >>> never_queued("nofollow"), never_queued("trap: too-long"), never_queued("rule-matched")
    (True, True, False)
    """
    return reason in RANKS or reason.startswith(TRAP)

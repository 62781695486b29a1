"""Which way to a URL counts, and what a newly found way changes. Quiet.

A URL may be found several times: by pages at different depths, with nofollow and without, through
redirects. The best way counts: one that may be followed before one that may not, then the
shortest. When a page turns out to be less deep than was known, so are the pages it leads to.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from manners.crawler.frontier.room import Room
from manners.crawler.frontier.values import FoundUrl, Key, place_of, unpack
from manners.crawler.reasons import (
    DEPTH,
    NOFOLLOW,
    NOT_NAMED,
    OTHER_HOST,
    TOO_MANY_HOPS,
    TRAP,
    USAGE,
)

RANKS = {NOT_NAMED: 0, NOFOLLOW: 1, OTHER_HOST: 2, TOO_MANY_HOPS: 3, DEPTH: 4, "": 5}
"""How good a way to a URL is. These reasons depend on where a URL was found: another way to it may
be better. Any other reason is about the URL itself, and final."""
_FINAL = -1
_INSIDE, _COUNTED, _OPEN = RANKS[TOO_MANY_HOPS], RANKS[DEPTH], RANKS[""]
"""The ranks from which a way stays inside the crawl, counts for the depth, and may be followed."""

Look = tuple[str, str, int | None]
"""Why a URL itself is blocked, and the rule; or two empty strings. Then its form, if URLs of that
form on its host are to be counted."""
Judge = Callable[[FoundUrl, str], Look]
"""Looks at a URL before it is queued for the first time; with the reason that the way gives."""


class Alike(NamedTuple):
    """How many URLs of one form a host may have, and what is said of further ones."""

    limit: int
    reason: str
    rule: str


ANY_NUMBER = Alike(2**62, "", "")


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
        *("before", "depth", "found", "hops", "is_changed", "is_counted", "is_new", "kind"),
        *("line", "priority", "reason", "rule", "state"),
    )

    def __init__(
        self, depth: int, hops: int, state: str, reason: str, kind: str, priority: float
    ) -> None:
        self.depth, self.hops, self.state, self.reason = depth, hops, state, reason
        self.kind, self.priority = kind, priority
        self.rule, self.line = "", 0
        self.before = (depth, hops, priority, state, reason)
        """What the store has: it is changed only if it still does."""
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
        """How good the best way to it is.

        A page that is not kept was fetched all the same, and leads on to others.
        """
        is_blocked = self.state == "blocked" and self.reason != USAGE
        return rank_of(self.reason) if is_blocked else _OPEN


class Stored(Protocol):
    """What the store knows of a crawl's URLs."""

    def known(self, keys: Sequence[Key]) -> Iterable[tuple[Key, KnownUrl]]:
        """Those of the URLs that it has."""
        ...

    def targets(self, keys: Sequence[Key]) -> Iterable[tuple[Key, bytes | None, str]]:
        """Fetched pages: the key of each, what it leads to, where it redirects to."""
        ...

    def origin(self, key: Key) -> tuple[str, str, str]:
        """A URL, its source, and what names it."""
        ...

    def count_forms(
        self, forms: Mapping[tuple[str, int], int]
    ) -> Iterable[tuple[tuple[str, int], int]]:
        """Count URLs by host and form; returns how many there are now."""
        ...


class Ways:
    """Looks at found URLs in one transaction, and gathers what is new or better about them."""

    def __init__(
        self,
        stored: Stored,
        limits: Limits,
        rooms: Mapping[str, Room],
        judge: Judge,
        alike: Alike = ANY_NUMBER,
    ) -> None:
        self._stored, self._limits, self._rooms = stored, limits, rooms
        self._judge, self._alike = judge, alike
        self.urls: dict[Key, KnownUrl] = {}
        """All that were looked at."""
        self.hosts: set[str] = set()
        """Hosts with newly queued URLs."""
        self.counts: Counter[tuple[str, str]] = Counter()
        """By how many the URLs of each kind in each state change."""
        self.is_cut = False
        """Whether there was no room for a URL."""

    def load(self, keys: Iterable[Key]) -> dict[Key, KnownUrl]:
        """Look URLs up; returns all that were looked up so far."""
        missing = [key for key in dict.fromkeys(keys) if key not in self.urls]
        if missing:
            self.urls.update(self._stored.known(missing))
        return self.urls

    def add(self, found: Sequence[FoundUrl]) -> None:
        """Look at URLs that were found."""
        if not found:
            return
        keys = [place_of(item.url) for item in found]
        urls, shorter = self.load(keys), []
        new: dict[Key, FoundUrl] = {}
        for key, item in zip(keys, found, strict=True):
            if key not in urls:
                new.setdefault(key, item)
        looks = self._look_at(new) if new else {}
        for key, item in zip(keys, found, strict=True):
            known = urls.get(key)
            if known is None:
                self._add_new(key, item, looks[key])
            elif self._improve(key, known, item):
                shorter.append(key)
        self.shorten(shorter)

    def _look_at(self, found: Mapping[Key, FoundUrl]) -> dict[Key, tuple[str, str]]:
        """Why URLs themselves are blocked, and the rules; those of one form are counted at once."""
        looks = {key: self._judge(item, self._limits.reason(item)) for key, item in found.items()}
        forms = Counter((key[0], look[2]) for key, look in looks.items() if look[2] is not None)
        counted: dict[tuple[str, int], int] = {}
        if forms:
            totals = self._stored.count_forms(forms)
            counted = {form: total - forms[form] for form, total in totals}
        whys: dict[Key, tuple[str, str]] = {}
        for key, (why, rule, form) in looks.items():
            if form is not None:
                counted[key[0], form] += 1
                if counted[key[0], form] > self._alike.limit:
                    why, rule = self._alike.reason, self._alike.rule
            whys[key] = (why, rule)
        return whys

    def _add_new(self, key: Key, found: FoundUrl, look: tuple[str, str]) -> None:
        known = KnownUrl(found.depth, found.hops, "blocked", "", found.kind, found.priority)
        known.is_new, known.is_counted = True, False
        self._settle(key, known, self._limits.reason(found), found, look)
        known.is_counted = True
        if self._rooms[found.kind].admit(key[0], known.state):
            self.urls[key] = known
        else:
            self.is_cut = True

    def _settle(
        self,
        key: Key,
        known: KnownUrl,
        reason: str,
        found: FoundUrl,
        look: tuple[str, str] | None = None,
    ) -> None:
        """Queue a URL, keep or block it: what it looks like counts before where it was found."""
        why, rule = look or self._look_at({key: found})[key]
        known.reason, known.rule, known.line = why or reason, rule, 0
        if reason and not why:
            known.rule, known.line = found.rule, found.line
        known.found = found
        if known.reason:
            known.state = "blocked"
        else:
            self._move(key, known, "queued" if found.to_fetch else "kept")

    def _move(self, key: Key, known: KnownUrl, state: str) -> None:
        """Queue or keep a URL."""
        before, known.state = known.state, state
        if known.is_counted and before != state:
            self._rooms[known.kind].move(key[0], before, state)
            if not known.is_new:
                self.count(known.kind, before, state)
                if state == "queued":
                    self.hosts.add(key[0])

    def _improve(self, key: Key, known: KnownUrl, found: FoundUrl) -> bool:
        """Note what is better about a way to a known URL; whether what it leads to gets nearer."""
        if found.is_forced and known.state in ("blocked", "kept"):
            self._settle(key, known, "", found)
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
            self._settle(key, known, reason, found)
        elif known.state == "kept" and found.to_fetch and rank == _OPEN:
            known.depth, known.hops, known.is_changed = found.depth, found.hops, True
            self._move(key, known, "queued")
        return is_shorter and before == _OPEN

    def count(self, kind: str, before: str, after: str) -> None:
        """Count a URL that goes from one state to another."""
        self.counts[kind, before] -= 1
        self.counts[kind, after] += 1

    def shorten(self, keys: Iterable[Key]) -> None:
        """Pass shorter ways to pages on to all that these pages lead to."""
        waiting = list(dict.fromkeys(keys))
        while waiting:
            pages, waiting = self._stored.targets(waiting), []
            for key, packed, location in pages:
                page = self.urls[key]
                depth, hops, targets = page.depth + 1, 0, list(unpack(packed or b""))
                if location:
                    depth, hops, targets = page.depth, page.hops + 1, [place_of(location)]
                urls = self.load(targets)
                for target in targets:
                    known = urls.get(target)
                    if known is not None and self._shorten_one(target, known, depth, hops):
                        waiting.append(target)

    def _shorten_one(self, key: Key, known: KnownUrl, depth: int, hops: int) -> bool:
        """Note a shorter way to one URL; whether it has to be passed on."""
        if known.rank < _INSIDE or (known.depth <= depth and known.hops <= hops):
            return False
        found = known.found or FoundUrl("", "link", "", depth)
        if known.found is None and known.state == "blocked":  # it may have to be judged again
            found = FoundUrl(*self._stored.origin(key), depth)
        found = found._replace(depth=depth, hops=hops, reason="", rule="", kind=known.kind)
        return self._improve(key, known, found)


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

"""Writing to the frontier: results, new URLs, better ways to known ones, and what that changes.

All of it belongs to one transaction. What it changes in memory is in its effects, which count when
the transaction is durable.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from manners.crawler.frontier.queries import Queries, Row
from manners.crawler.frontier.room import ROOM_NUMBERS, Room
from manners.crawler.frontier.statements import PAGE_COLUMNS, RETRY_COLUMNS
from manners.crawler.frontier.values import Change, FetchResult, Key, clean, pack, place_of
from manners.crawler.frontier.ways import Ways
from manners.crawler.reasons import NO_ROOM

if TYPE_CHECKING:
    from manners.crawler.frontier.frontier import Frontier

_page_values, _retry_values = itemgetter(*PAGE_COLUMNS), itemgetter(*RETRY_COLUMNS)


class Effects:
    """What a transaction changes in memory, once it is durable."""

    def __init__(self, frontier: "Frontier") -> None:
        self.rooms = {kind: room.copy() for kind, room in frontier.rooms.items()}
        self.sequence = frontier.sequence
        self.in_hand: list[tuple[Key, bool]] = []
        """URLs that are fetched from now on, or are not any more, in this order."""
        self.owned = set(frontier.owned)
        self._in_hand_before = frontier.in_hand

    def in_hand_of(self, name: str) -> set[str]:
        """The digests of a host's URLs that are being fetched, those of this transaction included.

        They are still queued in the store, and nobody may drop them.
        """
        found = set(self._in_hand_before.get(name, ()))
        for (host, digest), is_taken in self.in_hand:
            if host == name:
                (found.add if is_taken else found.discard)(digest)
        return found

    def hosts_in_hand(self) -> set[str]:
        """The hosts with URLs that are, or were, being fetched."""
        return {*self._in_hand_before, *(host for (host, _), _ in self.in_hand)}


class Writing:
    """What one job writes: look at found URLs with `ways`, then `write`."""

    def __init__(
        self, frontier: "Frontier", queries: Queries, ways: Ways, effects: Effects
    ) -> None:
        self._frontier, self._queries = frontier, queries
        self.ways, self.effects = ways, effects
        self._before = _numbers(effects.rooms)

    def finish(self, items: Sequence[FetchResult], keys: Sequence[Key]) -> None:
        """Write what came of URLs."""
        queries, ways, time = self._queries, self.ways, self._frontier.time
        finished: list[tuple[Row, Key]] = []
        pages, retries, paces = [], [], {}
        for item, key in zip(items, keys, strict=True):
            page, url = item.page, item.url
            finished.append(
                (
                    (
                        *(page.state, clean(page.reason), clean(page.rule), page.line, page.status),
                        *(page.attempts, time.to_store(page.not_before), page.evidence_id),
                    ),
                    key,
                )
            )
            ways.counts[url.kind, "attempts"] += page.attempts - url.attempts
            if page.was_allowed:
                row = page.to_row()
                ways.counts[url.kind, "bytes"] += row["bytes"]
                if page.state == "queued":
                    retries.append((*key, *map(clean, _retry_values(row))))
                else:
                    pages.append((*key, *map(clean, _page_values(row)), self._targets(item)))
            if item.pace is not None:
                delay, at = item.pace
                paces[url.host] = (url.host, delay, time.to_store(at))
        queries.finish(sorted(finished, key=itemgetter(1)))
        queries.keep_pages(pages)
        queries.keep_retries(retries)
        queries.keep_paces(paces.values())

    def _targets(self, item: FetchResult) -> bytes | None:
        """What a page leads to; it is needed where depth is limited."""
        if self._frontier.limits.max_depth is None:
            return None
        return pack(map(place_of, item.targets))

    def write(self) -> Change:
        """Write what is new or better, and drop what there is no room for."""
        queries, ways, effects = self._queries, self.ways, self.effects
        new, newer = self._new_rows()
        queries.insert(new)
        settled: list[tuple[Row, Key, Row]] = []
        shortened: list[tuple[Row, Key, Row]] = []
        for key, url in ways.urls.items():
            if url.is_new or (url.found is None and not url.is_changed):
                continue
            found, distance = url.found, (url.depth, url.hops, url.priority)
            if found is not None:
                state = (url.state, url.reason, clean(url.rule), url.line)
                row = (*distance, *state, found.source, clean(found.found_in))
                settled.append((row, key, url.before))
            else:
                shortened.append(((*distance, url.state), key, url.before))
        # In one order for all workers: no two wait for each other.
        queries.settle(sorted(settled, key=itemgetter(1)))
        queries.shorten(sorted(shortened, key=itemgetter(1)))
        # Hosts come first: only URLs of a host that is there can be dropped.
        owned = effects.owned
        foreign = ways.hosts - owned
        added = queries.add_hosts(sorted(foreign), self._frontier.now()) if foreign else set()
        for room in effects.rooms.values():
            self._make_room(room, newer)
        self._count()
        states: Counter[str] = Counter()
        for (kind, what), number in ways.counts.items():
            if kind == "page" and what not in ("attempts", "bytes"):
                states[what] += number
        hosts = frozenset(ways.hosts & owned)
        return Change(hosts, states, ways.is_cut, frozenset(foreign - added), bool(added))

    def _new_rows(self) -> tuple[list[Row], set[Key]]:
        """The rows of new URLs, and their keys."""
        rows: list[Row] = []
        ways, effects = self.ways, self.effects
        # Later is more, whoever finds it, as far as clocks agree.
        effects.sequence = max(effects.sequence, int(self._frontier.now() * 1_000) << 16)
        for key, url in ways.urls.items():
            found = url.found
            if not url.is_new or found is None:
                continue
            effects.sequence += 1
            ways.counts[url.kind, url.state] += 1
            if url.state == "queued":
                ways.hosts.add(key[0])
            rows.append(
                (
                    *(*key, clean(found.url), found.source, clean(found.found_in)),
                    *(url.depth, url.priority, clean(found.lastmod), url.reason),
                    *(clean(url.rule), url.line, url.kind, url.state, url.hops),
                    effects.sequence,
                )
            )
        return rows, {(row[0], row[1]) for row in rows}

    def _count(self) -> None:
        """Write by how many the numbers of the crawl change."""
        counts, rooms = Counter(self.ways.counts), self.effects.rooms
        for kind in rooms:
            counts[kind, "queued"] += counts.pop((kind, "leased"), 0)
        for key, number in _numbers(rooms).items():
            counts[key] += number - self._before[key]
        self._queries.count(self._frontier.worker, counts)

    def _make_room(self, room: Room, newer: set[Key]) -> None:
        """Drop the worst URLs of the hosts with most, if there are too many."""
        queries, worker = self._queries, self._frontier.worker
        if not room.is_over:
            return
        if room.by_host is None:
            room.load(queries.hosts_of_room(room.kind, worker))
            room.loaded_at = self._frontier.now()
            for name in self.effects.hosts_in_hand():
                room.queue(name, -len(self.effects.in_hand_of(name)))
        # Of a host that another worker owns, only what is new can be dropped: nobody has seen it.
        fresh: Counter[str] = Counter()
        for key in newer:
            url = self.ways.urls[key]
            fresh[key[0]] += url.kind == room.kind and url.state == "queued"
        for name, number in fresh.items():
            room.queue(name, max(number - room.queued[name], 0))
        losses = dict(room.excess())
        free = queries.lock_hosts(sorted(losses), worker) if losses else set()
        for name, number in losses.items():
            self._drop(room, name, number, newer, is_free=name in free)

    def _drop(self, room: Room, name: str, number: int, newer: set[Key], *, is_free: bool) -> None:
        """Drop the worst URLs of a host: new ones are forgotten, others blocked."""
        queries, ways = self._queries, self.ways
        in_hand = self.effects.in_hand_of(name)
        if is_free:
            worst = queries.worst(name, room.kind, number + len(in_hand))
            keys = [(name, digest) for digest in worst if digest not in in_hand][:number]
        else:
            fresh = [key for key in newer if key[0] == name and self._is_queued(key)]
            last_first = sorted(map(self._order, fresh), reverse=True)
            keys = [key for kind, *_, key in last_first if kind == room.kind][:number]
        old = [key for key in keys if key not in newer]
        queries.delete([key for key in keys if key in newer])
        queries.drop(old, NO_ROOM, room.setting)
        room.dropped += len(old)
        room.restore(name, number - len(keys))  # others were fetched meanwhile
        ways.is_cut |= bool(keys)
        ways.counts[room.kind, "queued"] -= len(keys)
        ways.counts[room.kind, "blocked"] += len(old)

    def _is_queued(self, key: Key) -> bool:
        return self.ways.urls[key].state == "queued"

    def _order(self, key: Key) -> tuple[str, float, int, Key]:
        """Where a new URL comes among those of its host and kind: the best first."""
        url = self.ways.urls[key]
        return url.kind, -url.priority, url.depth, key


def _numbers(rooms: Mapping[str, Room]) -> dict[tuple[str, str], int]:
    """The numbers of rooms, by kind and what they count."""
    return {
        (kind, what): number
        for kind, room in rooms.items()
        for what, number in zip(ROOM_NUMBERS, room.numbers(), strict=True)
    }

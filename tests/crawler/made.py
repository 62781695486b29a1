"""A crawl that never took place, written down as if it had: quick to make, and the same each time.

    made = Made("crawl.db", robots={"https://shop.example": b"User-agent: *\\nDisallow: /cart"})
    made.ask("https://shop.example/", title="Shop")
    made.ask("https://shop.example/cart")              # the engine blocks it
    made.out("https://other.example/", "other-host", "other.example")
    made.write("finished")

What is decided is decided by the engine and recorded as the client does; the rest is rows.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert

from manners.cache.entry import Entry
from manners.cache.site import ParsedEntry, Site
from manners.crawler.frontier.queries import NOBODY, Queries
from manners.crawler.frontier.tables import crawls, hosts, pages, retries, urls
from manners.crawler.frontier.values import clean, digest_of
from manners.evidence.record import Clerk, Draft
from manners.evidence.store import EvidenceStore
from manners.exclusions import Exclusions, Overrides
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability, Outcome, RobotsHop
from manners.robots import dialects
from manners.signals.decision import UsageDecision
from manners.urls import host, origin, robots_url

START = 1_798_797_600.0  # 2027-01-01, ten o'clock
ROBOTS = b"User-agent: *\nDisallow: /private/\nAllow: /private/press/\n"


def site(url: str, body: bytes | None, at: float) -> Site:
    """What a site says; without a body, it cannot be reached."""
    found = Availability.AVAILABLE if body is not None else Availability.UNREACHABLE
    note, where = "200" if body is not None else "timeout", robots_url(url)
    hop = RobotsHop(where, 200 if body is not None else None)
    outcome = Outcome(found, note, url=where, hops=(hop,), at=at)
    entry = Entry(origin(url), body, "", outcome, at, at, at + 86_400.0)
    return ParsedEntry(entry, dialects.get("rfc9309"), profiles.get("rfc9309")).at(at)


class Made:
    """Collects what there is to be in a store, and writes it all at once."""

    def __init__(
        self,
        place: str | Path,
        start: str = "https://shop.example/",
        *,
        agent: str = "MyBot",
        robots: Mapping[str, bytes | None] | None = None,
        exclude: Sequence[str] = (),
        **told: Any,
    ) -> None:
        self._place, self._start, self._agent = place, start, agent
        self._told = {"agent": agent, **({"exclude": list(exclude)} if exclude else {}), **told}
        self._robots, self._sites = robots or {}, dict[str, Site]()
        self._clerk = Clerk(agent, profiles.get("rfc9309"), "rfc9309", "manners 0")
        self._overrides = Overrides(Exclusions(exclude), lambda _: True)
        self._drafts: list[Draft] = []
        self._urls: list[dict[str, Any]] = []
        self._pages: list[dict[str, Any]] = []
        self._retries: list[dict[str, Any]] = []
        self._hosts: dict[str, tuple[float, float]] = {}
        self.at = START
        """When the next request starts."""

    def ask(
        self,
        url: str,
        status: int | None = 200,
        *,
        seconds: float = 0.1,
        delay: float = 0.5,
        title: str = "",
        size: int = 10_000,
        reason: str = "",
        cause: str = "",
        kind: str = "page",
        form: str = "text/html",
        entries: int = 0,
        problems: Sequence[dict[str, Any]] = (),
        attempts: int = 1,
        depth: int = 1,
        usage: UsageDecision | None = None,
    ) -> None:
        """A URL is asked for, if the engine allows it, and answered so."""
        ruled = self._overrides.check(url)
        known = None if ruled is not None else self._site(url)
        verdict = ruled if ruled is not None else known.check(url, self._agent) if known else None
        assert verdict is not None
        self._drafts.append(self._clerk.draft(url, verdict, known, self.at, usage=usage))
        row: dict[str, Any] = {"kind": kind, "depth": depth, "evidence": len(self._drafts)}
        if not verdict.allowed:
            rule = verdict.line_text.strip() if verdict.line else ""
            rule = rule or (verdict.rule.pattern if verdict.rule else "")
            row |= {"reason": str(verdict.reason), "rule": rule, "line": verdict.line}
            self._add(url, "blocked", **row)
            return
        is_failed = status is None or status == 429 or status >= 500
        why = reason or (cause or f"status {status}" if is_failed else "")
        row |= {"reason": why, "status": status, "attempts": attempts}
        self._add(url, "failed" if is_failed else "done", **row)
        self._pages.append(
            {
                "host": host(url),
                "digest": digest_of(clean(url)),
                "status": status,
                "cause": clean(cause),
                "type": clean(form),
                "bytes": size,
                "sha256": "ab" * 32,
                "title": clean(title),
                "links": entries,
                "location": "",
                "started": self.at,
                "waited": 0.0,
                "seconds": seconds,
                "delay": delay,
                "problems": json.dumps(list(problems)),
            }
        )
        self._hosts[host(url)] = (delay, self.at + delay)

    def again(
        self,
        url: str,
        status: int | None,
        *,
        cause: str = "",
        seconds: float = 0.1,
        delay: float = 0.5,
        size: int = 0,
    ) -> None:
        """A URL is asked for and answered so, and is to be asked for again."""
        row = {"host": host(url), "digest": digest_of(clean(url)), "status": status}
        row["cause"] = clean(cause)
        times = {"started": self.at, "waited": 0.0, "seconds": seconds, "delay": delay}
        self._retries.append({**row, **times, "bytes": size})

    def out(
        self, url: str, reason: str, rule: str = "", found_in: str = "", depth: int = 2
    ) -> None:
        """A URL is found, and not asked for."""
        self._add(url, "blocked", reason=reason, rule=rule, found_in=found_in, depth=depth)

    def left(self, url: str, kind: str = "page") -> None:
        """A URL is found, and still to be asked for."""
        self._add(url, "queued", kind=kind)

    def write(self, ended: str | None, seconds: float | None = None) -> None:
        """Write it all down, and how it ended."""
        crawl = {
            "start": clean(self._start),
            "at": int(START * 1000),
            "command": "crawl",
            "settings": json.dumps(self._told),
            "ended": clean(ended),
            "seconds": self.at - START if seconds is None else seconds,
        }
        paces = [
            {"host": name, "delay": delay, "not_before": until, "epoch": 1}
            for name, (delay, until) in self._hosts.items()
        ]

        def job(connection: Connection, items: Sequence[None]) -> Sequence[None]:
            made = connection.execute(insert(crawls).values(crawl)).inserted_primary_key
            number = int(made[0]) if made else 1
            before, _ = store._locked_head(connection)
            for row in self._urls:
                row["evidence"] = row["evidence"] and row["evidence"] + before
            for table, rows in (
                (urls, self._urls),
                (pages, self._pages),
                (retries, self._retries),
                (hosts, paces),
            ):
                if rows:
                    connection.execute(insert(table), [{**row, "crawl": number} for row in rows])
            self._count(Queries(connection, number))
            if self._drafts:
                store._link(connection, self._drafts)
            return items

        with EvidenceStore(self._place) as store:
            store.write_blocking(job, None)

    def _count(self, queries: Queries) -> None:
        """Write the numbers of the crawl as its workers would have."""
        queries.recount()
        queries.add_queued_hosts(START)
        numbers: Counter[tuple[str, str]] = Counter()
        kinds = {row["digest"]: row["kind"] for row in self._urls}
        for row in self._urls:
            numbers[row["kind"], "attempts"] += row["attempts"]
        for row in (*self._pages, *self._retries):
            numbers[kinds.get(row["digest"], "page"), "bytes"] += row["bytes"]
        queries.count(NOBODY, numbers)

    def _site(self, url: str) -> Site:
        place = origin(url)
        known = self._sites.get(place)
        if known is None:
            body = self._robots.get(place, ROBOTS)
            known = self._sites[place] = site(url, body, START)
        return known

    def _add(self, url: str, state: str, **more: Any) -> None:
        row = {
            "digest": digest_of(clean(url)),
            "url": clean(url),
            "host": host(url),
            "source": "link",
            "found_in": "",
            "depth": 1,
            "priority": 0.5,
            "lastmod": None,
            "reason": "",
            "rule": "",
            "line": 0,
            "kind": "page",
            "state": state,
            "status": None,
            "attempts": 0,
            "seq": len(self._urls),
            "evidence": None,
            **more,
        }
        self._urls.append({name: clean(value) for name, value in row.items()})

"""The database of Perl's WWW::RobotRules: rules, visits and expiry of many hosts."""

import logging
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from manners import _sqlite
from manners._text import printable, to_bytes
from manners.errors import InvalidURL, StoreError
from manners.robots import dialects
from manners.robots.dialects import Dialect
from manners.robots.lines import read_lines
from manners.robots.policy import Policy, Robots, parse
from manners.urls import origin, requestable

YEAR = 365 * 86_400.0
"""Seconds for which a file is fresh by default."""

_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())  # no output unless logging is configured
_WARNINGS = 10
"""Problems of one file that are logged: it may have thousands."""
_POLICIES = 256
"""Hosts whose policies are kept in memory."""
_WAIT = 5.0
"""Seconds to wait for another process that is writing."""
_APPLICATION = 0x6D616E72
"""Marks a file as such a database: "manr"."""
# `version` changes with each parse, so that a process notices that its policy is out of date. A
# counter would start again when another process clears the table.
_TABLES = (
    "CREATE TABLE agent (name BLOB NOT NULL)",
    """
CREATE TABLE hosts (
    host TEXT PRIMARY KEY,
    fresh_until REAL,
    url TEXT,
    body BLOB,
    version BLOB,
    visits INTEGER NOT NULL DEFAULT 0,
    last_visit REAL
)
""",
)
_PARSE = """
INSERT INTO hosts (host, fresh_until, url, body, version) VALUES (?, ?, ?, ?, randomblob(16))
ON CONFLICT (host) DO UPDATE
SET fresh_until = excluded.fresh_until, url = excluded.url, body = excluded.body,
    version = excluded.version
"""
# The body is not read when the policy in memory has the same version.
_ALLOWED = """
SELECT fresh_until, version, url, CASE WHEN version = ? THEN NULL ELSE body END
FROM hosts WHERE host = ?
"""
_VISIT = """
INSERT INTO hosts (host, visits, last_visit) VALUES (?, 1, ?)
ON CONFLICT (host) DO UPDATE
SET visits = visits + 1, last_visit = max(coalesce(last_visit, excluded.last_visit),
    excluded.last_visit)
"""


class RobotRules:
    """What the robots.txt files of many hosts allow one robot.

    Without `store` it is kept in memory; with the path of an SQLite file, several processes may
    share it, each with its own object. Threads may share an object. `now` is the clock, in seconds
    since the epoch, as are all times here.

    A host is an origin: scheme, host and port. Credentials in a URL are not kept.

    >>> rules = RobotRules("MOMspider/1.0")
    >>> rules.parse("http://some.place/robots.txt", "User-agent: *\\nDisallow: /tmp/")
    >>> rules.allowed("http://some.place/tmp/x"), rules.allowed("http://some.other.place/")
    (False, None)
    """

    def __init__(
        self,
        agent: str,
        store: str | Path | None = None,
        *,
        dialect: str | Dialect = "robotrules",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._dialect, self._now = dialects.get(dialect), now
        self._place = ":memory:" if store is None else str(store)
        self._short, self._agent = _short_name(agent), agent
        self._policies: dict[tuple[str, str], tuple[bytes, Policy]] = {}
        self._lock = threading.Lock()
        self._database = _sqlite.connect(self._place, _APPLICATION, (_TABLES,), _WAIT)
        self._close = weakref.finalize(self, self._database.close)
        self.agent(agent)

    def agent(self, name: str | None = None) -> str:
        """The robot's short name. With an argument, set it, and return the old one.

        A new short name clears the store: rules, times and visits. Another version of the same name
        clears nothing. Another process that has the store open keeps its own name, and finds the
        store cleared.

        >>> rules = RobotRules("FooBot/1.2 [http://foobot.int; foo@bot.int]")
        >>> rules.agent()
        'FooBot'
        >>> rules.agent("BarBot/1.0"), rules.agent()
        ('FooBot', 'BarBot')
        """
        old = self._short
        if name is None:
            return old
        short = _short_name(name)
        row = (to_bytes(short),)  # a name may be any string, a TEXT may not
        with self._using() as database:
            with database:  # all of it, or nothing
                database.execute("BEGIN IMMEDIATE")
                if database.execute("SELECT name FROM agent").fetchone() != row:
                    database.execute("DELETE FROM hosts")
                    database.execute("DELETE FROM agent")
                    database.execute("INSERT INTO agent VALUES (?)", row)
            self._short, self._agent = short, name.strip()
        return old

    def parse(self, url: str, text: str | bytes | None, fresh_until: float | None = None) -> None:
        """Store the robots.txt of a URL's host, in place of an earlier one.

        It is fresh until `fresh_until`, by default for a year; a time in the past makes it unknown
        at once. Without a text nothing changes. Where a record is ambiguous, a warning with URL and
        line goes to the logger `manners.robotrules`.
        """
        url = requestable(url)
        if text is None:
            return
        until = self._now() + YEAR if fresh_until is None else float(fresh_until)
        robots = parse(text, self._dialect, url)
        self._run(_PARSE, origin(url), until, url, robots.body)
        for number, problem in islice(_problems(robots), _WARNINGS):
            _LOG.warning("%s, line %d: %s", printable(url), number, problem)

    def allowed(self, url: str) -> bool | None:
        """Whether the robot may fetch a URL; None when that is unknown, or out of date.

        robots.txt is about http and https: a URL with another scheme, or without one, is allowed.
        An http URL that has no host is unknown.
        """
        try:
            host = origin(url)
        except InvalidURL:
            scheme, _, _ = url.partition(":")
            return None if scheme.lower() in ("http", "https") else True
        key = host, self._agent
        version, policy = self._policies.get(key, (None, None))
        row = self._run(_ALLOWED, version, host)
        if row is None or row[0] is None or row[0] < self._now():
            return None
        if policy is None or row[1] != version:
            policy = self._policy(key, *row[1:])
        return policy.allowed(url)

    def visit(self, url: str, at: float | None = None) -> None:
        """Record a visit to a URL's host, now or at a given time."""
        self._run(_VISIT, origin(url), self._now() if at is None else float(at))

    def visits(self, url: str) -> int:
        """How often a URL's host was visited."""
        row = self._run("SELECT visits FROM hosts WHERE host = ?", origin(url))
        return 0 if row is None else int(row[0])

    def last_visit(self, url: str) -> float | None:
        """The latest visit to a URL's host, whatever the order of recording."""
        row = self._run("SELECT last_visit FROM hosts WHERE host = ?", origin(url))
        return None if row is None else row[0]

    def fresh_until(self, url: str) -> float | None:
        """Until when the rules of a URL's host are fresh; None when there are none."""
        row = self._run("SELECT fresh_until FROM hosts WHERE host = ?", origin(url))
        return None if row is None else row[0]

    def hosts(self) -> list[str]:
        """The origins that were parsed or visited."""
        with self._using() as database:
            return [host for (host,) in database.execute("SELECT host FROM hosts ORDER BY host")]

    def close(self) -> None:
        """Close the store; one in memory is lost."""
        with self._lock:
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _policy(self, key: tuple[str, str], version: bytes, url: str, body: bytes) -> Policy:
        """The policy of a host and a name, which is kept in memory."""
        policy = Robots(body, self._dialect, url).policy(self._dialect.own_name(key[1]))
        if len(self._policies) >= _POLICIES:
            self._policies.clear()
        self._policies[key] = version, policy
        return policy

    def _run(self, statement: str, *values: Any) -> Any:
        """The first row of a query; None when there is none."""
        with self._using() as database:
            return database.execute(statement, values).fetchone()

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                yield self._database
        except sqlite3.Error as error:
            raise StoreError(self._place, str(error)) from None


def _short_name(agent: str) -> str:
    """The first word up to a slash: "Strip it so that it's just the short name" (RobotRules.pm)."""
    words = agent.split(maxsplit=1)
    short = words[0].partition("/")[0] if words else ""
    if not short:
        raise ValueError(f"{agent!r} is not a robot name; pass one such as 'FooBot/1.0'")
    return short


def _problems(robots: Robots) -> Iterator[tuple[int, str]]:
    """The misplaced lines of a file, and how each is read."""
    dialect = robots.dialect
    agent_seen = rule_seen = False
    for line in read_lines(robots.body, dialect, robots.url):
        if line.kind == "invalid":
            yield line.number, "no field and value; ignored"
        elif line.kind == "blank":
            rule_seen = False
        elif line.kind == "user-agent":
            # "This parser will assume that a blank line should have been placed before that
            # User-Agent field, and will break the record into two" (WWW::RobotRules).
            if rule_seen and dialect.record_end == "blank":
                yield line.number, "a blank line is missing before this User-agent; put there"
            agent_seen, rule_seen = True, False
        elif line.kind in dialect.rules:
            rule_seen = True
            if "rule-outside-group" in line.problems:
                is_for_all = dialect.rules_without_agent == "everybody" and not agent_seen
                whose = "everybody" if is_for_all else "nobody"
                yield line.number, f"no User-agent in the record of this rule; taken as for {whose}"

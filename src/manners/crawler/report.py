"""The report of a crawl: what happened, as plain values; `picture` makes a page of it.

However large a crawl is, its report is not: what is counted is all of it, what is listed is cut.
`report_of` reads a store as it is now, also while the crawl goes on.
"""

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, case, func, select, union_all

from manners._text import cut
from manners.crawler.frontier import REDIRECT
from manners.crawler.status import Status, need_crawls, of_crawl, status_of
from manners.crawler.timeline import Asked, Requests, TimeLine, Times
from manners.errors import StoreError
from manners.evidence.chain import Head
from manners.evidence.record import without_query
from manners.evidence.replay import lines_of
from manners.evidence.schema import (
    crawls,
    evidence,
    head,
    hosts,
    pages,
    retries,
    snapshots,
    urls,
)
from manners.evidence.store import EvidenceStore
from manners.identity import Identity, identity
from manners.settings import Settings

ROWS = 200
"""How many rows of a list are shown, unless somebody asks for more."""
_REASONS = 40
_SLOWEST, _AGENTS = 10, 5
_TRAP = "trap: "
_AROUND = 2
"""Lines of a robots.txt before and after one that is shown for its own sake."""
_SHOWN = 25
"""Lines of a robots.txt that are shown for having decided, and as many for their problems."""
_READ = 8_000_000
"""Bytes of robots.txt files that are looked at in all: it takes a second or so."""
_TEXT = 2_000
"""Characters of anything that comes from elsewhere."""
_AT_A_TIME = 1_000
_LOOKED_UP = 1_000
"""Hosts whose last record is looked up."""

_JOINED = pages.join(urls, and_(urls.c.crawl == pages.c.crawl, urls.c.digest == pages.c.digest))

T = TypeVar("T")
_Texts = dict[tuple[str | None, str], dict[int, str]]
"""By file and dialect: the lines that decided, as they stand there."""


class NoCrawl(StoreError):
    """There is no such crawl in a store."""


class Listing(NamedTuple, Generic[T]):
    """The beginning of a list, and how long it is."""

    total: int
    rows: list[T]


class Budget(NamedTuple):
    """What a crawl may use, and has used."""

    pages: int
    max_pages: int
    minutes: float
    max_minutes: float


class Fetched(NamedTuple):
    """A page that was answered."""

    url: str
    status: int
    title: str
    type: str
    bytes: int
    seconds: float


class Decision(NamedTuple):
    """What was decided for the same reason, by the same line of the same robots.txt."""

    allowed: bool
    reason: str
    rule: str
    """The line as it stands in the file; as it was understood, where the file is not looked at."""
    line: int
    robots: str
    """Where that robots.txt is; one of several, where it is the same for many sites."""
    sites: int
    sha256: str
    number: int
    record: int
    """The number of the last record of it."""


class FileLine(NamedTuple):
    """A line of a robots.txt, how many URLs it has decided, and what is wrong with it."""

    number: int
    text: str
    allowed: int
    blocked: int
    problems: list[str]


class RobotsFile(NamedTuple):
    """A robots.txt that decided, or that there was none."""

    url: str
    sites: int
    """How many had the very same."""
    outcome: str
    sha256: str
    bytes: int | None
    """None where there is no file."""
    decisions: int
    problems: int
    is_read: bool
    """Whether it was looked at; there may be too many for that."""
    length: int
    """How many lines it has, if it was."""
    lines: list[FileLine]
    """Those that decided most, or have problems, with what stands around them."""


class RobotsProblem(NamedTuple):
    """What is wrong with a line of a robots.txt."""

    url: str
    line: int
    text: str
    problems: list[str]


class Out(NamedTuple):
    """A URL that was not asked for, or not to be."""

    url: str
    rule: str
    line: int
    found_in: str
    depth: int


class Reason(NamedTuple):
    """URLs that were not asked for, for the same reason."""

    reason: str
    number: int
    urls: list[Out]


class Broken(NamedTuple):
    """A page that was asked for in vain: it failed, or was answered with an error, as 404."""

    url: str
    reason: str
    """Why it failed; empty where it was answered."""
    status: int | None
    attempts: int
    source: str
    """Who named it first: `link`, `sitemap`, `redirect` or `start`."""
    found_in: str
    """The page or sitemap that did."""


class SitemapProblem(NamedTuple):
    """What is wrong with a sitemap."""

    problem: str
    detail: str
    line: int


class SitemapRead(NamedTuple):
    """A sitemap that was read, or tried."""

    url: str
    found_in: str
    state: str
    reason: str
    status: int | None
    form: str
    entries: int
    problems: list[SitemapProblem]


class HostRow(NamedTuple):
    """What was asked of a host."""

    host: str
    requests: int
    """For pages and sitemaps, each as often as it was tried; not for robots.txt."""
    bytes: int
    seconds: float
    """How long it took to answer, on average."""
    shortest: float | None
    """The shortest time from one start to the next."""
    delay: float
    """The last that was in force; of one that is drawn for each request, the least."""
    until: float
    """Since when it may be asked again, in seconds since the epoch."""


class Proof(NamedTuple):
    """The evidence of it."""

    decisions: int
    """Those of this crawl that are on record."""
    missing: int
    """Those whose record was pruned, or cannot be read."""
    head: str
    verify: str
    """What to type to verify the chain up to this very record."""


class Report(NamedTuple):
    """What happened in a crawl."""

    made: str
    version: str
    store: str
    status: Status
    agents: list[str]
    """For whom robots.txt files were read."""
    user_agents: list[str]
    """The headers that were sent, where the evidence says so."""
    told: dict[str, Any]
    """The settings that are not as by default."""
    budget: Budget
    timeline: TimeLine
    times: Times
    slowest: list[Fetched]
    decisions: Listing[Decision]
    robots: Listing[RobotsFile]
    problems: Listing[RobotsProblem]
    blocked: list[Reason]
    traps: list[Reason]
    broken: Listing[Broken]
    pages: Listing[Fetched]
    sitemaps: Listing[SitemapRead]
    hosts: Listing[HostRow]
    proof: Proof
    rest: str
    """What to type for lists that are not cut."""

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        made: dict[str, Any] = _plain(self)
        return made


def _plain(value: Any) -> Any:
    if isinstance(value, Status):
        return value.to_dict()
    if isinstance(value, tuple):
        named: dict[str, Any] = value._asdict()  # type: ignore[attr-defined]
        return {name: _plain(each) for name, each in named.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value


def report_of(
    store: EvidenceStore, crawl: int | None = None, *, rows: int = ROWS, redact: bool = False
) -> Report:
    """What happened in a crawl; without a number, in the last one of a store.

    With `redact`, or where the crawl was told so, the queries of URLs are left out.

        with EvidenceStore("manners.db", readonly=True) as store:
            report = report_of(store)
            print(report.status.fetched, report.times.median)
    """
    _look_for(store, crawl)
    status = status_of(store, crawl)
    with store.reading() as connection:
        return _Reader(connection, store, status, rows, redact).read()


def _look_for(store: EvidenceStore, crawl: int | None) -> None:
    """Say what there is instead, where there is no such crawl."""
    need_crawls(store)
    with store.reading() as connection:
        found = [tuple(row) for row in connection.execute(select(crawls.c.id, crawls.c.command))]
    numbers = [number for number, command in found if command == "crawl"]
    if not numbers:
        only = ", only what `manners discover` found" if found else ""
        raise NoCrawl(store.place, f"there is no crawl in it{only}; `manners crawl` makes one")
    if crawl is not None and crawl not in numbers:
        what = "is a discovery" if (crawl, "discover") in found else "is not in it"
        there = ", ".join(map(str, numbers[-10:]))
        raise NoCrawl(store.place, f"crawl {crawl} {what}; the latest are: {there}")


class _Outcome(msgspec.Struct):
    """What a record says about the retrieval of a robots.txt; anything else is left unread."""

    url: str = ""
    availability: str = ""
    note: str = ""
    charset: str = ""
    copy: bool = False


class _Said(msgspec.Struct):
    """What a record says."""

    allowed: bool
    reason: str
    line: int
    agent: str
    dialect: str
    profile: str
    user_agent: str | None = msgspec.field(default=None, name="userAgent")
    matched: str | None = msgspec.field(default=None, name="matchedRule")
    snapshot: str | None = None
    outcome: _Outcome | None = None


class _Group:
    """Decisions that have the same grounds, while they are counted."""

    __slots__ = ("number", "record", "said", "sites")

    def __init__(self, said: _Said) -> None:
        self.said = said
        self.number = self.record = 0
        self.sites: set[str] = set()


class _Decisions:
    """Takes in records, and counts what decided."""

    def __init__(self) -> None:
        self.rules: dict[tuple[object, ...], _Group] = {}
        self.files: dict[tuple[object, ...], _Group] = {}
        """By the robots.txt that they rest on, or by why there is none."""
        self.agents: Counter[str] = Counter()
        self.user_agents: Counter[str] = Counter()
        self.number = 0
        self.missing = 0
        self._read = msgspec.json.Decoder(_Said).decode

    def add(self, record: int, text: str | None) -> None:
        """A decision: the number of its record, and what that says."""
        try:
            said = self._read(text or "")
        except (msgspec.MsgspecError, UnicodeError):
            self.missing += 1  # it was pruned, or somebody has changed it
            return
        self.number += 1
        self.agents[said.agent] += 1
        if said.user_agent is not None:
            self.user_agents[said.user_agent] += 1
        # What no line has decided is the same, whatever the file.
        file = (said.snapshot, said.dialect) if said.line else None
        _count(self.rules, (said.allowed, said.reason, said.matched, said.line, file), said, record)
        outcome = said.outcome
        if outcome is not None:
            grounds = (outcome.availability, outcome.note, outcome.charset)
            _count(self.files, (said.snapshot, said.dialect, said.profile, *grounds), said, record)

    def lines(self) -> dict[tuple[str | None, str], dict[int, tuple[int, int]]]:
        """By file and dialect: how many URLs each line has allowed, and how many blocked."""
        found: dict[tuple[str | None, str], dict[int, tuple[int, int]]] = {}
        for each in self.rules.values():
            its = each.said
            if its.line:
                lines = found.setdefault((its.snapshot, its.dialect), {})
                allowed, blocked = lines.get(its.line, (0, 0))
                more = (each.number, 0) if its.allowed else (0, each.number)
                lines[its.line] = (allowed + more[0], blocked + more[1])
        return found


def _count(
    groups: dict[tuple[object, ...], _Group], key: tuple[object, ...], said: _Said, record: int
) -> None:
    group = groups.get(key)
    if group is None:
        group = groups[key] = _Group(said)
    group.number += 1
    group.record = max(group.record, record)
    if said.outcome is not None:
        group.sites.add(said.outcome.url)


def _most(groups: Mapping[Any, _Group]) -> list[_Group]:
    return sorted(groups.values(), key=lambda each: (-each.number, each.said.line, each.record))


def _most_common(names: Counter[str]) -> list[str]:
    return [cut(name, _TEXT) for name, _ in names.most_common(_AGENTS)]


class _Reader:
    """Reads what a report needs, in one view of the store."""

    def __init__(
        self, connection: Connection, store: EvidenceStore, status: Status, rows: int, redact: bool
    ) -> None:
        self._connection, self._store, self._status, self._rows = connection, store, status, rows
        self._crawl = status.crawl
        told = connection.execute(select(crawls.c.settings).where(crawls.c.id == self._crawl))
        self._told = _parsed(told.scalar(), dict)
        self._redact = redact or self._told.get("redact_query") is True
        its = Settings()
        self._delay_least = _number(self._told.get("delay_least"), its.delay_least)
        most = _number(self._told.get("delay_most"), its.delay_most)
        self._middle = (self._delay_least + most) / 2
        self._demands: dict[str, float] = {}
        self._every = of_crawl(connection, urls.c.crawl, self._crawl)
        self._asked = of_crawl(connection, pages.c.crawl, self._crawl)
        self._mine = self._every & (urls.c.kind == "page")

    def read(self) -> Report:
        """Read it all."""
        requests, decisions = self._requests(), self._decisions()
        robots, problems, texts = self._files(decisions)
        rules, out, status = _most(decisions.rules), self._blocked(), self._status
        place, head = shlex.quote(self._store.place), self._head()
        verify = f"manners evidence verify --store {place} --head {head}"
        who = self._identity()
        return Report(
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            version=version("manners"),
            store=self._store.place,
            status=status._replace(start=" ".join(map(self._shown, status.start.split(" ")))),
            agents=_most_common(decisions.agents) or [who.agent],
            user_agents=_most_common(decisions.user_agents)
            or ([] if decisions.number else [who.user_agent]),
            told=self._told,
            budget=self._budget(),
            timeline=requests.timeline(),
            times=requests.times(),
            slowest=self._fetched(pages.c.seconds.desc(), _SLOWEST),
            decisions=Listing(
                len(rules), [self._decision(each, texts) for each in rules[: self._rows]]
            ),
            robots=robots,
            problems=problems,
            blocked=[each for each in out if not each.reason.startswith(_TRAP)],
            traps=[each for each in out if each.reason.startswith(_TRAP)],
            broken=self._broken(),
            pages=Listing(status.fetched, self._fetched(pages.c.started, self._rows)),
            sitemaps=self._sitemaps(),
            hosts=self._hosts(requests.hosts),
            proof=Proof(decisions.number, decisions.missing, head, verify),
            rest=f"manners report {place} --crawl {self._crawl} --json --rows 1000000",
        )

    def _identity(self) -> Identity:
        """Who the crawl was told to be."""
        named = (self._told.get(name) for name in ("agent", "user_agent"))
        return identity(*(each if isinstance(each, str) else None for each in named))

    def _head(self) -> str:
        row = self._connection.execute(select(head.c.number, head.c.hash)).first()
        return str(Head(row.number, row.hash) if row else Head())

    def _shown(self, url: str) -> str:
        """A URL as it may be shown."""
        return cut(without_query(url) if self._redact else url, _TEXT)

    def _budget(self) -> Budget:
        its = Settings()
        used = select(func.sum(urls.c.attempts)).where(self._mine)
        return Budget(
            int(self._connection.execute(used).scalar() or 0),
            _number(self._told.get("max_pages"), its.max_pages),
            self._status.seconds / 60,
            _number(self._told.get("max_minutes"), its.max_minutes),
        )

    # Requests.

    def _requests(self) -> Requests:
        """Look at every request once, in the order in which they started."""
        every = []
        for its in (pages, retries):
            same = and_(urls.c.crawl == its.c.crawl, urls.c.digest == its.c.digest)
            columns = (its.c.status, its.c.started, its.c.seconds, its.c.delay, its.c.bytes)
            query = select(urls.c.host, urls.c.kind, *columns).select_from(its.join(urls, same))
            every.append(query.where(of_crawl(self._connection, its.c.crawl, self._crawl)))
        requests = Requests(self._status.seconds, self._least)
        for host, kind, status, started, seconds, delay, size in self._stream(
            union_all(*every).order_by("started")
        ):
            counts = kind == "page" and status is not None
            requests.add(host, started, seconds=seconds, delay=delay, size=size, counts=counts)
        return requests

    def _least(self, host: str, delay: float) -> float:
        """How short the gaps are that a delay stands for.

        Earlier versions kept a drawn delay as the middle of its range, also where the site asks for
        more than the least of it: then the last record of the host tells.
        """
        if abs(delay - self._middle) >= 1e-6:
            return delay
        demand = self._demands.get(host)
        if demand is None and len(self._demands) < _LOOKED_UP:
            query = select(evidence.c.content).where(evidence.c.host == host)
            text = self._connection.execute(query.order_by(evidence.c.at.desc()).limit(1)).scalar()
            demand = float(_number(_parsed(text, dict).get("crawlDelay"), 0.0))
            self._demands[host] = demand
        return float(min(max(self._delay_least, demand or 0.0), delay))

    def _stream(self, query: Any) -> Any:
        """Rows that come little by little."""
        return self._connection.execute(query.execution_options(yield_per=_AT_A_TIME))

    def _fetched(self, order: "ColumnElement[Any]", most: int) -> list[Fetched]:
        columns = (urls.c.url, pages.c.status, pages.c.title, pages.c.type)
        query = select(*columns, pages.c.bytes, pages.c.seconds).select_from(_JOINED)
        mine = self._asked & (urls.c.kind == "page")
        mine &= (urls.c.state == "done") & (urls.c.reason != REDIRECT)
        rows = self._connection.execute(query.where(mine).order_by(order, urls.c.seq).limit(most))
        return [
            Fetched(self._shown(row.url), row.status or 0, cut(row.title, _TEXT), *row[3:])
            for row in rows
        ]

    def _hosts(self, asked: Mapping[str, Asked]) -> Listing[HostRow]:
        most = sorted(asked.items(), key=lambda each: (-each[1].requests, each[0]))[: self._rows]
        wanted = {name[:255] for name, _ in most}
        every = self._stream(select(hosts).where(hosts.c.crawl == self._crawl))
        known = {row.host: row for row in every if row.host in wanted}
        found = []
        for name, its in most:
            row = known.get(name[:255])
            found.append(
                HostRow(
                    cut(name, _TEXT),
                    its.requests,
                    its.bytes,
                    its.seconds / its.requests,
                    its.shortest,
                    its.delay,
                    0.0 if row is None else row.not_before,
                )
            )
        return Listing(len(asked), found)

    # Decisions.

    def _decisions(self) -> _Decisions:
        """Look at the last decision about every URL, as its record has it."""
        on_record = urls.outerjoin(evidence, evidence.c.id == urls.c.evidence)
        query = select(urls.c.evidence, evidence.c.metadata).select_from(on_record)
        mine = self._every & urls.c.evidence.is_not(None)
        decisions = _Decisions()
        for record, text in self._stream(query.where(mine)):
            decisions.add(record, text)
        return decisions

    def _decision(self, group: _Group, texts: _Texts) -> Decision:
        said = group.said
        text = texts.get((said.snapshot, said.dialect), {}).get(said.line)
        return Decision(
            said.allowed,
            said.reason,
            cut(text or said.matched or "", _TEXT),
            said.line,
            self._shown(said.outcome.url) if said.line and said.outcome else "",
            len(group.sites),
            said.snapshot or "" if said.line else "",
            group.number,
            group.record,
        )

    def _files(
        self, decisions: _Decisions
    ) -> tuple[Listing[RobotsFile], Listing[RobotsProblem], _Texts]:
        """Look at the files that decided, those that decided most first."""
        groups, texts = _most(decisions.files), _Texts()
        files, problems = [], list[RobotsProblem]()
        left, total, decided = _READ, 0, decisions.lines()
        for group in groups[: self._rows]:
            said = group.said
            body = self._snapshot(said.snapshot)
            url = self._shown(said.outcome.url if said.outcome else "")
            number = length = 0
            shown, is_read = list[FileLine](), body is None or len(body) <= left
            if body is not None and is_read:
                left -= len(body)
                key = (said.snapshot, said.dialect)
                every = _lines(said, body, decided.get(key, {}))
                texts[key] = {
                    each.number: each.text.strip() for each in every if each.allowed or each.blocked
                }
                wrong = [each for each in every if each.problems]
                shown = _excerpt(every)
                number, length = len(wrong), len(every)
                total += number
                room = max(self._rows - len(problems), 0)
                problems += [
                    RobotsProblem(url, each.number, each.text, each.problems)
                    for each in wrong[:room]
                ]
            files.append(
                RobotsFile(
                    url,
                    len(group.sites),
                    _outcome(said),
                    said.snapshot or "",
                    None if body is None else len(body),
                    group.number,
                    number,
                    is_read,
                    length,
                    shown,
                )
            )
        return Listing(len(groups), files), Listing(total, problems), texts

    def _snapshot(self, sha256: str | None) -> bytes | None:
        if sha256 is None:
            return None
        query = select(snapshots.c.body).where(snapshots.c.sha256 == sha256)
        body = self._connection.execute(query).scalar()
        return bytes(body) if isinstance(body, bytes | memoryview) else None

    # What was not fetched.

    def _blocked(self) -> list[Reason]:
        mine, number = self._mine & (urls.c.state == "blocked"), func.count()
        query = select(urls.c.reason, number).where(mine).group_by(urls.c.reason)
        reasons = self._connection.execute(
            query.order_by(number.desc(), urls.c.reason).limit(_REASONS)
        ).all()
        return [Reason(reason, found, self._out(mine, reason)) for reason, found in reasons]

    def _out(self, mine: "ColumnElement[bool]", reason: str) -> list[Out]:
        query = select(urls.c.url, urls.c.rule, urls.c.line, urls.c.found_in, urls.c.depth)
        query = query.where(mine & (urls.c.reason == reason)).order_by(urls.c.seq, urls.c.digest)
        return [
            Out(self._shown(url), cut(rule, _TEXT), line, self._shown(found_in), depth)
            for url, rule, line, found_in, depth in self._connection.execute(
                query.limit(self._rows)
            )
        ]

    def _broken(self) -> Listing[Broken]:
        """Pages that failed, or were answered with an error, and who names them."""
        is_error = (urls.c.state == "done") & (urls.c.status >= 400)
        mine = self._mine & ((urls.c.state == "failed") | is_error)
        total = self._connection.execute(select(func.count()).where(mine)).scalar_one()
        columns = (urls.c.url, urls.c.reason, urls.c.status, urls.c.attempts)
        query = select(*columns, urls.c.source, urls.c.found_in).where(mine).order_by(urls.c.seq)
        return Listing(
            total,
            [
                Broken(
                    self._shown(row.url),
                    cut(row.reason, _TEXT),
                    row.status,
                    row.attempts,
                    row.source,
                    self._shown(row.found_in),
                )
                for row in self._connection.execute(query.limit(self._rows))
            ],
        )

    def _sitemaps(self) -> Listing[SitemapRead]:
        """The sitemaps; those that something is wrong with first."""
        mine = self._every & (urls.c.kind == "sitemap")
        mine &= urls.c.state != "queued"
        total = self._connection.execute(select(func.count()).where(mine)).scalar_one()
        joined = and_(urls.c.crawl == pages.c.crawl, urls.c.digest == pages.c.digest)
        query = select(
            *(urls.c.url, urls.c.found_in, urls.c.state, urls.c.reason, urls.c.status),
            *(pages.c.type, pages.c.links, pages.c.problems),
        ).select_from(urls.outerjoin(pages, joined))
        is_right = case((pages.c.problems != "[]", 0), (urls.c.state != "done", 1), else_=2)
        rows = self._connection.execute(
            query.where(mine).order_by(is_right, urls.c.seq).limit(self._rows)
        )
        return Listing(
            total,
            [
                SitemapRead(
                    self._shown(row.url),
                    self._shown(row.found_in),
                    row.state,
                    cut(row.reason, _TEXT),
                    row.status,
                    row.type or "",
                    row.links or 0,
                    [self._problem(each) for each in _parsed(row.problems, list)],
                )
                for row in rows
            ],
        )

    def _problem(self, said: Any) -> SitemapProblem:
        """A problem as the store has it, whoever has changed it."""
        its = said if isinstance(said, dict) else {}
        line = its.get("line")
        return SitemapProblem(
            cut(str(its.get("problem", "")), _TEXT),
            self._shown(str(its.get("detail", ""))),
            line if type(line) is int else 0,
        )


def _lines(said: _Said, body: bytes, decided: Mapping[int, tuple[int, int]]) -> list[FileLine]:
    """The lines of a file, with what each has decided, and what is wrong with it."""
    every = []
    for line in lines_of(msgspec.to_builtins(said), body):
        text = cut(line.text, _TEXT)
        every.append(
            FileLine(line.number, text, *decided.get(line.number, (0, 0)), list(line.problems))
        )
    if every and not every[-1].text:
        every.pop()  # what is behind the last end of a line is no line
    return every


def _excerpt(every: Sequence[FileLine]) -> list[FileLine]:
    """What is to be shown of a file: what decided most, and what is wrong, with lines around it."""
    did = [line for line in every if line.allowed or line.blocked]
    did.sort(key=lambda line: (-line.allowed - line.blocked, line.number))
    wanted = [line.number for line in did[:_SHOWN]]
    wanted += [line.number for line in every if line.problems][:_SHOWN]
    around = {near for number in wanted for near in range(number - _AROUND, number + _AROUND + 1)}
    return [line for line in every if line.number in around]


def _outcome(said: _Said) -> str:
    """How the retrieval went, in a few words."""
    outcome = said.outcome
    if outcome is None:
        return ""
    note = f" ({cut(outcome.note, _TEXT)})" if outcome.note else ""
    return f"{outcome.availability}{note}" + ("; an earlier copy used" if outcome.copy else "")


def _parsed(text: str | None, kind: type[T]) -> T:
    """JSON as the store has it; what is something else is empty."""
    try:
        value = json.loads(text or "")
    except (ValueError, RecursionError):
        return kind()
    return value if isinstance(value, kind) else kind()


def _number(value: Any, otherwise: float) -> Any:
    return value if type(value) in (int, float) else otherwise

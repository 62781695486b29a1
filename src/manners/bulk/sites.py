"""The robots.txt of many sites, bound to an agent: built once, asked about many columns."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manners._arrow import Answers, ArrowData
from manners._compiled import kernel
from manners._text import to_text
from manners.bulk.columns import column_of, distinct
from manners.bulk.decisions import (
    ADD,
    ADD_USAGE,
    ALLOWED,
    DISALLOWED,
    NO_ROBOTS,
    UNDECIDED,
    Decisions,
    code,
)
from manners.bulk.plain import FREE, PlainTable
from manners.bulk.records import RECORDS, BulkError, normalise
from manners.bulk.resolving import State, resolve
from manners.cache.site import parse_body
from manners.charset import legacy_codec
from manners.retrieval import profiles
from manners.robots import dialects
from manners.robots.directives import seconds
from manners.robots.policy import Policy
from manners.robots.verdict import Reason
from manners.urls import origin, robots_url

if TYPE_CHECKING:
    from manners.bulk.usages import SiteUsages
    from manners.retrieval.profiles import Profile
    from manners.robots.dialects import Dialect

Place = str | PathLike[str]


class Sites:
    """The robots.txt of many sites, bound to an agent.

    It does not change once it is made, so that threads can share it.

    >>> robots = {"origin": ["https://a.example"], "body": ["User-agent: *\\nDisallow: /x"]}
    >>> sites = Sites.from_table(pa.table(robots), agent="MyBot")
    >>> list(sites.allowed(pa.array(["https://a.example/x", "https://a.example/y", None])))
    [False, True, None]
    """

    __slots__ = ("_table", "_usages", "agent", "dialect", "profile")
    agent: str | Sequence[str]
    """The agent that the verdicts are for."""
    dialect: "Dialect"
    profile: "Profile"
    _table: Any
    _usages: "SiteUsages | None"

    def __init__(
        self,
        records: "Iterable[pa.RecordBatch | pa.Table]",
        *,
        agent: str | Sequence[str],
        dialect: "str | Dialect" = "rfc9309",
        profile: "str | Profile" = "rfc9309",
        usage: bool = False,
    ) -> None:
        values = {
            "agent": agent,
            "dialect": dialects.get(dialect),
            "profile": profiles.get(profile),
            "_usages": None,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_table", self._empty())
        self._fill(records, usage)

    @classmethod
    def read(
        cls,
        places: Place | Sequence[Place],
        *,
        agent: str | Sequence[str],
        dialect: "str | Dialect" = "rfc9309",
        profile: "str | Profile" = "rfc9309",
        usage: bool = False,
    ) -> "Sites":
        """The sites of an archive: Parquet, WARC, a folder, a cache or an evidence store."""
        from manners.bulk.readers import open_places

        return cls(open_places(places), agent=agent, dialect=dialect, profile=profile, usage=usage)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        agent: str | Sequence[str],
        dialect: "str | Dialect" = "rfc9309",
        profile: "str | Profile" = "rfc9309",
        usage: bool = False,
    ) -> "Sites":
        """The sites of a table with the columns `origin` and `body`, and any of `status`,
        `fetched_at`, `url`, `location`, `charset` and `complete`."""
        return cls([normalise(table)], agent=agent, dialect=dialect, profile=profile, usage=usage)

    @classmethod
    def from_warc(
        cls,
        paths: Place | Sequence[Place],
        *,
        agent: str | Sequence[str],
        dialect: "str | Dialect" = "rfc9309",
        profile: "str | Profile" = "rfc9309",
        usage: bool = False,
    ) -> "Sites":
        """The sites of WARC files, such as the `robotstxt` files of Common Crawl."""
        given = [paths] if isinstance(paths, str | PathLike) else paths
        places = [f"warc:{path}" for path in given]
        return cls.read(places, agent=agent, dialect=dialect, profile=profile, usage=usage)

    def _fill(self, records: "Iterable[pa.RecordBatch | pa.Table]", usage: bool) -> None:
        tables = [
            pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
            for part in records
        ]
        records = pa.concat_tables(tables) if tables else RECORDS.empty_table()
        found = resolve(records, self.profile)
        states = found["state"].to_numpy()
        fixed = self._codes()[states].tobytes()
        stale = (states == State.STALE_COPY).tobytes()
        charsets = _legacy_charsets(found["charset"])
        self._table.add(found.select(["origin", "body"]), fixed, stale, charsets)
        if usage:
            object.__setattr__(self, "_usages", self._read_usages(found, fixed, charsets))

    def _read_usages(
        self, found: pa.Table, fixed: bytes, charsets: "dict[int, str]"
    ) -> "SiteUsages":
        """What the files say about usage; where one answer is for all URLs, none was read."""
        from manners.bulk.usages import SiteUsages

        is_read = pa.chunked_array([np.frombuffer(fixed, np.uint8) == FREE])
        nothing = pa.scalar(None, found["body"].type)
        bodies = pc.if_else(is_read, found["body"], nothing)
        names = self.dialect.own_name(self.agent)
        read = _policy_reader(self.dialect, self.profile, names)

        def policy(number: int) -> Policy:
            body, name = bodies[number].as_py() or b"", found["origin"][number].as_py()
            text = name if isinstance(name, str) else to_text(name)
            return read(body, charsets.get(number, ""), text)

        return SiteUsages(self.agent, bodies, list(charsets), policy)

    def _empty(self) -> Any:
        """A table without sites, in the kernel if there is one."""
        names = self.dialect.own_name(self.agent)
        read = _policy_reader(self.dialect, self.profile, names)
        if kernel is None:
            return PlainTable(read)
        agents = (names,) if isinstance(names, str) else tuple(names)
        return kernel.SiteTable(self.dialect, agents, self.profile.max_parsed, read, _slowest)

    def _codes(self) -> "np.ndarray[Any, np.dtype[np.uint8]]":
        """The code for every URL of a site in each state of `resolving`; 0 if rules decide."""
        unreachable = ALLOWED if self.profile.unreachable == "allow" else DISALLOWED
        fixed = {
            State.UNAVAILABLE: code(Reason.UNAVAILABLE, ALLOWED),
            State.UNREACHABLE: code(Reason.UNREACHABLE, unreachable),
            State.TOO_LARGE: code(Reason.TOO_LARGE, ALLOWED),
            State.UNKNOWN: code(NO_ROBOTS, UNDECIDED),
        }
        return np.array([fixed.get(state, FREE) for state in State], np.uint8)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"sites do not change: {name!r} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"sites do not change: {name!r} cannot be deleted")

    def __reduce__(self) -> str:
        raise TypeError(
            "sites stay in their process: read them in each one (manners.bulk.sites.cached_sites)"
        )

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"Sites({len(self):,} sites, agent={self.agent!r})"

    @property
    def nbytes(self) -> int:
        """Bytes of memory, roughly."""
        number: int = self._table.nbytes
        return number + (self._usages.nbytes if self._usages is not None else 0)

    def origins(self) -> list[str]:
        """The origins of the sites, by the number that `Decisions.sites` has."""
        found: list[str] = self._table.origins()
        return found

    def allowed(self, urls: ArrowData) -> Answers:
        """Whether each URL of a column may be fetched; None where that is not known."""
        return Answers((self.decide(urls).codes & 3).tobytes())

    def verdicts(
        self, batch: Any, column: str = "url", add: Sequence[str] = ADD
    ) -> "pa.RecordBatch | pa.Table":
        """The rows of a batch or a table with what was decided about the URLs in a column.

        >>> table = pa.table({"origin": ["https://a.example"], "body": ["User-agent: *"]})
        >>> sites = Sites.from_table(table, agent="MyBot")
        >>> rows = sites.verdicts(pa.table({"url": ["https://a.example/"]}), add=["allowed"])
        >>> rows.to_pylist()
        [{'url': 'https://a.example/', 'allowed': True}]
        """
        given = batch if isinstance(batch, pa.RecordBatch | pa.Table) else pa.table(batch)
        names, add = given.schema.names, tuple(dict.fromkeys(add))
        if names.count(column) != 1:
            number = "several columns" if column in names else "no column"
            listed = ", ".join(names)
            raise BulkError("rows", f"{number} {column!r} with the URLs; there are: {listed}")
        if unknown := [name for name in add if name not in (*ADD, *ADD_USAGE)]:
            names = (*ADD, *ADD_USAGE)
            raise BulkError("rows", f"cannot add {unknown[0]!r}; choose from: {', '.join(names)}")
        if taken := [name for name in add if name in given.schema.names]:
            raise BulkError("rows", f"there is a column {taken[0]!r} already; rename or drop it")
        urls = given.column(column)
        decisions = self.decide(urls)
        for name in add:
            given = given.append_column(name, self.array(name, urls, decisions))
        return given

    def array(self, name: str, urls: ArrowData, decisions: Decisions) -> pa.Array:
        """One of the columns that verdicts add, for URLs about which it is decided already."""
        if name in ADD:
            return decisions.array(name)
        if self._usages is None:
            raise BulkError("sites", f"for {name!r}, read them with usage=True")
        return self._usages.column(name, column_of(urls), decisions)

    def decide(self, urls: ArrowData) -> Decisions:
        """What is decided about each URL of a column, and why."""
        parts = []
        for values, rows in distinct(column_of(urls)):
            codes, lines, sites, numbers = self._table.decide(values)
            part = Decisions(codes, lines, sites, numbers, self._table)
            parts.append(part if rows is None else part.take(rows))
        return parts[0] if len(parts) == 1 else Decisions.joined(parts, self._table)

    def missing(self, urls: ArrowData) -> list[str]:
        """The origins among the URLs of a column that have no site here, each once."""
        found: dict[str, None] = {}
        for values, _ in distinct(column_of(urls)):
            codes = np.frombuffer(self._table.decide(values)[0], np.uint8)
            unknown = pa.array(codes == code(NO_ROBOTS, UNDECIDED))
            for url in values.filter(unknown).cast(pa.binary()).to_pylist():
                found[origin(to_text(url))] = None
        return list(found)


def _policy_reader(
    dialect: "Dialect", profile: "Profile", names: Any
) -> Callable[[bytes, str, str], Policy]:
    """A function for the policy of a file as it was received.

    A method of `Sites` would refer to them, and their memory would stay until Python looks for
    cycles, which it does too seldom for that much memory.
    """

    def policy(body: bytes, charset: str, name: str) -> Policy:
        return parse_body(body, charset, dialect, robots_url(name), profile).policy(names)

    return policy


def _legacy_charsets(charsets: pa.ChunkedArray) -> dict[int, str]:
    """The charsets of the rows whose body is not UTF-8, by number."""
    legacy = [name for name in charsets.unique().to_pylist() if name and legacy_codec(name)]
    if not legacy:
        return {}
    rows = np.flatnonzero(pc.is_in(charsets, pa.array(legacy, pa.string())))
    return dict(zip(rows.tolist(), charsets.take(pa.array(rows)).to_pylist(), strict=True))


def _slowest(timed: Sequence[tuple[str, str]]) -> float:
    """The crawl delay that timed lines come to: the slowest; NaN for none."""
    delays = (seconds(text) for name, text in timed if name == "crawl-delay")
    return max((delay for delay in delays if delay is not None), default=math.nan)


@lru_cache(maxsize=2)
def _cached(places: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> Sites:
    return Sites.read(places, **dict(options))


def cached_sites(
    places: Place | Sequence[Place], agent: str | Sequence[str], **options: Any
) -> Sites:
    """The sites of an archive, read once in each process.

    For functions that an engine sends to its workers and calls for one batch after the other.
    """
    given = (places,) if isinstance(places, str | PathLike) else tuple(places)
    names = agent if isinstance(agent, str) else tuple(agent)
    return _cached(tuple(map(str, given)), tuple(sorted({"agent": names, **options}.items())))

"""Records outside of a store: as lines of a file, as rows of a table, and verified there. Quiet.

Every line of an export says whether that is whole or filtered, and its last line, the trailer, how
many records there are, and where the chain begins and ends. So what was removed is found, as long
as nobody rewrites the whole file: `Exported.limits` says what a file cannot show by itself.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from manners._text import printable
from manners.errors import MannersError
from manners.evidence.chain import GENESIS, Head, hash_of
from manners.evidence.record import Record, without_query

MAX_LINE = 16 * 1024 * 1024
"""Bytes that a line of an exported file may have."""

_RECORD = {"id", "type", "content", "metadata", "previous", "hash"}
_PATIENCE = 100
"""Lines that may be no records before it is said that a file is something else."""


def as_dict(record: Record, redact_query: bool = False) -> dict[str, Any]:
    """A record as a line of an exported file has it.

    A line whose query is left out says so: its hash is that of the whole record.

    >>> made = Record(1, "robots_allowed", {}, {"url": "http://a/?token=1"}, "ab" * 32)
    >>> line = as_dict(made, redact_query=True)
    >>> line["metadata"], line["redacted"]
    ({'url': 'http://a/?…'}, True)
    """
    values = record.to_dict()
    shown = without_query(record.url)
    if redact_query and shown != record.url:
        values["metadata"]["url"] = shown
        values["redacted"] = True
    return values


WHOLE, FILTERED = "whole", "filtered"
"""What an export has: all records of a store, or those that were asked for."""


class Trailer(NamedTuple):
    """The last line of an export: what there is in it."""

    kind: str
    """`whole` or `filtered`."""
    records: int
    total: int
    """How many records the store had."""
    start: Head
    """Where the chain of the store begins, which is after the records that were pruned."""
    head: Head
    """Where it ends."""
    digest: str
    """SHA-256 of the hashes of the records, one a line."""

    def to_dict(self) -> dict[str, Any]:
        """The trailer as a line of a file has it."""
        values = self._asdict()
        values["start"], values["head"] = str(self.start), str(self.head)
        return {"export": values.pop("kind"), **values}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Trailer":
        """The trailer that `to_dict` made; ValueError where it is none."""
        numbers = values.get("records"), values.get("total")
        if values.keys() != _TRAILER or values["export"] not in (WHOLE, FILTERED):
            raise ValueError("a last line that says something else")
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("a last line without numbers")
        heads = Head.parse(str(values["start"])), Head.parse(str(values["head"]))
        records, total = (int(str(number)) for number in numbers)
        return cls(str(values["export"]), records, total, *heads, str(values["digest"]))


_TRAILER = {"export", "records", "total", "start", "head", "digest"}


def _digested(record: Record) -> bytes:
    """What the digest of an export covers of a record."""
    return f"{record.hash}\n".encode("utf-8", "surrogatepass")


class Exporting:
    """Makes the lines of an export, and counts them for the last one.

    >>> made = Record(1, "robots_allowed", {}, {"url": "http://a/"}, "ab" * 32)
    >>> exporting = Exporting(WHOLE)
    >>> exporting.line(made)["export"]
    'whole'
    >>> exporting.trailer(Head(), Head(1, "ab" * 32), 1).records
    1
    """

    def __init__(self, kind: str, redact_query: bool = False) -> None:
        self._kind, self._redact = kind, redact_query
        self._digest = hashlib.sha256()
        self.records = 0
        """How many there were."""

    def line(self, record: Record) -> dict[str, Any]:
        """A record as a line of the export."""
        self.records += 1
        self._digest.update(_digested(record))
        return {**as_dict(record, self._redact), "export": self._kind}

    def trailer(self, start: Head, head: Head, total: int) -> Trailer:
        """The last line."""
        digest = self._digest.hexdigest()
        return Trailer(self._kind, self.records, total, start, head, digest)


# A table.

_OUTCOME = ("availability", "status", "note", "url", "at", "age", "charset", "complete", "copy")
COLUMNS = (
    *("id", "timestamp", "type", "allowed", "url", "matchedRule", "reason", "line", "crawlDelay"),
    *("agent", "userAgent", "group", "dialect", "profile", "engine", "confidence"),
    *("exclusion", "snapshot"),
    *(f"robots_{name}" for name in _OUTCOME),
    *("redacted", "previous", "hash"),
)
"""What a row has: all of a record, without anything inside anything."""


def cells(values: Mapping[str, Any]) -> list[str]:
    """What `as_dict` made as a row of a table, harmless where somebody opens it.

    >>> made = Record(1, "robots_allowed", {}, {"line": 2, "agent": "@me"}, "ab" * 32)
    >>> row = dict(zip(COLUMNS, cells(as_dict(made)), strict=True))
    >>> row["id"], row["line"], row["agent"], row["url"]
    ('1', '2', "'@me", '')
    """
    found = {**values["metadata"], **values["content"]}
    outcome = found.get("outcome")
    if isinstance(outcome, dict):
        found |= {f"robots_{name}": outcome.get(name) for name in _OUTCOME}
    # One left out in the record itself is marked there, one left out now at the top.
    redacted = bool(values.get("redacted") or found.get("redacted"))
    found |= {name: values[name] for name in ("id", "type", "previous", "hash")}
    return [_cell(name, {**found, "redacted": redacted}.get(name)) for name in COLUMNS]


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "exclusion" and isinstance(value, dict):
        value = value.get("exclude") or json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool | int | float | dict | list):
        return json.dumps(value)
    return harmless(str(value))


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet may take for a formula (OWASP, CSV injection)."""


def harmless(text: str) -> str:
    r"""A text that no spreadsheet takes for a formula, and no terminal for a command.

    >>> print(harmless("=cmd|' /C calc'!A0"), harmless("-1"), harmless("a\x1b[2J"))
    '=cmd|' /C calc'!A0 '-1 a\x1b[2J
    """
    return ("'" if text.startswith(_FORMULA) else "") + printable(text)


def csv_line(row: Iterable[str]) -> str:
    """A row as RFC 4180 has it, every cell in quotes, without the end of the line.

    >>> print(csv_line(["a", 'b"c', "d,e"]))
    "a","b""c","d,e"
    """
    return ",".join('"{}"'.format(cell.replace('"', '""')) for cell in row)


# Verified.


def holds(record: Record) -> bool:
    """Whether a record has the hash that it should have."""
    try:
        link = record.link
        own = hash_of(record.previous, link.id, link.type, link.content, link.metadata)
    except (ValueError, TypeError, OverflowError, RecursionError):  # what nobody can have hashed
        return False
    return own == record.hash


class NotAnExport(MannersError, ValueError):
    """A file in which there are no records."""


class LineFinding(NamedTuple):
    """Something that is wrong with a line of an exported file.

    >>> print(LineFinding(7, 12, "was changed"))
    line 7, record 12: was changed
    """

    line: int
    """Counted from 1; 0 where it is about no line."""
    id: int | None
    """The number of the record, where that could be read."""
    problem: str

    def __str__(self) -> str:
        places = (f"line {self.line}" if self.line else "", f"record {self.id}" if self.id else "")
        place = ", ".join(filter(None, places))
        return f"{place}: {self.problem}" if place else self.problem


class _Last(NamedTuple):
    """The record before."""

    id: int
    hash: str
    is_redacted: bool


class _Line(NamedTuple):
    """A record as a line has it."""

    record: Record
    is_redacted: bool
    kind: str | None
    """Of which kind of export it is a line; None in older ones."""


class Exported:
    """An exported file, read line by line: what is wrong with it, and what it cannot show.

    >>> checked = Exported()
    >>> [str(finding) for finding in checked.findings([b"{}"])]
    Traceback (most recent call last):
    manners.evidence.export.NotAnExport: no line is a record
    """

    def __init__(self, noted: Head | None = None) -> None:
        self.noted = noted
        self.records = 0
        """How many there were."""
        self.redacted = 0
        """Those of them whose query is left out."""
        self.held = 0
        """Those of these whose hash is covered by the record that follows."""
        self.gaps = 0
        """Places where the numbers do not follow each other."""
        self.first = 0
        """The number of the first record."""
        self.trailer: Trailer | None = None
        """The last line; None before it is read, and in older exports."""
        self._first: Record | None = None
        self._kind: str | None = None
        self._last: _Last | None = None
        self._has_noted = self._has_findings = False
        self._digest = hashlib.sha256()

    def findings(self, lines: Iterable[bytes]) -> Iterator[LineFinding]:
        """What is wrong, in the order of the lines; a file without a record is NotAnExport."""
        for finding in self._all(lines):
            self._has_findings = True
            yield finding

    def _all(self, lines: Iterable[bytes]) -> Iterator[LineFinding]:
        early: list[LineFinding] = []
        written = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        for number, line in written:
            try:
                read = _read(line)
            except (ValueError, RecursionError) as error:
                finding = LineFinding(number, None, f"is not a record: {error}")
                if self.records or self.trailer:
                    yield finding
                elif len(early) == _PATIENCE:
                    break
                else:  # it may be a file of something else, which is one thing to say, not many
                    early.append(finding)
                continue
            yield from early
            early.clear()
            if self.trailer is not None:
                yield LineFinding(number, None, "stands behind the last line of the export")
            if isinstance(read, Trailer):
                self.trailer = self.trailer or read
                continue
            for problem in self._look_at(read):
                yield LineFinding(number, read.record.id, problem)
        if early:
            raise NotAnExport("no line is a record")
        for problem in self._missing():
            yield LineFinding(0, None, problem)
        noted, trailer = self.noted, self.trailer
        is_start = trailer is not None and trailer.start == noted  # and no record follows
        if noted is not None and noted.number and not (self._has_noted or is_start):
            problem = "was noted, and is not here: the file ends too early, or was filtered"
            yield LineFinding(0, noted.number, problem)

    def _missing(self) -> Iterator[str]:
        """What the last line says there was, and is not here."""
        trailer = self.trailer
        if trailer is None:
            if self._kind is not None:
                yield "the last line of the export is missing: the file was cut short"
            return
        if self._kind not in (None, trailer.kind):
            yield f"the records are of a {self._kind} export, and the last line of another"
        if self.records != trailer.records:
            had = f"{trailer.records:,} record{'' if trailer.records == 1 else 's'}"
            yield f"the export had {had}, and {self.records:,} are here"
        if trailer.kind == WHOLE:
            yield from self._ends(trailer)
        if not self._has_findings and self._digest.hexdigest() != trailer.digest:
            yield "the records are not those that were exported"

    def _ends(self, trailer: Trailer) -> Iterator[str]:
        """Whether a whole export begins and ends where the chain does."""
        first, last = self._first, self._last
        if first is None or last is None:
            return  # how many are missing was said
        if first.id != trailer.start.number + 1:
            yield f"it begins with record {first.id}, and began with {trailer.start.number + 1}"
        elif first.previous != trailer.start.hash:
            yield f"record {first.id} does not follow the beginning of the chain"
        if last.id != trailer.head.number:
            yield f"it ends with record {last.id}, and the chain with {trailer.head.number}"
        elif last.hash != trailer.head.hash:
            yield f"record {last.id} has another hash than the end of the chain"

    def limits(self) -> Iterator[str]:
        """What cannot be known from what was read, in sentences; complete after `findings`."""
        trailer = self.trailer
        if self.redacted:
            yield (
                f"{self.redacted:,} redacted: whether these were changed cannot be known;"
                f" the hashes of {self.held:,} are covered by the record that follows"
            )
        if trailer is None:
            yield from self._unknown()
            return
        if trailer.start.number:
            yield f"records up to {trailer.start.number} were pruned before"
        if trailer.kind == FILTERED:
            yield (
                f"filtered: {trailer.records:,} of {trailer.total:,} records; gaps are expected,"
                " and what is between is not covered"
            )
        if self.noted is None:
            yield "without --head: whether all of it was written anew cannot be known"

    def _unknown(self) -> Iterator[str]:
        """What cannot be known of an export that does not say what is in it."""
        if self.first > 1:
            yield f"it begins with record {self.first}: nothing is known of those before"
        if self.gaps:
            yield (
                f"gaps between the numbers: {self.gaps:,}, as in a filtered export; whether records"
                " were taken out there cannot be known"
            )
        if self.noted is None:
            yield (
                "without --head: whether records are missing at the end, or all were written"
                " anew, cannot be known; nor is there a last line that says whether it is complete,"
                " as newer exports have"
            )

    def _look_at(self, line: _Line) -> Iterator[str]:
        record, is_redacted = line.record, line.is_redacted
        last, self.records = self._last, self.records + 1
        self._digest.update(_digested(record))
        if self._first is None:
            self._first, self._kind, self.first = record, line.kind, record.id
        elif line.kind != self._kind:
            yield f"is a line of another export ({line.kind or 'an older one'})"
        follows = last is not None and record.id == last.id + 1
        is_whole = holds(record)
        if is_redacted and not is_whole:
            self.redacted += 1
            if not record.url.endswith("?…"):
                yield "is marked as redacted, and nothing is left out"
        elif not is_whole:
            yield "was changed"
        if record.id == 1 and record.previous != GENESIS:
            yield "is the first, and follows another"
        if last is not None and record.id <= last.id:
            yield f"stands behind record {last.id}"
        elif last is not None and not follows:
            self.gaps += 1
            if self._kind == WHOLE:
                is_one = record.id == last.id + 2
                which = f"{last.id + 1} is" if is_one else f"{last.id + 1} to {record.id - 1} are"
                yield f"record{'' if is_one else 's'} {which} missing before it"
        elif last is not None and record.previous != last.hash:
            yield f"does not follow record {last.id} as it is here"
        elif last is not None and last.is_redacted and is_whole:
            self.held += 1
        yield from self._compare(record)
        self._last = _Last(record.id, record.hash, is_redacted and not is_whole)

    def _compare(self, record: Record) -> Iterator[str]:
        """The head that was noted is the hash of one record, and what the next one follows."""
        if self.noted is None:
            return
        for number, digest in ((record.id, record.hash), (record.id - 1, record.previous)):
            if number == self.noted.number and not self._has_noted:
                self._has_noted = True
                if digest != self.noted.hash:
                    yield f"has another hash for record {number} than was noted"


def _read(line: bytes) -> _Line | Trailer:
    """The record in a line, or what the last line says."""
    if len(line) > MAX_LINE:
        raise ValueError("too long")
    try:
        values = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_once)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except json.JSONDecodeError:
        raise ValueError("not JSON") from None
    if isinstance(values, dict) and "export" in values and "id" not in values:
        return Trailer.from_dict(values)
    if not isinstance(values, dict) or not values.keys() >= _RECORD:
        raise ValueError("something is missing")
    # Nothing covers what is beyond the record: nobody is to take it for a part of it.
    for name in values.keys() - _RECORD - {"redacted", "export"}:
        raise ValueError(f"nothing covers {printable(name[:100])!r}")
    kind = values.get("export")
    if kind not in (None, WHOLE, FILTERED):
        raise ValueError("of an unknown kind of export")
    record = Record.from_dict(values)
    if record.id < 1:
        raise ValueError("its number is none")
    return _Line(record, values.get("redacted") is True, kind)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; what is in it twice is read by some as the one, by some as the other."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("something is in it twice")
    return made

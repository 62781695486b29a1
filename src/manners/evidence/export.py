"""Exported files: records as JSON lines, written and verified. Quiet.

Every line says whether the export is whole or filtered. The last line, the trailer, says how many
records there are, and where the chain begins and ends. So removed lines are found, unless the whole
file is rewritten: `Exported.limits` says what a file cannot show by itself.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

from manners._text import count, printable
from manners.errors import MannersError
from manners.evidence.chain import GENESIS, Head, hash_of
from manners.evidence.record import EvidenceView, Record, without_query

MAX_LINE = 16 * 1024 * 1024
"""The longest line of an exported file, in bytes."""

_RECORD = {"id", "type", "content", "metadata", "previous", "hash"}
_MAX_INVALID = 100
"""Invalid lines at the beginning after which a file is not an export."""


def as_dict(record: Record, redact_query: bool = False) -> dict[str, Any]:
    """A record as a line of an exported file.

    A line without its query says so: its hash is the hash of the complete record.

    >>> record = Record(1, "robots_allowed", {}, {"url": "http://a/?token=1"}, "ab" * 32)
    >>> line = as_dict(record, redact_query=True)
    >>> line["metadata"], line["redacted"]
    ({'url': 'http://a/?…'}, True)
    """
    values = record.to_dict()
    shown = without_query(record.url)
    if redact_query and shown != record.url:
        values["metadata"]["url"] = shown
        values["redacted"] = True
    return values


WITHOUT_HEAD = (
    "without --head: cannot tell whether records are missing at the end, or all were rewritten"
)
"""What neither a store nor an older export can show by itself."""

COMPLETE, FILTERED = "whole", "filtered"
"""What is in an export: all records of a store, or those that a filter chose."""


class Trailer(NamedTuple):
    """The last line of an export: what is in it."""

    kind: str
    """`whole` or `filtered`."""
    records: int
    total: int
    """How many records the store had."""
    start: Head
    """Where the chain of the store begins: after the last pruned record."""
    head: Head
    """Where it ends."""
    digest: str
    """SHA-256 of the hashes of the records, one a line."""

    def to_dict(self) -> dict[str, Any]:
        """The trailer as a line of a file."""
        values = self._asdict()
        values["start"], values["head"] = str(self.start), str(self.head)
        return {"export": values.pop("kind"), **values}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Trailer":
        """The trailer that `to_dict` wrote; ValueError if it is not one."""
        numbers = values.get("records"), values.get("total")
        if values.keys() != _TRAILER or values["export"] not in (COMPLETE, FILTERED):
            raise ValueError("not a valid last line")
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("a last line without counts")
        heads = Head.parse(str(values["start"])), Head.parse(str(values["head"]))
        records, total = (int(str(number)) for number in numbers)
        return cls(str(values["export"]), records, total, *heads, str(values["digest"]))


_TRAILER = {"export", "records", "total", "start", "head", "digest"}


def _digest_line(record: Record) -> bytes:
    """What the digest of an export covers of a record."""
    return f"{record.hash}\n".encode("utf-8", "surrogatepass")


class Exporting:
    """Makes the lines of an export, and counts them for the trailer.

    >>> record = Record(1, "robots_allowed", {}, {"url": "http://a/"}, "ab" * 32)
    >>> exporting = Exporting(COMPLETE)
    >>> exporting.line(record)["export"]
    'whole'
    >>> exporting.trailer(Head(), Head(1, "ab" * 32), 1).records
    1
    """

    def __init__(self, kind: str, redact_query: bool = False) -> None:
        self._kind, self._redact = kind, redact_query
        self._digest = hashlib.sha256()
        self.records = 0
        """How many there were so far."""

    def line(self, record: Record) -> dict[str, Any]:
        """A record as a line of the export."""
        self.records += 1
        self._digest.update(_digest_line(record))
        return {**as_dict(record, self._redact), "export": self._kind}

    def trailer(self, start: Head, head: Head, total: int) -> Trailer:
        """The last line."""
        digest = self._digest.hexdigest()
        return Trailer(self._kind, self.records, total, start, head, digest)


def export_view(
    view: EvidenceView,
    exporting: Exporting,
    emit: Callable[[dict[str, Any]], object],
    add_snapshot: Callable[[object], object],
) -> Trailer:
    """Emit the records of a view, and the trailer; pass on the SHA-256 of each robots.txt."""
    for record in view.records:
        emit(exporting.line(record))
        add_snapshot(record.metadata.get("snapshot"))
    trailer = exporting.trailer(view.start, view.head, view.total)
    emit(trailer.to_dict())
    return trailer


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; one that is too long is cut, and the rest of it skipped."""
    while line := file.readline(MAX_LINE + 1):
        yield line
        while len(line) > MAX_LINE and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE + 1)


# Verifying.


def holds(record: Record) -> bool:
    """Whether the hash of a record is right."""
    try:
        link = record.link
        own = hash_of(record.previous, link.id, link.type, link.content, link.metadata)
    except (ValueError, TypeError, OverflowError, RecursionError):  # cannot be hashed
        return False
    return own == record.hash


class NotAnExport(MannersError, ValueError):
    """A file without records."""


class LineFinding(NamedTuple):
    """A problem of an exported file, and the line that has it.

    >>> print(LineFinding(7, 12, "was changed"))
    line 7, record 12: was changed
    """

    line: int
    """Counted from 1; 0 if it is about the file."""
    id: int | None
    """The number of the record, if it could be read."""
    problem: str

    def __str__(self) -> str:
        places = (f"line {self.line}" if self.line else "", f"record {self.id}" if self.id else "")
        place = ", ".join(filter(None, places))
        return f"{place}: {self.problem}" if place else self.problem


class _Previous(NamedTuple):
    """What is compared with the next record."""

    id: int
    hash: str
    is_redacted: bool


class _ExportedRecord(NamedTuple):
    """A record, and what its line says about the export."""

    record: Record
    is_redacted: bool
    kind: str | None
    """The kind of the export; None in those of version 0.1."""


class Exported:
    """An exported file, read line by line: its problems, and what it cannot show.

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
        """How many of them have no query."""
        self.covered = 0
        """How many of these have a hash that the next record covers."""
        self.gaps = 0
        """Places where the numbers are not consecutive."""
        self.trailer: Trailer | None = None
        """The last line; None before it is read, and in older exports."""
        self._first: Record | None = None
        self._kind: str | None = None
        self._last: _Previous | None = None
        self._has_noted = self._has_findings = False
        self._digest = hashlib.sha256()

    def findings(self, lines: Iterable[bytes]) -> Iterator[LineFinding]:
        """The problems, in the order of the lines; NotAnExport for a file without records."""
        for finding in self._all(lines):
            self._has_findings = True
            yield finding

    def _all(self, lines: Iterable[bytes]) -> Iterator[LineFinding]:
        early: list[LineFinding] = []
        numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        for number, line in numbered:
            try:
                read = _read(line)
            except (ValueError, RecursionError) as error:
                finding = LineFinding(number, None, f"is not a record: {error}")
                if self.records or self.trailer:
                    yield finding
                elif len(early) == _MAX_INVALID:
                    break
                else:  # this may not be an export at all, which is one error, not many
                    early.append(finding)
                continue
            yield from early
            early.clear()
            if self.trailer is not None:
                yield LineFinding(number, None, "comes after the last line of the export")
            if isinstance(read, Trailer):
                self.trailer = self.trailer or read
                continue
            for problem in self._check(read):
                yield LineFinding(number, read.record.id, problem)
        if early:
            raise NotAnExport("no line is a record")
        yield from (LineFinding(0, None, problem) for problem in self._missing())
        noted, trailer = self.noted, self.trailer
        is_start = trailer is not None and trailer.start == noted  # and no record follows
        if noted is not None and noted.number and not (self._has_noted or is_start):
            problem = "is the noted head, and is missing: the file was cut short, or filtered"
            yield LineFinding(0, noted.number, problem)

    def _missing(self) -> Iterator[str]:
        """What is missing, by the trailer."""
        trailer = self.trailer
        if trailer is None:
            if self._kind is not None:
                yield "the last line of the export is missing: the file was cut short"
            return
        if self._kind not in (None, trailer.kind):
            yield f"the records are from a {self._kind} export, the last line from another"
        if self.records != trailer.records:
            had = count(trailer.records, "record")
            yield f"the export had {had}, the file has {self.records:,}"
        if trailer.kind == COMPLETE:
            yield from self._ends(trailer)
        if not self._has_findings and self._digest.hexdigest() != trailer.digest:
            yield "the records are not the exported ones"

    def _ends(self, trailer: Trailer) -> Iterator[str]:
        """Whether a whole export begins and ends where the chain does."""
        first, last = self._first, self._last
        if first is None or last is None:
            return  # the counts differ, which is a finding already
        if first.id != trailer.start.number + 1:
            yield f"it begins with record {first.id} instead of {trailer.start.number + 1}"
        elif first.previous != trailer.start.hash:
            yield f"record {first.id} does not follow the start of the chain"
        if last.id != trailer.head.number:
            yield f"it ends with record {last.id}, the chain with {trailer.head.number}"
        elif last.hash != trailer.head.hash:
            yield f"the hash of record {last.id} differs from the head of the chain"

    def limits(self) -> Iterator[str]:
        """What the file cannot show, in sentences; complete after `findings`."""
        trailer = self.trailer
        if self.redacted:
            yield (
                f"{self.redacted:,} redacted: cannot tell whether these were changed;"
                f" the hashes of {self.covered:,} are covered by the next record"
            )
        if trailer is None:
            yield from self._unknown()
            return
        if trailer.start.number:
            yield f"records up to {trailer.start.number} were pruned before"
        if trailer.kind == FILTERED:
            yield (
                f"filtered: {trailer.records:,} of {trailer.total:,} records; gaps are expected,"
                " and the records between are not covered"
            )
        if self.noted is None:
            yield "without --head: cannot tell whether all of it was rewritten"

    def _unknown(self) -> Iterator[str]:
        """What an export without a trailer cannot show."""
        if self._first is not None and self._first.id > 1:
            yield f"it begins with record {self._first.id}: earlier ones are unknown"
        if self.gaps:
            yield (
                f"gaps between the numbers: {self.gaps:,}, as in a filtered export; cannot tell"
                " whether records were removed"
            )
        if self.noted is None:
            yield (
                f"{WITHOUT_HEAD}; this older export has no last line that says whether it is"
                " complete"
            )

    def _check(self, line: _ExportedRecord) -> Iterator[str]:
        record, is_redacted = line.record, line.is_redacted
        last, self.records = self._last, self.records + 1
        self._digest.update(_digest_line(record))
        if self._first is None:
            self._first, self._kind = record, line.kind
        elif line.kind != self._kind:
            yield f"is a line of another export ({line.kind or 'an older one'})"
        follows = last is not None and record.id == last.id + 1
        is_intact = holds(record)
        if is_redacted and not is_intact:
            self.redacted += 1
            if not record.url.endswith("?…"):
                yield "is marked as redacted, but nothing is left out"
        elif not is_intact:
            yield "was changed"
        if record.id == 1 and record.previous != GENESIS:
            yield "is the first record, but has a previous hash"
        if last is not None and record.id <= last.id:
            yield f"comes after record {last.id}"
        elif last is not None and not follows:
            self.gaps += 1
            if self._kind == COMPLETE:
                is_one = record.id == last.id + 2
                which = f"{last.id + 1} is" if is_one else f"{last.id + 1} to {record.id - 1} are"
                yield f"record{'' if is_one else 's'} {which} missing before it"
        elif last is not None and record.previous != last.hash:
            yield f"does not follow record {last.id} as it is here"
        elif last is not None and last.is_redacted and is_intact:
            self.covered += 1
        yield from self._compare(record)
        self._last = _Previous(record.id, record.hash, is_redacted and not is_intact)

    def _compare(self, record: Record) -> Iterator[str]:
        """The noted head is the hash of one record, and the previous hash of the next."""
        if self.noted is None:
            return
        for number, digest in ((record.id, record.hash), (record.id - 1, record.previous)):
            if number == self.noted.number and not self._has_noted:
                self._has_noted = True
                if digest != self.noted.hash:
                    yield f"the hash of record {number} differs from the noted head"


def _read(line: bytes) -> _ExportedRecord | Trailer:
    """The record in a line, or the trailer."""
    if len(line) > MAX_LINE:
        raise ValueError("too long")
    try:
        values = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_unique)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except json.JSONDecodeError:
        raise ValueError("not JSON") from None
    if isinstance(values, dict) and "export" in values and "id" not in values:
        return Trailer.from_dict(values)
    if not isinstance(values, dict) or not values.keys() >= _RECORD:
        raise ValueError("a member is missing")
    # No hash covers more members: they must not pass for a part of the record.
    for name in values.keys() - _RECORD - {"redacted", "export"}:
        raise ValueError(f"unknown member {printable(name[:100])!r}, covered by no hash")
    kind = values.get("export")
    if kind not in (None, COMPLETE, FILTERED):
        raise ValueError("unknown kind of export")
    record = Record.from_dict(values)
    if record.id < 1:
        raise ValueError("its number is below 1")
    return _ExportedRecord(record, values.get("redacted") is True, kind)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; with a duplicate member, readers would disagree about it."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is in it twice")
    return members

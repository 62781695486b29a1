"""Exported files: records as JSON lines, written and verified. Quiet.

Every line says whether the export is whole or filtered. The last line, the trailer, says how many
records there are, and where the chain begins and ends. So removed lines are found, unless the whole
file is rewritten: `Exported.limits` says what a file cannot show by itself.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from manners._text import count
from manners.errors import MannersError
from manners.evidence.anchoring import Anchor
from manners.evidence.chain import GENESIS, AnchorHead, Head, hash_of
from manners.evidence.export_chains import ExportedChains, PreviousRecord
from manners.evidence.export_lines import (
    COMPLETE,
    FILTERED,
    ExportedRecord,
    Exporting,
    Opening,
    Trailer,
    as_dict,
    digest_line,
    export_view,
    read_line,
)
from manners.evidence.numbering import before_first, place_of, strand_of
from manners.evidence.record import Record

__all__ = [
    "COMPLETE",
    "FILTERED",
    "Exported",
    "Exporting",
    "LineFinding",
    "NotAnExport",
    "Trailer",
    "as_dict",
    "bounded_lines",
    "export_view",
    "holds",
]

MAX_LINE = 16 * 1024 * 1024
"""The longest line of an exported file, in bytes."""

_MAX_INVALID = 100
"""Invalid lines at the beginning after which a file is not an export."""

WITHOUT_HEAD = (
    "without --head: cannot tell whether records are missing at the end, or all were rewritten"
)
"""What neither a store nor an older export can show by itself."""


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
    strand: int | None = None
    """Its strand, if the export has several."""

    def __str__(self) -> str:
        number = self.id if self.strand is None else place_of(self.id, self.strand)
        places = (
            f"line {self.line}" if self.line else "",
            "" if self.strand is None else f"strand {self.strand}",
            f"record {number}" if self.id else "",
        )
        place = ", ".join(filter(None, places))
        return f"{place}: {self.problem}" if place else self.problem

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values; `strand` only if it has one."""
        values = self._asdict()
        if self.strand is None:
            del values["strand"]
        return values


class Exported:
    """An exported file, read line by line: its problems, and what it cannot show.

    >>> checked = Exported()
    >>> [str(finding) for finding in checked.findings([b"{}"])]
    Traceback (most recent call last):
    manners.evidence.export.NotAnExport: no line is a record
    """

    def __init__(self, noted: Head | AnchorHead | None = None) -> None:
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
        self._chains = ExportedChains()
        self._first: Record | None = None
        self._kind: str | None = None
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
                if self.records or self.trailer or self._chains.opening:
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
            yield from self._line(number, read)
        if early:
            raise NotAnExport("no line is a record")
        yield from (LineFinding(0, None, problem) for problem in self._missing())
        yield from self._noted_missing()

    def _line(
        self, number: int, read: ExportedRecord | Anchor | Opening | Trailer
    ) -> Iterator[LineFinding]:
        """The problems of a line."""
        if isinstance(read, Trailer):
            self.trailer = self.trailer or read
        elif isinstance(read, Opening):
            if self.records or self._chains.opening:
                yield LineFinding(number, None, "is a first line, and comes later")
            else:
                self._kind = read.kind
                self._chains.begin(read, self.noted)
        elif isinstance(read, Anchor):
            self._digest.update(digest_line(read))
            noted = self.noted
            self._has_noted |= isinstance(noted, AnchorHead) and noted.number == read.number
            for problem in self._chains.check(read):
                yield LineFinding(number, None, f"anchor {read.number}: {problem}")
        else:
            identity = read.record.id
            for problem in self._check(read):
                strand = strand_of(identity) if self._chains.has_strands else None
                yield LineFinding(number, identity, problem, strand)

    def _noted_missing(self) -> Iterator[LineFinding]:
        """Whether the noted head is missing."""
        noted, trailer, opening = self.noted, self.trailer, self._chains.opening
        missing = "is the noted head, and is missing: the file was cut short, or filtered"
        if noted is None or not noted.number or self._has_noted:
            return
        if isinstance(noted, AnchorHead):
            if opening is None or opening.anchors != noted:
                yield LineFinding(0, None, f"anchor {noted.number} {missing}")
            return
        # No record follows a checkpoint that is the end of its chain, too.
        is_start = trailer is not None and trailer.strands is None and trailer.start == noted
        if opening is not None and noted in opening.strands.values():
            is_start = True
        if not is_start:
            strand = strand_of(noted.number) if self._chains.has_strands else None
            yield LineFinding(0, noted.number, missing, strand)

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
        if trailer.strands is not None or self._chains.opening is not None:
            yield from self._chains.ends(trailer)
        elif trailer.kind == COMPLETE:
            yield from self._ends(trailer)
        if not self._has_findings and self._digest.hexdigest() != trailer.digest:
            yield "the records are not the exported ones"

    def _ends(self, trailer: Trailer) -> Iterator[str]:
        """Whether a whole export begins and ends where the chain does."""
        first, last = self._first, self._chains.last.get(1)
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
        if self._chains.opening is not None:
            starts = self._chains.opening.strands.items()
            pruned = sum(start.number > before_first(strand) for strand, start in starts)
            if pruned:
                yield f"records of {count(pruned, 'strand')} were pruned before"
        elif trailer.start.number:
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
            first = self._chains.shown(self._first.id)
            yield f"it begins with record {first}: earlier ones are unknown"
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

    def _check(self, line: ExportedRecord) -> Iterator[str]:
        record, is_redacted = line.record, line.is_redacted
        strand, self.records = strand_of(record.id), self.records + 1
        last = self._chains.last.get(strand)
        self._digest.update(digest_line(record))
        if self._first is None:
            self._first = record
            if self._chains.opening is None:
                self._kind = line.kind
        if line.kind != self._kind:
            yield f"is a line of another export ({line.kind or 'an older one'})"
        is_intact = holds(record)
        if is_redacted and not is_intact:
            self.redacted += 1
            if not record.url.endswith("?…"):
                yield "is marked as redacted, but nothing is left out"
        elif not is_intact:
            yield "was changed"
        if record.id == before_first(strand) + 1 and record.previous != GENESIS:
            yield "is the first record, but has a previous hash"
        if strand in self._chains.closed:
            yield "comes after its strand was closed"
        if last is not None:
            yield from self._follow(record, last, is_intact)
        yield from self._compare(record)
        self._chains.last[strand] = PreviousRecord(
            record.id, record.hash, is_redacted and not is_intact
        )

    def _follow(self, record: Record, last: PreviousRecord, is_intact: bool) -> Iterator[str]:
        """Whether a record follows the one before it in its strand."""
        if record.id <= last.id:
            yield f"comes after record {self._chains.shown(last.id)}"
        elif record.id != last.id + 1:
            self.gaps += 1
            if self._kind == COMPLETE:
                first, final = self._chains.shown(last.id + 1), self._chains.shown(record.id - 1)
                is_one = first == final
                which = f"{first} is" if is_one else f"{first} to {final} are"
                yield f"record{'' if is_one else 's'} {which} missing before it"
        elif record.previous != last.hash:
            yield f"does not follow record {self._chains.shown(last.id)} as it is here"
        elif last.is_redacted and is_intact:
            self.covered += 1

    def _compare(self, record: Record) -> Iterator[str]:
        """The noted head is the hash of one record, and the previous hash of the next."""
        if self.noted is None or isinstance(self.noted, AnchorHead):
            return
        for number, digest in ((record.id, record.hash), (record.id - 1, record.previous)):
            if number == self.noted.number and not self._has_noted:
                self._has_noted = True
                if digest != self.noted.hash:
                    shown = self._chains.shown(number)
                    yield f"the hash of record {shown} differs from the noted head"


def _read(line: bytes) -> ExportedRecord | Anchor | Opening | Trailer:
    """What is in a line, if it is not too long."""
    if len(line) > MAX_LINE:
        raise ValueError("too long")
    return read_line(line)

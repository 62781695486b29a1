"""Lines of an exported file: records, anchors, the first and the last; read and made. Quiet.

The export of a store with one chain has records and a last line, the trailer. That of a store with
strands has a first line too, which says where its strands begin. Each anchor comes after the
records that it covers; those that none covers come at the end.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from manners._text import printable
from manners.evidence.anchoring import Anchor, is_head
from manners.evidence.chain import AnchorHead, Head, canonical, parse_head
from manners.evidence.record import EvidenceView, Record, without_query

COMPLETE, FILTERED = "whole", "filtered"
"""What is in an export: all records of a store, or those that a filter chose."""

_RECORD = {"id", "type", "content", "metadata", "previous", "hash"}
_ANCHOR = {"anchor", "at", "heads", "hash", "export"}
_OPENING = {"export", "strands", "anchors"}
_TRAILER = {"export", "records", "total", "start", "head", "digest"}


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


def anchor_line(anchor: Anchor, kind: str) -> dict[str, Any]:
    """An anchor as a line of an exported file."""
    try:
        heads = json.loads(anchor.heads)
    except (TypeError, ValueError, RecursionError):  # it was tampered with
        heads = str(anchor.heads)
    return {
        "anchor": anchor.number,
        "at": anchor.at,
        "heads": heads,
        "hash": anchor.hash,
        "export": kind,
    }


class Opening(NamedTuple):
    """The first line of the export of a store with strands: where they begin."""

    kind: str
    strands: Mapping[int, Head]
    anchors: AnchorHead

    def to_dict(self) -> dict[str, Any]:
        """The line of a file."""
        return {
            "export": self.kind,
            "strands": _rows(self.strands),
            "anchors": str(self.anchors),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Opening":
        """The line that `to_dict` wrote; ValueError if it is not one."""
        if values.keys() != _OPENING or values["export"] not in (COMPLETE, FILTERED):
            raise ValueError("not a valid first line")
        first = parse_head(str(values["anchors"]))
        return cls(str(values["export"]), _heads(values["strands"]), AnchorHead(*first))


class Trailer(NamedTuple):
    """The last line of an export: what is in it."""

    kind: str
    """`whole` or `filtered`."""
    records: int
    total: int
    """How many records the store had."""
    start: Head | AnchorHead
    """Where the chain of the store begins, after the last pruned record; with strands, that of
    anchors."""
    head: Head | AnchorHead
    """Where it ends."""
    digest: str
    """SHA-256 of the hashes of the records, one a line; and of the anchors, if there are some."""
    strands: Mapping[int, Head] | None = None
    """Where each strand ends; None for one chain."""

    def to_dict(self) -> dict[str, Any]:
        """The trailer as a line of a file."""
        values = self._asdict()
        values["start"], values["head"] = str(self.start), str(self.head)
        del values["strands"]
        if self.strands is not None:
            values["strands"] = _rows(self.strands)
        return {"export": values.pop("kind"), **values}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Trailer":
        """The trailer that `to_dict` wrote; ValueError if it is not one."""
        numbers = values.get("records"), values.get("total")
        if values.keys() - {"strands"} != _TRAILER or values["export"] not in (COMPLETE, FILTERED):
            raise ValueError("not a valid last line")
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise ValueError("a last line without counts")
        strands = _heads(values["strands"]) if "strands" in values else None
        parse = Head.parse if strands is None else parse_head
        heads = parse(str(values["start"])), parse(str(values["head"]))
        records, total = (int(str(number)) for number in numbers)
        return cls(str(values["export"]), records, total, *heads, str(values["digest"]), strands)


def _rows(heads: Mapping[int, Head]) -> list[list[Any]]:
    return [[strand, str(head)] for strand, head in sorted(heads.items())]


def _heads(rows: Any) -> dict[int, Head]:
    heads: dict[int, Head] = {}
    try:
        for strand, text in rows:
            heads[strand] = Head.parse(text)
            if not is_head(strand, heads[strand]):
                raise ValueError
    except (AttributeError, TypeError, ValueError):
        raise ValueError("strands without heads") from None
    return heads


class ExportedRecord(NamedTuple):
    """A record, and what its line says about the export."""

    record: Record
    is_redacted: bool
    kind: str | None
    """The kind of the export; None in those of version 0.1."""


def read_line(line: bytes) -> ExportedRecord | Anchor | Opening | Trailer:
    """What is in a line of an exported file; ValueError if it is none."""
    try:
        values = json.loads(line.decode("utf-8-sig"), object_pairs_hook=_unique)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except json.JSONDecodeError:
        raise ValueError("not JSON") from None
    if isinstance(values, dict) and "export" in values and "id" not in values:
        if "anchor" in values:
            return _read_anchor(values)
        return (Trailer if "records" in values else Opening).from_dict(values)
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
    return ExportedRecord(record, values.get("redacted") is True, kind)


def _read_anchor(values: Mapping[str, Any]) -> Anchor:
    number, at, heads = (values.get(name) for name in ("anchor", "at", "heads"))
    if values.keys() != _ANCHOR or not (type(number) is int and type(at) is int):
        raise ValueError("not a valid anchor")
    try:
        text = heads if isinstance(heads, str) else canonical(heads)
    except TypeError:
        raise ValueError("not a valid anchor") from None
    return Anchor(int(str(number)), int(str(at)), text, str(values["hash"]))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; with a duplicate member, readers would disagree about it."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is in it twice")
    return members


# Writing.


def digest_line(record: Record | Anchor) -> bytes:
    """What the digest of an export covers of a record, or of an anchor."""
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
        self._digest.update(digest_line(record))
        return {**as_dict(record, self._redact), "export": self._kind}

    def anchor(self, anchor: Anchor) -> dict[str, Any]:
        """An anchor as a line of the export."""
        self._digest.update(digest_line(anchor))
        return anchor_line(anchor, self._kind)

    def opening(self, view: EvidenceView) -> Opening:
        """The first line, for a store with strands."""
        starts = {strand.strand: strand.start for strand in view.strands}
        return Opening(self._kind, starts, AnchorHead(*view.start))

    def trailer(
        self,
        start: Head | AnchorHead,
        head: Head | AnchorHead,
        total: int,
        strands: dict[int, Head] | None = None,
    ) -> Trailer:
        """The last line; `strands` says where each of them ends, if there are some."""
        digest = self._digest.hexdigest()
        return Trailer(self._kind, self.records, total, start, head, digest, strands)


def export_view(
    view: EvidenceView,
    exporting: Exporting,
    emit: Callable[[dict[str, Any]], object],
    add_snapshot: Callable[[object], object],
) -> Trailer:
    """Emit the records of a view, and the trailer; pass on the SHA-256 of each robots.txt."""
    if view.strands:
        emit(exporting.opening(view).to_dict())
    for item in view.records:
        if isinstance(item, Anchor):
            emit(exporting.anchor(item))
            continue
        emit(exporting.line(item))
        add_snapshot(item.metadata.get("snapshot"))
    ends = {strand.strand: strand.head for strand in view.strands} if view.strands else None
    trailer = exporting.trailer(view.start, view.head, view.total, ends)
    emit(trailer.to_dict())
    return trailer

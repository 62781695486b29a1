"""Records of evidence as people read them; also records that were tampered with."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from manners._text import count, cut, printable
from manners.cli import render
from manners.evidence.words import because, lines_around, plain, retrieval

if TYPE_CHECKING:
    from manners.evidence.chain import AnchorHead, Head
    from manners.evidence.export import Exported
    from manners.evidence.record import Record, StrandView
    from manners.evidence.replay import Difference, ReplayCounts
    from manners.robots.lines import Line

_MAX_LENGTH = 200


def number(identity: int, has_strands: bool) -> str:
    """The number of a record as people read it: with strands, the strand and the place in it."""
    if not has_strands:
        return str(identity)
    from manners.evidence.numbering import label

    return label(identity)


def with_strand(values: dict[str, Any], has_strands: bool) -> dict[str, Any]:
    """A record for programs, with its strand, if the store has several."""
    if not has_strands:
        return values
    from manners.evidence.numbering import strand_of

    return {"id": values["id"], "strand": strand_of(values["id"]), **values}


def line(record: "Record", url: str, has_strands: bool = False) -> str:
    """A record on one line: its number, when, what, about which URL, and why."""
    decision, colour = ("allowed", "green") if _allowed(record) else ("blocked", "red")
    return "  ".join(
        (
            f"{number(record.id, has_strands):>6}",
            plain(record.content.get("timestamp")),
            render.styled(decision, colour),
            printable(url),
            render.styled(because(record), "dim"),
        )
    )


class Shown(NamedTuple):
    """A record with all that is known about it."""

    record: "Record"
    url: str
    """As it may be shown."""
    holds: bool
    """Whether its hash is right."""
    difference: "Difference | None"
    """How a replay differs; None if it does not."""
    body: bytes | None
    """The robots.txt that decided, if one did."""
    has_strands: bool = False
    """Whether its store has several strands."""

    @property
    def lines(self) -> list["Line"]:
        """The lines of that robots.txt around the one that decided."""
        return [] if self.body is None else lines_around(self.record, self.body)


def as_dict(shown: Shown, values: dict[str, Any]) -> dict[str, Any]:
    """Everything about one record, for programs; `values` is the record as it is exported."""
    difference, body = shown.difference, shown.body
    return {
        "record": values,
        "hash_holds": shown.holds,
        "difference": None if difference is None else {**difference._asdict(), "url": shown.url},
        "robots_bytes": None if body is None else len(body),
        "lines": [{"number": line.number, "text": line.text} for line in shown.lines],
    }


def page(shown: Shown) -> list[str]:
    """Everything about one record, for people."""
    record = shown.record
    metadata, content = record.metadata, record.content
    decided = ("allowed", "green") if _allowed(record) else ("blocked", "red")
    wrong = "" if shown.holds else render.styled(", which does not match the record", "red")
    rows = [
        ("url", printable(shown.url)),
        ("decided", render.styled(*decided)),
        ("because", because(record)),
        ("at", plain(content.get("timestamp"))),
        ("type", plain(record.type)),
        ("agent", _agent(metadata)),
        ("sent as", plain(metadata.get("userAgent"))),
        ("delay", f"{plain(content.get('crawlDelay'))} s" if content.get("crawlDelay") else ""),
        ("read by", f"dialect {plain(metadata.get('dialect'))}, {plain(metadata.get('engine'))}"),
        *_grounds(metadata),
        *_usage(metadata.get("usage")),
        *_file(shown),
        ("replay", _again(shown.difference)),
        ("previous", plain(record.previous)),
        ("hash", plain(record.hash) + wrong),
    ]
    title = render.styled(f"record {number(record.id, shown.has_strands)}", "bold")
    return [title, *(f"  {name:<9} {text}".rstrip() for name, text in rows if name == "" or text)]


def _agent(metadata: Any) -> str:
    group = plain(metadata.get("group"))
    return plain(metadata.get("agent")) + (f", in the group for {group}" if group else "")


def _grounds(metadata: Any) -> list[tuple[str, str]]:
    outcome = metadata.get("outcome")
    profile = (
        f"profile {plain(metadata.get('profile'))}, confidence {plain(metadata.get('confidence'))}"
    )
    if not isinstance(outcome, dict):
        return [("retrieval", "none"), ("", profile)]
    return [
        ("retrieval", f"{retrieval(outcome)}, {plain(outcome.get('url'))}"),
        ("", f"{plain(outcome.get('at'))}, {plain(outcome.get('age'))} s old"),
        ("", profile),
    ]


def _usage(usage: Any) -> list[tuple[str, str]]:
    """What the page may be used for, and who says so; tampered records may have anything."""
    if not isinstance(usage, dict):
        return []
    purpose, answer, unknown = (plain(usage.get(name)) for name in ("purpose", "answer", "unknown"))
    rows = [("purpose", f"{purpose}: {answer} (unknown: {unknown})")]
    claims = usage.get("claims")
    for claim in claims if isinstance(claims, list) else ():
        if isinstance(claim, dict):
            names = ("purpose", "value", "standard", "edition", "source")
            for_what, value, standard, edition, source = (plain(claim.get(name)) for name in names)
            line = f" line {plain(claim['line'])}" if "line" in claim else ""
            rows.append(
                (
                    "",
                    f"{for_what} {value}: {standard} ({edition}), {source}{line}:"
                    f" {plain(claim.get('text'))}",
                )
            )
    return rows


def _file(shown: Shown) -> list[tuple[str, str]]:
    sha256 = shown.record.metadata.get("snapshot")
    if sha256 is None:
        return []
    if shown.body is None:
        return [("robots", f"{plain(sha256)}, missing from the store")]
    rows = [("robots", f"{plain(sha256)}, {count(len(shown.body), 'byte')}")]
    at = shown.record.metadata.get("line")
    width = max((len(str(line.number)) for line in shown.lines), default=0)
    for line in shown.lines:
        mark = ">" if line.number == at else " "
        rows.append(
            ("", f"{mark} {line.number:>{width}}  {printable(cut(line.text, _MAX_LENGTH))}")
        )
    return rows


def _again(difference: "Difference | None") -> str:
    if difference is None:
        return "same decision"
    by = f" (decided by {plain(difference.engine)})" if difference.engine else ""
    return render.styled(plain(difference.problem) + by, "red")


def _allowed(record: "Record") -> bool:
    return record.content.get("allowed") is True


# Chains.


class Chains(NamedTuple):
    """The chains of a store that is verified."""

    has_strands: bool
    strands: "list[StrandView]"
    head: "Head | AnchorHead"

    @property
    def total(self) -> int:
        """How many records there should be; a head that was tampered with says nothing."""
        return sum(
            max(strand.head.number - strand.start.number, 0)
            for strand in self.strands
            if type(strand.head.number) is int
        )

    def summary(self, findings: int) -> Iterator[str]:
        """What came of verifying."""
        what, intact = count(self.total, "record"), "chain intact"
        if self.has_strands:
            what, intact = f"{what} in {count(len(self.strands), 'strand')}", "chains intact"
        if findings:
            yield f"FAILED: {count(findings, 'finding')} in {what}; head {self.head}"
        else:
            yield f"OK: {what} verified, {intact}; head {self.head}"
        if self.has_strands:
            if pruned := sum(1 for _ in checkpoints(self.strands)):
                yield f"records of {count(pruned, 'strand')} were pruned before"
        elif self.strands[0].start.number:
            yield f"records up to {self.strands[0].start.number} were pruned before"


def file_summary(exported: "Exported", findings: int) -> str:
    """What came of verifying an exported file."""
    from manners.evidence.export import COMPLETE

    what, trailer = count(exported.records, "record"), exported.trailer
    if findings:
        return f"FAILED: {count(findings, 'finding')} in {what}"
    if trailer is None or trailer.kind != COMPLETE:
        return f"OK: {what} verified"
    intact = "chain intact" if trailer.strands is None else "chains intact"
    return f"OK: {what} verified, a whole export, {intact}; head {trailer.head}"


def checkpoints(strands: "list[StrandView]") -> Iterator[str]:
    """Where the strands begin of which something was pruned, as `verify --head` takes them."""
    from manners.evidence.numbering import before_first, label

    for strand, start, _ in strands:
        if start.number > before_first(strand):
            yield f"{label(start.number)}:{start.hash}"


def pruned(removed: int, start: "Head | AnchorHead", strands: "list[StrandView]") -> dict[str, Any]:
    """What was pruned, for programs; with strands, the checkpoint of each."""
    values: dict[str, Any] = {"removed": removed, "checkpoint": start._asdict()}
    if strands:
        values["strands"] = [
            {"strand": strand.strand, **strand.start._asdict()} for strand in strands
        ]
    return values


# Replay.


def replay_progress(counts: "ReplayCounts") -> str:
    """How far a replay is."""
    differ = counts.different + counts.undecided
    return f"{counts.types.total():,} decided again, {differ:,} differ"


def replay_summary(counts: "ReplayCounts") -> Iterator[str]:
    """What came of a replay: all together, then by type."""
    decided = f"{count(counts.types.total(), 'record')} decided again"
    parts = [
        f"{number:,} {what}"
        for number, what in (
            (counts.different, "different"),
            (counts.undecided, "not possible"),
            (counts.other_version, "of these by another version"),
        )
        if number
    ]
    yield ", ".join([decided, *parts]) if parts else f"{decided}: all the same"
    for name, number in sorted(counts.types.items()):
        yield f"  {number:,} {name}"

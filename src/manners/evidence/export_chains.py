"""The chains of an exported file: where each strand is, and what anchors say about it. Quiet."""

from collections.abc import Iterator
from typing import NamedTuple

from manners.evidence.anchoring import Anchor, AnchorChain
from manners.evidence.chain import GENESIS, AnchorHead, Head
from manners.evidence.export_lines import COMPLETE, Opening, Trailer
from manners.evidence.numbering import SHARED, before_first, label, place_of


class PreviousRecord(NamedTuple):
    """What is compared with the next record of a strand."""

    id: int
    hash: str
    is_redacted: bool


class ExportedChains:
    """Follows the strands of an exported file, and its anchors.

    >>> chains = ExportedChains()
    >>> chains.has_strands, chains.shown(17)
    (False, '17')
    """

    def __init__(self) -> None:
        self.opening: Opening | None = None
        """The first line; None in the export of one chain."""
        self.last: dict[int, PreviousRecord] = {}
        """What each strand ends with, so far."""
        self.closed: set[int] = set()
        """Strands that were closed."""
        self._anchors = AnchorChain(AnchorHead())
        self._lacking: set[int] = set()
        """Strands of which records that an anchor names are missing."""

    def begin(self, opening: Opening, noted: Head | AnchorHead | None) -> None:
        """Begin where the first line says."""
        self.opening = opening
        own = noted if isinstance(noted, AnchorHead) else None
        self._anchors = AnchorChain(opening.anchors, own)
        if opening.kind == COMPLETE:
            self.last = {
                strand: PreviousRecord(start.number, start.hash, False)
                for strand, start in opening.strands.items()
            }

    @property
    def has_strands(self) -> bool:
        """Whether there are several strands, as far as was read."""
        return self.opening is not None or max(self.last, default=SHARED) > SHARED

    def shown(self, number: int) -> str:
        """The number of a record as people read it."""
        return label(number) if self.has_strands else str(number)

    def check(self, anchor: Anchor) -> Iterator[str]:
        """Whether an anchor follows the one before it, and the records are there that it names."""
        if self.opening is None:
            return  # the first line is missing, which is a finding in the end
        problems = [finding.problem for finding in self._anchors.check(anchor)]
        yield from problems
        try:
            ends = anchor.ends
        except ValueError:
            if not problems:
                yield "cannot be parsed"
            return
        for strand, head in ends.named():
            yield from self._compare(strand, head)
        self.closed |= ends.closed.keys()

    def _compare(self, strand: int, head: Head) -> Iterator[str]:
        """Whether a strand is where an anchor says."""
        starts = self.opening.strands if self.opening else {}
        start = starts.get(strand, Head(before_first(strand), GENESIS))
        last = self.last.get(strand) or PreviousRecord(start.number, start.hash, False)
        if head.number < start.number:
            return  # it was pruned
        if last.id != head.number:
            if strand not in self._lacking:
                self._lacking.add(strand)
                here = f"strand {strand} ends with record {place_of(last.id, strand)} here"
                yield f"{here}, in the anchor with {place_of(head.number, strand)}"
        elif last.hash != head.hash:
            yield f"the hash of record {label(head.number)} differs"

    def ends(self, trailer: Trailer) -> Iterator[str]:
        """Whether all strands and anchors end where those of the store did."""
        opening, strands = self.opening, trailer.strands
        if opening is None:
            yield "the first line of the export is missing"
            return
        if strands is None or strands.keys() != opening.strands.keys():
            yield "the first line and the last line name different strands"
            return
        if trailer.start != opening.anchors:
            yield "the first line and the last line name different anchors"
        if trailer.kind != COMPLETE:
            return
        if trailer.head != self._anchors.last:
            last, own = self._anchors.last.number, trailer.head.number
            yield f"it ends with anchor {last}, the store with {own}" + ", another" * (last == own)
        for strand, end in sorted(self.last.items()):
            head = strands.get(strand)
            if head is None:
                yield f"strand {strand} is not in the last line"
            elif end.id != head.number:
                here = f"strand {strand} ends with record {place_of(end.id, strand)}"
                yield f"{here}, in the store with {place_of(head.number, strand)}"
            elif end.hash != head.hash:
                yield f"the hash of record {label(end.id)} differs from the head of its strand"

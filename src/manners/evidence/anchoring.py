"""An anchor: where every strand of a store ended at one time. Quiet.

Anchors are a chain of their own, so that one head proves all strands up to it:

    hash = SHA-256(previous hash, as 32 bytes + the anchor as canonical JSON, RFC 8785)

    {"at": 1704067200000, "heads": {"closed": [], "open": [[1, 0, "00…"], [2, 17, "ab…"]],
     "strands": 2}, "number": 5}

`open` has every strand that was open: its number, the place of its last record, and the hash of
that. `closed` has those that were closed since the anchor before: a closed strand never continues,
so it is named once. `strands` is how many there were. So the head of a strand at the time of an
anchor is in that anchor if it was open then, else in the last one before that names it.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from manners.evidence.chain import AnchorHead, ChainProblem, Head, canonical
from manners.evidence.numbering import MAX_STRAND, SPAN, before_first, place_of

_DIGEST = re.compile("[0-9a-f]{64}").fullmatch


class Ends(NamedTuple):
    """What an anchor says: where strands ended.

    >>> text = Ends({1: Head(), 2: Head(2**34 + 17, "ab" * 32)}, {}, 2).to_text()
    >>> text[:30]
    '{"closed":[],"open":[[1,0,"000'
    >>> Ends.parse(text).open[2].number == 2**34 + 17
    True
    """

    open: Mapping[int, Head]
    closed: Mapping[int, Head]
    strands: int
    """How many strands there were, open and closed."""

    def named(self) -> Iterator[tuple[int, Head]]:
        """Every strand that it names."""
        yield from self.open.items()
        yield from self.closed.items()

    def to_text(self) -> str:
        """Canonical JSON."""
        return canonical(
            {"closed": _rows(self.closed), "open": _rows(self.open), "strands": self.strands}
        )

    @classmethod
    def parse(cls, text: Any) -> "Ends":
        """What `to_text` wrote; ValueError if it is not that."""
        try:
            values = json.loads(text)
            found = cls(_heads(values["open"]), _heads(values["closed"]), values["strands"])
        except (AttributeError, IndexError, KeyError, TypeError, RecursionError):
            raise ValueError("not an anchor") from None
        if type(found.strands) is not int or not found.strands <= MAX_STRAND:
            raise ValueError("not an anchor")
        return found


def _rows(heads: Mapping[int, Head]) -> list[list[Any]]:
    return [
        [strand, place_of(head.number, strand), head.hash] for strand, head in sorted(heads.items())
    ]


def _heads(rows: Any) -> dict[int, Head]:
    heads: dict[int, Head] = {}
    for strand, place, digest in rows:
        head = Head(before_first(strand) + place, digest)
        if not is_head(strand, head):
            raise ValueError("not an anchor")
        heads[strand] = head
    return heads


def is_head(strand: Any, head: Head) -> bool:
    """Whether this can be the head of a strand: right types, and a number of that strand."""
    types = type(strand), type(head.number), type(head.hash)
    if types != (int, int, str) or not 1 <= strand <= MAX_STRAND:
        return False
    return 0 <= place_of(head.number, strand) <= SPAN and _DIGEST(head.hash) is not None


class Anchor(NamedTuple):
    """An anchor as it is stored."""

    number: int
    at: int
    """Milliseconds since the epoch."""
    heads: str
    """Canonical JSON: see `Ends`."""
    hash: str

    @property
    def ends(self) -> Ends:
        """Where strands ended; ValueError if that was tampered with and cannot be read."""
        return Ends.parse(self.heads)

    @property
    def head(self) -> AnchorHead:
        """The end of the chain of anchors, if this is the last."""
        return AnchorHead(self.number, self.hash)


def anchor_hash(previous: str, number: int, at: int, heads: str) -> str:
    """The hash of an anchor; its JSON is assembled here, with the keys in the order of RFC 8785.

    >>> from manners.evidence.chain import GENESIS
    >>> anchor_hash(GENESIS, 1, 0, "{}")[:8]
    'db91e3d6'
    """
    covered = f'{{"at":{at},"heads":{heads},"number":{number}}}'
    digest = hashlib.sha256(bytes.fromhex(previous))
    digest.update(covered.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


class AnchorChain:
    """Verifies the chain of anchors, one after the other.

    >>> anchors = AnchorChain(AnchorHead(), AnchorHead(1, "ab" * 32))
    >>> [str(finding) for finding in anchors.end()]
    ['anchor 1: is missing: the last anchor is 0, the noted head is anchor 1']
    """

    def __init__(self, start: AnchorHead, noted: AnchorHead | None = None) -> None:
        self._start, self.last, self._noted = start, start, noted
        self._has_noted = noted is None

    def check(self, anchor: Anchor) -> Iterator[ChainProblem]:
        """The problems of the next anchor: whether it follows the one before."""
        number, expected = anchor.number, self.last.number + 1
        if number > expected:
            missing = f"{expected}" if number == expected + 1 else f"{expected} to {number - 1}"
            yield _finding(expected, f"is missing ({missing})")
        elif number < expected:
            yield _finding(number, f"comes after anchor {self.last.number}")
        if not self._follows(anchor):
            yield _finding(number, "was changed, or does not follow the anchor before it")
        self.last = anchor.head
        if self._noted is not None and number == self._noted.number:
            self._has_noted = True
            if anchor.hash != self._noted.hash:
                yield _finding(number, "its hash differs from the noted head")

    def _follows(self, anchor: Anchor) -> bool:
        if not isinstance(self.last.hash, str):
            return False
        try:
            expected = anchor_hash(self.last.hash, anchor.number, anchor.at, anchor.heads)
        except (TypeError, ValueError):  # the previous hash is not one
            return False
        return expected == anchor.hash

    def end(self) -> Iterator[ChainProblem]:
        """What is missing at the end, by the noted head."""
        noted, start = self._noted, self._start
        if noted is None or self._has_noted:
            return
        if noted.number < start.number:
            pruned = f"anchors up to {start.number} were pruned"
            yield _finding(noted.number, f"cannot be verified: {pruned}")
        elif noted.number > start.number:
            last = self.last.number
            missing = f"is missing: the last anchor is {last}, the noted head is"
            yield _finding(noted.number, f"{missing} anchor {noted.number}")
        elif noted.hash != start.hash:
            yield _finding(noted.number, "its hash differs from the noted head")


def _finding(number: int, problem: str) -> ChainProblem:
    return ChainProblem(0, problem, anchor=number)

"""The chain: each record's hash covers the record and the previous hash. Quiet.

    hash = SHA-256(previous hash, as 32 bytes + the record as canonical JSON, RFC 8785)

A head is the number and the hash of the last record. Whoever keeps one elsewhere can show later
that no record up to it was changed, inserted, removed or moved.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from manners.errors import MissingExtra
from manners.evidence.numbering import parse_number, place_of

try:
    import rfc8785
except ModuleNotFoundError as error:
    if error.name != "rfc8785":
        raise
    raise MissingExtra("rfc8785", "crawl") from None

GENESIS = "0" * 64
"""The previous hash of the first record."""

_HEAD = re.compile(r"([0-9]{1,18}):([0-9a-fA-F]{64})").fullmatch


class Head(NamedTuple):
    """The end of a chain: the number and the hash of the last record.

    >>> str(Head(0, GENESIS))[:10]
    '0:00000000'
    """

    number: int = 0
    hash: str = GENESIS

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"

    @classmethod
    def parse(cls, text: str) -> "Head":
        """The head that `str()` wrote.

        >>> Head.parse("7:" + "AB" * 32).number
        7
        """
        found = _HEAD(text.strip())
        if found is None:
            raise ValueError(
                "a head is a number, a colon and 64 hex digits, as `evidence head` prints it"
            )
        return cls(int(found[1]), found[2].lower())


class AnchorHead(NamedTuple):
    """The end of the chain of anchors: the head of a store with strands.

    >>> str(AnchorHead(7, "ab" * 32))[:6]
    'a7:aba'
    """

    number: int = 0
    hash: str = GENESIS

    def __str__(self) -> str:
        return f"a{self.number}:{self.hash}"


def parse_head(text: str) -> Head | AnchorHead:
    """A head that somebody noted: of a chain (`17:…`), a strand (`3/17:…`) or anchors (`a5:…`).

    >>> parse_head("3/17:" + "ab" * 32).number == 2**35 + 17
    True
    >>> parse_head("a5:" + "ab" * 32).number
    5
    """
    text = text.strip()
    if text[:1] in ("a", "A") and ":" in text[:20]:
        return AnchorHead(*Head.parse(text[1:]))
    place, mark, digest = text.partition(":")
    if "/" in place:
        try:
            text = f"{parse_number(place)}{mark}{digest}"
        except ValueError:
            text = ""
    return Head.parse(text)


class ChainLink(NamedTuple):
    """A record as the chain sees it: two texts of canonical JSON, a type, and a hash."""

    id: int
    type: str
    content: str
    metadata: str
    hash: str


class ChainProblem(NamedTuple):
    """A problem of a chain, and the record that has it; or an anchor, or a whole strand."""

    id: int
    """The number of the record; 0 if it is not about one."""
    problem: str
    strand: int | None = None
    """The strand, if the store has several."""
    anchor: int | None = None
    """The number of an anchor, if it is about that."""

    def __str__(self) -> str:
        if self.anchor is not None:
            return f"anchor {self.anchor}: {self.problem}"
        if self.strand is None:
            return f"record {self.id}: {self.problem}"
        place = f", record {place_of(self.id, self.strand)}" if self.id else ""
        return f"strand {self.strand}{place}: {self.problem}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values; `strand` and `anchor` only if it has them."""
        values: dict[str, Any] = {"id": self.id, "problem": self.problem}
        if self.strand is not None or self.anchor is not None:
            values["id"] = self.id or None
        if self.strand is not None:
            values["strand"] = self.strand
        if self.anchor is not None:
            values["anchor"] = self.anchor
        return values


def hash_of(previous: str, number: int, kind: str, content: str, metadata: str) -> str:
    """The hash of a record; its JSON is assembled here, with the keys in the order of RFC 8785.

    >>> hash_of(GENESIS, 1, "robots_allowed", "{}", "{}")[:8]
    'c3002293'
    """
    covered = f'{{"content":{content},"id":{number},"metadata":{metadata},"type":"{kind}"}}'
    digest = hashlib.sha256(bytes.fromhex(previous))
    # Text that was tampered with may not be UTF-8: it gets a hash too, which does not match.
    digest.update(covered.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def verify(
    links: Iterable[ChainLink],
    start: Head,
    head: Head | None = None,
    shown: Callable[[int], object] = int,
) -> Iterator[ChainProblem]:
    """The problems of a chain that begins after `start`; `head` was noted at an earlier time.

    `shown` is the number of a record as texts have it.

    >>> [str(finding) for finding in verify([], Head(), Head(1, "ab" * 32))]
    ['record 1: is missing: the chain ends at 0, the noted head is record 1']
    """
    last, seen = start, start.number == (head.number if head else -1)
    if head and head.number < start.number:
        pruned = f"records up to {shown(start.number)} were pruned"
        yield ChainProblem(head.number, f"cannot be verified: {pruned}")
        seen = True
    elif head and seen and head.hash != start.hash:
        yield ChainProblem(head.number, "its hash differs from the noted head")
    for link in links:
        yield from _gaps(last, link, shown)
        if not _follows(last, link):
            # The next record is compared with the stored hash, not with the computed one: so one
            # change is one finding.
            yield ChainProblem(link.id, "was changed, or does not follow the record before it")
        last = Head(link.id, link.hash)
        if head and link.id == head.number:
            seen = True
            if link.hash != head.hash:
                yield ChainProblem(link.id, "its hash differs from the noted head")
    if head and not seen:
        yield ChainProblem(
            head.number,
            f"is missing: the chain ends at {shown(last.number)},"
            f" the noted head is record {shown(head.number)}",
        )


def _follows(last: Head, link: ChainLink) -> bool:
    if not isinstance(last.hash, str):  # SQLite holds any type; Python 3.14 reads hex in bytes, too
        return False
    try:
        expected = hash_of(last.hash, link.id, link.type, link.content, link.metadata)
    except (TypeError, ValueError):  # the previous hash is not one
        return False
    return expected == link.hash


def _gaps(last: Head, link: ChainLink, shown: Callable[[int], object]) -> Iterator[ChainProblem]:
    expected = last.number + 1
    if link.id > expected:
        missing = f"{shown(expected)}"
        if link.id > expected + 1:
            missing = f"{missing} to {shown(link.id - 1)}"
        yield ChainProblem(expected, f"is missing ({missing})")
    elif link.id < expected:
        yield ChainProblem(link.id, f"comes after record {shown(last.number)}")


def canonical(value: Any) -> str:
    """A JSON value as RFC 8785 writes it: one text for one value.

    >>> canonical({"b": 2.0, "a": [True, None, "é"], "c": 1e21})
    '{"a":[true,null,"é"],"b":2,"c":1e+21}'
    """
    return rfc8785.dumps(_with_doubles(value)).decode()


def _with_doubles(value: Any) -> Any:
    """The value with large integers as floats, which is what they are in JSON.

    A Crawl-delay of 1e20 is written as 100000000000000000000, and Python reads that as an integer.
    """
    match value:
        case None | bool() | str() | float():
            return value
        case int():
            try:
                return value if abs(value) < 2**53 else float(value)
            except OverflowError:
                raise ValueError("not a JSON number: larger than any double") from None
        case dict():
            return {key: _with_doubles(member) for key, member in value.items()}
        case list() | tuple():
            return [_with_doubles(item) for item in value]
    raise TypeError(f"not a JSON value: {type(value).__name__}")

"""The chain: each record's hash covers the record and the hash before it. Quiet.

    hash = SHA-256(hash before, as 32 bytes + the record as canonical JSON, RFC 8785)

Whoever keeps a head, which is the number and the hash of the last record, can show later that
nothing up to there was changed, put in, taken out, or moved.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

GENESIS = "0" * 64
"""The hash before the first record."""

_HEAD = re.compile(r"([0-9]{1,18}):([0-9a-fA-F]{64})").fullmatch


class Head(NamedTuple):
    """The end of a chain: the number of the last record, and its hash.

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
            raise ValueError("a head is a number, a colon and 64 hex digits, as `head` prints it")
        return cls(int(found[1]), found[2].lower())


class Link(NamedTuple):
    """A record as the chain sees it: two texts of canonical JSON, a type, and a hash."""

    id: int
    type: str
    content: str
    metadata: str
    hash: str


class Finding(NamedTuple):
    """Something that is wrong with a chain, and with which record."""

    id: int
    problem: str

    def __str__(self) -> str:
        return f"record {self.id}: {self.problem}"


def hash_of(previous: str, number: int, kind: str, content: str, metadata: str) -> str:
    """The hash of a record, whose JSON is put together here in the order of RFC 8785.

    >>> hash_of(GENESIS, 1, "robots_allowed", "{}", "{}")[:8]
    'c3002293'
    """
    covered = f'{{"content":{content},"id":{number},"metadata":{metadata},"type":"{kind}"}}'
    digest = hashlib.sha256(bytes.fromhex(previous))
    # What somebody changed may be no UTF-8 any more: it still has a hash, which is another one.
    digest.update(covered.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def verify(links: Iterable[Link], start: Head, head: Head | None = None) -> Iterator[Finding]:
    """What is wrong with a chain that goes on after `start`; `head` was noted at an earlier time.

    >>> list(verify([], Head(), Head(1, "ab" * 32)))
    [Finding(id=1, problem='is missing: the chain ends at 0, and went up to 1 when it was noted')]
    """
    last, seen = start, start.number == (head.number if head else -1)
    if head and head.number < start.number:
        yield Finding(head.number, f"cannot be looked at: records up to {start.number} were pruned")
        seen = True
    elif head and seen and head.hash != start.hash:
        yield Finding(head.number, "has another hash than was noted")
    for link in links:
        yield from _gaps(last, link)
        if not _follows(last, link):
            # The chain goes on from the hash that is written: one change is one finding, not two,
            # unless what came before it is not what this record was linked to.
            yield Finding(link.id, "was changed, or does not follow the record before it")
        last = Head(link.id, link.hash)
        if head and link.id == head.number:
            seen = True
            if link.hash != head.hash:
                yield Finding(link.id, "has another hash than was noted")
    if head and not seen:
        yield Finding(
            head.number,
            f"is missing: the chain ends at {last.number}, and went up to {head.number} when it was"
            " noted",
        )


def _follows(last: Head, link: Link) -> bool:
    try:
        expected = hash_of(last.hash, link.id, link.type, link.content, link.metadata)
    except (TypeError, ValueError):  # what stands there as the hash before it is none
        return False
    return expected == link.hash


def _gaps(last: Head, link: Link) -> Iterator[Finding]:
    expected = last.number + 1
    if link.id > expected:
        missing = f"{expected}" if link.id == expected + 1 else f"{expected} to {link.id - 1}"
        yield Finding(expected, f"is missing ({missing})")
    elif link.id < expected:
        yield Finding(link.id, f"stands behind record {last.number}")


def canonical(value: Any) -> str:
    """A value of JSON as RFC 8785 writes it: one text for one value.

    >>> canonical({"b": 2.0, "a": [True, None, "é"], "c": 1e21})
    '{"a":[true,null,"é"],"b":2,"c":1e+21}'
    """
    match value:
        case None | bool() | str():
            return json.dumps(value, ensure_ascii=False)
        case int() | float():
            return number(value)
        case dict():
            # Section 3.2.3: by UTF-16 code units.
            pairs = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be"))
            return "{" + ",".join(f"{canonical(k)}:{canonical(v)}" for k, v in pairs) + "}"
        case list() | tuple():
            return "[" + ",".join(map(canonical, value)) + "]"
    raise TypeError(f"not a value of JSON: {type(value).__name__}")


def number(value: float) -> str:
    """A number as ECMAScript writes it (RFC 8785 section 3.2.2.3).

    >>> number(2.0), number(0.1), number(1e-7), number(1.5e300), number(-0.0)
    ('2', '0.1', '1e-7', '1.5e+300', '0')
    """
    if isinstance(value, int) and abs(value) <= 2**53:
        return str(value)
    try:
        text = repr(float(value))
    except OverflowError:  # a whole number that is larger than any of JSON
        text = "inf"
    if text in ("inf", "-inf", "nan"):
        raise ValueError("not a number of JSON")
    sign = "-" if text.startswith("-") else ""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0"
    # The point stands behind so many of the digits.
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if 0 < point <= 21:
        padded = digits.ljust(point, "0")
        rest = padded[point:]
        return f"{sign}{padded[:point]}" + (f".{rest}" if rest else "")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    shown = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    power = point - 1
    return f"{sign}{shown}e{'+' if power > 0 else '-'}{abs(power)}"

"""Numbers of records: which strand a record belongs to, and its place in it. Quiet.

    number of a record = (strand - 1) * 2**34 + its place in the strand

All numbers are below 2**53, as canonical JSON needs them: half a million strands of 17 billion
records each. In a store with one chain, number and place are the same. Where there are strands,
people read and write `3/17` for record 17 of strand 3.
"""

import re
from typing import Any

SHARED = 1
"""The strand of everybody who has none of his own."""
SPAN = 2**34
"""Numbers of records in a strand."""
MAX_STRAND = 2**53 // SPAN

_NUMBER = re.compile(r"(?:([0-9]{1,18})/)?([0-9]{1,18})").fullmatch


def strand_of(number: int) -> int:
    """The strand of a record.

    >>> strand_of(1), strand_of(2**34), strand_of(2**34 + 1)
    (1, 1, 2)
    """
    return max(number - 1, 0) // SPAN + 1


def before_first(strand: int) -> int:
    """The number before the first record of a strand, which is the head of an empty one.

    >>> before_first(1), before_first(2) == 2**34
    (0, True)
    """
    return (strand - 1) * SPAN


def place_of(number: Any, strand: int) -> Any:
    """The place of a record in its strand; what is no number, because of tampering, is returned.

    >>> place_of(2**35 + 17, 3), place_of("x", 3)
    (17, 'x')
    """
    return number - before_first(strand) if type(number) is int else number


def label(number: int) -> str:
    """A record of a store with strands, as people read it.

    >>> label(17), label(2**35 + 17)
    ('1/17', '3/17')
    """
    strand = strand_of(number)
    return f"{strand}/{place_of(number, strand)}"


def parse_number(text: str) -> int:
    """The number that a user wrote, by itself or as strand and place.

    >>> parse_number("17"), parse_number("3/17") == 2**35 + 17
    (17, True)
    """
    found = _NUMBER(text.strip())
    if found is None:
        raise ValueError(
            "a record is a number, as in 17, or a strand and a place in it, as in 3/17"
        )
    strand, place = int(found[1] or 1), int(found[2])
    if found[1] and not (1 <= strand <= MAX_STRAND and 1 <= place <= SPAN):
        raise ValueError(f"there is no such place: {text.strip()[:40]}")
    return before_first(strand) + place

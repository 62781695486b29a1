"""The chain: one text for one value, one hash for one record, and nothing changed unseen."""

import hashlib
import json
import math
import random
import struct
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manners.evidence.chain import (
    GENESIS,
    ChainLink,
    ChainProblem,
    Head,
    canonical,
    hash_of,
    verify,
)
from tests.evidence.drafts import chained, drafts
from tests.sizes import examples

# RFC 8785, appendix B: the bits of a double, and how it is written.
RFC_NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "written"), RFC_NUMBERS, ids=[row[1] for row in RFC_NUMBERS])
def test_rfc8785_b_numbers(bits: str, written: str) -> None:
    """Every sample of the RFC is written as it says."""
    value = struct.unpack(">d", bytes.fromhex(bits))[0]
    assert canonical(value) == written


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, -(10**400)], ids=repr)
def test_rfc8785_b_what_is_no_number_is_an_error(value: float) -> None:
    """NaN and infinity have no place in JSON, nor has what is larger than any double."""
    with pytest.raises(ValueError, match=r"not representable|not a JSON number"):
        canonical(value)


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53))
def test_rfc8785_3_2_2_3_a_number_comes_back(value: float) -> None:
    """What is written is the same number when it is read, in the shortest way there is."""
    written = canonical(value)
    assert float(written) == value
    assert not written.endswith(".0")
    mantissa, _, exponent = written.lstrip("-").partition("e")
    assert len(mantissa.replace(".", "").strip("0")) <= 17
    if exponent:  # ECMAScript: from 1e21 on, and below 1e-6
        assert exponent[0] in "+-"
        assert not 1e-6 <= abs(value) < 1e21
    elif value:
        assert 1e-6 <= abs(value) < 1e21


def test_rfc8785_3_2_2_the_sample_of_the_rfc() -> None:
    """Literals, numbers, strings and order, as in the RFC's own example."""
    given_text = r"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    assert canonical(json.loads(given_text)) == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_rfc8785_3_2_3_keys_are_sorted_by_utf_16() -> None:
    """The RFC's own example: a character outside of the BMP comes before U+FB33."""
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    written = canonical(dict.fromkeys(keys, 0))
    found = [key for key, _ in json.loads(written, object_pairs_hook=list)]
    assert found == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("\b\t\n\f\r", r'"\b\t\n\f\r"'),
        ("\0\x01\x1f", r'"\u0000\u0001\u001f"'),
        ("\x7f\x80\u2028é😀/", '"\x7f\x80\u2028é😀/"'),
        ('"\\', r'"\"\\"'),
        (True, "true"),
        (1, "1"),
        ([], "[]"),
        ({}, "{}"),
        ({"b": {"z": 1, "a": (1, 2.0)}, "a": None}, '{"a":null,"b":{"a":[1,2],"z":1}}'),
    ],
)
def test_rfc8785_3_2_2_2_strings_and_the_rest(value: Any, written: str) -> None:
    """Only what has to be escaped is, and in one way."""
    assert canonical(value) == written


@pytest.mark.parametrize("value", [b"", {1}, object(), {"a": b""}])
def test_what_json_does_not_have_is_an_error(value: Any) -> None:
    """Nothing is turned into something else on the way."""
    with pytest.raises(TypeError):
        canonical(value)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_there_is_one_text_for_one_value(value: Any) -> None:
    """What was read again is written the same, whatever the order of its keys."""
    written = canonical(value)
    assert canonical(json.loads(written)) == written
    assert canonical(_reversed(value)) == written
    assert written.encode().decode() == written


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(value[key]) for key in reversed(value)}
    return [_reversed(each) for each in value] if isinstance(value, list) else value


# Hashes.


@given(
    st.binary(min_size=32, max_size=32),
    st.integers(1, 2**53),
    st.sampled_from(["robots_allowed", "blocked_by_robots", "blocked_by_exclusion"]),
    st.dictionaries(st.text(), VALUES, max_size=4),
    st.dictionaries(st.text(), VALUES, max_size=4),
)
def test_a_hash_covers_the_record_and_the_hash_before_it(
    before: bytes, count: int, kind: str, content: dict[str, Any], metadata: dict[str, Any]
) -> None:
    """SHA-256 over the hash before it, as bytes, and the canonical JSON of the whole record."""
    whole = {"type": kind, "id": count, "metadata": metadata, "content": content}
    expected = hashlib.sha256(before + canonical(whole).encode()).hexdigest()
    made = hash_of(before.hex(), count, kind, canonical(content), canonical(metadata))
    assert made == expected


def test_what_is_no_utf8_has_a_hash_too() -> None:
    """Text that was broken in the store has another hash than any that can be written."""
    texts = ['{"a":"\udcff"}', '{"a":"\ud800"}', '{"a":"\ufffd"}', '{"a":"?"}', '{"a":"\xff"}']
    assert len({hash_of(GENESIS, 1, "t", each, "{}") for each in texts}) == len(texts)


# Heads.


@given(st.integers(0, 10**18 - 1), st.binary(min_size=32, max_size=32))
def test_a_head_is_read_as_it_is_printed(count: int, digest: bytes) -> None:
    """Also with white space around it, and in capitals."""
    head = Head(count, digest.hex())
    assert Head.parse(str(head)) == head
    assert Head.parse(f"  {str(head).upper()}\n") == head


@pytest.mark.parametrize(
    "text",
    ["", "1", "1:", f":{GENESIS}", f"-1:{GENESIS}", f"1:{GENESIS}0", f"1:{GENESIS[1:]}", "1:x",
     f"1 {GENESIS}", f"1:{'g' * 64}", f"١:{GENESIS}", f"1:{GENESIS}:1", "9" * 19 + f":{GENESIS}"],
)  # fmt: skip
def test_what_is_no_head_is_an_error(text: str) -> None:
    """And says what one looks like."""
    with pytest.raises(ValueError, match="64 hex digits"):
        Head.parse(text)


def test_an_empty_chain_has_a_head() -> None:
    """Number 0, and zeros before the first record."""
    assert str(Head()) == "0:" + "0" * 64
    assert list(verify([], Head())) == []
    assert list(verify([], Head(), Head())) == []


# Verifying.

MADE = chained(drafts(8))
END = Head(8, MADE[-1].hash)


def found(links: list[ChainLink], start: Head = Head(), head: Head | None = None) -> list[int]:  # noqa: B008
    """The records that something is wrong with."""
    return sorted({finding.id for finding in verify(links, start, head)})


def altered(link: ChainLink, field: str, value: Any) -> ChainLink:
    return link._replace(**{field: value})


def test_a_chain_as_it_was_written_has_nothing_wrong() -> None:
    """With every head that was ever noted."""
    assert found(MADE) == []
    for count in range(9):
        noted = Head(count, MADE[count - 1].hash if count else GENESIS)
        assert found(MADE, head=noted) == []


@pytest.mark.parametrize("field", ["type", "content", "metadata", "hash"])
@pytest.mark.parametrize("place", range(8))
def test_a_changed_record_is_named(field: str, place: int) -> None:
    """A change is found in the record; a changed hash also by the record behind it."""
    links, value = list(MADE), getattr(MADE[place], field)
    changed = value[:-1] + ("0" if value[-1] != "0" else "1")
    links[place] = altered(MADE[place], field, changed)
    assert links != MADE
    behind = [place + 2] if field == "hash" and place < 7 else []
    assert found(links) == [place + 1, *behind]


@settings(max_examples=examples(200))
@given(st.data())
def test_every_changed_character_is_found(data: st.DataObject) -> None:
    """One character for another, one more, one less: in any text of any record."""
    place = data.draw(st.integers(0, 7))
    field = data.draw(st.sampled_from(["type", "content", "metadata", "hash"]))
    text: str = getattr(MADE[place], field)
    at, sign = data.draw(st.integers(0, len(text))), data.draw(st.characters())
    width = data.draw(st.integers(0, 1))
    changed = text[:at] + sign + text[at + width :]
    links = list(MADE)
    links[place] = altered(MADE[place], field, changed)
    assert (place + 1 in found(links)) is (changed != text)


@pytest.mark.parametrize("bad", ["", "x" * 64, "ab", GENESIS[1:] + "g", "é" * 32, "0" * 63])
def test_a_hash_that_is_none_is_found(bad: str) -> None:
    """What is no hash at all does not keep the rest from being looked at."""
    links = list(MADE)
    links[3] = MADE[3]._replace(hash=bad)
    links[6] = MADE[6]._replace(content="{}")
    assert found(links) == [4, 5, 7]
    assert found(MADE, Head(0, bad)) == [1]


@pytest.mark.parametrize(
    ("gone", "named"),
    [([0], "1"), ([3], "4"), ([3, 4, 5], "4 to 6"), ([0, 1], "1 to 2"), ([1, 2], "2 to 3")],
)
def test_removed_records_are_named(gone: list[int], named: str) -> None:
    """The first, an inner one, several; the record behind them no longer follows."""
    links = [link for place, link in enumerate(MADE) if place not in gone]
    findings = list(verify(links, Head()))
    assert findings[0] == ChainProblem(gone[0] + 1, f"is missing ({named})")
    assert [finding.id for finding in findings] == [gone[0] + 1, gone[-1] + 2]
    assert found(links, head=END) == [gone[0] + 1, gone[-1] + 2]


def test_renumbered_records_are_found() -> None:
    """Closing the gap by counting anew does not help."""
    links = [link._replace(id=n) for n, link in enumerate(MADE[:2] + MADE[3:], 1)]
    assert found(links) == [3, 4, 5, 6, 7]


@pytest.mark.parametrize("place", range(7))
def test_an_inserted_record_is_found(place: int) -> None:
    """Whoever links it well breaks the link of the record behind it."""
    before = MADE[place - 1].hash if place else GENESIS
    extra = chained(drafts(1, 50), before, place + 1)
    links = MADE[:place] + extra + [link._replace(id=link.id + 1) for link in MADE[place:]]
    assert found(links)[0] == place + 2
    links = MADE[: place + 1] + extra + MADE[place + 1 :]
    assert place + 1 in found(links)


@pytest.mark.parametrize(("one", "other"), [(0, 1), (2, 5), (6, 7), (0, 7)])
def test_swapped_records_are_found(one: int, other: int) -> None:
    """With their numbers, and under each other's."""
    links = list(MADE)
    links[one], links[other] = MADE[other], MADE[one]
    assert found(links)
    links[one] = MADE[other]._replace(id=one + 1)
    links[other] = MADE[one]._replace(id=other + 1)
    assert {one + 1, other + 1} <= set(found(links))


def test_a_duplicated_record_is_found() -> None:
    """The second of two stands behind itself."""
    findings = list(verify([*MADE[:3], MADE[2], *MADE[3:]], Head()))
    assert ChainProblem(3, "comes after record 3") in findings


@given(st.permutations(range(8)))
def test_every_other_order_is_found(order: list[int]) -> None:
    """There is one order, and no other passes."""
    links = [MADE[place] for place in order]
    assert (found(links) == []) is (order == list(range(8)))
    counted = [link._replace(id=n) for n, link in enumerate(links, 1)]
    assert (found(counted) == []) is (order == list(range(8)))


@pytest.mark.parametrize("left", range(8))
def test_a_truncated_chain_is_found_by_a_noted_head(left: int) -> None:
    """The end may be cut off unseen, unless somebody noted where it was."""
    assert found(MADE[:left]) == []
    findings = list(verify(MADE[:left], Head(), END))
    assert [finding.id for finding in findings] == [8]
    assert f"the chain ends at {left}, the noted head is record 8" in str(findings[0])


def test_a_rewritten_chain_is_found_by_a_noted_head() -> None:
    """A complete chain of other records is well linked; what was noted does not fit."""
    others = chained(drafts(9, 100))
    assert found(others) == []
    assert found(others, head=END) == [8]
    assert found(others, head=Head(3, MADE[2].hash)) == [3]
    kept = MADE[:5] + chained(drafts(4, 200), MADE[4].hash, 6)
    assert found(kept, head=Head(5, MADE[4].hash)) == []
    assert found(kept, head=Head(6, MADE[5].hash)) == [6]


def test_a_head_of_no_record_has_one_hash() -> None:
    """Who noted the beginning of a chain noted zeros."""
    assert found(MADE, head=Head(0, "ab" * 32)) == [0]


def test_what_remains_after_pruning_is_verified() -> None:
    """The chain goes on from the checkpoint; a head from before it cannot be looked at."""
    start = Head(3, MADE[2].hash)
    assert found(MADE[3:], start) == []
    assert found(MADE[3:], start, END) == []
    assert found(MADE[3:], start, start) == []
    assert found(MADE[3:], start, Head(3, MADE[1].hash)) == [3]
    assert found([], start) == []
    assert found([], start, END) == [8]
    earlier = list(verify(MADE[3:], start, Head(2, MADE[1].hash)))
    assert [str(each) for each in earlier] == [
        "record 2: cannot be verified: records up to 3 were pruned"
    ]
    assert found(MADE[3:], Head(3, MADE[1].hash)) == [4]
    assert found(MADE[3:]) == [1, 4]
    assert found(MADE[4:], start) == [4, 5]
    assert 1 in found(MADE, start)


def test_one_change_in_a_long_chain_is_found() -> None:
    """Each of a thousand records is as safe as the first."""
    links = chained(drafts(1000))
    assert found(links, head=Head(1000, links[-1].hash)) == []
    for place in random.Random(1).sample(range(1000), 20):
        bad = list(links)
        bad[place] = links[place]._replace(metadata=links[place].metadata.replace("MyBot", "MyBox"))
        assert found(bad) == [place + 1]
    assert all(one.hash != other.hash for one, other in pairwise(links))


def test_a_missing_library_is_named() -> None:
    """Whoever upgrades without the extra is told what to type."""
    script = "import sys; sys.modules['rfc8785'] = None; import manners.evidence.chain"
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert ran.stderr.endswith("'crawl' needs 'rfc8785': pip install 'manners[crawl]'\n")

"""The small reader of structured fields, beside the one by the RFC's author."""

import re
from typing import Any, cast

import http_sf
import pytest
from http_sf.errors import StructuredFieldError
from hypothesis import given, settings
from hypothesis import strategies as st

from manners.signals.structured import read_dictionary, read_list
from tests.sizes import examples

PARTS = [
    *("train-ai", "search", "a", "B", "*", "n", "y", "=", "=", ",", ", ", ";", "; ", " ", "\t"),
    *('"', "\\", '"n"', "?0", "?1", "?", "(", ")", "(a b)", "1", "-1", "1.5", "1."),
    "12345678901234",
    *("1234567890123456", "0.1234", ":", ":YQ==:", ":YQ:", ":Y:", "@1", "@-1"),
    *("@1.5", '%"', '%"a%c3%a9"'),
    *('%"%ff"', '%"%C3"', "é", "\0", "\x7f", ".", "-", "_", "#", "%", "/", "+"),
]
# http-sf makes a datetime of a date, which has no room for all that the RFC allows.
FIELDS = (st.lists(st.sampled_from(PARTS), max_size=12).map("".join) | st.text(max_size=20)).filter(
    lambda text: re.search("@-?[0-9]{11}", text) is None
)


def reference(text: str, kind: str) -> list[str] | None:
    """The keys, or a word for each member, as http-sf reads them; None for a malformed field."""
    try:
        parsed = http_sf.parse(text.encode(), tltype=kind)
    except (StructuredFieldError, ValueError):
        return None
    return (
        sorted(parsed) if isinstance(parsed, dict) else ["member"] * len(cast("list[Any]", parsed))
    )


@settings(max_examples=examples(2_000))
@given(FIELDS)
def test_dictionaries_are_read_as_the_reference_reads_them(text: str) -> None:
    """The same fields are malformed, and others have the same keys."""
    found = read_dictionary(text)
    assert (None if found is None else sorted(found)) == reference(text, "dictionary")


@settings(max_examples=examples(2_000))
@given(FIELDS)
def test_lists_are_read_as_the_reference_reads_them(text: str) -> None:
    """The same fields are malformed, and others have as many members."""
    found = read_list(text)
    assert (None if found is None else ["member"] * len(found)) == reference(text, "list")


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("a=n", "token", "n"),
        ('a="n"', "string", "n"),
        ("a=?0", "boolean", "0"),
        ("a", "boolean", "1"),
        ("a=(n)", "list", "n"),
        ("a=-1.5", "number", "-1.5"),
        ("a=:YQ==:", "bytes", "YQ=="),
        ("a=@0", "date", "0"),
        ('a=%"%c3%a9"', "display", "%c3%a9"),
    ],
)
def test_a_value_has_its_kind(text: str, kind: str, value: str) -> None:
    """Only a token is a token."""
    members = read_dictionary(text)
    assert members is not None
    assert members["a"][:2] == (kind, value)

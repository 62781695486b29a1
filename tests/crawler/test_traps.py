"""Traps: each number at its edge, each its own reason and setting."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manners.crawler.traps import Trap, Traps, form_of, template
from manners.urls import page_url

H = "https://example.com"


@pytest.mark.parametrize(
    ("path", "trap"),
    [
        ("/a/a", None),
        ("/a/a/a", Trap.REPEATED_SEGMENT),
        ("/a/b/a/b", None),
        ("/a/b/a/b/a", Trap.REPEATED_SEGMENT),
        ("/x/a/y/a/z/a/", Trap.REPEATED_SEGMENT),
        ("/a/aa/aaa/A", None),
        ("/a/a?a/a/a", None),
        ("//////", None),
        ("/", None),
        ("/?x=/a/a/a", None),
    ],
)
def test_a_segment_three_times(path: str, trap: Trap | None) -> None:
    """Anywhere in the path; neither empty segments nor the query count."""
    assert Traps().look(H + path) is trap


def test_more_than_2_000_bytes() -> None:
    """2,000 are a URL, 2,001 are a trap; bytes, not characters."""
    url = f"{H}/" + "x" * (2_000 - len(H) - 1)
    assert Traps().look(url) is None
    assert Traps().look(url + "x") is Trap.TOO_LONG
    assert Traps().look(url[:-1] + "é") is Trap.TOO_LONG
    assert Traps().look(f"{H}/?" + "x" * 2_000) is Trap.TOO_LONG


def test_more_than_20_segments() -> None:
    """20 are a path, 21 are a trap."""
    path = "".join(f"/s{number}" for number in range(20))
    assert Traps().look(H + path) is None
    assert Traps().look(H + path + "/") is None
    assert Traps().look(H + path + "?a/b/c") is None
    assert Traps().look(H + path + "/s20") is Trap.TOO_DEEP


def test_a_form_is_one_number() -> None:
    """It fits the column of a database, and differs where a form does."""
    form = form_of(f"{H}/calendar/0")
    assert form is not None
    assert {form_of(f"{H}/calendar/{day}") for day in range(1_000)} == {form}
    assert form_of(f"{H}:8443/calendar/1001") == form  # hosts are told apart elsewhere
    others = ("/calendar/1000/", "/calendar/1000?view", "/other/1000")
    assert len({form, *(form_of(H + path) for path in others)}) == 4
    assert all(-(2**63) <= (form_of(f"{H}/{'x' * n}/1") or 0) < 2**63 for n in range(100))


def test_what_no_other_can_be_like_has_no_form() -> None:
    """A site may have millions of pages without a number: they need no memory."""
    assert form_of(f"{H}/about") is form_of(f"{H}/") is form_of(f"{H}/wiki/%E6%97%A5") is None
    for numbered in ("/0", "/1", "/?page", "/?page=1", "/%E6%97%A0", "/a0%20"):
        assert (form_of(H + numbered) is None) == (numbered == "/%E6%97%A0")
    assert form_of(f"{H}/0") == form_of(f"{H}/1")
    assert form_of(f"{H}/?page") == form_of(f"{H}/?page=x")


def test_every_number_is_a_setting() -> None:
    """And each can be put out of reach."""
    assert Traps(repeats=2).look(f"{H}/a/a") is Trap.REPEATED_SEGMENT
    assert Traps(repeats=4).look(f"{H}/a/a/a") is None
    assert Traps(length=30).look(f"{H}/aaaaaaaaaaa") is Trap.TOO_LONG
    assert Traps(length=3_000).look(f"{H}/{'x' * 2_500}") is None
    assert Traps(segments=1).look(f"{H}/a/b") is Trap.TOO_DEEP
    assert Traps(segments=30).look(H + "".join(f"/{n}x" for n in range(25))) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/calendar/2024/01", "/calendar/1999/12"),
        ("/a1b22c", "/a9b8c"),
        ("/x-550e8400-e29b-41d4-a716-446655440000", "/x-123e4567-e89b-12d3-a456-426614174000"),
        ("/s/0123456789abcdef", "/s/fedcba98765432100"),
        ("/s/0123456789ABCDEF.html", "/s/ffffffffffffffff0.html"),
        ("/?page=1", "/?page=2"),
        ("/?a=1&b=2", "/?b=x&a=y"),
        ("/?a=1&a=2", "/?a"),
        ("/x?", "/x"),
        ("/caf%C3%A9/1", "/caf%C3%A9/2"),
    ],
)  # fmt: skip
def test_alike(one: str, other: str) -> None:
    """Numbers, long hexadecimal numbers and the values of parameters do not count."""
    assert template(one) == template(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a", "/b"),
        ("/a", "/a/"),
        ("/a", "/a/1"),
        ("/a1", "/a"),
        ("/?a", "/?b"),
        ("/?a", "/?a&b"),
        ("/deadbeef", "/cafebabe"),
        ("/dead-beef-cafe-babe-face", "/face-dead-beef-cafe-babe"),
        ("/s/0123456789abcdeg", "/s/0123456789abcdeh"),
        # Words in other scripts are words, though their escapes have digits.
        ("/wiki/%E6%97%A5%E6%9C%AC", "/wiki/%E4%B8%AD%E6%96%87"),
        ("/%D0%B4%D0%B0", "/%D0%BD%D0%B5"),
        ("/%200123456789abcdef", "/%210123456789abcdef"),
    ],
)
def test_not_alike(one: str, other: str) -> None:
    """Words count, and so do the names of parameters."""
    assert template(one) != template(other)


def test_a_wiki_in_japanese_is_no_trap() -> None:
    """Thousands of titles of three characters are thousands of forms."""
    look = Traps().look
    titles = [chr(0x3042 + n % 80) + chr(0x4E00 + n // 80) + "字" for n in range(4_000)]
    pages = [page_url(f"{H}/wiki/{title}") for title in titles]
    assert not any(map(look, pages))
    assert {form_of(page) for page in pages} == {None}


@pytest.mark.parametrize(
    "path", ["-" * 100_000 + "x", "a-" * 50_000 + "g", "0" * 100_000, "%" * 99]
)
def test_a_form_takes_as_long_as_its_path(path: str) -> None:
    """Nothing is looked at again and again."""
    look = Traps(length=10**9).look
    assert [look(f"{H}/{path}{n}") for n in range(20)] == [None] * 20
    assert len({form_of(f"{H}/{path}{n}") for n in range(20)}) < 20


@given(st.text(st.sampled_from("/ab0-%2?&=é."), max_size=60))
def test_any_page_can_be_looked_at(path: str) -> None:
    """Nothing raises, and a form has no numbers but 0."""
    url = page_url(f"{H}/{path}")
    assert Traps().look(url) in (None, *Trap)
    form = template(url[len(H) :]).partition("?")[0]
    assert template(form) == form
    path = url[len(H) :].partition("?")[0]
    assert form_of(H + path) == form_of(H + form)

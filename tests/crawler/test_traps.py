"""Traps: each number at its edge, each its own reason and setting."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manners.crawler import traps
from manners.crawler.traps import Trap, Traps, template
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


def test_more_than_1_000_alike() -> None:
    """The first thousand of a form are pages, the rest a trap; each host and form by itself."""
    look = Traps().look
    assert [look(f"{H}/calendar/{day}") for day in range(1_000)] == [None] * 1_000
    assert look(f"{H}/calendar/1000") is Trap.TOO_MANY_ALIKE
    assert look(f"{H}:8443/calendar/1001") is Trap.TOO_MANY_ALIKE  # the same host
    assert look("https://other.example/calendar/1000") is None
    assert look(f"{H}/calendar/1000/") is None
    assert look(f"{H}/calendar/1000?view") is None
    assert look(f"{H}/other/1000") is None


def test_what_is_a_trap_by_itself_is_not_counted() -> None:
    """Long, deep and repeated ones do not use up what their form may have."""
    look = Traps(alike=1, length=100).look
    assert look(f"{H}/1/a/a/a") is Trap.REPEATED_SEGMENT
    assert look(f"{H}/1/?x={'y' * 100}") is Trap.TOO_LONG
    assert look(f"{H}/1/") is None
    assert look(f"{H}/2/") is Trap.TOO_MANY_ALIKE


def test_every_number_is_a_setting() -> None:
    """And each can be put out of reach."""
    assert Traps(repeats=2).look(f"{H}/a/a") is Trap.REPEATED_SEGMENT
    assert Traps(repeats=4).look(f"{H}/a/a/a") is None
    assert Traps(length=30).look(f"{H}/aaaaaaaaaaa") is Trap.TOO_LONG
    assert Traps(length=3_000).look(f"{H}/{'x' * 2_500}") is None
    assert Traps(segments=1).look(f"{H}/a/b") is Trap.TOO_DEEP
    assert Traps(segments=30).look(H + "".join(f"/{n}x" for n in range(25))) is None
    look = Traps(alike=2).look
    assert [look(f"{H}/{n}") for n in range(3)] == [None, None, Trap.TOO_MANY_ALIKE]


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
    assert not any(look(page_url(f"{H}/wiki/{title}")) for title in titles)


@pytest.mark.parametrize(
    "path", ["-" * 100_000 + "x", "a-" * 50_000 + "g", "0" * 100_000, "%" * 99]
)
def test_a_form_takes_as_long_as_its_path(path: str) -> None:
    """Nothing is looked at again and again."""
    look = Traps(length=10**9).look
    assert [look(f"{H}/{path}{n}") for n in range(20)] == [None] * 20


def test_memory_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many forms are counted as there is room for; those of more are no traps."""
    monkeypatch.setattr(traps, "_TEMPLATES", 1_000)
    look = Traps(alike=1).look
    tracemalloc.start()
    for number in range(3_000):
        name = "".join(chr(ord("a") + int(digit)) for digit in str(number))
        assert look(f"{H}/{'x' * 1_500}{name}") is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500_000
    assert look(f"{H}/{'x' * 1_500}a") is Trap.TOO_MANY_ALIKE
    assert look(f"{H}/{'x' * 1_500}cjjj") is None


@given(st.text(st.sampled_from("/ab0-%2?&=é."), max_size=60))
def test_any_page_can_be_looked_at(path: str) -> None:
    """Nothing raises, and a form has no numbers but 0."""
    url = page_url(f"{H}/{path}")
    assert Traps().look(url) in (None, *Trap)
    form = template(url[len(H) :]).partition("?")[0]
    assert template(form) == form

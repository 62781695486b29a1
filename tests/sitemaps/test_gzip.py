"""Gzipped sitemaps: several members, broken ones, and bombs."""

import gzip
import random
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manners._inflate import GZIP, Inflater
from tests.sitemaps.reading import loc, pieces, read, urlset
from tests.sizes import examples

LOCATIONS = [f"https://example.com/{number}" for number in range(200)]
BODY = urlset(*map(loc, LOCATIONS))


def noise(size: int) -> bytes:
    """Bytes that do not become fewer."""
    return random.Random(size).randbytes(size)


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(BODY),
        gzip.compress(BODY, 0),
        gzip.compress(BODY[:1000]) + gzip.compress(BODY[1000:]),
        b"".join(gzip.compress(BODY[i : i + 100]) for i in range(0, len(BODY), 100)),
        gzip.compress(b"", mtime=0) + gzip.compress(BODY) + gzip.compress(b"", mtime=0),
        gzip.compress(BODY) + bytes(1000),
        gzip.compress(BODY) + b"\x1f",
        gzip.compress(BODY) + b"\x1f\x00" + gzip.compress(BODY),
        gzip.compress(BODY) + b"trailing\x1f\x8b",
    ],
    ids=["one", "stored", "two", "many", "empty ones", "padded", "1f", "1f 00", "junk"],
)
def test_every_member_is_read_and_padding_is_not(body: bytes) -> None:
    """RFC 1952 section 2.2: a file is a series of members; what follows them is no part of it."""
    found = read(body)
    assert found.urls == LOCATIONS
    assert found.problems == []
    assert read(body[i : i + 1] for i in range(len(body))) == found


@pytest.mark.parametrize("size", range(2, len(gzip.compress(BODY)), 7))
def test_a_stream_that_breaks_off_gives_what_was_there(size: int) -> None:
    """Entries that are complete are read; the problem is named."""
    found = read(gzip.compress(BODY)[:size])
    assert found.urls == LOCATIONS[: len(found.urls)]
    assert found.problems[0].problem == "truncated"


def test_a_line_of_text_that_breaks_off_is_no_url() -> None:
    """Half a URL is another URL."""
    body = "".join(f"https://example.com/{number}/{'x' * number}\n" for number in range(300))
    whole = read(gzip.compress(body.encode())).urls
    half = read(gzip.compress(body.encode())[:1_000])
    assert 0 < len(half.urls) < 300
    assert half.urls == whole[: len(half.urls)]
    assert half.words == ["truncated"]


@pytest.mark.parametrize("at", [0.2, 0.5, 0.9])
def test_a_broken_stream_gives_what_was_there(at: float) -> None:
    """Whatever could be decompressed before the error is read, however it came."""
    parts = [loc(f"https://example.com/{noise(10 + n).hex()}") for n in range(300)]
    body = bytearray(gzip.compress(urlset(*parts)))
    where = int(len(body) * at)
    body[where : where + 50] = b"\xff" * 50
    whole = read(bytes(body))
    assert whole.urls
    assert "bad-gzip" in whole.words
    for size in (1, 7, 1000):
        assert read(bytes(body[i : i + size]) for i in range(0, len(body), size)) == whole


def test_a_wrong_checksum_costs_nothing_but_a_problem() -> None:
    """The data stands before it."""
    body = bytearray(gzip.compress(BODY))
    body[-6] ^= 1
    found = read(bytes(body))
    assert found.urls == LOCATIONS
    assert found.words == ["bad-gzip"]


@pytest.mark.parametrize(
    "body",
    [
        *(b"\x1f\x8b", b"\x1f\x8b\x00", b"\x1f\x8b\x08\xff" + bytes(20), b"\x1f\x8b" + b"x" * 100),
        *(
            gzip.compress(b"", mtime=0),
            gzip.compress(b" \n", mtime=0),
            gzip.compress(b"\x1f\x8b", mtime=0),
        ),
    ],
)
def test_what_is_hardly_gzip_is_hardly_a_sitemap(body: bytes) -> None:
    """It never raises, and there is always a reason."""
    found = read(body)
    assert found.urls == []
    assert found.problems


def test_members_are_numbered() -> None:
    """More members than anybody needs are not read."""
    body = gzip.compress(urlset(loc("https://example.com/a"))[:-12])
    found = read(body + gzip.compress(b" ", mtime=0) * 2_000)
    assert found.urls == ["https://example.com/a"]
    assert found.words[0] == "bad-gzip"


@settings(max_examples=examples(50))
@given(st.binary(max_size=3_000), st.lists(st.integers(0, 300), max_size=5), st.integers(0, 9))
def test_it_is_what_zlib_says(data: bytes, cuts: list[int], level: int) -> None:
    """In any pieces, the result is that of decompressing in one go."""
    body = gzip.compress(data, level)
    gunzip = Inflater(GZIP, salvage=True)
    out = b"".join(b"".join(gunzip.feed(piece)) for piece in pieces(body, cuts))
    assert out == data == zlib.decompress(body, 31)
    assert gunzip.is_complete


def test_pieces_are_small_whatever_they_come_from() -> None:
    """Nobody holds what a bomb expands to."""
    gunzip, size = Inflater(GZIP, salvage=True), 0
    for piece in gunzip.feed(gzip.compress(bytes(10_000_000))):
        assert len(piece) <= 64 * 1024
        size += len(piece)
    assert size == 10_000_000

"""Every limit at its edge; what is made to take memory or time takes neither.

None of these asserts a time: one that is not linear does not end.
"""

import gzip
import tracemalloc
import zlib
from collections.abc import Callable, Iterator

import pytest

from manners.sitemaps import SitemapEntry, SitemapParser
from manners.sitemaps.parser import MAX_BYTES, MAX_ENTRIES, MAX_PROBLEMS
from tests.sitemaps.reading import URL, loc, read, urlset

A = "https://example.com/a"
ENTRY = b"<url><loc>https://example.com/a</loc></url>"
MB = 1024 * 1024


def test_50_000_entries_and_no_more() -> None:
    """sitemaps.org: a file has at most 50,000 URLs. One more is a problem, and is not read."""
    assert MAX_ENTRIES == 50_000
    body = b"<urlset>" + ENTRY * 50_000
    exact = read(body + b"</urlset>")
    assert (len(exact.entries), exact.problems) == (50_000, [])
    more = read(body + ENTRY * 100 + b"<url>" * 10)
    assert (len(more.entries), more.words) == (50_000, ["too-many-entries"])


@pytest.mark.parametrize("entry", [ENTRY, b"<url><!----><loc>https://example.com/a</loc></url>"])
def test_the_number_of_entries_is_a_setting(entry: bytes) -> None:
    """Plain entries and others alike; those without a URL do not count."""
    body = b"<urlset>\n<url/>" + entry * 3 + b"\n" + entry + b"</urlset>"
    found = read(body, max_entries=3)
    assert found.entries == [SitemapEntry(A)] * 3
    assert [(each.problem, each.line) for each in found.problems] == [
        ("no-location", 2),
        ("too-many-entries", 3),
    ]
    assert read(body, max_entries=4).words == ["no-location"]
    broken = b"<urlset>" + entry * 4 + b"</wrong>"  # behind the last that counts: not looked at
    assert read(broken, max_entries=3).words == ["too-many-entries"]
    assert read(b"https://example.com/a\n" * 4 + b"x\n", max_entries=3).words == [
        "too-many-entries"
    ]


def test_50_mb_and_no_more() -> None:
    """sitemaps.org: a file has at most 50 MB."""
    assert MAX_BYTES == 50 * MB
    body = urlset(*[loc(A)] * 100)
    assert read(body, max_bytes=len(body)).problems == []
    for size in (len(body) - 1, len(body) // 2, 120, 1, 0):
        for way in (body, gzip.compress(body)):
            found = read(way, max_bytes=size)
            assert found.words[0] == "too-large"
            assert "truncated" not in found.words
            assert found.urls == [A] * body[:size].count(b"</loc>")


def test_a_line_at_the_limit_is_no_url() -> None:
    """Of text, the line that is cut is not read; one that ends just there is."""
    body = b"https://example.com/a\nhttps://example.com/bc\n"
    assert read(body, max_bytes=len(body) - 2).urls == [A]
    assert read(body, max_bytes=len(body) - 1).urls == [A]
    assert read(body, max_bytes=len(body)).urls == [A, "https://example.com/bc"]


@pytest.mark.parametrize("way", ["<urlset>" + "<url/>" * 30, "no URL\n" * 30])
def test_entries_without_a_url_are_counted_too(way: str) -> None:
    """A file of nothing but problems ends as one of entries does."""
    assert read(way.encode(), max_entries=20).words == [
        *["no-location" if "url" in way else "bad-url"] * 21,
        "too-many-entries",
    ]


def test_100_problems_and_the_reason_to_stop() -> None:
    """The list of problems ends somewhere; why nothing more is read is told all the same."""
    found = read(urlset(*["<loc>/a</loc>"] * 300), max_entries=250)
    assert len(found.entries) == 250
    assert len(found.problems) == MAX_PROBLEMS + 1
    assert found.words[-1] == "too-many-entries"


@pytest.mark.parametrize(
    ("size", "word"), [(16_384, None), (16_385, "too-long"), (3 * MB, "too-long")]
)
def test_a_url_has_16_384_characters(size: int, word: str | None) -> None:
    """Longer ones are dropped, without keeping them."""
    url = A + "x" * (size - len(A))
    found = read(urlset(loc(url), loc(A)))
    assert found.urls == ([url, A] if word is None else [A])
    assert found.words == ([] if word is None else [word, "no-location"])
    text = read(f"{url}\n{A}\n".encode())
    assert text.urls == ([url, A] if word is None else [A])
    assert read([f"{url}"[:10].encode(), f"{url}\r"[10:].encode(), f"\n{A}".encode()]) == text


def laughs(depth: int = 10) -> bytes:
    """Billion laughs."""
    entities = '<!ENTITY lol "lol">' + "".join(
        f'<!ENTITY lol{n} "{f"&lol{n - 1 or str()};" * 10}">' for n in range(1, depth)
    )
    return (
        f'<?xml version="1.0"?>\n<!DOCTYPE lolz [\n{entities}]>\n'
        f"<urlset><url><loc>https://example.com/&lol{depth - 1};</loc></url></urlset>"
    ).encode()


def test_entities_are_not_expanded() -> None:
    """Billion laughs is one URL with an ampersand in it."""
    found = read(laughs())
    assert found.urls == ["https://example.com/&lol9;"]
    assert found.words == ["entity"]
    assert found.problems[0].line == 3


@pytest.mark.parametrize(
    "dtd",
    [
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY x SYSTEM "http://127.0.0.1:1/">',
        '<!ENTITY x PUBLIC "a" "http://127.0.0.1:1/">',
        '<!ENTITY % x SYSTEM "http://127.0.0.1:1/"> %x;',
        "<!ENTITY % x \"<!ENTITY y 'z'>\"> %x;",
        '<!ENTITY x "</loc></url><url><loc>https://example.com/injected</loc></url>">',
    ],
)
def test_entities_are_not_fetched(dtd: str) -> None:
    """Internal, external, of parameters: nothing that a document type declares is ever used."""
    entry = b"<urlset><url><loc>https://example.com/&x;</loc></url></urlset>"
    found = read(f"<!DOCTYPE urlset [{dtd}]>".encode() + entry)
    assert found.urls == ["https://example.com/&x;"]
    assert found.words == ["entity"]
    assert read(b'<!DOCTYPE urlset SYSTEM "http://127.0.0.1:1/x.dtd">' + entry).urls == found.urls


def repeated(piece: bytes, size: int, before: bytes = b"<urlset>") -> Iterator[bytes]:
    """A file of some size, in pieces as they come from a network."""
    yield before
    piece *= max(MB // 8 // len(piece), 1)
    for _ in range(size // len(piece)):
        yield piece


def zipped(data: Iterator[bytes]) -> Iterator[bytes]:
    deflate = zlib.compressobj(9, zlib.DEFLATED, 31)
    for piece in data:
        yield deflate.compress(piece)
    yield deflate.flush()


def numbered(form: str, size: int) -> Iterator[bytes]:
    """A file in which no name is there twice."""
    yield b"<urlset>"
    for block in range(size // (20 * 1000)):
        yield "".join(form.format(block * 1000 + n) for n in range(1000)).encode()


HUNGRY: dict[str, Callable[[], Iterator[bytes]]] = {
    "a bomb of zeros": lambda: zipped(repeated(bytes(1000), 60 * MB, b"")),
    "a bomb of spaces": lambda: zipped(repeated(b" " * 1000, 60 * MB, b"")),
    "a bomb of entries": lambda: zipped(repeated(b"<url><loc>x</loc></url>" * 9, 10 * MB)),
    "a bomb of text": lambda: zipped(repeated(b"x" * 1000, 60 * MB, b"")),
    "one long location": lambda: repeated(b"x", 10 * MB, b"<urlset><url><loc>"),
    "one long word": lambda: repeated(b"x", 10 * MB),
    "one long tag": lambda: repeated(b"x", 10 * MB, b"<urlset><"),
    "one long attribute": lambda: repeated(b"x", 10 * MB, b"<urlset><url a='"),
    "one long comment": lambda: repeated(b"x", 10 * MB, b"<urlset><!--"),
    "one long section": lambda: repeated(b"&]", 10 * MB, b"<urlset><![CDATA["),
    "one long instruction": lambda: repeated(b"x", 10 * MB, b"<urlset><?x "),
    "one long declaration": lambda: repeated(b"x", 10 * MB, b"<!DOCTYPE x [<!ENTITY a '"),
    "one long root": lambda: repeated(b"x", 3 * MB, b"<"),
    "deep": lambda: repeated(b"<a>", 5 * MB),
    "deep in entries": lambda: repeated(b"<url><a>", MB),
    "many names": lambda: numbered("<a{:012}/>", 2 * MB),
    "many attributes": lambda: numbered("<a b{:012}=''/>", 2 * MB),
    "many prefixes": lambda: numbered("<p{:012}:url/>", MB),
    "many entities": lambda: repeated(b"<!ENTITY a 'b'>", 5 * MB, b"<!DOCTYPE x ["),
    "many declared attributes": lambda: repeated(
        b"<url/>", 3 * MB, b"<!DOCTYPE x [<!ATTLIST url a CDATA '" + b"x" * 60_000 + b"'>]><urlset>"
    ),
    "ampersands": lambda: repeated(b"&", MB // 2),
    "half sections": lambda: repeated(b"<![CDATA[<!--", 5 * MB),
    "empty lines": lambda: repeated(b"\n", 5 * MB, b"https://example.com/\n"),
    "open brackets": lambda: repeated(b"<", 2 * MB),
    "utf-16": lambda: repeated(b"x\0", 5 * MB, b"\xff\xfe<\0u\0>\0"),
}


@pytest.mark.parametrize("name", HUNGRY)
def test_memory_stays_small(name: str) -> None:
    """Whatever a file does to be kept in memory, little of it is."""
    parser = SitemapParser(URL, max_entries=1_000)
    tracemalloc.start()
    try:
        for piece in HUNGRY[name]():
            parser.feed(piece)
            if parser.is_over:
                break
        parser.close()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12 * MB
    assert len(parser.problems) <= MAX_PROBLEMS + 1


@pytest.mark.parametrize(
    "entry",
    [
        "<url><loc>https://example.com/{0}</loc><x></url>",
        "<url><loc>https://example.com/{0}</loc><<</url>",
        "<url><loc>https://example.com/{0}</loc>]]></url>",
        "<url><loc>https://example.com/{0}</loc><a b=c></url>",
        "<url><loc>https://example.com/{0}</loc>&#0;</url>",
        "<url a='1' a='2'></url><url><loc>https://example.com/{0}</loc></url>",
        "</urlset><urlset><url><loc>https://example.com/{0}</loc></url>",
    ],
)
def test_thousands_of_broken_places_cost_only_what_they_break(entry: str) -> None:
    """Each entry is read up to where it is not well-formed, then the next."""
    entries = "\n".join(entry.format(number) for number in range(8_000))
    found = read(f"<urlset>\n{entries}\n</urlset>".encode())
    assert found.urls == [f"https://example.com/{number}" for number in range(8_000)]
    assert found.words == ["not-well-formed"] * MAX_PROBLEMS
    assert [problem.line for problem in found.problems[:3]] in ([2, 3, 4], [3, 4, 5])


def test_broken_places_without_end_are_given_up() -> None:
    """There is a number to that, too, and it is told."""
    found = read(b"<urlset>" + b"<url><" * 60_000)
    assert found.urls == []
    assert len(found.problems) == MAX_PROBLEMS + 1
    assert found.problems[-1].detail == "too many errors; the rest is not read"

"""How a file comes does not matter, and a file that is cut gives what stands before the cut."""

import gzip
import re
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from manners.sitemaps import markup, parser
from tests.sitemaps.reading import Read, loc, pieces, read, urlset
from tests.sizes import examples

A, B = "https://example.com/a", "https://example.com/b"
FILES = {
    "sitemap": urlset(
        f"{loc(A)}<lastmod>2024-01-01</lastmod><changefreq>daily</changefreq>",
        f"<!-- &, <url> -->\n{loc('<![CDATA[https://example.com/?a&b]]>')}<priority>2</priority>",
        loc("/relative?a&b&amp;c&#38;d") + "<image:image><image:loc>x</image:loc></image:image>",
        "<loc>broken</lok>",
        loc("https://example.com/ü\U0001f600"),
        "<loc>https://example.com/\n</loc>\r\n<lastmod>never</lastmod>",
    ),
    "index": b"\xef\xbb\xbf<?xml version='1.0'?><x:sitemapindex><x:sitemap><x:loc>https://example.com/s"
    b"</x:loc></x:sitemap></x:sitemapindex><!-- the end -->",
    "rss": b"<rss><channel><image><url>no</url></image><item><link>https://example.com/a</link>"
    b"</item><item><guid>https://example.com/b</guid><<</item><item><link>https://example.com/c"
    b"</link><description><![CDATA[]] ]]]></description></item></channel></rss>",
    "atom": b'<feed><entry><link href="https://example.com/?a&b"/></entry></feed>',
    "text": b"https://example.com/a\r\n\r\nno url\rhttps://example.com/\xfc\n\nhttps://example.com/c",
    "entities": b'<!DOCTYPE urlset [<!ENTITY a "b">\n<!ENTITY c "&a;&a;">]>\n<urlset><url><loc>'
    b"https://example.com/&c;</loc></url></urlset>",
    "late": b"Warning: a\nnotice\n<?xml version='1.0'?><urlset><url><loc>https://example.com/a</loc>"
    b"</url></urlset>",
    "two": b"<urlset><url><loc>https://example.com/a</loc></url></urlset>\n<urlset><url><loc>"
    b"https://example.com/b</loc></url></urlset>\n\n",
    "utf-16": "<urlset><url><loc>https://example.com/ü&b</loc></url>\n<url></x></urlset>".encode("utf-16"),
    "html": b"\n<!-- x --><!DOCTYPE html><html><a href=x>x</a></html>",
}  # fmt: skip
FILES["gzip"] = gzip.compress(FILES["sitemap"][:300]) + gzip.compress(FILES["sitemap"][300:])

PARTS = [
    *("<urlset>", "</urlset>", "<url>", "</url>", "<loc>", "</loc>", "<lastmod>2024</lastmod>", A),
    *("<url><loc>https://example.com/p</loc></url>", B, " ", "\n", "\r\n", "\r", "&", "&amp;", "]"),
    *("<![CDATA[", "]]>", "<!--", "-->", "&lol;", "-", "<", ">", "<!", "<?x", "?>", "\0", "\x01"),
    *("<?xml version='1.0'?>", "<rss><channel>", "<item>", "<link>", "</link>", "</item>", "x"),
    *("</channel></rss>", "<sitemapindex>", "<sitemap>", "</sitemap>", "</sitemapindex>", "<feed>"),
    *("<entry>", "</feed>", '<link href="/x"/>', "</entry>", "<!DOCTYPE u [", '<!ENTITY lol "ha">'),
    *("]>", "<a:url>", "<a b=c>", '<url a="1" a="2">', "ü", "\U0001f600", "\uffff", "\ud800"),
    *("<html>", "&#0;", "&#x41;", "<url/>"),
]
jumbles = st.one_of(
    st.lists(st.sampled_from(PARTS), max_size=40).map("".join),
    st.lists(st.sampled_from(PARTS[:24]), max_size=40).map(lambda some: "<urlset>" + "".join(some)),
).map(lambda text: text.encode("utf-8", "surrogatepass"))
"""Files in which the parts of sitemaps stand in any order."""


def in_blocks_of(size: int, body: bytes) -> Read:
    with patch.object(parser, "_BLOCK", size):
        return read(body)


@pytest.mark.parametrize("name", FILES)
def test_pieces_of_any_size_are_one_file(name: str) -> None:
    """Byte by byte, or cut in two anywhere, a file gives what it gives in one piece."""
    body = FILES[name]
    whole = read(body)
    assert read(body[i : i + 1] for i in range(len(body))) == whole
    for cut in range(len(body) + 1):
        assert read([body[:cut], b"", body[cut:]]) == whole, cut


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 11, 64])
def test_blocks_of_any_size_are_one_file(name: str, size: int) -> None:
    """Where one block ends and the next begins is nowhere special."""
    assert in_blocks_of(size, FILES[name]) == read(FILES[name])


@settings(max_examples=examples(300))
@given(jumbles, st.lists(st.integers(0, 400), max_size=4), st.sampled_from([1, 2, 3, 9, 50]))
@example(b"<urlset><url>&lt<url><loc>https://example.com/a</loc></url>", [], 1)
@example(b"<urlset><!--->", [], 3)
@example(b" \r\n \r no URL", [], 1)
@example(b" \r\r\n<urlset><url/>", [3], 2)
@example(b"<urlset><![CDATA[]]]]>", [], 1)
def test_any_jumble_is_the_same_in_any_pieces(body: bytes, cuts: list[int], size: int) -> None:
    """Whatever stands in a file, the network has no part in what is read."""
    whole = read(body)
    assert read(pieces(body, cuts)) == whole
    # Where a broken file goes on depends on how much of it is seen at once: that is why blocks have
    # one size, however the data comes.
    blocks = in_blocks_of(size, body)
    assert whole.problems or blocks == whole


@settings(max_examples=examples(300))
@given(jumbles)
@example(b"<urlset>" + b"<url><loc>https://example.com/p</loc></url>\r" * 2)
@example(b"<urlset><url><loc>https://example.com/p</loc></url><?xml <url></url>?>")
def test_the_short_way_finds_what_the_long_one_does(body: bytes) -> None:
    """Entries that are read without expat are those that expat finds."""
    short = read(body)
    with patch.object(markup, "_PLAIN", re.compile(rb"(?!)").match):
        assert read(body) == short


@settings(max_examples=examples(200))
@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=3))
@example(b"\x1f\x8b\x08\0\0\0\0\0\0\0\0\0", [])
@example(b"<\0?\0", [1])
def test_any_bytes_are_read(body: bytes, cuts: list[int]) -> None:
    """Nothing raises, and there is an entry or a reason why not."""
    whole = read(body)
    assert (
        whole.entries or whole.problems or whole.form in ("urlset", "index", "rss", "atom", "text")
    )
    assert read(pieces(body, cuts)) == whole
    for prefix in (
        b"<urlset>",
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
        b"https://example.com/",
        b"\xff\xfe",
    ):
        assert read(pieces(prefix + body, cuts)) == read(prefix + body)


@pytest.mark.parametrize("name", FILES)
def test_a_cut_file_gives_a_prefix(name: str) -> None:
    """Cut anywhere, a file gives the entries before the cut, the last perhaps without its date."""
    body = FILES[name]
    whole = read(body).urls
    for cut in range(len(body)):
        found = read(body[:cut])
        if found.form == "text":  # half a line may be a URL of its own
            assert found.urls[:-1] == whole[: len(found.urls)][:-1], cut
        else:
            assert found.urls == whole[: len(found.urls)], cut


@settings(max_examples=examples(200))
@given(jumbles, st.integers(0, 400))
def test_any_cut_jumble_gives_a_prefix(body: bytes, cut: int) -> None:
    """What follows takes nothing back."""
    found, whole = read(body[:cut]), read(body)
    size = len(found.urls) - (found.form != whole.form or found.form == "text")
    if found.form == whole.form:
        assert found.urls[: max(size, 0)] == whole.urls[: max(size, 0)]


@pytest.mark.parametrize("name", ["sitemap", "index", "rss", "atom"])
def test_a_file_that_breaks_off_says_so(name: str) -> None:
    """Truncated is told from complete, and nothing else is said about it."""
    body = FILES[name]
    end = body.rindex(b"</")
    assert "truncated" not in read(body).words
    assert read(body[:end]).words.count("truncated") == 1
    assert "truncated" in read(body[: end + 4]).words


def test_a_closed_parser_stays_closed() -> None:
    """More data, or another close, changes nothing."""
    sitemap = parser.SitemapParser()
    sitemap.feed(urlset(loc(A)))
    assert [entry.url for entry in sitemap.close()] == [A]
    assert sitemap.close() == []
    assert sitemap.feed(urlset(loc(B))) == []
    assert sitemap.problems == []

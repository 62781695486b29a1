"""Sitemaps as sitemaps.org describes them, RSS 2.0 and 1.0, Atom, and text."""

import pytest

from manners.sitemaps import Problem, SitemapEntry
from tests.sitemaps.reading import loc, read, urlset

A = "https://example.com/a"


def test_a_sitemap_has_pages() -> None:
    """The example of sitemaps.org, "Sample XML Sitemap", is read in its order."""
    found = read(
        b"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
   <url>
      <loc>http://www.example.com/</loc>
      <lastmod>2005-01-01</lastmod>
      <changefreq>monthly</changefreq>
      <priority>0.8</priority>
   </url>
   <url>
      <loc>http://www.example.com/catalog?item=12&amp;desc=vacation_hawaii</loc>
      <changefreq>weekly</changefreq>
   </url>
   <url>
      <loc>http://www.example.com/catalog?item=74&amp;desc=vacation_newfoundland</loc>
      <lastmod>2004-12-23T18:00:15+00:00</lastmod>
      <priority>0.3</priority>
   </url>
</urlset>"""
    )
    catalog = "http://www.example.com/catalog?item="
    assert found.form == "urlset"
    assert found.problems == []
    assert found.entries == [
        SitemapEntry("http://www.example.com/", "page", "2005-01-01", "monthly", 0.8),
        SitemapEntry(f"{catalog}12&desc=vacation_hawaii", "page", None, "weekly"),
        SitemapEntry(
            f"{catalog}74&desc=vacation_newfoundland",
            "page",
            "2004-12-23T18:00:15+00:00",
            priority=0.3,
        ),
    ]


def test_an_index_has_sitemaps() -> None:
    """The example of sitemaps.org, "Sample XML Sitemap Index"."""
    found = read(
        b"""<?xml version="1.0" encoding="UTF-8"?>
<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
   <sitemap>
      <loc>http://www.example.com/sitemap1.xml.gz</loc>
      <lastmod>2004-10-01T18:23:17+00:00</lastmod>
   </sitemap>
   <sitemap>
      <loc>http://www.example.com/sitemap2.xml.gz</loc>
      <priority>0.5</priority>
   </sitemap>
</sitemapindex>"""
    )
    assert found.form == "index"
    assert found.problems == []
    assert found.entries == [
        SitemapEntry(
            "http://www.example.com/sitemap1.xml.gz", "sitemap", "2004-10-01T18:23:17+00:00"
        ),
        SitemapEntry("http://www.example.com/sitemap2.xml.gz", "sitemap"),
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False], ids=["with the last line end", "without"])
def test_text_has_a_url_a_line(end: str, last: bool) -> None:
    """sitemaps.org, "Text file": one URL a line; lines that are empty or blank do not count."""
    lines = ["https://example.com/a", "", "  HTTPS://example.com/b\t", "http://example.com/ü"]
    found = read((end.join(lines) + end * last).encode())
    assert found.form == "text"
    assert found.problems == []
    assert found.urls == [A, "HTTPS://example.com/b", "http://example.com/ü"]


def test_text_that_is_no_url_is_a_problem_of_its_line() -> None:
    """What is no URL in a file of URLs is named with its line."""
    found = read(b"https://example.com/a\r\n\r\n# a comment\r\nexample.com/b\r\nhttps:///c\r\n")
    assert found.urls == [A]
    assert found.problems == [
        Problem("bad-url", "# a comment", 3),
        Problem("bad-url", "example.com/b", 4),
        Problem("bad-url", "https:///c", 5),
    ]


def test_rss_2_has_items() -> None:
    """RSS 2.0: an item's link, else a guid that is a permalink; the logo of the channel is none."""
    found = read(
        b"""<?xml version="1.0"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"
     xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:media="http://search.yahoo.com/mrss/">
  <channel>
    <title>News</title>
    <link>https://example.com/</link>
    <atom:link href="https://example.com/feed" rel="self"/>
    <image><url>https://example.com/logo.png</url><link>https://example.com/</link></image>
    <item>
      <atom:link href="https://example.com/not-this"/>
      <media:content url="https://example.com/a.mp4"/>
      <link>https://example.com/a</link>
      <guid isPermaLink="true">https://example.com/?p=1</guid>
      <pubDate>Tue, 10 Jun 2003 04:00:00 GMT</pubDate>
    </item>
    <item><guid>https://example.com/b</guid><dc:date>2003-06-10T04:00Z</dc:date></item>
    <item><guid isPermaLink="false">https://example.com/c</guid><title>no page</title></item>
    <item><guid>urn:uuid:1</guid></item>
  </channel>
</rss>"""
    )
    assert found.form == "rss"
    assert found.entries == [
        SitemapEntry(A, "page", "2003-06-10T04:00:00+00:00"),
        SitemapEntry("https://example.com/b", "page", "2003-06-10T04:00Z"),
    ]
    assert found.words == ["no-location", "no-location"]


def test_rss_1_has_items_beside_the_channel() -> None:
    """RSS 1.0 is RDF: its items are no part of its channel."""
    found = read(
        b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="https://example.com/"><link>https://example.com/</link>
<items><rdf:Seq><rdf:li resource="https://example.com/a"/></rdf:Seq></items></channel>
<item rdf:about="https://example.com/a"><title>A</title><link>https://example.com/a</link>
<dc:date>2024-02-29</dc:date></item></rdf:RDF>"""
    )
    assert found.form == "rss"
    assert found.problems == []
    assert found.entries == [SitemapEntry(A, "page", "2024-02-29")]


@pytest.mark.parametrize("prefix", ["", "a:"])
def test_atom_has_entries(prefix: str) -> None:
    """RFC 4287: the alternate link of an entry; when it was updated, else published."""
    xml = """<feed xmlns="http://www.w3.org/2005/Atom"><link href="https://example.com/"/>
<entry><link rel="self" href="https://example.com/not-this"/>
<link rel="alternate" href="https://example.com/a?b=1&amp;c=2"/>
<link rel="alternate" href="https://example.com/nor-this" type="text/plain"/>
<published>2003-12-13T08:29:29-04:00</published><updated>2003-12-13T18:30:02.25Z</updated></entry>
<entry><link href="https://example.com/b"/><published>2003-11-09T17:23:02Z</published>
<source><link href="https://elsewhere.example/"/><updated>1999-01-01</updated></source></entry>
<entry><link rel="enclosure" href="https://example.com/c.mp3"/></entry></feed>"""
    xml = (
        xml.replace("</", "</\0").replace("<", f"<{prefix}").replace(f"<{prefix}/\0", f"</{prefix}")
    )
    found = read(xml.encode())
    assert found.form == "atom"
    assert found.entries == [
        SitemapEntry("https://example.com/a?b=1&c=2", "page", "2003-12-13T18:30:02.25Z"),
        SitemapEntry("https://example.com/b", "page", "2003-11-09T17:23:02Z"),
    ]
    assert found.words == ["no-location"]


@pytest.mark.parametrize(
    ("written", "lastmod"),
    [
        # W3C Date and Time Formats
        ("2024", "2024"),
        ("2024-05", "2024-05"),
        ("2024-05-31", "2024-05-31"),
        ("2024-05-31T23:59Z", "2024-05-31T23:59Z"),
        ("2024-05-31T23:59+02:00", "2024-05-31T23:59+02:00"),
        ("2024-05-31T23:59:59-11:30", "2024-05-31T23:59:59-11:30"),
        ("2024-05-31T23:59:59.123456+00:00", "2024-05-31T23:59:59.123456+00:00"),
        # What others write for it
        ("2024-05-31 23:59:59", "2024-05-31 23:59:59"),
        ("2024-05-31T23:59:59+0200", "2024-05-31T23:59:59+0200"),
        ("\n  2024-05-31\t", "2024-05-31"),
        ("Fri, 31 May 2024 23:59:59 GMT", "2024-05-31T23:59:59+00:00"),
        ("31 May 2024 23:59:59 -0400", "2024-05-31T23:59:59-04:00"),
        ("Fri, 31 May 2024 23:59:59", "2024-05-31T23:59:59+00:00"),
        ("", None),
        ("   ", None),
    ],
)
def test_lastmod(written: str, lastmod: str | None) -> None:
    """When a page changed: as written, or, where a feed writes it as mail does, in ISO 8601."""
    found = read(urlset(f"{loc(A)}<lastmod>{written}</lastmod>"))
    assert found.entries == [SitemapEntry(A, lastmod=lastmod)]
    assert found.problems == []


@pytest.mark.parametrize(
    "written",
    [
        "yesterday", "2024-13", "2024-00-01", "2024-05-32", "2024-05-31T25:00Z", "31.05.2024",
        "2024-5-1", "20240531", "24-05-31", "2024-05-31T23:59:59.1234567890Z", "2024-05-31junk",
        "0", "-", "٢٠٢٤", "99999999999999999999", "Fri, 99 May 2024 99:99:99 GMT", "1" * 5_000,
        "Fri, 31 May 99999999999999 23:59:59 GMT", "\U0001f600", "a" * 16_000,
        "1 Jan 0000 00:00:00 +9999", "1 Jan 2000 00:00:00 +999999999999",
    ],
)  # fmt: skip
def test_a_lastmod_that_is_none_costs_only_itself(written: str) -> None:
    """The entry stays, and the problem is named."""
    found = read(urlset(f"{loc(A)}<lastmod>{written}</lastmod>"))
    assert found.entries == [SitemapEntry(A)]
    assert found.words == ["bad-lastmod"]
    assert len(found.problems[0].detail) < 2_500


@pytest.mark.parametrize(
    ("written", "frequency"),
    [
        *[(word, word) for word in ("always", "hourly", "daily", "weekly", "monthly", "yearly")],
        ("never", "never"),
        ("Weekly", "weekly"),
        (" daily\n", "daily"),
        ("", None),
    ],
)
def test_changefreq(written: str, frequency: str | None) -> None:
    """sitemaps.org, "XML tag definitions": seven words; the case does not matter."""
    found = read(urlset(f"{loc(A)}<changefreq>{written}</changefreq>"))
    assert found.entries == [SitemapEntry(A, changefreq=frequency)]
    assert found.problems == []


@pytest.mark.parametrize(
    ("written", "priority"),
    [
        *[("0.0", 0.0), ("0.5", 0.5), ("1.0", 1.0), ("0", 0.0), ("1", 1.0), (" 0.8\n", 0.8)],
        # The schema says xsd:decimal.
        *[(".5", 0.5), ("1.", 1.0), ("+0.5", 0.5), ("00.50", 0.5), ("0.500000000000", 0.5)],
        ("", None),
    ],
)
def test_priority(written: str, priority: float | None) -> None:
    """sitemaps.org, "XML tag definitions": from 0.0 to 1.0."""
    found = read(urlset(f"{loc(A)}<priority>{written}</priority>"))
    assert found.entries == [SitemapEntry(A, priority=priority)]
    assert found.problems == []


@pytest.mark.parametrize(
    ("field", "written"),
    [
        *[("priority", each) for each in ("1.1", "-0.1", "2", "0,5", "high", "1e-1", "nan", "inf")],
        *[("priority", each) for each in ("0x1", "٠.٥", "0.5.5", "1" * 30, "0." + "9" * 30, ".")],
        *[("changefreq", each) for each in ("sometimes", "daily weekly", "\x85daily?", "é")],
    ],
)
def test_a_value_that_is_none_costs_only_itself(field: str, written: str) -> None:
    """The entry stays, and the problem is named."""
    found = read(urlset(f"{loc(A)}<{field}>{written}</{field}>"))
    assert found.entries == [SitemapEntry(A)]
    assert found.words == [f"bad-{field}"]


@pytest.mark.parametrize(
    "prefixes",
    [("", ""), ("sm:", "sm:"), ("", "ns0:"), ("Sitemap_0.9-x:", "Sitemap_0.9-x:")],
    ids=str,
)
def test_namespaces_go_by_any_prefix_or_none(prefixes: tuple[str, str]) -> None:
    """What an element is called before its colon does not matter, as long as its fields agree."""
    root, p = prefixes
    fields = f"<{p}loc>{A}</{p}loc><{p}lastmod>2024</{p}lastmod>"
    xml = f"<{root}urlset><{p}url>{fields}</{p}url></{root}urlset>"
    assert read(xml.encode()).entries == [SitemapEntry(A, lastmod="2024")]


def test_extensions_are_ignored() -> None:
    """Images, videos, news and translations of a page are no pages of their own."""
    found = read(
        urlset(
            "<image:image><image:loc>https://example.com/a.png</image:loc></image:image>"
            "<video:video><video:content_loc>https://example.com/a.mp4</video:content_loc>"
            "<video:player_loc>https://example.com/p</video:player_loc>"
            "<loc>https://example.com/deep</loc></video:video>"
            "<news:news><news:publication_date>2008-12-23</news:publication_date>"
            "<lastmod>1999</lastmod></news:news>"
            "<image:loc>https://example.com/b.png</image:loc>"
            '<xhtml:link rel="alternate" hreflang="de" href="https://example.com/de"/>'
            "<PageMap><DataObject><loc>no</loc></DataObject></PageMap>" + loc(A)
        )
    )
    assert found.entries == [SitemapEntry(A)]
    assert found.problems == []


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("<![CDATA[https://example.com/?a=1&b=2]]>", "https://example.com/?a=1&b=2"),
        ("<![CDATA[https://example.com/?a=1&amp;b]]>", "https://example.com/?a=1&amp;b"),
        ("\n<![CDATA[\n  https://example.com/a\n]]>\n", A),
        ("https://example.com/<![CDATA[a]]>", A),
        ("https://exam<!-- & -->ple.com/a", A),
        ("<!-- <loc>no</loc> -->https://example.com/a", A),
        ("https://example.com/<?php no ?>a", A),
        (
            "https://example.com/?a=1&amp;b=2&lt;&gt;&quot;&apos;",
            "https://example.com/?a=1&b=2<>\"'",
        ),
        ("https://example.com/&#97;", A),
        ("https://example.com/&#x61;", A),
        ("https://example.com/&#x1F600;", "https://example.com/\U0001f600"),
        # Bare ampersands mean themselves, and so does what no sitemap declares.
        ("https://example.com/?a=1&b=2", "https://example.com/?a=1&b=2"),
        ("https://example.com/?a&copy=2&copy;&", "https://example.com/?a&copy=2&copy;&"),
        ("https://example.com/?a&&b", "https://example.com/?a&&b"),
        ("https://example.com/?&#x;&#;&#xZ;&amp", "https://example.com/?&#x;&#;&#xZ;&amp"),
        ("https://example.com/]>]]a", "https://example.com/]>]]a"),
        ("https://example.com/ü", "https://example.com/ü"),
        ("https://example.com/a b", "https://example.com/a b"),
        ("  \r\n\t https://example.com/a \r\n", A),
        ("https://exa\x00mple.com/\x01\x1fa", A),
        ("HTTPS://EXAMPLE.COM/a", "HTTPS://EXAMPLE.COM/a"),
    ],
)
def test_a_location_is_what_xml_says(written: str, url: str) -> None:
    """CDATA, comments, characters by number, and the ampersands that people forget to escape."""
    found = read(urlset(f"<loc>{written}</loc>", loc("https://example.com/next")))
    assert found.urls == [url, "https://example.com/next"]
    assert found.problems == []


@pytest.mark.parametrize(
    "written",
    [
        "mailto:a@example.com", "ftp://example.com/", "javascript:1", "https://", "https:///a",
        "data:,", "https://[::1/", "http://exa mple.com/", "http://a:99999/", "http://a\\b/",
        "https:a",
    ],
)  # fmt: skip
def test_a_location_that_is_none_costs_one_entry(written: str) -> None:
    """What no page can have as its URL is named, and left out."""
    found = read(urlset(loc(written), loc(A)))
    assert found.urls == [A]
    assert found.words == ["bad-url"]


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("/a", "https://example.com/a"),
        ("a", "https://example.com/maps/a"),
        ("../a", "https://example.com/a"),
        ("//other.example/a", "https://other.example/a"),
        ("?a", "https://example.com/maps/s.xml?a"),
        ("www.example.com/a", "https://example.com/maps/www.example.com/a"),
    ],
)
def test_a_relative_location_is_resolved_and_named(written: str, url: str) -> None:
    """The protocol wants whole URLs; what is meant by others is clear all the same."""
    found = read(urlset(loc(written)), "https://example.com/maps/s.xml")
    assert found.urls == [url]
    assert found.problems == [Problem("relative-url", written, 3)]


@pytest.mark.parametrize("entry", ["", "<lastmod>2024</lastmod>", "<loc/>", "<loc>  </loc>"])
def test_an_entry_without_location_is_named(entry: str) -> None:
    """There is nothing to fetch."""
    found = read(urlset(entry, loc(A)))
    assert found.urls == [A]
    assert found.problems == [Problem("no-location", "an entry without a URL", 3)]


def test_the_first_of_several_values_counts() -> None:
    """One entry is one page."""
    found = read(
        urlset(
            f"<loc/>{loc(A)}{loc('https://example.com/b')}<lastmod>2001</lastmod><lastmod>2002</lastmod>"
        )
    )
    assert found.entries == [SitemapEntry(A, lastmod="2001")]


def test_problems_name_their_line() -> None:
    """Behind something that is not well-formed, lines go on being counted."""
    body = urlset(
        loc("/1"), "<loc>\n/2\n</loc>", "\n<loc>/3</lok>\n\n", loc("/4"), "<loc>x</x>", loc("/5")
    )
    lines = body.split(b"\n")
    found = read(body)
    assert found.words == [
        *("relative-url", "relative-url", "not-well-formed", "relative-url", "not-well-formed"),
        "relative-url",
    ]
    for problem, text in zip(
        found.problems, [b"/1", b"</loc></url>", b"/3", b"/4", b"x", b"/5"], strict=True
    ):
        assert text in lines[problem.line - 1], problem
    assert str(found.problems[0]) == "line 3: relative-url: /1"
    assert str(Problem("empty", "nothing")) == "empty: nothing"


def test_what_is_shown_of_a_file_is_safe() -> None:
    """Details of problems are escaped and cut."""
    found = read(urlset(loc("ftp://\u202e\u2028" + "x" * 10_000)))
    assert found.problems[0].detail.startswith("ftp://\\u202e\\u2028xxx")
    assert found.problems[0].detail.isprintable()
    assert len(found.problems[0].detail) < 300

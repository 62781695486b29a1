"""Links: where a page leads to, as HTML and RFC 3986 say, and what it says about that."""

from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from manners.crawler import links as module
from manners.crawler.links import MAX_HTML, MAX_LINKS, Link, Links, extract, tagged
from tests.sizes import examples

PAGE = "https://example.com/dir/page?q=1"


def found(html: str, url: str = PAGE, *, without_tracking: bool = False) -> list[str]:
    return [link.url for link in extract(html, url, without_tracking=without_tracking).links]


def link(href: str, url: str = PAGE) -> list[str]:
    quoted = href.replace("&", "&amp;").replace('"', "&quot;")
    return found(f'<a href="{quoted}">x</a>', url)


def test_elements_that_lead_somewhere() -> None:
    """`a`, `area`, and `link` where it is canonical, next or prev; in the order of the page."""
    html = """<head><link rel=canonical href=/c><link rel="Next" href=/n><link rel=prev href=/p>
<link rel=stylesheet href=/no.css><link rel="alternate" href=/no><link href=/no><link rel="icon">
<link rel="next prev" href="/both"></head><body><a href=/a>a</a><map><area href=/r></map>
<img src=/no.png><iframe src=/no></iframe><form action=/no></form><script src=/no></script>
<a>no</a><a name=no>no</a><A HREF="/upper">U</A><svg><a href=/svg>s</a></svg></body>"""
    links = extract(html, PAGE)
    assert [(each.kind, each.url.removeprefix("https://example.com")) for each in links.links] == [
        *[
            ("canonical", "/c"),
            ("next", "/n"),
            ("prev", "/p"),
            ("next", "/both"),
            ("prev", "/both"),
        ],
        *[("a", "/a"), ("area", "/r"), ("a", "/upper"), ("a", "/svg")],
    ]
    assert links.canonical == "https://example.com/c"
    assert links.to_follow == links.links


def test_what_is_no_part_of_the_page_leads_nowhere() -> None:
    """Comments, scripts, styles and text areas have no links; `noscript` has."""
    html = """<!-- <a href=/1> --><script>"<a href=/2>"</script><style>/*<a href=/3>*/</style>
<textarea><a href=/4></textarea><title><a href=/5></title><noscript><a href=/yes></a></noscript>"""
    assert found(html) == ["https://example.com/yes"]


@pytest.mark.parametrize(
    ("href", "target"),
    [
        # RFC 3986 section 5.4.1, with the dot segments of 5.4.2
        *[("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("g?y", "/b/c/g?y")],
        *[("?y", "/b/c/d;p?y"), ("g?y", "/b/c/g?y"), ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g")],
        *[("g?y#s", "/b/c/g?y"), (";x", "/b/c/;x"), ("g;x", "/b/c/g;x"), ("g;x?y#s", "/b/c/g;x?y")],
        *[("", "/b/c/d;p?q"), (".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/")],
        *[("../g", "/b/g"), ("../..", "/"), ("../../", "/"), ("../../g", "/g")],
        *[("../../../g", "/g"), ("../../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g")],
        *[("g.", "/b/c/g."), (".g", "/b/c/.g"), ("g..", "/b/c/g.."), ("..g", "/b/c/..g")],
        *[("./../g", "/b/g"), ("./g/.", "/b/c/g/"), ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h")],
        *[("g;x=1/./y", "/b/c/g;x=1/y"), ("g;x=1/../y", "/b/c/y"), ("g?y/./x", "/b/c/g?y/./x")],
        *[("g#s/../x", "/b/c/g"), ("http:g", "/b/c/g"), ("HTTP:/g", "/g"), ("http:", "/b/c/d;p?q")],
    ],
)  # fmt: skip
def test_rfc3986_5_4_references(href: str, target: str) -> None:
    """The examples of the RFC; `http:g` as browsers have it, which the RFC allows."""
    assert link(href, "http://a/b/c/d;p?q") == [f"http://a{target}"]


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("//other.example/x", "https://other.example/x"),
        ("//Other.Example:443", "https://other.example/"),
        ("HTTP://Other.example:80/", "http://other.example/"),
        ("https:other", "https://example.com/dir/other"),
        # HTML: white space around, line ends inside
        (" \t\n\f\r/x \n", "https://example.com/x"),
        ("/a\n b\t/\rc", "https://example.com/a%20b/c"),
        ("java\nscript:/x", None),
        ("ht\ntps://example.com/x", "https://example.com/x"),
        ("\x01 /x\x1f", "https://example.com/x"),
        ("\u00a0/x", "https://example.com/dir/%C2%A0/x"),
        # Backslashes as browsers have them
        ("\\x\\y", "https://example.com/x/y"),
        ("..\\x?a\\b", "https://example.com/x?a%5Cb"),
        ("\\\\other.example\\x", "https://other.example/x"),
        ("https:\\\\other.example\\x", "https://other.example/x"),
        ("https://other.example\\@example.com/", "https://other.example/@example.com/"),
        # What is encoded, and what is not
        ("/a b", "https://example.com/a%20b"),
        ("/ü?ü=ü", "https://example.com/%C3%BC?%C3%BC=%C3%BC"),
        ("/%7Euser/%c3%bc", "https://example.com/~user/%C3%BC"),
        ("/a%2Fb%zz", "https://example.com/a%2Fb%zz"),
        ('/"<>|', "https://example.com/%22%3C%3E%7C"),
        ("/?a=1&b=2", "https://example.com/?a=1&b=2"),
        ("/?a=1&copy=2", "https://example.com/?a=1&copy=2"),
        ("/x:y", "https://example.com/x:y"),
        ("x/y:z", "https://example.com/dir/x/y:z"),
        ("./x:y", "https://example.com/dir/x:y"),
        ("//user:secret@other.example/x", "https://other.example/x"),
        ("//BÜCHER.example/", "https://xn--bcher-kva.example/"),
        ("//[::1]:8080/x", "https://[::1]:8080/x"),
        ("//a//b/../c", "https://a//c"),
        ("?", "https://example.com/dir/page"),
        ("#", "https://example.com/dir/page?q=1"),
        ("#top", "https://example.com/dir/page?q=1"),
        # No pages
        *[(href, None) for href in ("javascript:void(0)", "JavaScript:x", "mailto:a@b.example")],
        *[(href, None) for href in ("tel:+1234", "data:text/html,x", "ftp://example.com/", "x:y")],
        *[(href, None) for href in ("blob:https://example.com/1", "about:blank", "file:///")],
        *[(href, None) for href in ("whatsapp://send", "view-source:https://example.com/")],
        *[(href, None) for href in ("http://", "https:///", "//", "//:80/", "http://a:99999/")],
        *[(href, None) for href in ("http://a b/", "http://%41/", "//a:b:c/", "http://[::1")],
        ("/" + "x" * 20_000, None),
    ],
)  # fmt: skip
def test_a_href_leads_to_one_page_or_none(href: str, target: str | None) -> None:
    """As the URL standard has it, in the one form that `page_url` gives it."""
    assert link(href) == ([] if target is None else [target])


@pytest.mark.parametrize(
    ("url", "href", "target"),
    [
        ("https://example.com", "x", "https://example.com/x"),
        ("https://example.com?a/b", "x", "https://example.com/x"),
        ("https://example.com?a/b", "?y", "https://example.com/?y"),
        ("https://example.com/a//b/", "c", "https://example.com/a//b/c"),
        ("https://example.com/a//b/", "../c", "https://example.com/a//c"),
        ("https://example.com/a/?b/c", "d", "https://example.com/a/d"),
        ("https://example.com/a#b/c", "d", "https://example.com/d"),
        ("https://example.com/a#b", "", "https://example.com/a"),
        ("HTTPS://User@Example.com:443/a/b", "c", "https://example.com/a/c"),
        ("https://example.com/a/b", "http:c", None),
        ("", "https://example.com/x", "https://example.com/x"),
        ("nonsense", "x", None),
        ("", "//x", None),
    ],
)
def test_where_the_page_came_from(url: str, href: str, target: str | None) -> None:
    """A link is relative to the URL of its page, whatever that looks like."""
    assert link(href, url) == ([] if target is None else [target])


@pytest.mark.parametrize(
    ("base", "target"),
    [
        ('<base href="/b/">', "https://example.com/b/x"),
        ('<base href="/b">', "https://example.com/x"),
        ('<base href="b/c/">', "https://example.com/dir/b/c/x"),
        ('<base href="../">', "https://example.com/x"),
        ('<base href="https://cdn.example/b/">', "https://cdn.example/b/x"),
        ('<base href="//cdn.example">', "https://cdn.example/x"),
        ('<base href=" /b/\n">', "https://example.com/b/x"),
        ('<base href="/b/?q#f">', "https://example.com/b/x"),
        ('<base href="">', "https://example.com/dir/x"),
        ("<base>", "https://example.com/dir/x"),
        ('<base target="_top"><base href="/b/">', "https://example.com/b/x"),
        ('<base href="/1/"><base href="/2/">', "https://example.com/1/x"),
        # HTML: a base that is no URL, data: or javascript: is the URL of the page.
        ('<base href="javascript:1">', "https://example.com/dir/x"),
        ('<base href="data:,">', "https://example.com/dir/x"),
        ('<base href="mailto:a">', "https://example.com/dir/x"),
        ('<base href="http://[">', "https://example.com/dir/x"),
        ('<base href="https://">', "https://example.com/dir/x"),
    ],
)  # fmt: skip
def test_the_base_of_a_page(base: str, target: str) -> None:
    """The first base with a href, resolved itself, wherever it stands."""
    assert found(f"{base}<a href=x>x</a>") == [target]
    assert found(f"<a href=x>x</a><p>{base}</p>") == [target]


@pytest.mark.parametrize(
    ("rel", "nofollow"),
    [
        ("nofollow", True),
        ("NoFollow", True),
        ("noopener nofollow  noreferrer", True),
        ("\nnofollow\t", True),
        ("ugc sponsored nofollow", True),
        ("", False),
        ("noopener noreferrer", False),
        ("nofollows", False),
        ("no-follow", False),
        ("nofollow,ugc", False),
        ("ugc", False),
        ("none", False),
    ],
)
def test_rel_nofollow(rel: str, nofollow: bool) -> None:
    """HTML: `rel` is a set of words, whose case does not matter."""
    links = extract(f'<a rel="{rel}" href=/x>x</a><area rel="{rel}" href=/y>', PAGE)
    assert [each.nofollow for each in links.links] == [nofollow] * 2
    assert links.to_follow == (() if nofollow else links.links)
    assert links.nofollow == ""


def test_a_link_that_is_there_twice() -> None:
    """It is one; and once without nofollow, it may be followed."""
    html = "<a rel=nofollow href=/x>1</a><a href='/./x#a'>2</a><a rel=nofollow href=/x>3</a>"
    assert extract(html, PAGE).links == (Link("https://example.com/x"),)
    assert extract("<a href=/x></a><area href=/x>", PAGE).links == (
        Link("https://example.com/x", "a"),
        Link("https://example.com/x", "area"),
    )


@pytest.mark.parametrize(
    ("meta", "nofollow", "noindex"),
    [
        ('<meta name="robots" content="nofollow">', "meta robots", ""),
        ('<meta name="robots" content="noindex">', "", "meta robots"),
        ('<META NAME="ROBOTS" CONTENT="NoIndex, NoFollow">', "meta robots", "meta robots"),
        ('<meta name=robots content=none>', "meta robots", "meta robots"),
        ('<meta name="robots" content="all">', "", ""),
        ('<meta name="robots" content="index,follow">', "", ""),
        ('<meta name=" robots " content="noarchive,nofollow">', "meta robots", ""),
        ('<meta name="robots" content="max-snippet:-1, nofollow">', "meta robots", ""),
        ('<meta name=robots content="unavailable_after: 2020, nofollow">', "meta robots", ""),
        ('<meta name=robots content=all><meta name=robots content=nofollow>', "meta robots", ""),
        # For this robot, for others
        ('<meta name="mybot" content="nofollow">', "meta mybot", ""),
        ('<meta name="MyBot" content="none">', "meta mybot", "meta mybot"),
        ('<meta name="googlebot" content="none">', "", ""),
        ('<meta name="mybot-news" content="none"><meta name="bot" content="none">', "", ""),
        ('<meta name=robots content=nofollow><meta name=mybot content=all>', "meta robots", ""),
        ('<meta name=robots content=all><meta name=mybot content=noindex>', "", "meta mybot"),
        # What says nothing
        ('<meta name="robots">', "", ""),
        ('<meta content="nofollow">', "", ""),
        ('<meta name="robots" content="">', "", ""),
        ('<meta name="description" content="nofollow">', "", ""),
        ('<meta property="robots" content="nofollow">', "", ""),
        ('<meta name="robots" content="nofollows, no-follow">', "", ""),
        ('<!-- <meta name="robots" content="none"> -->', "", ""),
    ],
)  # fmt: skip
def test_meta_robots(meta: str, nofollow: str, noindex: str) -> None:
    """Google, "Robots meta tag": for all robots or for one; rules of both add up."""
    links = extract(f"<head>{meta}</head><a href=/x>x</a>", PAGE, "MyBot/2.1 (+https://my.example)")
    assert (links.nofollow, links.noindex) == (nofollow, noindex)
    assert len(links.links) == 1
    assert len(links.to_follow) == (not nofollow)


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        (["nofollow"], ["nofollow"]),
        (["NoIndex, NoFollow"], ["noindex", "nofollow"]),
        (["noindex", "nofollow"], ["noindex", "nofollow"]),
        (["none"], ["none"]),
        (["mybot: nofollow"], ["nofollow"]),
        (["MYBOT:none"], ["none"]),
        (["  MyBot  :  noindex , nofollow  "], ["noindex", "nofollow"]),
        (["googlebot: nofollow"], []),
        (["googlebot: noindex, nofollow"], []),
        (["mybotnews: none", "my: none", "bot: none"], []),
        (["noarchive", "googlebot: nofollow", "mybot: noindex"], ["noarchive", "noindex"]),
        # Headers that were joined on their way (RFC 9110 section 5.3)
        (["BadBot: noindex, nofollow, MyBot: nofollow"], ["nofollow"]),
        (["MyBot: nofollow, BadBot: noindex"], ["nofollow"]),
        (["noindex, googlebot: nofollow"], ["noindex"]),
        # Rules with a value are no agents, whatever the value looks like
        (["unavailable_after: 25 Jun 2010 15:00:00 PST"],
         ["unavailable_after: 25 jun 2010 15:00:00 pst"]),
        (["unavailable_after: Wednesday, 03-Nov-10 15:00:00 GMT, nofollow"],
         ["unavailable_after: wednesday", "03-nov-10 15:00:00 gmt", "nofollow"]),
        (["unavailable_after: 2010-06-25T15:00:00-08:00, none"],
         ["unavailable_after: 2010-06-25t15:00:00-08:00", "none"]),
        (["googlebot: unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"], []),
        (["mybot: unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow"],
         ["unavailable_after: 25 jun 2010 15:00:00 pst", "nofollow"]),
        (["max-snippet:50, nofollow"], ["max-snippet:50", "nofollow"]),
        (["max-image-preview: large, max-video-preview: -1, noindex"],
         ["max-image-preview: large", "max-video-preview: -1", "noindex"]),
        (["", " ", ",", ", ,", ":"], [":"]),
        ([], []),
    ],
)  # fmt: skip
def test_x_robots_tag(headers: list[str], words: list[str]) -> None:
    """Google, "X-Robots-Tag": as in a meta element, with the agent before a colon."""
    assert [word for _, word in tagged(headers, "MyBot/1.0")] == words
    links = extract("<a href=/x>x</a>", PAGE, "MyBot/1.0", headers)
    assert links.nofollow == ("X-Robots-Tag" if {"nofollow", "none"} & {*words} else "")
    assert links.noindex == ("X-Robots-Tag" if {"noindex", "none"} & {*words} else "")


def test_an_agent_without_a_name_hears_what_is_said_to_all() -> None:
    """And nothing that is said to others."""
    html = "".join(f'<meta name="{name}" content="none">' for name in ("mybot", "*", ""))
    assert extract(html, PAGE).nofollow == ""
    assert tagged(["mybot: none", ": none", "noindex"], "*")[-1] == ("X-Robots-Tag", "noindex")


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title> A \n page </title>", "A page"),
        ("<title>a &amp; b</title><title>no</title>", "a & b"),
        ("<title>\x1b[2J\u202e</title>", "\\x1b[2J\\u202e"),
        ("<title></title>", ""),
        ("", ""),
    ],
)
def test_the_title_is_safe_to_show(html: str, title: str) -> None:
    """On one line, without what a terminal might obey, and not endless."""
    assert extract(html, PAGE).title == title
    assert len(extract(f"<title>{'x' * 10_000}", PAGE).title) == 500


def test_10_000_links_and_no_more() -> None:
    """More links than are read are told of; the same ones again are not more."""
    html = "".join(f"<a href=/{number}>x</a>" for number in range(MAX_LINKS))
    exact = extract(html + html, PAGE)
    assert (len(exact.links), exact.is_cut) == (10_000, False)
    more = extract(html + "<a href=/more>x</a>", PAGE)
    assert (len(more.links), more.is_cut) == (10_000, True)
    few = extract("<a href=/1></a><a href=/2></a><a href=/1></a>", PAGE, most=1)
    assert (few.links, few.is_cut) == ((Link("https://example.com/1"),), True)
    assert extract("<a href=/1></a><a href=mailto:a></a>", PAGE, most=1).is_cut is False
    assert extract("<meta name=robots content=none><a href=/1>", PAGE, most=0).nofollow


def test_tracking_parameters_are_left_out_on_request() -> None:
    """Two links to one page are one, then."""
    html = "<a href='/x?utm_source=a'></a><a href='/x?id=1&gclid=b'></a><a href=/x></a>"
    assert found(html, without_tracking=True) == [
        f"https://example.com/x{q}" for q in ("", "?id=1")
    ]
    assert len(found(html)) == 3


@pytest.mark.parametrize(
    "html",
    [
        "<a href=/x>x</a>" + "<div>" * 500_000,
        "<a href=/x>x</a>" + "</b><div>" * 500_000,
        "<div>" * 19_000 + "<a href=/x>x</a>",
        "<a href=/x>" * 20_000,
        "<b><i>" * 1_000 + "<a href=/x>x",
        "<table>" * 2_000 + "<a href=/x>x",
        "<a href=/x>x</a>" + "x" * 5_000_000,
        "<a href=/x " + " ".join(f"a{n}=b" for n in range(5_000)) + ">",
        "<a href=/x>" + "<b " + " ".join(f"a{n}=b" for n in range(200_000)) + ">",
        "<a href=/x>" + "<b " + " ".join(f"a{n}='<>'" for n in range(200_000)) + ">",
        "<a href=/x>" + "<b" + "".join(f"/a{n}" for n in range(200_000)),
        "<a href=/x>" + "<b <c <d " * 30_000,
        "<a href=/x>" + "<b" * 20_000 + "x" * 900_000,
        "<a href=/x>" + "<b x='<i y=\"" * 80_000,
        "<a href=/x>" + "<!--" * 200_000,
        "<a href=/x>" + "<script><!--<script>" * 50_000,
        "<a href=/x>" + "<" * 900_000,
        "<a href=/x>" + "<template>" * 90_000,
        "<p>" + "".join(f"<b id={n}>" for n in range(5_000)) + "<p>x" * 50_000 + "<a href=/x>",
        "<title>" + "<b>" * 15_000 + "</title><a href=/x>",
        "<svg><title>" + "<g>" * 15_000 + "</title></svg><a href=/x>",
        "<meta name=robots content='" + "x," * 100_000 + "'><a href=/x>",
        "<base href='/" + "x" * 100_000 + "'><a href=/x>",
        "<a href='" + " " * 100_000 + "/x'>",
        "<a href='/x#" + "x" * 100_000 + "'>",
        "<template><a href=/no></template><a href=/x>",
        "\0<a \0 href='/x'>",
    ],
    ids=lambda html: html[:12],
)
def test_large_and_deep_pages_are_read_like_any_other(html: str) -> None:
    """Nothing recurses, and nothing is looked at again and again."""
    assert "https://example.com/x" in found(html)


STATEMENTS = " ".join(f"f({number}); g[{number}] = {number};" for number in range(150))
WORDS = " ".join(f"word{number}" for number in range(300))


@pytest.mark.parametrize(
    "code",
    [
        f"<script>for(var i=0;i<n;i++){{ {STATEMENTS} }}</script>",
        f'<script type="application/json">{{"text": "a <b and {WORDS}"}}</script>',
        f"<script>\n<!--\nif (a <b) {{ {STATEMENTS} }}\n//-->\n</script>",
        f"<script><!-- <script>a <b {WORDS}</script> {WORDS} --></script>",
        f"<style>/* a <b {WORDS} */</style >",
        f"<!-- a <b and {WORDS} <script> -->",
        f"<!-- <b x='{WORDS} --><p>it's {WORDS}",
        f"<textarea>a <b {WORDS} <script></textarea>",
        f"<title>a <b {WORDS}</title>",
        f"<iframe><b {WORDS}></iframe><xmp><b {WORDS}></xmp><noembed><b {WORDS}></noembed>",
        f"<svg><style/><title/><script href=/s.js /><g {WORDS}></g></svg>",
        f"<svg><style>a <b {WORDS}</style></svg>",
        f"<noscript><b {WORDS}></noscript>",
        f"a < b <= c <3 {WORDS} <",
        f"<b {WORDS}>",
        f"<template><a href=/no><b {WORDS}></template>",
    ],
    ids=lambda code: code[:24],
)
@pytest.mark.parametrize("size", [0, 100_000])
def test_links_behind_code_and_comments_are_found(code: str, size: int) -> None:
    """What looks like a tag there is none, and what is one hides nothing behind it."""
    text = "<p>text of a page</p>\n" * (size // 22)
    links = extract(f"<a href=/1>1</a>{code}{text}<a href=/2>2</a>{code}", PAGE)
    assert [each.url for each in links.links] == [f"https://example.com/{n}" for n in (1, 2)]
    assert not links.is_cut


def test_a_large_table_has_all_its_links() -> None:
    """However many tags stand between them: what is counted is links."""
    cell = "<td class=c><span>{0}</span> <b><a href=/{0}>x</a></b></td>"
    rows = ("".join(cell.format(3 * row + n) for n in range(3)) for row in range(3_333))
    links = extract("<table><tr>" + "</tr><tr>".join(rows) + "</tr></table>", PAGE)
    assert (len(links.links), links.is_cut) == (9_999, False)


def test_what_is_left_out_of_a_page_is_told() -> None:
    """More than a page has, and more attributes than a link has, are not read."""
    page = "<a href=/x>x</a>".ljust(MAX_HTML)
    assert not extract(page, PAGE).is_cut
    assert extract(page + " ", PAGE).is_cut
    many = " ".join(f"a{n}" for n in range(199))
    assert extract(f"<a {many} href=/x><a href=/y>", PAGE) == Links(
        (Link("https://example.com/x"), Link("https://example.com/y"))
    )
    crowded = extract(f"<a {many} b href=/x><a href=/y>", PAGE)
    assert crowded == Links((Link("https://example.com/y"),), is_cut=True)


@pytest.mark.parametrize(
    "html",
    [
        "<p>" + "".join(f"<b id={n}>" for n in range(300)) + "<p>x" * 300,
        "<a href=/x>" * 1_000,
        "<table><td><a href=/x>" * 1_000,
        "<svg>" * 500 + "<a href=/x>" * 500,
        "<div>" * 1_000 + "<a href=/x>",
    ],
    ids=lambda html: html[:12],
)
def test_the_tree_of_a_page_is_no_larger_than_the_page(html: str) -> None:
    """Elements that are left open are not opened again and again; none stands in another."""
    tree = LexborHTMLParser(module._outline(html)[0])
    assert len(tree.css("*")) <= html.count("<") + 3  # html, head and body
    assert tree.css_first("body > * > *") is None


any_text = st.text(st.characters(exclude_categories=()))
parts = st.sampled_from([
    "<a href=", "<area href=", "<base href=", "<link rel=next href=", "<meta name=robots content=",
    "'", '"', ">", "</a>", "<!--", "-->", "<title>", "</title>", "<svg>", "<table>", "<template>",
    "http:", "//", "/", "\\", "[", "]", "@", ":", "?", "#", ".", "..", "%", "%2e", "x", "é", "\0",
    "\ud800", "\udcff", "\n", " ", "&#0;", "&amp;", "&#x110000;", "。", "⁄", "xn--", "999999",
])  # fmt: skip
pages = st.lists(parts, max_size=30).map("".join)


@settings(max_examples=examples(300))
@given(st.one_of(pages, any_text), st.one_of(st.just(PAGE), pages, any_text), any_text, any_text)
@example("<base href='http:'><a href=//[x>", "http://[", "", "")
def test_any_text_has_links_or_none(html: str, url: str, agent: str, header: str) -> None:
    """Whatever a page, its URL, the agent and a header are, nothing raises."""
    links = extract(html, url, agent, [header])
    for each in links.links:
        assert each.url.startswith(("http://", "https://"))
        assert each.url.isascii()
    assert links.title.isprintable()
    assert extract("<a href='" + html.replace("'", "") + "'>", url).is_cut is False


@given(
    st.binary(max_size=200), st.sampled_from(["utf-8", "latin-1", "utf-16", "cp1252", "gb18030"])
)
def test_any_bytes_decoded_have_links_or_none(data: bytes, codec: str) -> None:
    """However they were decoded."""
    for errors in ("replace", "surrogateescape", "ignore"):
        try:
            html = data.decode(codec, errors)
        except UnicodeDecodeError:
            continue
        extract(f"<a href='{html}'>" + html, PAGE)


code = st.sampled_from([
    "<a href=/1>", "<a href='/2>'>", '<A\nHREF="/3" >', "</a>", "<area href=/4 />", "<abbr href=/>",
    "<a \"href=/5\">", "<a/href=/6/>", "<a =href=/7 href=/8>", "<link rel=next href=/9>", "<a x='",
    "<base href=/b/>", "<meta name=robots content=none>", "<title>", "</title>", "<plaintext",
    "<script>", "</script>", "</scripT ", "</script", "<script", "<script a=b/>", "<style>",
    "</style>", "<style x='</style>'>", "<textarea>", "</textarea>", "<iframe>", "</iframe>",
    "<xmp>", "</xmp>", "<noembed>", "</noembed>", "<noframes>", "</noframes>", "<noscript>",
    "</noscript>", "<template>", "</template>", "<p>", "<div>", "<table>", "<td>", "</table>",
    "<!--", "-->", "--!>", "<!-->", "<!--->", "<!", "<?", "</", "</>", "<", ">", "-", "--", "=",
    '"', "'", "/", " ", "\n", "\f", "\x0b", "\xa0", "x", "ſ", "\0", "<n ", "<b x=", "&lt;",
])  # fmt: skip


@settings(max_examples=examples(500))
@given(st.lists(code, max_size=25).map("".join), st.sampled_from([0, 70_000]))
@example("<script><!--<script></script><a href=/1>--></script><a href=/2>", 0)
@example("<script><!-->--></script><a href=/2>", 0)
def test_the_links_of_a_page_are_those_of_its_whole_tree(html: str, size: int) -> None:
    """What is left out before the tree is built would not have led anywhere."""
    html = "x " * (size // 2) + html
    links = extract(html, PAGE)
    with mock.patch.object(module, "_outline", lambda html: (html, False)):
        assert extract(html, PAGE) == links

"""Pages as text for a model: what a person sees, in order, whatever the page is made of."""

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manners.compat.mcp import reading
from manners.compat.mcp.reading import MAX_HTML, MAX_TEXT, read_page, visible
from manners.compat.mcp.texts import MAX_TEXTS, TextMemory, TextPart, part_of

URL = "https://shop.example/a/b"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>A</h1><p>b\n c<h2>D</h2>", "# A\n\nb c\n\n## D"),
        ("a<br>b<br><br>c", "a\nb\nc"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", "- a\n- b\n  - c\n- d\n\ne"),
        ("<ol start=9><li>a<li>b</ol>", "9. a\n10. b"),
        ("<blockquote><p>a<p>b</blockquote>c", "> a\n\n> b\n\nc"),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a | b\n1 | 2"),
        ("<pre>a\n  b &lt;</pre>c", "```\na\n  b <\n```\n\nc"),
        ("<pre>```</pre>", "````\n```\n````"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<a href=c>d</a>", "[d](https://shop.example/a/c)"),
        ("x <a href='/c?d#e'> y </a>z", "x [y](https://shop.example/c?d) z"),
        ("<base href=//b.example/><a href=c>d</a>", "[d](https://b.example/c)"),
        ("<a href=/c><div></div><p>card</a> more", "[card](https://shop.example/c) more"),
        ("<a href=javascript:x>a</a><a href=mailto:b@c>b</a><a href=#d>d</a>", "abd"),
        ("<a href='/(b)'>c</a>", "[c](https://shop.example/%28b%29)"),
        ("<a href=/b></a>c", "c"),
        ("<img alt='a  b' src=x><img src=y>", "[image: a b]"),
        ("a<script>if (1 < 2) '</b>'</script>b<style>c</style><!-- d --><!-->e", "abe"),
        ("<noscript>a</noscript><template>b</template><svg><text>c</text></svg>", "a"),
        ("<p hidden>a<p>b<div hidden><div>c</div>d</div>e", "b\n\ne"),
        ("a<span style='color: red; display : none'>b</span>c<input hidden>d", "acd"),
        ("<textarea>a <b></textarea>", "a <b>"),
        ("&lt;b&gt; &amp; &#x1b;[2J &nbsp;c", "<b> & [2J c"),
        ("a <unknown>b</unknown> < c <", "a b < c <"),
        ("<plaintext>a<b>", "a<b>"),
        ("", ""),
    ],
)
def test_a_page_reads_as_a_person_sees_it(html: str, text: str) -> None:
    """Markdown for structure; nothing for scripts, styles and what is hidden."""
    assert read_page(html, URL).text == text


def test_what_nobody_sees_is_left_out() -> None:
    """Controls, directions, tags and fillers go; joiners, accents and every script stay."""
    kept = "é ñ 日本語 ไทย عربی \u200c می‌خواهم 👩\u200d👧 \u2764\ufe0f ﬁ"
    assert visible(kept) == kept
    gone = (
        "\x00\x1b\x9b\xad\u200b\u202e\u2066\u3164\ufeff\ue000\U000e0041\U000e0100\U000f0000\ud800"
    )
    assert visible(f"a{gone}b") == "ab"
    assert visible("a\r\nb\u2028c\x0bd") == "a\nb\nc\nd"


def test_the_title_is_the_first_and_short() -> None:
    """Whatever it contains; one in an SVG is none."""
    assert (
        read_page("<svg><title>no</title></svg><title> a&amp;\x1b\nb </title>", URL).title == "a& b"
    )
    assert len(read_page(f"<title>{'x' * 10_000}</title>", URL).title) == 300


def test_what_is_too_long_is_cut_and_said() -> None:
    """The page and its text have limits of their own."""
    assert read_page("x" * (MAX_HTML + 1), URL).is_cut
    found = read_page("<p>x" * (MAX_HTML // 4), URL)
    assert not found.is_cut
    assert len(found.text) <= MAX_TEXT


@given(st.text(st.sampled_from("<>/!-='\" abphliu&#;x0\n\x1b"), max_size=200))
def test_any_text_is_a_page(html: str) -> None:
    """Nothing raises, and nothing invisible comes out."""
    text = read_page(html, URL).text
    assert visible(text) == text


@given(
    st.lists(
        st.sampled_from(
            [
                "<p>",
                "</p>",
                "<ul>",
                "</ul>",
                "<li>",
                "<a_href=/b>",
                "</a>",
                "<pre>",
                "</pre>",
                "<div_hidden>",
                "</div>",
                "<td>",
                "word_",
                "<script>",
                "</script>",
                "<blockquote>",
                "<h1>",
                "</h1>",
                "<br>",
                "<!--",
                "-->",
                "<svg>",
                "</svg>",
                "<title>",
                "<ol_start=7>",
            ]
        ),
        max_size=40,
    )
)
def test_tags_in_any_order_are_a_page(tags: list[str]) -> None:
    """Whatever is open, closed twice, or never."""
    read_page("".join(tags).replace("_", " "), URL)


def work(html: str) -> int:
    """Lines of the reader that run for a page."""
    counted = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal counted
        if frame.f_globals.get("__name__") != reading.__name__:
            return None
        counted += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        read_page(html, URL)
    finally:
        sys.settrace(before)
    return counted


@pytest.mark.parametrize(
    "part",
    [
        "<div>",
        "<a href=/x>",
        "<b>",
        "<p hidden>",
        "<ul><li>x",
        "<!--",
        "<pre>",
        "<td>",
        "</p>",
        "<",
    ],
)
def test_the_work_grows_with_the_page_and_no_faster(part: str) -> None:
    """No page is built to take long: counted, not timed."""
    assert work(part * 2_000) <= 2.1 * work(part * 1_000) + 100


def test_parts_are_the_text() -> None:
    """Each ends with a line or a word where it can; together they are everything."""
    text = "one two\nthree " * 100 + "x" * 500
    start: int | None = 0
    parts = []
    while start is not None:
        part = part_of(text, start, 100)
        parts.append(part.text)
        start = part.next_start
    assert "".join(parts) == text
    assert all(len(part) <= 100 for part in parts)
    assert all(part[-1] in " \n" for part in parts[:14])


def test_the_memory_of_texts_is_bounded() -> None:
    """By number and by size; what was read last stays."""
    memory = TextMemory[TextPart]()
    for number in range(2 * MAX_TEXTS):
        memory.keep(str(number), TextPart("x", None))
    assert memory.get(str(MAX_TEXTS - 1)) is None
    assert memory.get(str(MAX_TEXTS)) is not None
    memory.keep("new", TextPart("x", None))
    assert memory.get(str(MAX_TEXTS)) is not None  # it was read since
    memory.keep("huge", TextPart("x" * 20_000_000, None))
    assert memory.get("new") is None
    assert memory.get("huge") is not None

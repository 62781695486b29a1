"""The formatter: one layout, the same comments, the same order, the same meaning."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from manners.lint.formatting import format_body
from manners.lint.proving import unchanged
from manners.lint.source import ENGINES
from tests.shared import corpus, needs_shared
from tests.sizes import examples

CASES = {
    "capitals of known keys": (b"user-agent: *\nDISALLOW: /\n", b"User-agent: *\nDisallow: /\n"),
    "capitals of two words": (b"CONTENT-SIGNAL: a=yes\n", b"Content-Signal: a=yes\n"),
    "one space behind the colon": (b"Allow:/a\nAllow : \t /b\n", b"Allow: /a\nAllow: /b\n"),
    "no space where no value is": (b"Disallow: \t\n", b"Disallow:\n"),
    "no indent, no space at the end": (b"  Allow: /a \t\n\t# b \n", b"Allow: /a\n# b\n"),
    "line ends": (b"Allow: /a\r\nAllow: /b\rAllow: /c", b"Allow: /a\nAllow: /b\nAllow: /c\n"),
    "no blank lines at either end": (b"\n \r\nAllow: /\n\n\n", b"Allow: /\n"),
    "at most one blank line": (b"Allow: /a\n\n\t\n\nAllow: /b\n", b"Allow: /a\n\nAllow: /b\n"),
    "a blank line between groups": (
        b"User-agent: a\nDisallow: /\nUser-agent: b\nDisallow:\n",
        b"User-agent: a\nDisallow: /\n\nUser-agent: b\nDisallow:\n",
    ),
    "none between agents of a group": (
        b"User-agent: a\nUser-agent: b\nCrawl-delay: 1\nUser-agent: c\nDisallow:\n",
        b"User-agent: a\nUser-agent: b\nCrawl-delay: 1\nUser-agent: c\nDisallow:\n",
    ),
    "comments above a group stay with it": (
        b"User-agent: a\nDisallow: /\n# who\n# why\nUser-agent: b\nDisallow:\n",
        b"User-agent: a\nDisallow: /\n\n# who\n# why\nUser-agent: b\nDisallow:\n",
    ),
    "comments that stand apart stay apart": (
        b"User-agent: a\nDisallow: /\n# end\n\nUser-agent: b\nDisallow:\n",
        b"User-agent: a\nDisallow: /\n# end\n\nUser-agent: b\nDisallow:\n",
    ),
    "comments behind a value, aligned": (
        b"Allow:/a    # one\nAllow:/bb   # two\nAllow:/c#three\nDisallow:#four\n",
        b"Allow: /a    # one\nAllow: /bb   # two\nAllow: /c#three\nDisallow: #four\n",
    ),
    "misspelt keys stay": (b"user agent:*\ndisalow:/a\n", b"user agent: *\ndisalow: /a\n"),
    "unknown keys and addresses stay": (
        b" foo:bar\nhttps://e.example/s.xml\nAllow: /\n",
        b"foo:bar\nhttps://e.example/s.xml\nAllow: /\n",
    ),
    "a missing colon stays missing": (b"Disallow  /a\nAllow: /\n", b"Disallow  /a\nAllow: /\n"),
    "what follows a NUL stays": (b"allow:/a\0 \nallow:/b\n", b"allow:/a\0 \nAllow: /b\n"),
    "a byte order mark stays": (b"\xef\xbb\xbfallow:/\n", b"\xef\xbb\xbfAllow: /\n"),
    "bytes that are no UTF-8 stay": (b"allow:/\xff\n", b"Allow: /\xff\n"),
    "an overlong line stays": (b"allow:/" + b"a" * 20_000, b"allow:/" + b"a" * 20_000 + b"\n"),
    "comments only": (b"\n# a\n\n\n  # b", b"# a\n\n# b\n"),
    "nothing": (b"", b""),
    "blank lines only": (b"\r\n \n", b""),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_one_layout(before: bytes, after: bytes) -> None:
    """Each file has one layout, and one that has it already stays as it is."""
    assert format_body(before) == after
    assert format_body(after) == after


@pytest.mark.parametrize(
    "body",
    [
        b"<html>\n  <p>Not found</p>\n\n\n</html>",
        b'{\n  "message":"no"\n}',
        "User-agent:*\r\n".encode("utf-16"),
    ],
    ids=["HTML", "JSON", "UTF-16"],
)
def test_what_is_no_robots_txt_is_returned_as_it_is(body: bytes) -> None:
    """A formatter for another language would make it worse."""
    assert format_body(body) == body


LINES = st.sampled_from(
    [
        b"user-agent:*", b"User-Agent : a", b"  disallow:/a", b"Allow: /b  # c", b"# d", b" ", b"",
        b"Crawl-delay:5", b"sitemap:https://e.example/s", b"foo:bar", b"\0", b"disalow /x", b"#",
        b"Disallow:", b"disallow:#", b"\xff: \xfe", b"a\x0b", b"\x0c",
    ]
)  # fmt: skip
FILES = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r\n", b"\r", b""])), max_size=12)


@settings(max_examples=examples(300), deadline=None)
@given(FILES.map(lambda parts: b"".join(line + end for line, end in parts)) | st.binary())
@example(b"\xef\xbb\xef\xbb\xbf")
@example(b"\xef")
def test_formatting_is_proved_and_done_once(body: bytes) -> None:
    """Whatever the bytes: comments and meaning survive; the same again changes nothing."""
    formatted = format_body(body)
    assert format_body(formatted) == formatted
    assert formatted.count(b"#") == body.count(b"#")
    assert unchanged(body, formatted, ENGINES)


@needs_shared
def test_real_files_mean_the_same() -> None:
    """Every file of a sample is formatted, and it is proved that nothing changes."""
    for name, body in list(corpus().items())[::20]:
        formatted = format_body(body)
        assert unchanged(body, formatted, ENGINES), name
        assert format_body(formatted) == formatted, name

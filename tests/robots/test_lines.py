"""Lines: typed events with numbers and problems, for any bytes at all."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import manners
from manners.robots import dialects
from manners.robots.lines import MAX_LINE, truncate

ROBOTS_LIKE = st.lists(
    st.sampled_from(
        [
            b"User-agent:", b"user agent", b"*", b" ", b"\t", b":", b"#", b"\n", b"\r", b"\r\n",
            b"\0", b"Disallow", b"Allow: ", b"disalow", b"/a", b"/%zz", b"\xff", b"\xef\xbb\xbf",
            b"\xff\xfe", b"Crawl-delay: 1e9999", b"Request-rate: 1/0", b"Sitemap: http://[",
            b"Host:", b"a" * 20_000,
        ]
    ),
    max_size=30,
).map(b"".join)  # fmt: skip


@pytest.mark.parametrize("name", dialects.names())
@given(st.one_of(st.binary(max_size=300), ROBOTS_LIKE, st.text(max_size=100)))
@example(b"")
@example(b"\xef\xbb")
@example(b"\xff\xfe\x00")
@example("\ud800\udcff")
def test_no_content_makes_parsing_raise(name: str, body: bytes | str) -> None:
    """Any bytes and any text parse, and every question about them has an answer."""
    robots = manners.parse(body, dialect=name, url="http://example.com/robots.txt")
    verdict = robots.check("http://example.com/a?b", agent="FooBot/1.0")
    assert str(verdict).isprintable()
    assert robots.policy("FooBot").allowed_many(["", "/", "http://x"])
    assert robots.sitemaps is not None
    numbers = [line.number for line in manners.lines(body, dialect=name)]
    assert numbers == list(range(1, len(numbers) + 1))


@given(
    st.lists(st.sampled_from(["", "a: b", "# c", "User-agent: *"]), min_size=1, max_size=8),
    st.data(),
)
def test_line_ends_may_be_mixed(texts: list[str], data: st.DataObject) -> None:
    """LF, CR and CRLF end a line each, wherever they stand."""
    ends = data.draw(
        st.lists(st.sampled_from(["\n", "\r\n"]), min_size=len(texts) - 1, max_size=len(texts) - 1)
    )
    body = "".join(text + end for text, end in zip(texts, [*ends, ""], strict=True))
    assert [line.text for line in manners.lines(body)] == texts


@pytest.mark.parametrize(
    ("written", "kind", "problems"),
    [
        ("User-agent: *", "user-agent", ()),
        ("useragent: *", "user-agent", ("misspelt-key",)),
        ("User-agent *", "user-agent", ("missing-colon",)),
        ("Disallow: /", "disallow", ("rule-outside-group",)),
        ("just some words", "invalid", ("no-separator",)),
        (": value", "invalid", ("no-separator",)),
        ("Crawl-delay: soon", "crawl-delay", ("bad-value",)),
        ("crawldelay: 1", "crawl-delay", ("misspelt-key",)),
        ("Request-rate: whale/banana", "request-rate", ("bad-value",)),
        ("Visit-time: 2500-2600", "visit-time", ("bad-value",)),
        ("Sitemap:", "sitemap", ("bad-value",)),
        ("Noindex: /x", "noindex", ()),
        ("X-Anything: at all", "unknown", ()),
        ("# words", "comment", ()),
        ("  \t", "blank", ()),
        ("a\0b: c", "invalid", ("nul", "no-separator")),
    ],
)
def test_a_line_is_known_by_its_kind_and_problems(
    written: str, kind: str, problems: tuple[str, ...]
) -> None:
    """Each kind of line, and each thing that can be wrong with one."""
    (line,) = manners.lines(written)
    assert (line.kind, line.problems) == (kind, problems)
    assert line.text == written


def test_rules_have_problems_of_their_own() -> None:
    """A rule inside a group may lack its slash, be too long, or not be UTF-8."""
    body = b"User-agent: *\nDisallow: private\nDisallow: /\xff\nDisallow: /" + b"a" * MAX_LINE
    assert [line.problems for line in manners.lines(body)] == [
        (),
        ("no-leading-slash",),
        ("not-utf8",),
        ("line-too-long",),
    ]


def test_a_pattern_is_given_for_rules_only() -> None:
    """Values stay raw; the normalised pattern stands beside them."""
    agent, rule, sitemap = manners.lines("User-agent: é\nAllow: /é\nSitemap: /é")
    assert (agent.value, agent.pattern) == ("é", None)
    assert (rule.value, rule.pattern) == ("/é", "/%C3%A9")
    assert (sitemap.value, sitemap.pattern) == ("/é", None)


@pytest.mark.parametrize(
    ("body", "limit", "kept", "truncated"),
    [
        (b"aaa\nbbb\nccc", None, b"aaa\nbbb\nccc", False),
        (b"aaa\nbbb\nccc", 11, b"aaa\nbbb\nccc", False),
        (b"aaa\nbbb\nccc", 10, b"aaa\nbbb\nccc", False),
        (b"aaa\nbbb\nccc", 8, b"aaa\nbbb\n", True),
        (b"aaa\nbbb\nccc", 5, b"aaa\nbbb\n", True),
        (b"aaa\nbbb\nccc", 4, b"aaa\n", True),
        (b"aaa\r\nbbb", 4, b"aaa\r\n", True),
        (b"aaa\nbbb\n", 5, b"aaa\nbbb\n", False),
        (b"aaa\nbbb", 0, b"", True),
        (b"a" * 60_000, 10, b"a" * (10 + MAX_LINE), True),
    ],
)
def test_reading_ends_after_the_line_that_reaches_the_limit(
    body: bytes, limit: int | None, kept: bytes, truncated: bool
) -> None:
    """No line is cut in the middle, and `truncated` says whether anything was left out."""
    assert truncate(body, limit) == (kept, truncated)


def test_the_limit_is_half_a_million_bytes_unless_told() -> None:
    """A rule behind 512,000 bytes is not read by default, and is with `max_bytes=None`."""
    body = "User-agent: *\n" + "# filler\n" * 60_000 + "Disallow: /"
    assert manners.parse(body).check("/", agent="a").truncated
    assert manners.parse(body).allowed("/", agent="a")
    assert not manners.parse(body, max_bytes=None).allowed("/", agent="a")
    assert not manners.parse(body, dialect="google").allowed("/", agent="a")

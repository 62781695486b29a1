"""Seed 001, a Ruby library: two phases, lexer, escaping and line numbers, in dialect `google`.

The seed follows google/robotstxt. Where its text and Google's code part, the code is right:

- its two rows about `/admin/$` are the wrong way round (see `PATTERN_TABLE`);
- its "RFC 9309 Section 2.3.5" does not exist: sitemaps are one of the other records that
  section 2.2.4 lets a crawler read;
- an empty Disallow is not ignored but the lowest-ranked match, as is an empty Allow.
"""

import pytest

import manners
from manners import Reason, urls


def read(body: bytes | str) -> manners.Robots:
    return manners.parse(body, dialect="google")


def numbered(body: bytes | str) -> list[tuple[int, str]]:
    return [(line.number, line.text) for line in manners.lines(body, dialect="google")]


def kinds(body: bytes | str) -> list[str]:
    return [line.kind for line in manners.lines(body, dialect="google")]


# Phase 1, step 2: line splitting


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        (b"a: 1\nb: 2\nc: 3", ["a: 1", "b: 2", "c: 3"]),
        (b"a: 1\rb: 2\rc: 3", ["a: 1", "b: 2", "c: 3"]),
        (b"a: 1\r\nb: 2\r\nc: 3", ["a: 1", "b: 2", "c: 3"]),
        (b"a: 1\nb: 2\rc: 3\r\nd: 4", ["a: 1", "b: 2", "c: 3", "d: 4"]),
        (b"a: 1\n\nb: 2", ["a: 1", "", "b: 2"]),
        (b"a: 1\r\rb: 2", ["a: 1", "", "b: 2"]),
        (b"a: 1\r\n\r\nb: 2", ["a: 1", "", "b: 2"]),
        (b"a: 1\n\rb: 2", ["a: 1", "", "b: 2"]),
        (b"a: 1\n", ["a: 1", ""]),
        (b"a: 1\r\n", ["a: 1", ""]),
        (b"", [""]),
        (b"\n", ["", ""]),
        (b"a: 1\x0bb: 2\x0cc: 3\x1cd\xc2\x85e", ["a: 1\x0bb: 2\x0cc: 3\x1cd\x85e"]),
    ],
    ids=repr,
)
def test_lines_end_at_lf_cr_and_crlf(body: bytes, lines: list[str]) -> None:
    """LF, CR and CRLF each end one line, nothing else does, and numbers start at 1."""
    assert numbered(body) == list(enumerate(lines, start=1))


@pytest.mark.parametrize("ending", ["\n", "\r", "\r\n"], ids=["LF", "CR", "CRLF"])
def test_line_numbers_do_not_depend_on_the_line_ending(ending: str) -> None:
    """The same file gives the same line number and text with every line ending."""
    verdict = read(ending.join(["# x", "", "User-agent: *", "", "Disallow: /a", ""])).check(
        "/a", agent="MyBot"
    )
    assert (verdict.line, verdict.line_text) == (5, "Disallow: /a")


def test_mixed_line_endings_in_one_file() -> None:
    """A file may change its line ending from line to line."""
    robots = read("User-agent: *\r\nDisallow: /a\rDisallow: /b\n\r\nDisallow: /c")
    assert [robots.check(path, agent="b").line for path in ("/a", "/b", "/c")] == [2, 3, 5]


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbfUser-agent: foo\nDisallow: /\n",
        b"\xef\xbbUser-agent: foo\nDisallow: /\n",
        b"\xefUser-agent: foo\nDisallow: /\n",
        b"User-agent: foo\nDisallow: /\n",
        "\ufeffUser-agent: foo\nDisallow: /\n",
    ],
    ids=["BOM", "two thirds", "one third", "none", "str"],
)
def test_a_byte_order_mark_is_removed(body: bytes | str) -> None:
    """A byte order mark, or the beginning of one, is no part of the first line."""
    assert numbered(body)[0] == (1, "User-agent: foo")
    assert kinds(body) == ["user-agent", "disallow", "blank"]
    assert not read(body).allowed("/", agent="foo")


def test_a_byte_order_mark_elsewhere_is_text() -> None:
    """Only the start of the file is looked at: later, the mark makes a key unknown."""
    assert kinds("User-agent: foo\n\ufeffDisallow: /\n") == ["user-agent", "unknown", "blank"]


@pytest.mark.parametrize(
    ("size", "kept", "too_long"),
    [
        (16_662, 16_662, False),
        (16_663, 16_663, False),
        (16_664, 16_663, True),
        (20_000, 16_663, True),
    ],
)
def test_long_lines_are_cut(size: int, kept: int, too_long: bool) -> None:
    """The buffer of 16,664 bytes holds 16,663 and an end mark; what is beyond is dropped."""
    start = "Disallow: /"
    body = f"User-agent: *\n{start}{'a' * (size - len(start))}\nAllow: /b\n"
    line = list(manners.lines(body, dialect="google"))[1]
    assert line.pattern == "/" + "a" * (kept - len(start))
    assert ("line-too-long" in line.problems) is too_long
    assert read(body).check("/b", agent="x").line == 3


# Phase 1, step 3: line parsing


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Disallow: /admin/", "disallow", "/admin/"),
        ("Disallow:/admin/", "disallow", "/admin/"),
        ("  Disallow  :  /admin/  ", "disallow", "/admin/"),
        ("\tDisallow\t:\t/admin/\t", "disallow", "/admin/"),
        ("Disallow: /admin/ # the office", "disallow", "/admin/"),
        ("Disallow: /admin/#the office", "disallow", "/admin/"),
        ("Disallow: /a:b", "disallow", "/a:b"),
        ("Disallow: /a b", "disallow", "/a b"),
        ("Disallow /admin/", "disallow", "/admin/"),
        ("Disallow \t /admin/", "disallow", "/admin/"),
        ("Disallow /admin/ # the office", "disallow", "/admin/"),
        ("Disallow:", "disallow", ""),
        ("Disallow: # nothing", "disallow", ""),
    ],
)
def test_a_line_is_a_key_and_a_value(text: str, kind: str, value: str) -> None:
    """A colon separates key and value, white space does when there is no colon."""
    line = next(iter(manners.lines(text, dialect="google")))
    assert (line.kind, line.value, line.text) == (kind, value, text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "blank"),
        ("   \t", "blank"),
        ("# a comment", "comment"),
        ("   # a comment: with a colon", "comment"),
        ("Disallow", "invalid"),
        ("Disallow /admin/ please", "invalid"),
        ("just some words here", "invalid"),
    ],
)
def test_a_line_without_key_and_value(text: str, kind: str) -> None:
    """Blank lines, comments and lines without a usable separator are told apart."""
    assert kinds(text) == [kind]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Disallow /admin/", "missing-colon"),
        ("Disallow /admin/ please", "no-separator"),
        ("Disallow", "no-separator"),
        ("Dissallow: /admin/", "misspelt-key"),
    ],
)
def test_a_generous_reading_is_a_problem(text: str, problem: str) -> None:
    """What is read generously, or cannot be read, is named as a problem of its line."""
    line = list(manners.lines(f"User-agent: *\n{text}\n", dialect="google"))[1]
    assert problem in line.problems


def test_a_missing_colon_is_read_as_one() -> None:
    """The extension format blocks as the standard format does."""
    assert not read("User-agent *\nDisallow /admin/\n").allowed("/admin/x", agent="MyBot")


# Phase 1, step 4: directive recognition


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("User-agent", "user-agent"),
        ("user-agent", "user-agent"),
        ("USER-AGENT", "user-agent"),
        ("Allow", "allow"),
        ("aLLoW", "allow"),
        ("Disallow", "disallow"),
        ("DISALLOW", "disallow"),
        ("Sitemap", "sitemap"),
        ("SiteMap", "sitemap"),
        ("User-agents", "user-agent"),
        ("Allowed", "allow"),
        ("Disallow-all", "disallow"),
        ("Sitemap-index", "sitemap"),
        ("Useragent", "user-agent"),
        ("User agent", "user-agent"),
        ("Dissallow", "disallow"),
        ("Dissalow", "disallow"),
        ("Disalow", "disallow"),
        ("Diasllow", "disallow"),
        ("Disallaw", "disallow"),
        ("Site-map", "sitemap"),
        ("Foo", "unknown"),
        ("X-Allow", "unknown"),
        ("Agent", "unknown"),
        ("Disa11ow", "unknown"),
    ],
)
def test_directive_recognition(key: str, kind: str) -> None:
    """A key counts by how it starts, ignoring case, and so do the misspellings Google knows."""
    assert kinds(f"{key}: value") == [kind]


# Phase 1, step 5: pattern escaping


@pytest.mark.parametrize(
    ("value", "pattern"),
    [
        ("/a%2fb", "/a%2Fb"),
        ("/a%2Fb", "/a%2Fb"),
        ("/%aa%Bb%cC", "/%AA%BB%CC"),
        ("/José", "/Jos%C3%A9"),
        ("/Jos%c3%a9", "/Jos%C3%A9"),
        ("/ツ", "/%E3%83%84"),
        ("/a*b$", "/a*b$"),
        ("/%61", "/%61"),
        ("/100%", "/100%"),
        ("/%zz", "/%zz"),
        ("/%2", "/%2"),
        ("http://www.example.com", "http://www.example.com"),
    ],
)
@pytest.mark.parametrize("key", ["Allow", "Disallow"])
def test_patterns_are_escaped(key: str, value: str, pattern: str) -> None:
    """Hex digits are upper-cased and bytes beyond ASCII percent-encoded, nothing is decoded."""
    line = next(iter(manners.lines(f"{key}: {value}", dialect="google")))
    assert (line.value, line.pattern) == (value, pattern)


def test_bytes_that_are_not_utf8_are_escaped_too() -> None:
    """A byte is escaped as it is, whatever encoding the file was saved in."""
    line = next(iter(manners.lines(b"Disallow: /Jos\xe9", dialect="google")))
    assert line.pattern == "/Jos%E9"


@pytest.mark.parametrize("key", ["User-agent", "Sitemap"])
def test_other_values_are_not_escaped(key: str) -> None:
    """User-agent and Sitemap values are literal strings and have no pattern."""
    line = next(iter(manners.lines(f"{key}: http://example.com/José%2f", dialect="google")))
    assert line.value == "http://example.com/José%2f"
    assert not line.pattern


@pytest.mark.parametrize(
    ("rule", "url", "matches"),
    [
        ("/José", "/Jos%C3%A9", True),
        ("/José", "/José", False),
        ("/José", "/Jos%c3%a9", False),
        ("/a%2fb", "/a%2Fb", True),
        ("/a%2fb", "/a%2fb", False),
        ("/a%2fb", "/a/b", False),
        ("/%62%61%7A", "/%62%61%7A", True),
        ("/%62%61%7A", "/baz", False),
        ("/ツ", "/%E3%83%84", True),
    ],
)
def test_only_the_rule_is_escaped(rule: str, url: str, matches: bool) -> None:
    """Escaping brings the rule to its canonical form and leaves the URL as it was passed."""
    robots = read(f"User-agent: *\nDisallow: {rule}\n")
    assert robots.allowed(f"http://example.com{url}", agent="MyBot") is not matches


# The handler: user-agent grouping and matching

BLOCKS = """\
User-agent: FooBot    # Block 1 starts
User-agent: BarBot    # Still block 1
Disallow: /admin/     # Block 1 rules

User-agent: *         # Block 2 starts (new block because we saw rules)
Allow: /
"""


def test_block_transition() -> None:
    """Consecutive User-agent lines share a block and one after a rule starts the next."""
    groups = [(tuple(group.agents), group.disallows, group.allows) for group in read(BLOCKS).groups]
    assert groups == [(("FooBot", "BarBot"), ("/admin/",), ()), (("*",), (), ("/",))]


@pytest.mark.parametrize(
    ("agent", "allowed", "line"),
    [("FooBot", False, 3), ("BarBot", False, 3), ("BazBot", True, 6)],
)
def test_block_transition_decides_who_is_meant(agent: str, allowed: bool, line: int) -> None:
    """The first block speaks to both of its agents, the second to everyone else."""
    verdict = read(BLOCKS).check("/admin/", agent=agent)
    assert (verdict.allowed, verdict.line) == (allowed, line)


@pytest.mark.parametrize(
    "between", ["", "Sitemap: http://example.com/map.xml", "Foo: bar", "# comment", "nonsense"]
)
def test_only_a_rule_ends_a_list_of_agents(between: str) -> None:
    """A line that is neither Allow nor Disallow leaves the block as it is."""
    robots = read(f"User-agent: FooBot\n{between}\nUser-agent: BarBot\nDisallow: /\n")
    assert not robots.allowed("/", agent="FooBot")
    assert not robots.allowed("/", agent="BarBot")


@pytest.mark.parametrize(
    ("value", "is_global"),
    [("*", True), ("* ", True), ("* baz", True), ("*\tbaz", True), ("*baz", False), ("**", False)],
)
def test_global_agent_detection(value: str, is_global: bool) -> None:
    """An asterisk alone or followed by white space means everyone."""
    robots = read(f"User-agent: {value}\nDisallow: /\n")
    assert robots.allowed("/", agent="MyBot") is not is_global


@pytest.mark.parametrize(
    ("value", "agent", "matches"),
    [
        ("FooBot", "FooBot", True),
        ("FooBot/2.1", "FooBot", True),
        ("Mozilla 5.0", "Mozilla", True),
        ("foobot", "FooBot", True),
        ("FOOBOT", "foobot", True),
        ("Foo_Bot-x", "foo_bot-x", True),
        ("FooBot2", "FooBot", True),
        ("FooBot", "FooBot/2.1", False),
        ("FooBot/2.1", "FooBot/2.1", False),
        ("FooBot", "Foo", False),
        ("Foo", "FooBot", False),
    ],
)
def test_specific_agent_matching(value: str, agent: str, matches: bool) -> None:
    """A line is cut to its leading letters, `_` and `-`; the agent passed is taken as it is."""
    robots = read(f"User-agent: {value}\nDisallow: /\n")
    assert robots.allowed("/", agent=agent) is not matches


# The handler: rule storage


def test_rules_before_any_agent_are_ignored() -> None:
    """A rule that no User-agent line introduces belongs to nobody and is a problem."""
    body = "Disallow: /\nUser-agent: *\nDisallow: /a\n"
    assert read(body).allowed("/", agent="MyBot")
    assert "rule-outside-group" in next(iter(manners.lines(body, dialect="google"))).problems


@pytest.mark.parametrize("key", ["Allow", "Disallow"])
def test_an_empty_rule_allows_everything(key: str) -> None:
    """An empty rule allows, and Google names its line where the seed would ignore it."""
    verdict = read(f"User-agent: *\n{key}:\n").check("/admin", agent="MyBot")
    assert (verdict.allowed, verdict.line, verdict.line_text) == (True, 2, f"{key}:")


def test_an_empty_disallow_ranks_below_every_other_match() -> None:
    """An empty Disallow opens nothing that another rule closes."""
    robots = read("User-agent: *\nDisallow:\nDisallow: /\n")
    assert not robots.allowed("/admin", agent="MyBot")


@pytest.mark.parametrize("name", ["index.html", "index.htm"])
@pytest.mark.parametrize(
    ("path", "allowed", "line"),
    [
        ("/foo/", True, 2),
        ("/foo/{name}", True, 2),
        ("/foo/{name}?x", True, 2),
        ("/foo/?x", False, 3),
        ("/foo", False, 3),
        ("/foo/other", False, 3),
        ("/", False, 3),
    ],
)
def test_index_html_opens_its_directory(name: str, path: str, allowed: bool, line: int) -> None:
    """`Allow: /foo/index.html` also means `Allow: /foo/$`, on the same line."""
    robots = read(f"User-agent: *\nAllow: /foo/{name}\nDisallow: /\n")
    verdict = robots.check(f"http://example.com{path.format(name=name)}", agent="MyBot")
    assert (verdict.allowed, verdict.line) == (allowed, line)
    assert verdict.line_text == (f"Allow: /foo/{name}" if line == 2 else "Disallow: /")


@pytest.mark.parametrize("rule", ["/foo/main.html", "/foo/index", "/foo/Index.html"])
def test_other_names_open_no_directory(rule: str) -> None:
    """Only `index.htm` and `index.html`, spelt so, stand for their directory."""
    robots = read(f"User-agent: *\nAllow: {rule}\nDisallow: /\n")
    assert not robots.allowed("/foo/", agent="MyBot")


def test_index_html_in_a_disallow_closes_no_directory() -> None:
    """The directory is opened by an Allow and never closed by a Disallow."""
    assert read("User-agent: *\nDisallow: /foo/index.html\n").allowed("/foo/", agent="MyBot")


def test_index_html_at_the_root() -> None:
    """The root is the directory of `/index.html`."""
    robots = read("User-agent: *\nAllow: /index.html\nDisallow: /\n")
    assert robots.allowed("http://example.com/", agent="MyBot")
    assert not robots.allowed("http://example.com/a", agent="MyBot")


def test_sitemaps_are_global() -> None:
    """A sitemap belongs to the file wherever it stands; no section of RFC 9309 ties it to one."""
    robots = read(
        "Sitemap: http://example.com/a.xml\n"
        "User-agent: FooBot\n"
        "Sitemap: http://example.com/b.xml\n"
        "Disallow: /\n"
        "sitemap: http://example.com/c%2f.xml # third\n"
    )
    assert [(sitemap.url, sitemap.line) for sitemap in robots.sitemaps] == [
        ("http://example.com/a.xml", 1),
        ("http://example.com/b.xml", 3),
        ("http://example.com/c%2f.xml", 5),
    ]


# Phase 2, step 1: path extraction

PATHS = [
    ("http://example.com/page", "/page"),
    ("http://example.com/page?query", "/page?query"),
    ("http://example.com", "/"),
    ("//example.com/path", "/path"),
    ("/path#fragment", "/path"),
]


@pytest.mark.parametrize(("url", "path"), PATHS)
def test_path_extraction(url: str, path: str) -> None:
    """A URL is reduced to path and query, without its fragment."""
    assert urls.match_path(url) == path


@pytest.mark.parametrize(("url", "path"), PATHS)
def test_the_verdict_has_the_path_that_was_matched(url: str, path: str) -> None:
    """The path in the verdict is the extracted one."""
    verdict = read("User-agent: *\nDisallow: /\n").check(url, agent="MyBot")
    assert (verdict.url, verdict.path) == (url, path)


# Phase 2, step 3: pattern matching

PATTERN_TABLE = [
    ("/admin/", "/admin", True),
    # The seed answers the next two the other way round, against its own explanation:
    # `/admin/` ends exactly where `/admin/$` asks, `/admin` ends before its last slash.
    ("/admin/", "/admin/$", True),
    ("/admin", "/admin/$", False),
    ("/page.html", "/*.html", True),
    ("/admin/secret.html", "/admin/*.html", True),
    ("/page.php", "/*.html", False),
]


@pytest.mark.parametrize(("path", "pattern", "matches"), PATTERN_TABLE)
def test_pattern_matching_examples(path: str, pattern: str, matches: bool) -> None:
    """The table of pattern examples holds, its two `/admin/$` rows put right."""
    robots = read(f"User-agent: *\nDisallow: {pattern}\n")
    assert robots.allowed(f"http://example.com{path}", agent="MyBot") is not matches


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        ("/anything", "*", True),
        ("/a", "/a*", True),
        ("/a/b/c", "/a*c", True),
        ("/a/b/c", "/a*c$", True),
        ("/a/b/cd", "/a*c$", False),
        ("/acbc", "/a*c$", True),
        ("/ab", "/a**b", True),
        ("/a$b", "/a$b", True),
        ("/a", "/a$b", False),
        ("/a$", "/a$$", True),
        ("/a", "/a$$", False),
        ("/", "$", False),
        ("/", "*$", True),
        ("/", "/$", True),
        ("/x", "/$", False),
        ("/Admin", "/admin", False),
        ("/" + "a" * 500, "/" + "*a" * 50 + "*b$", False),
    ],
)
def test_wildcards_and_end_anchors(path: str, pattern: str, matches: bool) -> None:
    """An asterisk stands for any characters or none, a dollar anchors only as the last one."""
    robots = read(f"User-agent: *\nDisallow: {pattern}\n")
    assert robots.allowed(f"http://example.com{path}", agent="MyBot") is not matches


# Phase 2, step 4: priority resolution


def test_example_1_longest_match_wins() -> None:
    """The pattern of 13 characters outranks the one of 6."""
    verdict = read("User-agent: *\nDisallow: /admin\nAllow: /admin/public\n").check(
        "/admin/public/page.html", agent="MyBot"
    )
    assert (verdict.allowed, verdict.line) == (True, 3)


def test_example_2_equal_length_allow_wins() -> None:
    """Of two patterns of 10 characters the Allow decides."""
    verdict = read("User-agent: *\nDisallow: /page.html\nAllow: /page.html\n").check(
        "/page.html", agent="MyBot"
    )
    assert (verdict.allowed, verdict.line) == (True, 3)


def test_example_3_specific_agent_vs_global() -> None:
    """The agent's own group decides, and the global Allow is not asked."""
    robots = read("User-agent: MyBot\nDisallow: /private\n\nUser-agent: *\nAllow: /\n")
    verdict = robots.check("/private/data.html", agent="MyBot")
    assert (verdict.allowed, verdict.line) == (False, 2)
    assert robots.check("/private/data.html", agent="OtherBot").line == 5


def test_example_4_specific_agent_found_no_match() -> None:
    """A group for the agent that has no matching rule allows, whatever the global group says."""
    robots = read("User-agent: MyBot\nDisallow: /admin\n\nUser-agent: *\nDisallow: /\n")
    verdict = robots.check("/public/page.html", agent="MyBot")
    assert (verdict.allowed, verdict.line) == (True, 0)
    assert verdict.reason is Reason.NO_RULE_MATCHED
    assert not robots.allowed("/public/page.html", agent="OtherBot")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/document.pdf", False),
        ("/document.pdf?download=1", True),
        ("/files/report.pdf", False),
        ("/pdfs/file.txt", True),
    ],
)
def test_example_5_wildcard_and_end_anchor(path: str, allowed: bool) -> None:
    """`/*.pdf$` closes what ends in `.pdf` and nothing else."""
    assert read("User-agent: *\nDisallow: /*.pdf$\n").allowed(path, agent="MyBot") is allowed


def test_no_rules_allow() -> None:
    """A file without rules allows by default."""
    for body in ("", "# nothing\n", "User-agent: *\n"):
        assert read(body).allowed("/", agent="MyBot"), body


def test_all_groups_of_an_agent_count() -> None:
    """Rules of separate groups for one agent are weighed together."""
    robots = read(
        "User-agent: MyBot\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n\n"
        "User-agent: mybot/2\nAllow: /a/b\n"
    )
    assert robots.check("/a", agent="MyBot").line == 2
    assert robots.check("/a/b", agent="MyBot").line == 8
    assert robots.check("/c", agent="MyBot").line == 0


# Phase 2, step 5: result construction


def test_the_result_has_the_full_text_of_its_line() -> None:
    """The text of the line comes back as it stands in the file, comment and indentation too."""
    body = "User-agent: *\r\n  Disallow: /a%2f   # closed\r\nAllow: /b\r\n"
    verdict = read(body).check("/a%2Fx", agent="MyBot")
    assert verdict.allowed is False
    assert verdict.line == 2
    assert verdict.line_text == "  Disallow: /a%2f   # closed"


def test_the_result_without_a_match_has_no_line() -> None:
    """Line 0 and an empty text say that no line decided."""
    verdict = read("User-agent: *\nDisallow: /a\n").check("/b", agent="MyBot")
    assert (verdict.allowed, verdict.line, verdict.line_text) == (True, 0, "")
    assert verdict.rule is None


def test_robots_txt_itself_is_not_special() -> None:
    """The dialect applies its rules to `/robots.txt` as to any page."""
    assert not read("User-agent: *\nDisallow: /\n").allowed("/robots.txt", agent="MyBot")

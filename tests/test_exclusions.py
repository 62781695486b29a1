"""The user's own rules: patterns, what they are matched against, and the verdicts they make."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manners import InvalidURL, Reason
from manners._text import to_bytes
from manners.cli import render
from manners.errors import MannersError
from manners.exclusions import BadPattern, Exclusions, Overrides
from manners.urls import match_path

SITE = "https://example.com"


def excluded(pattern: str, path: str) -> bool:
    """Whether one pattern keeps a path out."""
    return Exclusions([pattern]).excludes(SITE + path) is not None


# What a pattern matches.

MATCHES = [
    ("prefix", "/admin", ["/admin", "/admin/", "/administrator", "/admin?x"], ["/", "/a/admin"]),
    ("prefix with a query", "/a?x=1", [], ["/a"]),  # a `?` makes it a glob
    ("prefix of everything", "/", ["/", "/a", "?a"], []),
    ("no leading slash", "admin", [], ["/admin"]),
    ("case counts", "/Admin", ["/Admin"], ["/admin", "/ADMIN"]),
    ("dots are dots", "/a.b", ["/a.b"], ["/axb"]),
    ("a dollar is a dollar", "/a$", ["/a$b"], ["/a"]),
    ("a star crosses slashes", "/a/*/z", ["/a/b/z", "/a/b/c/z", "/a//z"], ["/a/z", "/a/b/z/"]),
    ("a star may be nothing", "/a*", ["/a", "/ab", "/a/b?c=d"], ["/", "/b/a"]),
    ("a star in front", "*.pdf", ["/a.pdf", "/b/c.pdf"], ["/a.pdf?x", "/a.PDF", "/apdf"]),
    ("a glob is for all of it", "*logout", ["/logout", "/a/logout"], ["/logout/", "/logout?a"]),
    ("a question mark is one character", "/a?c", ["/abc", "/a?c", "/a/c"], ["/ac", "/abbc"]),
    ("a question mark is one character of any kind", "/?", ["/a", "/é", "/€", "/😀"], ["/", "/ab"]),
    ("everything", "*", ["/", "/a", "?b"], []),
    ("brackets are brackets", "/[ab]*", ["/[ab]c"], ["/a", "/b"]),
    ("signs of expressions", "/(a|b)+^{1}*", ["/(a|b)+^{1}"], ["/a", "/ab"]),
    ("a backslash is one", "/a\\*", ["/a\\", "/a\\b"], ["/a*", "/ab"]),
    ("a newline too", "/a*z", ["/a\nz", "/a\r\n\u2028z"], []),
    ("an expression is searched", "re:admin", ["/admin", "/a/admin/b", "?admin"], ["/Admin"]),
    ("an expression with anchors", "re:^/a/?$", ["/a", "/a/"], ["/a/b", "/b/a", "/a?"]),
    ("an expression without case", "re:(?i)ADMIN", ["/aDmIn"], ["/amin"]),
    ("an expression on the query", r"re:[?&]token=", ["/a?token=", "/?a&token=1"], ["/token="]),
    ("an expression with classes", r"re:/\d{4}/\p{Greek}", ["/2026/α"], ["/2026/a", "/26/α"]),
    ("only a small re: is one", "RE:a", [], ["/a", "/RE:a"]),
    ("seed 004: prefix", "/admin", ["/admin", "/admin/users"], ["/public"]),
    ("seed 004: glob", "*/*logout*", ["/logout", "/a/logout.do", "/a?logout"], ["/login"]),
    (
        "seed 004: expression",
        r"re:\?.*token=.+",
        ["/a?token=1", "/a?b=c&token=d"],
        ["/a?token=", "/token=1", "/a#?token=1"],
    ),
    ("encodings are as they are written", "/a%20b", ["/a%20b"], ["/a b", "/a%2520b"]),
    ("encodings keep their case", "/%c3%a9", ["/%c3%a9"], ["/%C3%A9", "/é"]),
    ("nothing is decoded", "/admin", [], ["/%61dmin", "/./admin", "//admin"]),
    ("characters of any kind", "/é", ["/é", "/éa"], ["/e", "/%C3%A9"]),
    ("a fragment is no part", "*#*", [], ["/a#b", "/#"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "yes", "no"), [case[1:] for case in MATCHES], ids=[case[0] for case in MATCHES]
)
def test_what_a_pattern_matches(pattern: str, yes: list[str], no: list[str]) -> None:
    """Plain is how path and query begin, a glob is all of them, an expression is searched for."""
    assert [path for path in yes if not excluded(pattern, path)] == []
    assert [path for path in no if excluded(pattern, path)] == []


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("/admin", "/admin"),
        ("", "/"),
        ("https://example.com", "/"),
        ("https://example.com?q", "/?q"),
        ("https://user:secret@example.com/a?b#c", "/a?b"),
        ("nonsense", "/"),
    ],
)
def test_patterns_see_path_and_query_of_any_string(url: str, path: str) -> None:
    """No string is too strange to be asked about."""
    assert Exclusions([f"re:^{re.escape(path)}$"]).excludes(url)


@pytest.mark.parametrize("path", ["/\udcff", "/" + chr(0xD800), "/\udcc3\udca9", "/\0"], ids=ascii)
def test_bytes_that_are_no_text_are_matched_all_the_same(path: str) -> None:
    """Surrogates are the bytes they stand for, or characters that nobody knows."""
    assert excluded("/*", path)
    assert excluded("re:^/.+$", path)
    assert excluded("/", path)
    assert excluded("/é", "/\udcc3\udca9")
    assert not excluded("/é", "/\udcc3")


@given(st.text(), st.lists(st.text(min_size=1).filter(lambda text: not text.startswith("re:"))))
def test_any_plain_pattern_can_be_used_or_is_refused(url: str, patterns: list[str]) -> None:
    """A pattern of any characters works on a URL of any characters, or is no UTF-8."""
    for pattern in patterns:
        try:
            found = Exclusions([pattern]).excludes(url)
        except BadPattern as error:
            assert str(error).isprintable()  # noqa: PT017
            assert any("\ud800" <= sign <= "\udfff" for sign in pattern)
            continue
        path = to_bytes(match_path(url)).decode("utf-8", "replace")
        if "*" in pattern or "?" in pattern:
            expected = glob(pattern, path)
        else:
            expected = path.startswith(pattern)
        assert (found is not None) == expected


def glob(pattern: str, path: str) -> bool:
    """What a glob means, in the plainest words: all the places a beginning can end at."""
    ends = {0}
    for sign in pattern:
        if sign == "*":
            ends = set(range(min(ends, default=len(path) + 1), len(path) + 1))
        else:
            ends = {
                end + 1 for end in ends if end < len(path) and (sign == "?" or path[end] == sign)
            }
    return len(path) in ends


@given(st.text("a/*?", min_size=1, max_size=8), st.text("a/?", max_size=8))
def test_a_glob_is_what_it_says(pattern: str, path: str) -> None:
    """Compared with the plainest way to write it."""
    if "*" in pattern or "?" in pattern:
        assert excluded(pattern, "/" + path) == glob(pattern, "/" + path)


@given(st.text())
def test_any_expression_can_be_used_or_is_refused(expression: str) -> None:
    """An expression compiles, or is an error of this package."""
    try:
        Exclusions(["re:" + expression]).excludes(SITE + "/a?b=c")
    except BadPattern as error:
        assert str(error).isprintable()  # noqa: PT017


# What cannot be used.


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "it is empty"),
        ("re:", "it is empty"),
        ("re:(", "missing )"),
        ("re:[", "missing ]"),
        ("re:*a", "no argument for repetition operator"),
        ("re:(?=a)", "(?="),
        ("re:(?!a)", "(?!"),
        ("re:(?<=a)b", "(?<"),
        (r"re:(a)\1", r"\1"),
        (r"re:(?P<n>a)(?P=n)", "(?P=n"),
        ("re:a{1001}", "repetition"),
        ("re:((a{99}){99}){99}", "repetition"),
        ("/\ud800", "not UTF-8"),
        ("*\udcff", "not UTF-8"),
        ("re:\udcff", "not UTF-8"),
    ],
    ids=ascii,
)
def test_a_pattern_that_cannot_be_used_says_why(pattern: str, words: str) -> None:
    """What google-re2 has not, look-ahead and back-references above all, is refused by name."""
    for made in ({"exclude": [pattern]}, {"include": ["/a", pattern]}):
        with pytest.raises(BadPattern) as caught:
            Exclusions(**made)
        assert isinstance(caught.value, MannersError)
        assert isinstance(caught.value, ValueError)
        assert caught.value.pattern == pattern
        assert words in str(caught.value)
        assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "pattern",
    ["re:(a+)+$", "re:(a|a)*b$", "re:^(a*)*b", "re:(.*)(.*)(.*)(.*)(.*)x$", "*a" * 50 + "x"],
)
def test_no_pattern_stands_still(pattern: str) -> None:
    """What takes for ever elsewhere takes time in proportion here."""
    assert excluded(pattern, "/" + "a" * 50_000 + "!") is False


def test_thousands_of_patterns() -> None:
    """Each counts, and the first that matches is named."""
    many = [f"/{n}/" for n in range(5000)] + [f"*/{n}?" for n in range(200)] + ["re:/x$"]
    exclusions = Exclusions(many)
    for path, pattern in (("/4999/", "/4999/"), ("/a/1234", "*/123?"), ("/b/x", "re:/x$")):
        rule = exclusions.excludes(SITE + path)
        assert rule is not None
        assert rule.pattern == pattern
    assert exclusions.excludes(SITE + "/5000/") is None


# Exclusions and inclusions.


def test_nothing_is_excluded_by_nothing() -> None:
    """Without a pattern everything goes on."""
    assert not Exclusions()
    assert Exclusions().excludes(SITE + "/a") is None
    assert Exclusions(["/a"])
    assert Exclusions(include=["/a"])


def test_inclusions_are_what_alone_is_wanted() -> None:
    """Every kind of pattern includes; what none includes is out."""
    exclusions = Exclusions(include=["/docs/", "*.html", "re:[?]page="])
    inside = ["/docs/a", "/a.html", "/a?page=2"]
    outside = ["/", "/doc", "/a.htm", "/robots.txt"]
    assert [path for path in inside if exclusions.excludes(SITE + path)] == []
    found = [exclusions.excludes(SITE + path) for path in outside]
    assert [rule and rule.text for rule in found] == ["include: no pattern matches"] * 4


def test_an_exclusion_beats_an_inclusion() -> None:
    """What both match is out, and the exclusion is named."""
    exclusions = Exclusions(["/docs/private"], ["/docs/"])
    rule = exclusions.excludes(SITE + "/docs/private/a")
    assert rule is not None
    assert (rule.allow, rule.pattern, rule.line) == (False, "/docs/private", 0)
    assert exclusions.excludes(SITE + "/docs/a") is None


def test_the_first_exclusion_that_matches_is_named() -> None:
    """Patterns are asked in their order."""
    rule = Exclusions(["/b", "/a*", "/a"]).excludes(SITE + "/a")
    assert rule is not None
    assert (rule.pattern, rule.text) == ("/a*", "exclude: /a*")


# Overrides.

RULINGS = Overrides(
    Exclusions(["/admin", "re:\x1b|token"], ["/"]), lambda host: host == "asked.example"
)


def test_a_ruling_on_what_is_excluded() -> None:
    """The verdict has its own reason, and the pattern in the place of the line."""
    verdict = RULINGS.check("https://user:secret@asked.example/admin/x?y#z")
    assert verdict is not None
    assert (verdict.allowed, bool(verdict), verdict.reason) == (False, False, Reason.EXCLUDED)
    assert str(verdict) == "disallowed: excluded: /admin"
    assert (verdict.line, verdict.line_text) == (0, "exclude: /admin")
    assert (verdict.url, verdict.path) == ("https://…@asked.example/admin/x?y#z", "/admin/x?y")
    assert verdict.to_dict() == {
        "allowed": False,
        "reason": "excluded",
        "rule": {"allow": False, "pattern": "/admin", "line": 0, "text": "exclude: /admin"},
        "line": 0,
        "line_text": "exclude: /admin",
        "agent": "",
        "specificity": 0,
        "crawl_delay": None,
        "url": "https://…@asked.example/admin/x?y#z",
        "path": "/admin/x?y",
        "dialect": "",
        "truncated": False,
        "retrieval": None,
    }
    json.dumps(verdict.to_dict())


def test_a_ruling_on_what_is_not_respected() -> None:
    """Allowed, with a reason of its own and no rule."""
    verdict = RULINGS.check("http://OTHER.example:8080/a")
    assert verdict is not None
    assert (verdict.allowed, verdict.reason) == (True, Reason.NOT_RESPECTED)
    assert str(verdict) == "allowed: not-respected"
    assert (verdict.rule, verdict.line, verdict.line_text) == (None, 0, "")
    assert verdict.to_dict()["reason"] == "not-respected"


def test_a_ruling_on_what_is_not_included() -> None:
    """The same reason as an exclusion, and words of its own."""
    verdict = Overrides(Exclusions(include=["/a"]), lambda _: True).check(SITE + "/b")
    assert str(verdict) == "disallowed: excluded: not included"


def test_an_exclusion_wins_over_a_site_that_is_not_respected() -> None:
    """Exclusions hold, whoever is not asked."""
    verdict = RULINGS.check("https://other.example/admin")
    assert verdict is not None
    assert verdict.reason is Reason.EXCLUDED


def test_what_is_not_ruled_is_for_the_site_to_say() -> None:
    """None means: ask."""
    assert RULINGS.check("https://asked.example/") is None
    assert RULINGS.check("https://ASKED.example:8443/a") is None


def test_for_a_file_at_hand_only_exclusions_are_asked() -> None:
    """A path has no host, and the file is there."""
    assert RULINGS.excludes("/a") is None
    assert str(RULINGS.excludes("/admin")) == "disallowed: excluded: /admin"


def test_a_url_without_a_host_cannot_be_ruled() -> None:
    """Whose robots.txt is not respected is a question of the host; an exclusion is none."""
    with pytest.raises(InvalidURL):
        RULINGS.check("/a")
    assert RULINGS.check("/admin") is not None


def test_a_ruling_is_shown_without_anything_raw() -> None:
    """Neither the URL nor the pattern reaches a terminal as it is."""
    verdict = RULINGS.check("https://asked.example/\x1b[2J")
    assert verdict is not None
    for shown in (str(verdict), render.verdict_line(verdict)):
        assert "\x1b" not in shown
        assert "\\x1b" in shown

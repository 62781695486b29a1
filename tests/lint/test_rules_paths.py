"""What rules about paths find and leave alone, where the examples of their pages do not show it."""

from functools import cache
from itertools import product

import pytest

from manners.lint.finding import Finding, Severity, apply_edits
from manners.lint.rule import LintRule
from manners.lint.rules import (
    absolute_url,
    bad_escape,
    blocked_rendering,
    hash_in_path,
    inner_dollar,
    matches_nothing,
    missing_leading_slash,
    needless_escape,
    quoted_path,
    regular_expression,
    revealed_path,
    rule_for_robots_txt,
    star_for_everything,
    template_placeholder,
    trailing_star,
    two_cases,
    unencoded_character,
    unreal_path,
    useless_star,
)
from manners.lint.source import Source

RULES: list[LintRule] = [
    absolute_url.RULE,
    bad_escape.RULE,
    blocked_rendering.RULE,
    hash_in_path.RULE,
    inner_dollar.RULE,
    matches_nothing.RULE,
    missing_leading_slash.RULE,
    needless_escape.RULE,
    quoted_path.RULE,
    regular_expression.RULE,
    revealed_path.RULE,
    rule_for_robots_txt.RULE,
    star_for_everything.RULE,
    template_placeholder.RULE,
    trailing_star.RULE,
    two_cases.RULE,
    unencoded_character.RULE,
    unreal_path.RULE,
    useless_star.RULE,
]
BOTH = ("rfc9309", "google")


def source_of(*rules: str | bytes, engines: tuple[str, ...] = BOTH, url: str = "") -> Source:
    written = [rule if isinstance(rule, bytes) else rule.encode() for rule in rules]
    return Source(b"\n".join((b"User-agent: *", *written, b"")), engines, url or None)


def codes(*rules: str | bytes) -> set[str]:
    """The codes of everything worse than a note that the rules about paths say."""
    source = source_of(*rules)
    found = [finding for rule in RULES for finding in rule.check(source)]
    return {finding.code for finding in found if finding.severity is not Severity.INFO}


def only(rule: LintRule, source: Source) -> Finding:
    (finding,) = rule.check(source)
    return finding


def fixed(rule: LintRule, line: str | bytes, engines: tuple[str, ...] = BOTH) -> str:
    """A rule line with the fix of the one finding about it."""
    source = source_of(line, engines=engines)
    fix = only(rule, source).fix
    assert fix is not None
    return apply_edits(source.data, list(fix.edits)).decode().split("\n")[1]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("Disallow: admin", "P401"),
        ("Disallow: _*", "P401"),
        ("Disallow: %2Fadmin", "P401"),
        ("Disallow: license.txt", "P401"),
        ("Disallow: queens.ny1.com.html", "P401"),
        ("Disallow: build.pl", "P401"),
        ("Disallow: ürün/", "P401"),
        ("Disallow: buyers guide/", "P401"),
        ("Disallow: https://example.com/a b", "P402"),
        ("Disallow: HTTP:example.com", "P402"),
        ("Disallow: www.example.museum/a", "P402"),
        ("Disallow: port.example.hu", "P402"),
        ("Disallow: 192.0.2.1/", "P402"),
        ("Disallow: //static.example.com/js/", "P402"),
        ("Disallow: https://example.com/a#b", "P402"),
        ("Disallow: ^/login$", "P411"),
        ("Disallow: (.*)/a b", "P411"),
        ("Disallow: {{ path }}", "P412"),
        ("Disallow: ${PATH}/a", "P412"),
        ("Disallow: '/a'", "P418"),
        ("Disallow: “/a b”", "P418"),
        ("Disallow: none", "R309"),
        ("Disallow: $", "R309"),
        ("Disallow: All.", "R309"),
        (b"Disallow: \xa0/a", "R309"),
        ("Disallow: /a b", "P404"),
        ("Disallow: /*{{url}}", "P404"),
        ("Disallow: /a%2", "P405"),
        ("Disallow: /a%zz", "P405"),
    ],
)
def test_a_line_has_one_reason(line: str | bytes, code: str) -> None:
    """Of the rules that could say why a line fails, one does."""
    assert codes(line) == {code}


@pytest.mark.parametrize(
    "line",
    [
        "Disallow: /",
        "Disallow:",
        "Disallow: Disallow: /a",
        "Disallow: \u200b/admin",
        "Disallow: /a\u00a0b",
        "Disallow: /www.example.com/",
        "Disallow: /out?to=https://example.com/",
        "Disallow: /action~http:/",
        "Disallow: *example.com/",
        "Disallow: /index.*",
        "Disallow: /swagger.*.json",
        "Disallow: /*?filter[type]=*",
        "Disallow: /jcr:content/",
        "Disallow: /*&amp;ref=\nDisallow: /*&ref=",
        "Disallow: /a # b",
        "Disallow: /a#this is a remark",
        "Disallow: /*.pdf$",
        "Disallow: /%20%2F%C3%A9",
        "Disallow: /*//",
    ],
)
def test_what_is_meant_is_left_alone(line: str) -> None:
    """Lines that look odd, but mean what they say or are for another rule, are not reported."""
    assert codes(line) == set()


@pytest.mark.parametrize(
    ("rule", "line", "better"),
    [
        (missing_leading_slash.RULE, "Disallow: admin  # soon", "Disallow: /admin  # soon"),
        (missing_leading_slash.RULE, "Disallow: .js$", "Disallow: /*.js$"),
        (missing_leading_slash.RULE, "Disallow: &a=b", "Disallow: /*&a=b"),
        (missing_leading_slash.RULE, "Disallow: utm_source=", "Disallow: /*utm_source="),
        (missing_leading_slash.RULE, "Disallow: %2fadmin", "Disallow: /admin"),
        (absolute_url.RULE, "Disallow: http://example.com?a", "Disallow: /?a"),
        (absolute_url.RULE, "Disallow: example.com/a*$", "Disallow: /a*$"),
        (absolute_url.RULE, "Disallow: /https://example.com/a", "Disallow: /a"),
        (hash_in_path.RULE, "Disallow: /a#b # c", "Disallow: /a%23b # c"),
        (unencoded_character.RULE, 'Disallow: /é "|"$', "Disallow: /%C3%A9%20%22%7C%22$"),
        (needless_escape.RULE, "Disallow: /%7e%41%2F%2D", "Disallow: /~A%2F-"),
        (trailing_star.RULE, "Disallow: /é/***", "Disallow: /é/"),
        (useless_star.RULE, "Disallow: /é**/**a*", "Disallow: /é*/*a*"),
        (useless_star.RULE, "Disallow: /**/a**$", "Disallow: /*/a"),
        (star_for_everything.RULE, "Allow: */*", "Allow: /"),
        (template_placeholder.RULE, "Disallow: /a?b&amp;c&amp;d", "Disallow: /a?b&c&d"),
        (quoted_path.RULE, "Disallow: “/a”", "Disallow: /a"),
        (quoted_path.RULE, "Disallow: /a.php'", "Disallow: /a.php"),
        (matches_nothing.RULE, "Disallow: NULL", "Disallow: "),
        (matches_nothing.RULE, "Disallow: all", "Disallow: /"),
        (matches_nothing.RULE, b"Disallow: \xa0/a", "Disallow: /a"),
    ],
)
def test_fixes(rule: LintRule, line: str | bytes, better: str) -> None:
    """A fix changes the path and nothing else."""
    assert fixed(rule, line) == better


@pytest.mark.parametrize("path", ["", "/", "/*", "*", "?", "/a b"])
def test_no_fix_disallows_everything(path: str) -> None:
    """A URL whose path is everything, or is no path, is not replaced with it."""
    fix = only(absolute_url.RULE, source_of("Disallow: https://other.example" + path)).fix
    assert (fix is None) == (path != "?")


def test_a_url_of_another_host_has_no_fix() -> None:
    """Where the file is known to be another host's, the path would be a rule for the wrong site."""
    source = source_of(
        "Disallow: https://www.example.com/a",
        "Disallow: https://shop.example.com/a",
        url="https://example.com/robots.txt",
    )
    own, foreign = absolute_url.RULE.check(source)
    assert own.fix is not None
    assert foreign.fix is None
    assert "shop.example.com" in foreign.message


@pytest.mark.parametrize(
    ("line", "engines", "safety"),
    [
        ("Disallow: /a b", BOTH, "unsafe"),
        ("Disallow: /a b", ("rfc9309",), "safe"),
        ("Disallow: /é", BOTH, "safe"),
        ("Disallow: /é|", BOTH, "unsafe"),
    ],
)
def test_encoding_is_unsafe_for_google(line: str, engines: tuple[str, ...], safety: str) -> None:
    """Encoding changes Google's verdicts, unless Google itself encodes the characters."""
    fix = only(unencoded_character.RULE, source_of(line, engines=engines)).fix
    assert fix is not None
    assert fix.safety == safety


def test_decoding_is_unsafe_for_google() -> None:
    """Decoding a needless escape changes Google's verdicts, and nobody else's."""
    for engines, safety in ((BOTH, "unsafe"), (("rfc9309",), "safe")):
        fix = only(needless_escape.RULE, source_of("Disallow: /%7Ea", engines=engines)).fix
        assert fix is not None
        assert fix.safety == safety


def test_what_every_engine_encodes_is_a_note() -> None:
    """Characters outside ASCII are a note; what Google does not encode is a warning."""
    found = unencoded_character.RULE.check(source_of("Disallow: /é", "Disallow: /<é"))
    assert [finding.severity for finding in found] == [Severity.INFO, Severity.WARNING]


def test_several_paths_are_not_encoded() -> None:
    """Spaces between paths are reported, but to encode them would not help."""
    assert only(unencoded_character.RULE, source_of("Disallow: /a/ /b/")).fix is None


def test_a_hash_that_makes_a_rule_everything_says_so() -> None:
    """A rule that ends at its `#` and matches everything is called that."""
    assert "everything" in only(hash_in_path.RULE, source_of("Disallow: /*#top")).message
    assert "everything" not in only(hash_in_path.RULE, source_of("Disallow: /a#top")).message


def test_columns_count_characters() -> None:
    """A finding points at characters, also behind some that are several bytes."""
    finding = only(trailing_star.RULE, source_of("Disallow: /éé**"))
    assert (finding.line, finding.column, finding.end_column) == (2, 14, 16)


@pytest.mark.parametrize("path", ["/a$*", "/*", "*", "/**", "*/", "/*$"])
def test_a_star_that_is_needed_or_everything_is_not_trailing(path: str) -> None:
    """Without the star `/a$*` would end at `a`; what matches everything has a rule of its own."""
    assert not list(trailing_star.RULE.check(source_of("Disallow: " + path)))


@pytest.mark.parametrize("path", ["/*/*", "//*", "/*/"])
def test_stars_and_two_slashes_are_not_everything(path: str) -> None:
    """A path that needs a second slash does not match `/`."""
    assert not list(star_for_everything.RULE.check(source_of("Disallow: " + path)))


def test_a_dollar_before_a_letter_is_a_note() -> None:
    """A `$` that begins a name is probably meant as a character."""
    found = inner_dollar.RULE.check(source_of("Disallow: /$name", "Disallow: /*.pdf$/"))
    assert [finding.severity for finding in found] == [Severity.INFO, Severity.WARNING]


def test_a_regular_expression_that_matches_nothing_is_an_error() -> None:
    """`^` keeps a rule from matching anything; other signs make it match something else."""
    found = regular_expression.RULE.check(source_of("Disallow: ^/a", "Disallow: /[a-z]+/b"))
    assert [finding.severity for finding in found] == [Severity.ERROR, Severity.WARNING]


def test_a_link_of_a_template_may_be_meant() -> None:
    """Crawlers do follow links to `/{{url}}`, but not to what begins with the placeholder."""
    found = template_placeholder.RULE.check(source_of("Disallow: /{{url}}", "Disallow: {{url}}"))
    assert [finding.severity for finding in found] == [Severity.WARNING, Severity.ERROR]


def test_findings_about_placeholders_are_in_order() -> None:
    """Placeholders in comments and in paths are reported line by line."""
    source = source_of("Disallow: /[path]/", "Disallow: #{path}", "Disallow: /a?b&amp;c")
    assert [finding.line for finding in template_placeholder.RULE.check(source)] == [2, 3, 4]


def test_two_cases_are_of_one_group_and_one_kind() -> None:
    """Only rules of a group with the same verdict are compared, and equal ones are no two cases."""
    source = Source(
        b"User-agent: a\nDisallow: /A\nDisallow: /A\nAllow: /a\nDisallow: /%c3\nDisallow: /%C3\n"
        b"User-agent: b\nDisallow: /a\nDisallow: /B\nDisallow: /b\n"
    )
    assert [finding.line for finding in two_cases.RULE.check(source)] == [10]


def test_two_slashes_beside_one_are_meant() -> None:
    """Where the rule with one slash is there, too, nothing is missing."""
    assert list(unreal_path.RULE.check(source_of("Disallow: /a//b")))
    assert not list(unreal_path.RULE.check(source_of("Disallow: /a//b", "Disallow: /a/b")))


def test_encoded_dots_are_dots() -> None:
    """Crawlers resolve `%2E%2E` as they resolve `..`, but not in a query."""
    assert codes("Disallow: /a/%2e%2E/b") == {"P406", "P414"}
    assert codes("Disallow: /a?b=/../c") == set()


def test_the_only_rule_of_a_group_stays() -> None:
    """Without its only rule, a group would be joined with the next one."""
    assert only(rule_for_robots_txt.RULE, source_of("Allow: /robots.txt")).fix is None
    finding = only(rule_for_robots_txt.RULE, source_of("Allow: /robots.txt", "Disallow: /a"))
    assert finding.fix is not None


@pytest.mark.parametrize(
    ("rules", "lines"),
    [
        (["Disallow: /js/", "Disallow: /css", "Disallow: /assets/js/*"], [2, 3, 4]),
        (["Disallow: /*.css?", "Disallow: *.js"], [2, 3]),
        (["Disallow: /assets/js/", "Allow: /*.js"], [2]),
        (["Disallow: /js/", "Allow: /js/*.js"], []),
        (["Disallow: /"], []),
        (["Disallow: /js/", "User-agent: Googlebot", "Disallow: /a"], []),
        (["Disallow: /a", "User-agent: Googlebot", "Disallow: /js/"], [4]),
        (["Disallow: /wp-admin/css/", "Disallow: /js/main.js"], []),
    ],
)
def test_rendering_is_decided_for_googlebot(rules: list[str], lines: list[int]) -> None:
    """A rule is reported if it is what keeps Googlebot from style sheets or scripts."""
    found = blocked_rendering.RULE.check(source_of(*rules))
    assert [finding.line for finding in found] == lines


@pytest.mark.parametrize(
    "path", ["/internal-hard-drives/", "/user/password", "/" + "a" * 40, "/1" * 40]
)
def test_ordinary_paths_reveal_nothing(path: str) -> None:
    """Words within a name, forms for visitors, and long names are no secrets."""
    assert not list(revealed_path.RULE.check(source_of("Disallow: " + path)))


def test_revealed_paths_are_not_in_the_default_set() -> None:
    """Whether a path is a secret is for the owner to know."""
    assert [rule.name for rule in RULES if not rule.is_default] == ["revealed-path"]


@cache
def odd_file() -> Source:
    """A file with every sequence of three pieces that some rule looks for."""
    pieces = [b"/", b"*", b"$", b"%", b"%7E", b"#", b'"', b"{{", b"}}", b"(a|", b")", b"&amp;"]
    pieces += [b"//", b"..", b"\xff", b"\xc3\xa9", b" ", b"\0", b"https:", b"[a-z]", b".js", b"x"]
    values = map(b"".join, product(pieces, repeat=3))
    return Source(b"User-agent: *\n" + b"".join(b"Disallow: %b\n" % value for value in values))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_any_bytes_are_read(rule: LintRule) -> None:
    """No value makes a rule raise, report a line twice, or edit anything but that line."""
    source = odd_file()
    found = list(rule.check(source))
    assert len({finding.line for finding in found}) == len(found)
    for finding in found:
        line = source.lines[finding.line - 1]
        assert 0 < finding.column <= finding.end_column
        for edit in finding.fix.edits if finding.fix else ():
            assert line.start <= edit.start <= edit.end <= line.end

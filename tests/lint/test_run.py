"""`manners.lint.run`: which rules are used, for which engines, and what a file may allow."""

import pytest

from manners.errors import UnknownName
from manners.lint import ENGINES, Finding, Severity, run
from manners.lint.rule import FAMILIES, all_rules
from manners.robots import dialects

STAR = "User-agent: *\nDisallow: /search*\n"
"""Every rule but `trailing-star` is content with it, in the default set."""
MANY = b"""\
Noindex: /a
Disallow: /nobody
User-agent: x y z
Disallow: admin
Disallow: /a*
Disallow: /a
Allow: /a b
Crawl-delay: 100
Sitemap: /sitemap.xml
Disallow:
"""


def names(findings: list[Finding]) -> list[str]:
    return [finding.name for finding in findings]


# What is found.


def test_a_finding_says_where_and_what() -> None:
    """Code, name, severity, line, column, message and fix are those of the star."""
    (finding,) = run(STAR)
    assert (finding.code, finding.name) == ("P407", "trailing-star")
    assert finding.severity is Severity.INFO
    assert (finding.line, finding.column) == (2, 18)
    assert finding.message
    assert finding.fix is not None
    assert finding.fix.is_safe
    assert finding.fix.is_proved


@pytest.mark.parametrize("body", [b"", b"\n", b"# nothing\n", b"User-agent: *\nDisallow: /a\n"])
def test_nothing_is_found_where_nothing_is_wrong(body: bytes) -> None:
    """A file without mistakes has no findings; neither has an empty one."""
    assert run(body) == []


def test_findings_come_in_the_order_of_lines() -> None:
    """Lines, then columns, then codes; no finding is there twice."""
    findings = run(MANY, select=("all",))
    places = [(finding.line, finding.column, finding.code) for finding in findings]
    assert len(findings) > 8
    assert places == sorted(places)
    assert len(set(places)) == len(places)


def test_findings_are_printable_and_within_the_file() -> None:
    """Whatever the bytes, messages are one printable line, and places are in the file."""
    body = (
        b"User-agent: \x1b[31m \xff\nDis\x07allow: /\x9b\nNoindex: /\xe2\x80\xa8a\nDisallow: a\x1b*"
    )
    findings = run(body, select=("all",))
    lines = body.split(b"\n")
    assert len(findings) > 3
    for finding in findings:
        assert finding.message.isprintable(), finding
        assert not finding.message.endswith(".")
        assert 1 <= finding.line <= len(lines)
        assert 1 <= finding.column <= len(lines[finding.line - 1]) + 1
        assert str(finding).isprintable()


# Text and bytes.


def test_text_and_bytes_are_the_same() -> None:
    """A string is read as its UTF-8; lone surrogates are the bytes they escape."""
    assert run(STAR) == run(STAR.encode())
    text = "User-agent: *\nDisallow: /café \udcff*\n"
    assert run(text) == run(text.encode("utf-8", "surrogateescape"))


def test_a_byte_order_mark_moves_no_finding() -> None:
    """It is a finding itself, and the first line begins behind it."""
    plain = b"User-agent: *bot\nDisallow: /search*\n"
    with_mark = run(b"\xef\xbb\xbf" + plain)
    assert [(each.line, each.column) for each in run(plain)] == [
        (each.line, each.column) for each in with_mark if each.name != "byte-order-mark"
    ]
    assert "byte-order-mark" in names(with_mark)


# Which rules.


def test_the_default_set_is_used_unless_rules_are_selected() -> None:
    """Rules that are off say nothing by default, and everything with `all`."""
    body = STAR.rstrip()
    off = {rule.name for rule in all_rules() if not rule.is_default}
    assert off.isdisjoint(names(run(body)))
    assert {"trailing-star", "no-sitemap", "missing-final-newline"} <= set(
        names(run(body, select=("all",)))
    )


@pytest.mark.parametrize("wanted", ["trailing-star", "P407", "P"])
def test_rules_are_selected_by_name_code_or_family(wanted: str) -> None:
    """Each means the same rule here, and no other."""
    assert names(run(STAR, select=(wanted,))) == ["trailing-star"]
    assert names(run(STAR, ignore=(wanted,))) == []


@pytest.mark.parametrize("family", FAMILIES)
def test_a_letter_is_its_family(family: str) -> None:
    """Selected alone, all findings are of it; ignored, none is."""
    every = run(MANY, select=("all",))
    chosen = [finding for finding in every if finding.code[0] == family]
    assert run(MANY, select=(family,)) == chosen
    assert run(MANY, select=("all",), ignore=(family,)) == [
        finding for finding in every if finding not in chosen
    ]


def test_what_is_ignored_is_not_selected() -> None:
    """Of several selected rules, those that are ignored say nothing."""
    found = run(STAR.rstrip(), select=("P", "F011", "no-sitemap"), ignore=("M607",))
    assert sorted(names(found)) == ["missing-final-newline", "trailing-star"]
    assert run(MANY, select=("all",), ignore=("all",)) == []


@pytest.mark.parametrize("name", ["trailing-stars", "P999", "p", "Z", "", "ALL", "default"])
def test_an_unknown_rule_is_an_error(name: str) -> None:
    """It says which names there are, so that the right one is found."""
    with pytest.raises(UnknownName) as caught:
        run(STAR, select=("P407", name))
    with pytest.raises(UnknownName):
        run(STAR, ignore=("P407", name))
    assert caught.value.name == name
    assert "trailing-star" in caught.value.known
    assert "trailing-star" in str(caught.value)


# Which engines.


@pytest.mark.parametrize("engine", dialects.names())
def test_every_dialect_is_an_engine(engine: str) -> None:
    """A file is linted for each of them, alone and beside another."""
    assert "missing-leading-slash" in names(run("User-agent: *\nDisallow: a\n", (engine,)))
    run(MANY, ("rfc9309", engine))


def test_the_engines_are_those_of_the_standard_and_google() -> None:
    """Unless others are named."""
    assert ENGINES == ("rfc9309", "google")
    assert run(MANY) == run(MANY, ["rfc9309", "google"])


def test_an_engine_that_nobody_knows_is_an_error() -> None:
    """At once, also for a file without a line."""
    with pytest.raises(UnknownName, match="google"):
        run(b"", ("rfc9309", "gogle"))


def test_no_engine_is_an_error() -> None:
    """Nothing would have to be proved, and everything would be safe."""
    with pytest.raises(ValueError, match="engine"):
        run(STAR, ())


def test_a_name_instead_of_names_is_an_error() -> None:
    """A string is a sequence of letters, which nobody means."""
    with pytest.raises(TypeError, match="engines"):
        run(STAR, "google")
    with pytest.raises(TypeError, match="sequences"):
        run(STAR, select="R")
    with pytest.raises(TypeError, match="sequences"):
        run(STAR, ignore="P407")


def test_what_is_no_text_is_an_error() -> None:
    """A number is not that many bytes."""
    with pytest.raises(TypeError, match="not int"):
        run(3)  # type: ignore[arg-type]


def test_a_fix_is_offered_only_if_it_is_proved_for_every_engine() -> None:
    """The letter is another one for Google, which does not decode a pattern."""
    # `/a%7Eb` and `/a~b` are one path for RFC 9309; Google compares bytes.
    body = "User-agent: *\nDisallow: /a~b\nDisallow: /a%7Eb\n"

    def safe(*engines: str) -> set[int]:
        return {each.line for each in run(body, engines) if each.fix and each.fix.is_safe}

    assert safe("rfc9309")
    assert safe("google") == safe("rfc9309", "google") == safe("google", "rfc9309") == set()


# What a file allows.


ALLOWED = {
    "above": "User-agent: *\n# manners: allow trailing-star\nDisallow: /search*\n",
    "behind": "User-agent: *\nDisallow: /search*  # manners: allow trailing-star\n",
    "by code": "User-agent: *\n# manners: allow P407\nDisallow: /search*\n",
    "without spaces": "User-agent: *\n#manners:allow P407\nDisallow: /search*\n",
    "above a comment": "User-agent: *\n# manners: allow P407\n# why\nDisallow: /search*\n",
    "several names": (
        "User-agent: *\n# manners: allow missing-leading-slash, P407\nDisallow: search*\n"
    ),
    "several comments": (
        "User-agent: *\n# manners: allow P407\n"
        "Disallow: search*  # manners: allow missing-leading-slash\n"
    ),
    "CR LF": "User-agent: *\r\n# manners: allow P407\r\nDisallow: /search*\r\n",
}


@pytest.mark.parametrize("body", ALLOWED.values(), ids=ALLOWED)
def test_a_comment_allows_a_finding(body: str) -> None:
    """Above a line or behind it; then the file is clean."""
    assert run(body) == []


@pytest.mark.parametrize("body", ALLOWED.values(), ids=ALLOWED)
def test_without_the_comment_it_is_found(body: str) -> None:
    """The same files without the comments are not clean: nothing else made them so."""
    assert "trailing-star" in names(run(body.replace("manners", "manner")))


def test_a_comment_allows_one_line_and_one_rule() -> None:
    """The line after the next, and another rule, are not allowed."""
    body = "User-agent: *\n# manners: allow P407\nDisallow: search*\nDisallow: /find*\n"
    assert [(each.name, each.line) for each in run(body)] == [
        ("missing-leading-slash", 3),
        ("trailing-star", 4),
    ]


def test_above_the_first_line_the_file_is_meant_too() -> None:
    """A finding about the file as a whole is allowed at its top, also below other comments."""
    body = "# Ours.\n# manners: allow no-sitemap\n\nUser-agent: *\nDisallow: /a\n"
    assert run(body, select=("no-sitemap", "unused-allow")) == []
    lower = "User-agent: *\n# manners: allow no-sitemap\nDisallow: /a\n"
    assert names(run(lower, select=("no-sitemap", "unused-allow"))) == [
        "no-sitemap",
        "unused-allow",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "User-agent: *\n# manners: allow trailing-star\nDisallow: /search\n",
        "User-agent: *\nDisallow: /search  # manners: allow P407\n",
        "User-agent: *\nDisallow: /search\n# manners: allow P407\n",
        "User-agent: *\n# manners: allow trailing-stars\nDisallow: /search\n",
    ],
    ids=["above", "behind", "at the end", "no such rule"],
)
def test_an_allow_that_allows_nothing_is_a_finding(body: str) -> None:
    """It names what is not needed, at the line of the comment."""
    (finding,) = run(body)
    assert finding.name == "unused-allow"
    assert "manners: allow" in body.split("\n")[finding.line - 1]
    assert "`P407`" in finding.message or "`trailing-star" in finding.message


def test_of_several_names_the_unused_one_is_found() -> None:
    """The comment stays, because the other name is needed."""
    body = "User-agent: *\n# manners: allow P407, noindex-rule\nDisallow: /search*\n"
    (finding,) = run(body)
    assert finding.name == "unused-allow"
    assert "`noindex-rule`" in finding.message
    assert finding.fix is None


def test_an_allow_for_a_rule_that_is_not_used_is_not_blamed() -> None:
    """Whether it is needed is not known when its rule is ignored or not selected."""
    body = "User-agent: *\n# manners: allow trailing-star\nDisallow: /search\n"
    assert run(body, ignore=("trailing-star",)) == []
    assert run(body, select=("unused-allow", "crawl-delay")) == []
    off = "User-agent: *\n# manners: allow revealed-path\nDisallow: /search\n"
    assert run(off) == []


def test_a_finding_about_an_allow_can_be_ignored() -> None:
    """It is a rule like any other."""
    body = "User-agent: *\n# manners: allow trailing-star\nDisallow: /search\n"
    assert run(body, ignore=("unused-allow",)) == run(body, ignore=("F013",)) == []

"""What holds for every lint rule: its code, its name, its page, its examples and its fixes."""

import re
from functools import cache

import pytest

import manners.lint
from manners.lint import Finding
from manners.lint.rule import FAMILIES, SECTIONS, LintRule, all_rules
from tests.lint.impact.shapes import satisfiability
from tests.lint.verdicts import applied, assert_same_verdicts

DIGITS = dict(zip("FSGRPDMCAX", "0123456789", strict=True))
"""The first digit of the codes of each family."""
SHOWN_BY_A_PAGE = [
    pytest.param(rule, body, id=f"{rule.code}-{number}")
    for rule in all_rules()
    for number, body in enumerate(rule.page.blocks("Example"))
]
BEST = [
    pytest.param(rule, body, id=f"{rule.code}-{number}")
    for rule in all_rules()
    for number, body in enumerate(rule.page.blocks("Better"))
]
HARD = "\n".join(["User-agent: *", *satisfiability(5, is_strict=False).after]).encode()
NOT_SHOWN = {
    "F005": b"User-agent: *\nDisallow: /caf\xe9\n",
    "F008": b"User-agent: *\n" + b"Disallow: /%b\n" % (b"a" * 10_000) * 52,
    "F009": b"User-agent: *\n" + b"".join(b"Disallow: /%04d\n" % n for n in range(2_100)),
    "F010": b"User-agent: *\nDisallow: /" + b"a" * 20_000 + b"\n",
    "F011": b"User-agent: *\nDisallow: /a",
    "R310": HARD,
}
"""Files that no page can show: too large, not UTF-8, without a last line end, too hard."""


@cache
def findings_of(body: bytes) -> list[Finding]:
    """What all rules find."""
    return manners.lint.run(body, select=("all",))


def codes_of(body: bytes) -> set[str]:
    return {finding.code for finding in findings_of(body)}


def test_there_are_rules_of_every_family() -> None:
    """About 65 rules are in the catalogue, and no family is empty."""
    assert len(all_rules()) >= 65
    assert {rule.code[0] for rule in all_rules()} == set(FAMILIES) == set(DIGITS)


def test_no_two_rules_share_a_code_or_a_name() -> None:
    """A code, and a name, is that of one rule; no name is a code or a family."""
    names = [name for rule in all_rules() for name in (rule.code, rule.name)]
    assert len({name.lower() for name in [*names, *FAMILIES, "all"]}) == len(names) + 11


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_has_a_code_a_name_and_a_page(rule: LintRule) -> None:
    """The code is of a family, the name is words, the page says what is found and why."""
    letter, digit = rule.code[0], rule.code[1:2]
    assert re.fullmatch(r"[A-Z]\d{3}", rule.code)
    assert DIGITS[letter] == digit
    assert re.fullmatch(r"[a-z]+(?:-(?:[a-z]+|\d+))*", rule.name)
    page = rule.page
    assert re.match(r"[A-Z`].+\.\Z", page.what.replace("\n", " ")), page.what
    assert list(page.sections) == [title for title in SECTIONS if title in page.sections]
    assert page.sections["Why it matters"].strip()


def test_every_rule_has_a_file_that_it_fires_on() -> None:
    """A page has an example, or this file has; a page that has one needs no other."""
    shown = {rule.code for rule in all_rules() if rule.page.blocks("Example")}
    assert shown | set(NOT_SHOWN) == {rule.code for rule in all_rules()}
    assert not shown & set(NOT_SHOWN)


@pytest.mark.parametrize(("rule", "body"), SHOWN_BY_A_PAGE)
def test_a_rule_fires_on_its_examples(rule: LintRule, body: bytes) -> None:
    """Everybody who looks at the page sees what it is about."""
    assert rule.code in codes_of(body)


@pytest.mark.parametrize("code", NOT_SHOWN)
def test_a_rule_fires_on_what_its_page_cannot_show(code: str) -> None:
    """Rules about size, bytes and the budget find what they are for."""
    assert code in codes_of(NOT_SHOWN[code])


@pytest.mark.parametrize(("rule", "body"), BEST)
def test_a_rule_rests_on_what_is_better(rule: LintRule, body: bytes) -> None:
    """Who does what the page says is not told so again."""
    assert rule.code not in codes_of(body)


@pytest.mark.parametrize(("rule", "body"), SHOWN_BY_A_PAGE)
def test_safe_fixes_of_examples_change_no_verdict(rule: LintRule, body: bytes) -> None:
    """Each safe fix that is offered is applied by itself: no verdict of anybody changes."""
    for finding in findings_of(body):
        if finding.fix is not None and finding.fix.is_safe:
            after = applied(body, finding)
            assert after != body, rule.code
            assert finding.fix.is_proved
            assert_same_verdicts(body, after)


@pytest.mark.parametrize(("rule", "body"), SHOWN_BY_A_PAGE)
def test_what_is_fixed_is_not_found_again(rule: LintRule, body: bytes) -> None:
    """Where every finding of a rule has a safe fix, none is left afterwards.

    Every rule is used, because a comment that allows a finding needs the rule that finds it.
    """
    findings = [finding for finding in findings_of(body) if finding.code == rule.code]
    after = manners.lint.fix(body, select=("all",))
    assert_same_verdicts(body, after)
    if all(finding.fix is not None and finding.fix.is_safe for finding in findings):
        assert rule.code not in codes_of(after)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_fix_is_on_the_page(rule: LintRule) -> None:
    """A page says what the fix of its finding does; the summary of a fix is a phrase."""
    bodies = rule.page.blocks("Example") or [NOT_SHOWN[rule.code]]
    findings = [finding for body in bodies for finding in findings_of(body)]
    fixes = [each.fix for each in findings if each.code == rule.code and each.fix is not None]
    assert not fixes or rule.page.sections["Fix"].strip()
    for fix in fixes:
        assert re.match(r"[a-z].*[^.]\Z", fix.summary), fix.summary

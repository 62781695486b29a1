"""The linter's pages are made of its rules: a page each, a row each, and links that lead there."""

import doctest
import re
from pathlib import Path

import pytest

from benchmarks.lint_corpus import PICTURE, picture
from docs import _lint_hooks
from manners.cli.linting import page_address
from manners.identity import HOME_PAGE
from manners.lint import analysis, impact, proving
from manners.lint.rule import FAMILIES, LintRule, all_rules

DOCS = Path(__file__).resolve().parents[2] / "docs"


def published(name: str) -> str:
    """A page with its generated parts."""
    page = _lint_hooks.on_page_markdown((DOCS / name).read_text(encoding="utf-8"))
    assert "<!--" not in re.sub(r"`[^`]*`", "", page)
    return page


def test_the_examples_in_the_hooks_hold() -> None:
    assert doctest.testmod(_lint_hooks).failed == 0


def test_the_catalogue_has_every_rule() -> None:
    """In the table of its family, with a link to its page."""
    sections = re.split(r"^## ", published("lint/index.md"), flags=re.MULTILINE)
    tables = {section.partition("\n")[0]: section for section in sections}
    for rule in all_rules():
        row = f"| {rule.code} | [`{rule.name}`]({rule.name}.md) | {rule.severity.value}"
        assert row in tables[FAMILIES[rule.code[0]]]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_a_rule_has_a_page_where_the_command_says(rule: LintRule) -> None:
    """With everything that its docstring has."""
    address = _lint_hooks.rule_address(rule)
    assert address == f"lint/{rule.name}.md"
    assert page_address(rule.name) == HOME_PAGE + address.replace(".md", ".html")
    page = _lint_hooks.rule_page(rule)
    assert page.startswith(f"# {rule.name}\n\n{rule.page.what}\n\n**{rule.code}**")
    for heading, text in rule.page.sections.items():
        assert f"\n## {heading}\n\n{text.strip()}\n" in page
    assert len(re.findall("^```", page, re.MULTILINE)) % 2 == 0


def test_a_rule_that_has_a_fix_says_what_it_does() -> None:
    """A page without a section about it says that there is none."""
    without = [rule.name for rule in all_rules() if "Fix" not in rule.page.sections]
    fixing = [rule.name for rule in all_rules() if _lint_hooks.fix_kinds(rule) != "none"]
    assert len(fixing) > 20
    assert set(without).isdisjoint(fixing)


def test_the_kinds_of_fixes_are_read_from_the_code() -> None:
    kinds = {rule.name: _lint_hooks.fix_kinds(rule) for rule in all_rules()}
    assert kinds["trailing-star"] == "safe"
    assert kinds["missing-leading-slash"] == "unsafe"
    assert kinds["misspelt-key"] == "safe or unsafe"
    assert kinds["crawl-delay"] == "none"


def test_no_page_of_a_rule_takes_the_place_of_another() -> None:
    """The catalogue is `lint/index.md`, and no file is kept that the hook makes."""
    assert "index" not in {rule.name for rule in all_rules()}
    assert [path.name for path in (DOCS / "lint").iterdir()] == ["index.md"]


def test_the_page_about_real_files_has_every_rule_that_was_counted() -> None:
    page = published("explanation/real-files.md")
    counts = _lint_hooks.real_files()
    for rule in all_rules():
        if rule.code in counts["rules"]:
            files = sum(counts["rules"][rule.code].values())
            assert f"[`{rule.name}`](../lint/{rule.name}.md) | {files:,} |" in page


def test_the_picture_is_that_of_the_counts() -> None:
    """Drawing it again gives the same."""
    assert picture(_lint_hooks.real_files()) == PICTURE.read_text(encoding="utf-8")


def test_the_page_about_proofs_has_the_budgets() -> None:
    page = published("explanation/proofs.md")
    for steps in (analysis.STEPS, analysis.RULE_STEPS, proving.STEPS, impact.STEPS):
        assert f"{steps:,}" in page

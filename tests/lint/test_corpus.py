"""Real files: what is found in how many of them, and fixes that change nothing for anybody."""

import json
import re
from collections import Counter
from math import sqrt
from pathlib import Path

import pytest

from manners.lint import Finding, Severity, fix, run
from manners.lint.rule import LintRule, all_rules
from tests.lint.verdicts import assert_same_verdicts
from tests.shared import corpus, needs_shared
from tests.sizes import size

DOCS = Path(__file__).resolve().parents[2] / "docs"
FILES = 6_000
"""Files of the corpus."""
PARTS = 4
"""The files are fixed in so many tests, which can run side by side."""
MOST = {Severity.ERROR: 0.12, Severity.WARNING: 0.25}
"""The share of real files with a finding of each severity, at most, with the default rules."""
COUNTS = {
    "A801": 110, "A803": 0, "A804": 0, "A805": 0, "A806": 0, "A807": 0, "A808": 0, "A809": 0,
    "A810": 0, "A811": 0, "A812": 0, "A813": 1, "A814": 2, "A815": 0,
    "C701": 467, "C702": 241,
    "D501": 156, "D502": 629, "D503": 6, "D504": 34, "D505": 115, "D506": 211,
    "F001": 304, "F002": 73, "F003": 58, "F004": 2, "F005": 4, "F006": 1, "F007": 215, "F008": 2,
    "F009": 6, "F010": 0, "F013": 0,
    "G201": 132, "G202": 1_005, "G203": 87, "G204": 414, "G205": 75, "G206": 60, "G207": 107,
    "G208": 13, "G209": 0, "G210": 674, "G211": 229, "G212": 118, "G213": 509,
    "M601": 45, "M602": 16, "M603": 313, "M604": 69, "M605": 35,
    "P401": 94, "P402": 68, "P403": 13, "P404": 187, "P405": 20, "P406": 2, "P407": 1_869,
    "P408": 22, "P409": 91, "P410": 9, "P411": 19, "P412": 17, "P413": 286, "P414": 10,
    "P415": 7, "P416": 210, "P418": 1,
    "R301": 580, "R302": 249, "R303": 1_431, "R304": 1_115, "R305": 24, "R306": 119, "R307": 161,
    "R308": 27, "R309": 3, "R310": 6,
    "S101": 24, "S102": 8, "S103": 13, "S104": 4, "S105": 26, "S106": 6, "S107": 21, "S108": 13,
    "S109": 18,
    "X901": 586,
}  # fmt: skip
"""In how many files of the corpus each rule of the default set finds something."""
MEASURED = re.compile(
    r"Offered for every such finding in (?:all of ([\d,]+)|([\d,]+) of ([\d,]+)) real files"
    r"(?:, and for some in ([\d,]+))?\.$"
).search


def sample() -> dict[str, bytes]:
    """As many files as this run looks at, from all of the corpus."""
    names = list(corpus())
    return {name: corpus()[name] for name in names[:: max(1, FILES // size("LINT_FILES"))]}


@needs_shared
@pytest.mark.long
def test_what_is_found_in_real_files() -> None:
    """Not too many errors and warnings, and each rule about as often as in the whole corpus."""
    found = {name: run(body) for name, body in sample().items()}
    assert_few_are_wrong(found)
    assert_as_often_as_counted(found)
    for name, findings in found.items():
        assert all(finding.message.isprintable() for finding in findings), name


def assert_few_are_wrong(found: dict[str, list[Finding]]) -> None:
    """A part of the corpus may have more, by three standard deviations."""
    for severity, most in MOST.items():
        having = sum(
            any(finding.severity is severity for finding in findings) for findings in found.values()
        )
        count = len(found)
        margin = 3 * sqrt(most * (1 - most) / count * (1 - count / FILES))
        assert having / count <= most + margin, f"{having} of {count} files have an {severity}"


def assert_as_often_as_counted(found: dict[str, list[Finding]]) -> None:
    """Within a tenth and chance: four standard deviations, and three files."""
    files = Counter(
        code for findings in found.values() for code in {each.code for each in findings}
    )
    share = len(found) / FILES
    for rule in all_rules():
        expected = COUNTS.get(rule.code, 0) * share
        margin = 0.1 * expected + 4 * sqrt(expected * (1 - share)) + 3
        text = f"{rule.code} {rule.name}: {files[rule.code]} files, not {expected:.0f}"
        assert abs(files[rule.code] - expected) <= margin, text


def test_what_differs_from_the_first_count_is_what_was_counted() -> None:
    """The table of reasons has the numbers of the tables that are generated."""
    rules = json.loads((DOCS / "_real_files.json").read_text(encoding="utf-8"))["rules"]
    page = (DOCS / "explanation" / "real-files.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z]\d{3}[^|]*) \| [^|]+ \| ([^|]+) \| [^|]+", page, re.MULTILINE)
    assert rows
    for codes, now in rows:
        numbers = [int(number.replace(",", "")) for number in re.split(", ", now)]
        found = [sum(rules[code].values()) for code in codes.split(", ")]
        assert numbers == found or set(numbers) == set(found), f"{codes}: {found}"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_page_says_how_often_its_fix_is_proved(rule: LintRule) -> None:
    """A fix that leaves verdicts as they are was tried on all real files with such a finding."""
    counted = json.loads((DOCS / "_real_files.json").read_text(encoding="utf-8"))["fixes"]
    found = MEASURED(" ".join(rule.page.sections.get("Fix", "").split()))
    if rule.code not in counted:
        assert found is None
        return
    assert found is not None, "how many real files is it proved for?"
    all_of, safe, files, some = (
        number and int(number.replace(",", "")) for number in found.groups()
    )
    fixes = Counter(counted[rule.code])
    assert (files or all_of, some or 0) == (fixes.total(), fixes["partly"])
    assert (safe or all_of) == fixes["safe"]


def test_every_rule_of_the_default_set_is_counted() -> None:
    """A new rule is counted before it is used by everybody; a rule that is off is not."""
    assert set(COUNTS) == {rule.code for rule in all_rules() if rule.is_default}


@needs_shared
@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
def test_fixes_of_real_files_change_no_verdict(part: int) -> None:
    """Proved by automata and tried with 200 URLs a file; a second time changes nothing."""
    changed = 0
    for name, body in list(sample().items())[part::PARTS]:
        fixed = fix(body)
        changed += fixed != body
        try:
            assert_same_verdicts(body, fixed, urls=200)
            assert fix(fixed) == fixed, "fixed a second time, it changes"
        except AssertionError as problem:
            raise AssertionError(f"{name}: {problem}") from problem
    assert changed, "nothing was fixed"

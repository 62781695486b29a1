"""`assert_clean`: the linter as an assertion of pytest."""

import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

from manners import MannersError
from manners.compat.pytest import assert_clean
from manners.lint import ENGINES

CLEAN = "User-agent: *\nDisallow: /private/\n"
STAR = "User-agent: *\nDisallow: /private/*\n"
WRONG = "User-agent: *\nDisallow: admin/\nDisallow: /a*\nDisallow: /private/\n"


def test_a_clean_file_passes(tmp_path: Path) -> None:
    """As text, as bytes, and as a file."""
    path = tmp_path / "robots.txt"
    path.write_text(CLEAN)
    for body in (CLEAN, CLEAN.encode(), path):
        assert assert_clean(body) == []


def test_the_message_lists_what_was_found(tmp_path: Path) -> None:
    """With the place in the file; what is not as bad as `fail_on` is not in it."""
    path = tmp_path / "robots.txt"
    path.write_text(WRONG)
    with pytest.raises(AssertionError) as caught:
        assert_clean(path)
    first, *lines = str(caught.value).split("\n")
    assert first == "1 finding by the linter"
    (line,) = lines
    assert line.startswith(f"  {path}:2:11 error P401 missing-leading-slash: ")


def test_fail_on_says_what_is_bad_enough() -> None:
    """The threshold itself fails; what is below is returned."""
    assert [finding.name for finding in assert_clean(STAR)] == ["trailing-star"]
    assert [finding.name for finding in assert_clean(STAR, fail_on="error")] == ["trailing-star"]
    with pytest.raises(AssertionError, match=r"robots\.txt:2:20 info P407 trailing-star"):
        assert_clean(STAR, fail_on="info")
    with pytest.raises(MannersError, match="unknown severity 'bad'; choose from: error, warning"):
        assert_clean(STAR, fail_on="bad")


def test_rules_can_be_ignored_and_engines_chosen() -> None:
    """By name and by code; a misspelling that Google accepts is worse elsewhere."""
    for name in ("missing-leading-slash", "P401"):
        assert_clean(WRONG, ignore=[name])
    with pytest.raises(MannersError, match="unknown lint rule"):
        assert_clean(CLEAN, ignore=["nonsense"])
    with pytest.raises(MannersError, match="gogle"):
        assert_clean(CLEAN, engines=["gogle"])
    assert signature(assert_clean).parameters["engines"].default == ENGINES


def test_many_findings_are_cut() -> None:
    """The message stays readable."""
    with pytest.raises(AssertionError) as caught:
        assert_clean("User-agent: *\n" + "".join(f"Disallow: a{n}/\n" for n in range(70)))
    lines = str(caught.value).split("\n")
    assert (lines[0], len(lines), lines[-1]) == ("70 findings by the linter", 52, "  … and 20 more")


def test_a_path_as_text_is_refused() -> None:
    """As content it would be an odd file, and never the file that was meant."""
    with pytest.raises(ValueError, match=r"pathlib\.Path"):
        assert_clean("public/robots.txt")


def test_the_plug_in_does_not_load_the_linter() -> None:
    """pytest loads the module wherever the package is installed."""
    script = "import sys, manners.compat.pytest as p; print('manners.lint' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"

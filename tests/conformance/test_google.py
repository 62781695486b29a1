"""Dialect `google` answers as google/robotstxt does: verdict and line."""

from functools import cache

import pytest

import manners
from manners.robots.agents import google_token_key
from manners.robots.patterns import google_pattern
from manners.urls import match_path
from tests.shared import (
    SHARED,
    Case,
    agents,
    body,
    case_files,
    cases,
    corpus,
    corpus_verdicts,
    google_answer,
    needs_shared,
)

pytestmark = needs_shared

GOOGLES_KEYS = ("user-agent", "allow", "disallow", "sitemap")


def google_cases() -> list[Case]:
    """Every case with an answer of Google's."""
    return [case for name in case_files() for case in cases(name) if "google_line" in case]


def test_every_case_with_an_answer_of_googles_gets_that_answer() -> None:
    """Verdict and line agree in every file, the agent passed verbatim."""
    wrong = []
    for case in google_cases():
        verdict = manners.parse(body(case), dialect="google").check(case["url"], agents(case))
        if (verdict.allowed, verdict.line) != google_answer(case):
            wrong.append((case["id"], str(verdict), google_answer(case)))
    assert wrong == []
    assert len(google_cases()) > 2_000


def test_googles_verdicts_on_real_files_are_ours() -> None:
    """Verdict and line agree for every URL checked against a file of the corpus."""

    @cache
    def parsed(document: str) -> manners.Robots:
        return manners.parse(corpus()[document], dialect="google")

    wrong, count = [], 0
    for case in corpus_verdicts():
        count += 1
        verdict = parsed(case["doc"]).check(case["url"], agent=case["agent"])
        if (verdict.allowed, verdict.line) != (case["allowed"], case["line"]):
            wrong.append((case, str(verdict)))
    assert wrong == []
    assert count > 25_000


@pytest.mark.parametrize(
    "case", cases("cases-google-parse.jsonl") if SHARED.is_dir() else [], ids=lambda c: c["id"]
)
def test_lines_are_counted_and_recognised_as_google_does(case: Case) -> None:
    """Directives are counted, numbered and flagged as in Google's reporting parser."""
    lines = list(manners.lines(body(case), dialect="google"))
    known = [line for line in lines if line.kind in GOOGLES_KEYS]
    unknown = [line for line in lines if line.key and line.kind not in GOOGLES_KEYS]
    reporting = "reporting" in case["source"]
    last = lines[-1].number if reporting else max(line.number for line in lines if line.key)
    sitemaps = [line.value for line in lines if line.kind == "sitemap"]
    ours = {
        "valid_directives": len(known),
        "unknown_directives": len(unknown),
        "last_line_seen": last,
        "sitemap": sitemaps[-1] if sitemaps else None,
    }
    for name, expected in case["counts"].items():
        assert ours[name] == expected, name


def test_paths_are_extracted_as_google_does() -> None:
    """`match_path` is GetPathParamsQuery."""
    for case in cases("cases-google-paths.jsonl"):
        assert match_path(case["url"]) == case["path"], case["id"]


def test_patterns_are_escaped_as_google_does() -> None:
    """The dialect's patterns are those of MaybeEscapePattern."""
    for case in cases("cases-google-escape.jsonl"):
        assert google_pattern(case["pattern"].encode(), None) == case["escaped"].encode()
        (line,) = manners.lines(f"Allow: {case['pattern']}", dialect="google")
        assert line.pattern == case["escaped"], case["id"]


def test_agent_names_are_cut_as_google_does() -> None:
    """A User-agent line is ExtractUserAgent of its value; only an uncut name can be obeyed."""
    for case in cases("cases-google-agents.jsonl"):
        key = google_token_key(case["agent"])
        assert key == case["extracted"].lower(), case["id"]
        valid = key != "" and key == case["agent"].lower()
        assert valid == case["google_valid"], case["id"]

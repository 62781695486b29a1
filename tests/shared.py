"""The cases of other projects' suites and the corpus of real files, where they are at hand.

They lie beside a checkout, not in it, and are never copied here. Where they are absent, the tests
that need them are skipped, and say so.
"""

import base64
import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
Case = dict[str, Any]

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the shared conformance cases are not beside this checkout"
)


def case_files() -> list[str]:
    """The names of all case files."""
    return sorted(path.name for path in (SHARED / "conformance").glob("cases-*.jsonl"))


@cache
def cases(name: str) -> list[Case]:
    """The cases of one file."""
    with (SHARED / "conformance" / name).open(encoding="ascii") as file:
        return [json.loads(line) for line in file]


@cache
def corpus() -> dict[str, bytes]:
    """Real robots.txt files by their id."""
    return {each["id"]: body(each) for each in _gzipped("robots-real.jsonl.gz")}


def corpus_verdicts() -> Iterator[Case]:
    """Google's verdicts on files of the corpus."""
    return _gzipped("verdicts-google.jsonl.gz")


def body(case: Case) -> bytes:
    """The robots.txt of a case."""
    if "robots_b64" in case:
        return base64.b64decode(case["robots_b64"])
    text: str = case.get("robots") or ""
    return text.encode("utf-8", "surrogatepass")


def agents(case: Case) -> str | list[str]:
    """The agent, or the agents, that a case asks for."""
    found: str | list[str] = case.get("agents") or case.get("agent") or "*"
    return found


def google_answer(case: Case) -> tuple[bool, int]:
    """Google's verdict and line; in the file of Google's own suite the suite's verdict is its."""
    allowed: bool = case["google_allowed"] if "google_allowed" in case else case["allowed"]
    line: int = case["google_line"]
    return allowed, line


def _gzipped(name: str) -> Iterator[Case]:
    with gzip.open(SHARED / "corpus" / name, "rt", encoding="ascii") as file:
        yield from map(json.loads, file)

"""Decisions for a purpose: from the sources on record they come out the same, for every case."""

import json
from typing import Any

import pytest

from manners.client.page import Hop, LazyVerdict, Page
from manners.client.purposes import PurposeGate
from manners.robots.policy import parse
from manners.robots.verdict import Reason, Verdict
from manners.signals import decision as deciding
from manners.signals.claims import PURPOSES
from manners.signals.material import Material, moment, pairs
from manners.signals.merge import answers
from manners.signals.sources import MAX_SOURCES
from manners.signals.tokens import POLICY_TOKENS
from tests.shared import Case, needs_shared
from tests.signals.test_cases import cases


def material(case: Case) -> Material:
    """What a case knows of a page."""
    licences = case.get("rsl_xml") or {}
    if isinstance(licences, str):
        licences = {"https://example.com/license.xml": licences}
    robots = case.get("robots_txt")
    return Material(
        url=case["url"],
        agent=case["agent"],
        robots_txt=None if robots is None else parse(robots),
        headers=pairs([(name, value) for name, value in case.get("headers", ())]),
        html=case.get("html"),
        tdmrep=case.get("tdmrep"),
        licences=licences,
        trust_txt=case.get("trust_txt"),
        ai_txt=case.get("ai_txt"),
        media=case.get("media"),
        now=moment(case.get("now")),
        policy_tokens=POLICY_TOKENS,
    )


def recorded(decision: deciding.UsageDecision) -> Any:
    """A decision as it comes out of a store."""
    return json.loads(json.dumps(decision.recorded))


@needs_shared
@pytest.mark.parametrize("case", sorted(cases()))
def test_a_case_is_decided_again_from_its_record(case: str) -> None:
    """With all claims, from the sources that the record has."""
    row = cases()[case]
    given = material(row)
    decision = deciding.by_page(given, row["purpose"], "deny")
    assert decision.answer == row["expected"], row["reason"]
    assert {name: usage.answer for name, usage in decision.usages.items()} == {
        name: usage.answer for name, usage in answers(given).items()
    }
    robots = given.robots_txt if given.robots_txt is not None else None
    again = deciding.of_record(recorded(decision), given.url, given.agent, robots)  # type: ignore[arg-type]
    assert recorded(again) == recorded(decision)
    assert (again.text, again.line, again.allowed) == (
        *(decision.text, decision.line, decision.allowed),
    )


@needs_shared
@pytest.mark.parametrize("case", sorted(cases()))
def test_no_signal_is_overlooked(case: str) -> None:
    """What is seen at once to say nothing says nothing: no claim stands in a header or element."""
    row = cases()[case]
    given = material(row)
    body = (row.get("html") or "").encode()
    headers: dict[str, str] = {"content-type": "text/html"}
    for name, value in row.get("headers", ()):
        known = headers.get(name.lower())
        headers[name.lower()] = value if known is None else f"{known}, {value}"
    hop = Hop(*(row["url"], True, LazyVerdict(None, row["url"], row["agent"])), 200)
    page = Page(row["url"], (hop,), headers, body)
    if PurposeGate("ai-train", "allow").says_nothing(page, given):
        claims = [claim for usage in answers(given).values() for claim in usage.claims]
        assert {claim.source for claim in claims} <= {"robots.txt", "file", "licence"}
        assert not any(
            claim.source == "licence" and "robots" not in claim.where for claim in claims
        )


SILENT = [
    (b"<p>Hello</p>", True),
    (b"<meta name=robots content=noai>", False),
    (b"<META NAME=ROBOTS CONTENT=NOAI>", False),
    (b"<meta name='&#114;obots' content=noai>", False),
    (b"<meta name=mybot content=noai>", False),
    (b"<meta name=tdm-reservation content=1>", False),
    (b"<script type=application/rsl+xml></script>", False),
    ("<meta name=robots content=noai>".encode("utf-16"), False),
]


@pytest.mark.parametrize(("body", "expected"), SILENT)
def test_a_page_without_a_word_of_a_signal_is_silent(body: bytes, expected: bool) -> None:
    """However its letters are written."""
    hop = Hop("https://example.com/", True, Verdict(True, Reason.NO_GROUP), 200)
    page = Page("https://example.com/", (hop,), {"content-type": "text/html"}, body)
    given = Material(url="https://example.com/", agent="MyBot", html=body, licences={})
    assert PurposeGate("ai-train", "allow").says_nothing(page, given) is expected


def test_sources_that_are_too_large_are_not_recorded() -> None:
    """The decision is the same, and cannot be made again."""
    many = tuple(("X-Robots-Tag", f"noai, {'x' * 1_000}") for _ in range(MAX_SOURCES // 1_000 + 1))
    given = Material(url="https://example.com/", headers=many, licences={})
    decision = deciding.by_page(given, "ai-train", "allow")
    assert (decision.allowed, decision.sources) == (False, {"tooLarge": True})
    with pytest.raises(ValueError, match="too large to be recorded"):
        deciding.of_record(decision.recorded, given.url, "*", None)


def test_a_record_is_short_however_much_a_page_says() -> None:
    elements = "".join(
        f"<meta name=content-signal content='ai-train=no, x{number}={'y' * 900}'>"
        for number in range(60)
    )
    given = Material(url="https://example.com/", html=elements, licences={})
    decision = deciding.by_page(given, "ai-train", "allow")
    assert len(json.dumps(decision.recorded)) < 2 * MAX_SOURCES + 100_000
    assert len(decision.recorded["claims"]) <= deciding.MAX_CLAIMS


def test_bytes_that_are_not_text_are_decided_again() -> None:
    """Files in base64, surrogates as they can be written."""
    given = Material(
        url="https://example.com/",
        headers=(("X-Robots-Tag", "noai, \udcff\x00"),),
        html=b"<meta name=robots content='noindex, \xff'>",
        tdmrep=b'[{"location": "/\xff", "tdm-reservation": 1}]',
        trust_txt=b"\xff\xfed\x00",
        licences={},
    )
    decision = deciding.by_page(given, "ai-train", "allow")
    again = deciding.of_record(recorded(decision), given.url, "*", None)
    assert recorded(again) == recorded(decision)
    assert decision.usages["search"].answer == "no"
    assert set(decision.recorded["answers"]) <= set(PURPOSES)

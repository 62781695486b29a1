"""A record: what it says about every decision, in which words, whatever a site has written."""

import hashlib
import json
from dataclasses import replace
from itertools import repeat
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manners import Reason
from manners.cache.site import ParsedEntry, Site
from manners.evidence import record as records
from manners.evidence.chain import canonical
from manners.evidence.record import TYPES, Clerk, Draft, Record, engine, stamp, without_query
from manners.exclusions import Exclusions, Overrides
from manners.net.messages import Response, Unreachable
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability, Outcome
from manners.robots import dialects
from manners.robots.groups import Rule
from manners.robots.policy import parse
from manners.robots.verdict import Verdict
from tests.cache.steps import DAY, DOWN, FILE, GONE, HOUR, START, TIMEOUT, Step
from tests.evidence.drafts import (
    AGENT,
    NOW,
    ROBOTS,
    RULES,
    clerk,
    draft,
    drafts,
    file,
    record,
    site,
)
from tests.sizes import examples

CONTENT = {"allowed", "matchedRule", "crawlDelay", "timestamp"}
METADATA = {
    *("url", "allowed", "matchedRule", "crawlDelay"),  # seed 002
    *("reason", "line", "agent", "dialect", "profile", "engine", "confidence"),  # semantics D
    *("outcome", "snapshot", "group"),
}
HOST = "https://example.com"


def content(made: Draft) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made.content)
    return found


def metadata(made: Draft) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made.metadata)
    return found


def is_canonical(made: Draft) -> bool:
    return all(canonical(json.loads(text)) == text for text in (made.content, made.metadata))


# What seed 002 shows.


def test_seed_002_evidence_content() -> None:
    """The example of the document, field by field."""
    rules = b"User-agent: *\nCrawl-delay: 2\nAllow: /public\n"
    made = draft("/public", 1_704_067_200.0, rules=rules, dialect="audit", profile="open")
    assert made.type == "robots_allowed"
    assert content(made) == {
        "allowed": True,
        "matchedRule": "Allow: /public",
        "crawlDelay": 2,
        "timestamp": "2024-01-01T00:00:00.000Z",
    }


def test_seed_002_evidence_metadata() -> None:
    """The metadata begin as the document has them."""
    rules = b"User-agent: *\nCrawl-delay: 2\nAllow: /p\n"
    made = metadata(draft("/page", rules=rules))
    assert {name: made[name] for name in ("url", "allowed", "matchedRule", "crawlDelay")} == {
        "url": "https://example.com/page",
        "allowed": True,
        "matchedRule": "Allow: /p",
        "crawlDelay": 2,
    }


# What semantics D adds.


def test_a_record_says_what_it_rests_on() -> None:
    """Reason, line, agent, dialect, profile, engine, confidence, outcome and snapshot."""
    made = draft("/private/x")
    assert made.type == "blocked_by_robots"
    assert set(content(made)) == CONTENT
    assert set(metadata(made)) == METADATA
    assert metadata(made) == {
        "url": HOST + "/private/x",
        "allowed": False,
        "matchedRule": "Disallow: /private",
        "crawlDelay": 2,
        "reason": "rule-matched",
        "line": 3,
        "agent": "MyBot",
        "group": "*",
        "dialect": "rfc9309",
        "profile": "rfc9309",
        "engine": engine(),
        "confidence": "high",
        "snapshot": hashlib.sha256(RULES).hexdigest(),
        "outcome": {
            "availability": "available",
            "note": "200",
            "status": 200,
            "url": ROBOTS,
            "at": "2027-01-15T08:00:00.000Z",
            "age": 60,
            "charset": "utf-8",
            "complete": True,
            "copy": False,
            "unreachable": "disallow",
        },
    }
    assert made.snapshot is not None
    assert made.snapshot == (hashlib.sha256(RULES).hexdigest(), RULES)
    assert (made.host, made.agent, made.at) == ("example.com", "MyBot", int(NOW * 1000))


def test_the_engine_is_named_with_its_version() -> None:
    """Whoever replays a record knows who decided."""
    from importlib.metadata import version

    assert engine() == f"manners {version('manners')}"


@pytest.mark.parametrize(
    ("path", "kind", "allowed", "matched", "reason", "line"),
    [
        ("/", "robots_allowed", True, None, "no-rule-matched", 0),
        ("/private", "blocked_by_robots", False, "Disallow: /private", "rule-matched", 3),
        ("/private/open", "robots_allowed", True, "Allow: /private/open", "rule-matched", 4),
        ("/robots.txt", "robots_allowed", True, None, "robots-txt-itself", 0),
    ],
)
def test_the_deciding_rule_is_named(  # noqa: PLR0917 (a row of the table)
    path: str, kind: str, allowed: bool, matched: str | None, reason: str, line: int
) -> None:
    """Or null, where no rule decided."""
    made = draft(path)
    said = metadata(made)
    assert made.type == kind
    for part in (content(made), said):
        assert (part["allowed"], part["matchedRule"]) == (allowed, matched)
    assert (said["reason"], said["line"]) == (reason, line)
    assert is_canonical(made)


@pytest.mark.parametrize(
    ("line", "delay"),
    [
        (b"", None),
        (b"Crawl-delay: 0.5\n", 0.5),
        (b"Crawl-delay: 10\n", 10),
        (b"Crawl-delay: x\n", None),
    ],
)
def test_the_delay_is_in_seconds(line: bytes, delay: float | None) -> None:
    """As the site asks for it; null where it does not."""
    made = draft("/", rules=b"User-agent: *\n" + line + b"Disallow: /a\n")
    assert content(made)["crawlDelay"] == metadata(made)["crawlDelay"] == delay
    assert is_canonical(made)


@given(st.integers(0, 4_102_444_800_000))
def test_a_time_has_milliseconds_and_a_z(at: int) -> None:
    """Up to the year 2100, exactly as JavaScript writes it; the column says the same time."""
    from datetime import UTC, datetime, timedelta

    expected = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at)
    written = f"{expected:%Y-%m-%dT%H:%M:%S}.{at % 1000:03}Z"
    assert stamp(at) == written


@given(st.lists(st.floats(0, 4e9), min_size=1, max_size=5))
def test_times_do_not_get_mixed_up(times: list[float]) -> None:
    """A clerk remembers the second, not the millisecond."""
    known, writer = site(), clerk()
    for now in times:
        made = writer.draft(HOST + "/", known.check(HOST + "/", AGENT), known, now)
        assert content(made)["timestamp"] == stamp(made.at)
        assert made.at == int(now * 1000)


# Standings of a site.

OUTAGE: list[Step] = [(0.0, FILE), (DAY, TIMEOUT)]
STANDINGS: list[tuple[str, list[Step], float, bool, str, str, bool, str]] = [
    # profile, what happened, when; allowed, reason, confidence, snapshot, availability
    ("rfc9309", [(0, FILE)], 0, False, "rule-matched", "high", True, "available"),
    ("rfc9309", [(0, GONE)], 0, True, "unavailable", "high", False, "unavailable"),
    ("rfc9309", [(0, TIMEOUT)], 0, False, "unreachable", "high", False, "unreachable"),
    ("rfc9309", OUTAGE, DAY, False, "stale-copy", "high", True, "unreachable"),
    ("rfc9309", OUTAGE, 31 * DAY, False, "unreachable", "high", False, "unreachable"),
    ("google", [(0, DOWN)], 0, False, "unreachable", "high", False, "unreachable"),
    ("google", OUTAGE, DAY, False, "unreachable", "high", False, "unreachable"),
    ("google", OUTAGE, DAY + 13 * HOUR, False, "stale-copy", "high", True, "unreachable"),
    ("open", [(0, TIMEOUT)], 0, True, "unreachable", "low", False, "unreachable"),
    ("open", OUTAGE, DAY, True, "unreachable", "low", False, "unreachable"),
    ("open", [(0, GONE)], 0, True, "unavailable", "high", False, "unavailable"),
    ("open", [(0, Response(200, body=b"x", complete=False))], 0, True, "too-large", "high", True,
     "available"),
    ("open", [(0, FILE)], 0, False, "rule-matched", "high", True, "available"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "steps", "at", "allowed", "reason", "confidence", "rests", "availability"),
    STANDINGS,
    ids=[f"{row[0]}: {row[4]}, {n}" for n, row in enumerate(STANDINGS)],
)
def test_every_standing_of_a_site_is_told(  # noqa: PLR0917 (a row of the table)
    profile: str,
    steps: list[Step],
    at: float,
    allowed: bool,
    reason: str,
    confidence: str,
    rests: bool,
    availability: str,
) -> None:
    """Also where no rule decides, or a copy does; a copy that does not decide is no ground."""
    known = site(*steps, at=at, profile=profile)
    made = draft("/a", START + at, site=known, profile=profile)
    said = metadata(made)
    assert made.type == ("robots_allowed" if allowed else "blocked_by_robots")
    assert (said["allowed"], said["reason"]) == (allowed, reason)
    assert said["confidence"] == confidence
    assert (said["snapshot"] is not None) is (made.snapshot is not None) is rests
    assert said["outcome"]["availability"] == availability
    assert said["outcome"]["copy"] is (reason == "stale-copy")
    assert said["outcome"]["complete"] is (reason != "too-large")
    assert said["outcome"]["unreachable"] == ("allow" if profile == "open" else "disallow")
    assert said["outcome"]["status"] == known.outcome.status
    assert said["profile"] == profile
    if made.snapshot is not None and known.entry is not None:
        assert made.snapshot.body == known.entry.body
    if reason not in {"rule-matched", "stale-copy"}:
        assert (said["matchedRule"], said["line"]) == (None, 0)
    assert is_canonical(made)


# The user's own settings.


def ruled(url: str, **others: Any) -> Draft:
    """What is written where no site was asked."""
    exclude, include = others.pop("exclude", ()), others.pop("include", ())
    verdict = Overrides(Exclusions(exclude, include), lambda _: False).check(url)
    assert verdict is not None
    return clerk(include=tuple(include), **others).draft(url, verdict, None, NOW)


def test_not_respected_is_told() -> None:
    """Nobody was asked: there is no outcome, and no file."""
    made = ruled(HOST + "/a")
    said = metadata(made)
    assert made.type == "robots_allowed"
    assert (said["reason"], said["allowed"], said["line"]) == ("not-respected", True, 0)
    assert (said["outcome"], said["snapshot"], made.snapshot) == (None, None, None)
    assert (said["matchedRule"], said["crawlDelay"]) == (None, None)
    assert set(said) == METADATA
    assert is_canonical(made)


@pytest.mark.parametrize("pattern", ["/admin", "*logout*", "re:[?&]token=", "/ü", '/"\\'])
def test_an_exclusion_is_told(pattern: str) -> None:
    """By which pattern it was."""
    made = ruled(HOST + "/admin/logout?token=1", exclude=["/x", pattern, "/admin"])
    said = metadata(made)
    assert made.type == "blocked_by_exclusion"
    assert (said["reason"], said["allowed"]) == ("excluded", False)
    matched = pattern if pattern in {"/admin", "*logout*", "re:[?&]token="} else "/admin"
    assert said["exclusion"] == {"exclude": matched}
    assert said["matchedRule"] == content(made)["matchedRule"] == f"exclude: {matched}"
    assert (said["outcome"], said["snapshot"]) == (None, None)
    assert is_canonical(made)


def test_what_is_not_included_is_told() -> None:
    """With all that would have been."""
    made = ruled(HOST + "/a", include=["/b", "re:c$"])
    assert made.type == "blocked_by_exclusion"
    assert metadata(made)["exclusion"] == {"include": ["/b", "re:c$"]}
    assert metadata(made)["matchedRule"] == "include: no pattern matches"
    assert is_canonical(made)


def test_there_are_five_types() -> None:
    """The two of seed 002, exclusions, and two for a purpose."""
    assert (
        *("robots_allowed", "blocked_by_robots", "blocked_by_exclusion"),
        *("usage_allowed", "blocked_by_usage"),
    ) == TYPES


# Queries.


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (HOST + "/a?token=1", HOST + "/a?…"),
        (HOST + "/a?", HOST + "/a?…"),
        (HOST + "/a?b?c", HOST + "/a?…"),
        (HOST + "/a", HOST + "/a"),
        (HOST + "/", HOST + "/"),
    ],
)
def test_queries_are_left_out_where_that_is_wanted(url: str, shown: str) -> None:
    """And the record says so; without a query, nothing is different."""
    made = draft(url=url, redact_query=True)
    assert metadata(made)["url"] == shown == without_query(url)
    assert metadata(made).get("redacted") is (True if "?" in url else None)
    assert "token" not in made.content + made.metadata
    assert made.host == "example.com"
    assert is_canonical(made)
    assert metadata(draft(url=url))["url"] == url
    assert "redacted" not in metadata(draft(url=url))


def test_a_redacted_record_and_another_do_not_get_mixed_up() -> None:
    """One clerk, one site, one rule: with a query and without."""
    writer, known = clerk(redact_query=True), site()
    urls = [HOST + "/a?x", HOST + "/a", HOST + "/a?y", HOST + "/a"]
    made = [writer.draft(url, known.check(url, AGENT), known, NOW) for url in urls]
    assert [metadata(each).get("redacted") for each in made] == [True, None, True, None]


# Hostile content.

HOSTILE = [
    b"\0", b"\xff\xfe\x00", b"\x1b[2J", b"\xed\xa0\x80", "\u2028\u202e".encode(), b'"\\\b\f',
    b"</script>", "😀".encode(), b"\xf0\x9f\x98", b"%00%ff", b"\x7f\x80",
]  # fmt: skip


@pytest.mark.parametrize("bad", HOSTILE, ids=repr)
@pytest.mark.parametrize("dialect", dialects.names())
def test_hostile_rules_are_written_in_utf8(dialect: str, bad: bytes) -> None:
    """Whatever a file says becomes JSON that can be read, in every dialect."""
    rules = b"User-agent: MyBot" + bad + b"\nUser-agent: *\nDisallow: /" + bad + b"\nDisallow: /x\n"
    known = site((0, file(rules, "")), dialect=dialect)
    for path in ("/", "/x", "/%00", "/%FF", "/" + bad.decode("latin-1")):
        made = draft(path, site=known, dialect=dialect)
        assert is_canonical(made)
        assert (made.content + made.metadata).encode().isascii() in {True, False}
        assert made.snapshot is not None
        assert made.snapshot.body == rules


@settings(max_examples=examples(300))
@given(
    st.text(st.characters(), max_size=8),
    st.text(st.characters(categories=["Cs", "Cc", "Lo"]), max_size=8),
    st.text(st.characters(), max_size=8),
    st.binary(max_size=8),
    st.booleans(),
)
def test_no_text_breaks_a_record(
    pattern: str, agent: str, note: str, body: bytes, is_known: bool
) -> None:
    """Lone surrogates, controls and NULs, in every place that somebody else writes in."""
    outcome = Outcome(Availability.AVAILABLE, note, url=ROBOTS + note, charset=note)
    known = Site(parse(body), outcome) if is_known else None
    rule = Rule(False, pattern, 1, pattern)
    url = HOST + "/" + agent
    for reason in (Reason.RULE_MATCHED, Reason.EXCLUDED):
        verdict = Verdict(False, reason, rule, agent=pattern)
        made = clerk(agent).draft(url, verdict, known, NOW)
        assert is_canonical(made)
        (made.content + made.metadata + made.host + made.agent).encode()
        assert "\0" not in made.content + made.metadata + made.agent


def test_a_huge_pattern_is_written_whole() -> None:
    """As long as a line may be."""
    rules = b"User-agent: *\nDisallow: /" + b"a" * 16_000 + b"\n"
    made = draft("/" + "a" * 20_000, rules=rules)
    assert made.type == "blocked_by_robots"
    assert len(metadata(made)["matchedRule"]) == len("Disallow: /") + 16_000
    assert is_canonical(made)


# One clerk for many.

BODIES = [
    b"",
    RULES,
    b"User-agent: *\nDisallow: /private\n",
    b"User-agent: *\nAllow: /private\n",
    b"User-agent: MyBot\nDisallow: /\n",
    b"User-agent: *\nCrawl-delay: 5\nDisallow: /\xe9\n",
]
PATHS = ["/", "/private", "/private/open", "/é", "/%C3%A9", "/robots.txt", "/?q"]
SITES = st.tuples(
    st.sampled_from(["https://a.example", "http://a.example", "https://b.example"]),
    st.sampled_from(BODIES),
    st.sampled_from(["", "utf-8", "iso-8859-1", "utf-16"]),
    st.sampled_from(["file", "gone", "timeout", "stale"]),
    st.sampled_from([0.0, 0.5, 3600.0]),
)


def known_site(host: str, body: bytes, charset: str, reply: str, at: float) -> Site:
    """A site as it is known at some host."""
    steps: dict[str, list[Step]] = {
        "file": [(0, file(body, charset))],
        "gone": [(0, GONE)],
        "timeout": [(0, Unreachable("timeout"))],
        "stale": [(0, file(body, charset)), (0.0, Unreachable("timeout"))],
    }
    found = site(*steps[reply], at=at)
    return replace(found, outcome=found.outcome.but(url=host + "/robots.txt"))


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(SITES, min_size=1, max_size=4),
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from(PATHS),
            st.sampled_from(["robots", "excluded", "not respected", "not included"]),
            st.sampled_from([NOW, NOW + 0.9, NOW + 1]),
        ),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
)
def test_a_clerk_for_many_writes_what_a_clerk_for_each_writes(
    about: list[Any], asked: list[tuple[int, str, str, float]], redact_query: bool
) -> None:
    """What is remembered of one site, rule or charset is never said about another."""
    others: dict[str, Any] = {"redact_query": redact_query, "include": ("/in",)}
    writer, sites = clerk(**others), [known_site(*each) for each in about]
    for number, path, how, now in asked:
        known: Site | None = sites[number % len(sites)]
        assert known is not None
        url = known.outcome.url.removesuffix("/robots.txt") + path
        verdict = known.check(url, AGENT)
        if how != "robots":
            exclude = ["/"] if how == "excluded" else []
            include = ["/in"] if how == "not included" else []
            ruling = Overrides(Exclusions(exclude, include), lambda _: False).check(url)
            assert ruling is not None
            verdict, known = ruling, None
        made = clerk(**others).draft(url, verdict, known, now)
        assert writer.draft(url, verdict, known, now) == made
        # The client says what decided, and writes the verdict out only where it has to be.
        policy = known.robots.policy(AGENT) if known is not None else None
        assert writer.draft(url, repeat(verdict).__next__, known, now, policy) == made


def test_a_clerk_forgets_what_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many sites, and many rules of one: what is written stays the same."""
    monkeypatch.setattr(records, "_MAX_SITES", 3)
    monkeypatch.setattr(records, "_MAX_PREFIXES", 2)
    writer = clerk()
    rules = b"User-agent: *\n" + b"".join(b"Disallow: /%d/\n" % n for n in range(6))
    for turn in range(3):
        for number in range(6):
            known = known_site(f"https://{number}.example", rules, "", "file", float(turn))
            for each in range(6):
                url = f"https://{number}.example/{each}/"
                verdict = known.check(url, AGENT)
                assert writer.draft(url, verdict, known, NOW) == clerk().draft(
                    url, verdict, known, NOW
                )
    assert len(writer._known) == 3
    assert all(len(grounds.prefixes) <= 2 for grounds in writer._known.values())


def test_a_file_is_hashed_once() -> None:
    """Its age changes every second, and the file does not."""
    writer, first = clerk(), site((0.0, file(RULES)))
    assert first.entry is not None
    held = ParsedEntry(first.entry, dialects.get("rfc9309"), profiles.get("rfc9309"))
    made = []
    for at in range(3):
        known = held.at(START + at * 10)
        made.append(writer.draft(HOST + "/", known.check(HOST + "/", AGENT), known, START + at))
    assert made[0].snapshot is made[1].snapshot is made[2].snapshot
    assert [metadata(each)["outcome"]["age"] for each in made] == [0, 10, 20]


# Records as values.


def test_a_record_comes_back_from_its_values() -> None:
    """Written as JSON and read again, it is the same, and so is its link."""
    for number, each in enumerate(drafts(6), 1):
        made = record(each, number)
        assert Record.from_dict(json.loads(json.dumps(made.to_dict()))) == made
        assert made.link.content == each.content
        assert made.link.metadata == each.metadata
        assert str(made).startswith(
            f"{number} {'allowed' if made.content['allowed'] else 'blocked'}"
        )
        assert made.url == made.metadata["url"]


GOOD: dict[str, Any] = record(draft()).to_dict()


@pytest.mark.parametrize(
    "values",
    [
        *({name: value for name, value in GOOD.items() if name != gone}
          for gone in ("id", "type", "content", "metadata", "hash")),
        *({**GOOD, name: bad} for name in GOOD for bad in (None, 1.5, True, ["x"])),
        *({**GOOD, name: "x"} for name in ("id", "content", "metadata")),
        *({**GOOD, name: 1} for name in ("type", "content", "metadata", "hash", "previous")),
        {}, [], None, "x", 5,
    ],
)  # fmt: skip
def test_what_is_no_record_is_an_error(values: Any) -> None:
    """Missing fields, and fields of another type."""
    with pytest.raises(ValueError, match="not a record"):
        Record.from_dict(values)


@pytest.mark.parametrize(
    "text",
    ["", "x", "[]", "1", "null", "[" * 100_000, '"x"', "{", "1" * 5000, '{"a":NaN', "\udcff"],
)
def test_what_cannot_be_read_is_empty(text: str) -> None:
    """A stored text that somebody has broken does not break its reader."""
    assert records.parse(text, text) == ({}, {})


def test_a_clerk_needs_nothing_but_names() -> None:
    """It is quiet: the time, and all that is known, are given to it."""
    made = Clerk("x", profiles.get("open"), "scanner", "e 1")
    verdict = Verdict(True, Reason.NOT_RESPECTED)
    said = metadata(made.draft(HOST, verdict, None, 0.0))
    assert (said["agent"], said["dialect"], said["profile"]) == ("x", "scanner", "open")
    assert said["engine"] == "e 1"

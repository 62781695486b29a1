"""What a site's robots.txt means at one moment: a verdict for every standing, with its reason."""

import json

import pytest

from manners import Reason, Verdict
from manners.cache.site import ParsedEntry, Site
from manners.net.messages import Response, Unreachable
from manners.retrieval import profiles
from manners.retrieval.outcome import Outcome
from manners.robots import dialects
from tests.cache.steps import (
    BODY,
    DAY,
    DOWN,
    FILE,
    GONE,
    HOUR,
    MINUTE,
    SAME,
    START,
    TIMEOUT,
    Step,
    after,
)
from tests.retrieval.scripted import HOST, PROFILES, moved

CLOSED, OPEN, ITSELF = HOST + "/a", HOST + "/b", HOST + "/robots.txt"


def site(
    *steps: Step, at: float | None = None, profile: str = "rfc9309", dialect: str = "rfc9309"
) -> Site:
    """The site after these replies, at a time (that of the last reply)."""
    entry = after(*steps, profile=profile)
    held = ParsedEntry(entry, dialects.get(dialect), profiles.get(profile))
    return held.at(START + (steps[-1][0] if at is None else at))


def retrieval(verdict: Verdict) -> Outcome:
    assert isinstance(verdict.retrieval, Outcome)
    return verdict.retrieval


OUTAGE: list[Step] = [(0, FILE), (DAY, TIMEOUT)]
LATER = DAY + 13 * HOUR
LOOP: Step = (0, [moved("/robots.txt")])
LARGE: Step = (0, Response(200, {"etag": '"1"'}, BODY, complete=False))

STANDINGS: list[tuple[str, list[Step], float, str, bool, Reason, str]] = [
    # profile, what happened, when it is asked, page; allowed, reason, in words
    ("rfc9309", [(0, FILE)], 0, CLOSED, False, Reason.RULE_MATCHED,
     "disallowed: rule-matched, line 2: /a"),
    ("rfc9309", [(0, FILE)], 0, OPEN, True, Reason.NO_RULE_MATCHED, "allowed: no-rule-matched"),
    ("rfc9309", [(0, FILE)], 0, ITSELF, True, Reason.ROBOTS_TXT_ITSELF,
     "allowed: robots-txt-itself"),
    ("rfc9309", [(0, Response(200))], 0, CLOSED, True, Reason.NO_GROUP, "allowed: no-group"),
    ("rfc9309", [(0, FILE), (DAY, SAME)], DAY, CLOSED, False, Reason.RULE_MATCHED,
     "disallowed: rule-matched, line 2: /a"),
    ("rfc9309", [(0, GONE)], 0, CLOSED, True, Reason.UNAVAILABLE, "allowed: unavailable (404)"),
    ("rfc9309", [LOOP], 0, CLOSED, True, Reason.UNAVAILABLE,
     "allowed: unavailable (redirect loop)"),
    ("rfc9309", [(0, TIMEOUT)], 0, CLOSED, False, Reason.UNREACHABLE,
     "disallowed: unreachable (timeout)"),
    ("rfc9309", [(0, DOWN)], 0, OPEN, False, Reason.UNREACHABLE, "disallowed: unreachable (503)"),
    ("rfc9309", [(0, TIMEOUT)], 0, ITSELF, True, Reason.ROBOTS_TXT_ITSELF,
     "allowed: robots-txt-itself; unreachable (timeout)"),
    ("rfc9309", [(0, Unreachable("refused address"))], 0, OPEN, False, Reason.UNREACHABLE,
     "disallowed: unreachable (refused address)"),
    ("rfc9309", OUTAGE, DAY + 3 * HOUR, CLOSED, False, Reason.STALE_COPY,
     "disallowed: stale-copy, line 2: /a; unreachable (timeout); used a copy from 1 d 3 h ago"),
    ("rfc9309", OUTAGE, DAY, OPEN, True, Reason.STALE_COPY,
     "allowed: stale-copy; unreachable (timeout); used a copy from 1 d ago"),
    ("rfc9309", OUTAGE, 30 * DAY + 1, OPEN, False, Reason.UNREACHABLE,
     "disallowed: unreachable (timeout)"),
    ("rfc9309", [(0, FILE), (DAY, GONE)], DAY, CLOSED, True, Reason.UNAVAILABLE,
     "allowed: unavailable (404)"),
    ("rfc9309", [(0, FILE), (DAY, GONE), (2 * DAY, DOWN)], 2 * DAY, OPEN, False,
     Reason.UNREACHABLE, "disallowed: unreachable (503)"),
    ("google", OUTAGE, DAY, OPEN, False, Reason.UNREACHABLE, "disallowed: unreachable (timeout)"),
    ("google", OUTAGE, LATER, OPEN, True, Reason.STALE_COPY,
     "allowed: stale-copy; unreachable (timeout); used a copy from 1 d 13 h ago"),
    ("google", OUTAGE, LATER, CLOSED, False, Reason.STALE_COPY,
     "disallowed: stale-copy, line 2: /a; unreachable (timeout); used a copy from 1 d 13 h ago"),
    ("google", OUTAGE, 31 * DAY, OPEN, False, Reason.UNREACHABLE,
     "disallowed: unreachable (timeout)"),
    ("open", OUTAGE, DAY, CLOSED, True, Reason.UNREACHABLE, "allowed: unreachable (timeout)"),
    ("open", OUTAGE, 31 * DAY, CLOSED, True, Reason.UNREACHABLE, "allowed: unreachable (timeout)"),
    ("open", [(0, DOWN)], 0, CLOSED, True, Reason.UNREACHABLE, "allowed: unreachable (503)"),
    ("open", [(0, Response(429))], 0, CLOSED, True, Reason.UNREACHABLE,
     "allowed: unreachable (429)"),
    ("open", [(0, [moved("https://other.example/")])], 0, CLOSED, True, Reason.UNAVAILABLE,
     "allowed: unavailable (redirect to another host)"),
    ("open", [(0, FILE)], 0, CLOSED, False, Reason.RULE_MATCHED,
     "disallowed: rule-matched, line 2: /a"),
    ("open", [LARGE], 0, CLOSED, True, Reason.TOO_LARGE, "allowed: too-large"),
    ("open", [LARGE], 0, ITSELF, True, Reason.ROBOTS_TXT_ITSELF, "allowed: robots-txt-itself"),
    ("open", [LARGE, (30 * MINUTE, SAME)], 30 * MINUTE, CLOSED, True, Reason.UNREACHABLE,
     "allowed: unreachable (304)"),
    ("rfc9309", [LARGE], 0, CLOSED, False, Reason.RULE_MATCHED,
     "disallowed: rule-matched, line 2: /a"),
    ("google", [LARGE], 0, CLOSED, False, Reason.RULE_MATCHED,
     "disallowed: rule-matched, line 2: /a"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "steps", "at", "url", "allowed", "reason", "said"),
    STANDINGS,
    ids=[f"{row[0]}: {row[6]}, {n}" for n, row in enumerate(STANDINGS)],
)
def test_every_standing_has_its_verdict(  # noqa: PLR0917 (a row of the table)
    profile: str,
    steps: list[Step],
    at: float,
    url: str,
    allowed: bool,
    reason: Reason,
    said: str,
) -> None:
    """Allowed or not, why, in words, and with the story of the retrieval."""
    found = site(*steps, at=at, profile=profile)
    verdict = found.check(url, "MyBot")
    assert (verdict.allowed, verdict.reason, str(verdict)) == (allowed, reason, said)
    assert found.allowed(url, "MyBot") is allowed
    assert bool(verdict) is allowed
    assert verdict.url == url
    told = retrieval(verdict)
    assert told.profile == profile
    assert told.copy is (reason is Reason.STALE_COPY)
    low = profile == "open" and told.availability == "unreachable"
    assert told.confidence == ("low" if low else "high")
    written = json.loads(json.dumps(verdict.to_dict()))
    assert written["reason"] == reason.value
    assert Outcome.from_dict(written["retrieval"]) == told


@pytest.mark.parametrize("profile", PROFILES)
def test_a_verdict_without_rules_names_none(profile: str) -> None:
    """Where the file does not decide, there is no rule, no line and no group."""
    for steps in ([(0, GONE)], [(0, TIMEOUT)]):
        verdict = site(*steps, profile=profile).check(CLOSED, "MyBot")
        assert (verdict.rule, verdict.line, verdict.agent) == (None, 0, "")


@pytest.mark.parametrize(
    ("steps", "at", "age"),
    [
        ([(0, FILE)], 0, 0),
        ([(0, FILE)], 3 * HOUR, 3 * HOUR),
        ([(0, FILE), (DAY, SAME)], DAY + 60, 60),
        ([(0, FILE), (DAY, DOWN)], DAY + 60, DAY + 60),
        ([(0, FILE), (DAY, GONE)], DAY + 60, 60),
        ([(100, FILE)], 0, 0),
    ],
)
def test_the_age_is_counted_from_the_last_answer(steps: list[Step], at: float, age: float) -> None:
    """An outcome in a verdict says how long ago the site said so, and never a negative time."""
    assert site(*steps, at=at).outcome.age == age


def test_a_sites_standing_changes_by_itself() -> None:
    """One entry, asked at several times: Google's closing, its copy, its end."""
    entry = after(*OUTAGE, profile="google")
    held = ParsedEntry(entry, dialects.get("rfc9309"), profiles.get("google"))
    times = [DAY, DAY + 11 * HOUR, DAY + 13 * HOUR, 29 * DAY, 31 * DAY]
    reasons = [str(held.at(START + at).check(OPEN, "MyBot").reason) for at in times]
    assert reasons == ["unreachable", "unreachable", "stale-copy", "stale-copy", "unreachable"]


# Dialects.


def test_the_google_dialect_is_given_the_product_token() -> None:
    """A User-Agent header is cut to its token where the dialect compares names as they are."""
    body = b"User-agent: MyBot\nDisallow: /a\n\nUser-agent: *\nDisallow:\n"
    found = site((0, Response(200, body=body)), dialect="google")
    for agent in ("MyBot", "MyBot/1.0 (+https://example.com/bot)", ["Other", "MyBot/2"]):
        assert not found.allowed(CLOSED, agent)
        assert found.check(CLOSED, agent).line == 2
        assert found.check(CLOSED, agent).agent == "MyBot"
    assert found.allowed(CLOSED, "OtherBot/1.0")


def test_the_google_dialect_knows_no_robots_txt_itself() -> None:
    """Where the dialect does not set /robots.txt apart, an unreachable site closes it too."""
    assert not site((0, TIMEOUT), dialect="google").allowed(ITSELF, "MyBot")


def test_absolute_rules_are_resolved_against_the_site() -> None:
    """A parsed file knows where it came from."""
    body = b"User-agent: *\nDisallow: https://example.com/a\nDisallow: https://other.example/b\n"
    found = site((0, Response(200, body=body)), dialect="robotrules")
    assert not found.allowed(CLOSED, "MyBot")
    assert found.allowed(OPEN, "MyBot")


# Charset, size.


def test_a_file_is_read_in_its_charset() -> None:
    """The charset of the reply is that of the file, also while a copy stands in."""
    latin = Response(
        200,
        {"content-type": "text/plain; charset=ISO-8859-1", "etag": '"1"'},
        "User-agent: *\nDisallow: /é\n".encode("latin-1"),
    )
    for steps in ([(0, latin)], [(0, latin), (DAY, SAME)], [(0, latin), (DAY, DOWN)]):
        found = site(*steps)
        assert not found.allowed(HOST + "/%C3%A9", "MyBot")
        assert found.allowed(HOST + "/%E9", "MyBot")


def large(length: int, rule_at: int) -> bytes:
    """A file of so many bytes, with a rule that ends at one of them."""
    start, rule = b"User-agent: *\n", b"Disallow: /a\n"
    filler = b"#" * (rule_at - len(start) - len(rule) - 1) + b"\n"
    body = start + filler + rule
    assert len(body) == rule_at
    return body + b"#" * (length - len(body))


@pytest.mark.parametrize("dialect", ["rfc9309", "google", "scanner"])
@pytest.mark.parametrize(
    ("profile", "limit"), [("rfc9309", 512_000), ("google", 512_000), ("open", 524_288)]
)
def test_a_file_counts_up_to_the_limit(profile: str, limit: int, dialect: str) -> None:
    """What ends at the limit counts, whoever reads the file."""
    found = site(
        (0, Response(200, body=large(limit, limit))), profile=profile, dialect=dialect
    ).check(CLOSED, "MyBot")
    assert not found.allowed
    assert not found.truncated


@pytest.mark.parametrize("charset", ["utf-8", "iso-8859-1"])
@pytest.mark.parametrize("dialect", ["rfc9309", "google", "scanner"])
def test_a_file_counts_no_further_than_the_limit(dialect: str, charset: str) -> None:
    """What begins after the limit does not count, and the verdict says that there was more."""
    header = {"content-type": f"text/plain; charset={charset}"}
    verdict = site((0, Response(200, header, large(600_000, 550_000))), dialect=dialect).check(
        CLOSED, "MyBot"
    )
    assert verdict.allowed
    assert verdict.truncated


@pytest.mark.parametrize("profile", ["rfc9309", "google"])
def test_what_was_not_read_is_known_to_be_missing(profile: str) -> None:
    """A body that was cut on its way makes every verdict say so."""
    verdict = site(LARGE, profile=profile).check(OPEN, "MyBot")
    assert verdict.truncated
    assert verdict.to_dict()["truncated"] is True


def test_too_large_is_forgotten_with_the_file() -> None:
    """A smaller file counts again in profile open."""
    assert not site(LARGE, (30 * MINUTE, FILE), profile="open").allowed(CLOSED, "MyBot")


def test_html_decides_as_the_file_it_is() -> None:
    """An HTML page has no rules, and the outcome says what it looks like."""
    verdict = site((0, Response(200, body=b"<html>Disallow: /</html>"))).check(CLOSED, "MyBot")
    assert verdict.allowed
    assert verdict.reason is Reason.NO_GROUP
    assert retrieval(verdict).note == "200, looks like HTML"


def test_credentials_of_a_page_are_not_in_its_verdict() -> None:
    """A name and a password in the URL asked about are kept nowhere."""
    verdict = site((0, DOWN)).check("https://user:secret@example.com/a", "MyBot")
    assert "secret" not in json.dumps(verdict.to_dict()) + str(verdict)

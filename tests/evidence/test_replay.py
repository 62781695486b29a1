"""Replay: what was decided is decided again, and whatever was altered comes out otherwise."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manners.cache.site import ParsedEntry
from manners.evidence.record import Draft, Record, engine
from manners.evidence.replay import Difference, Replay
from manners.exclusions import Exclusions, Overrides
from manners.net.messages import Response
from manners.retrieval import profiles
from manners.robots import dialects
from tests.cache.steps import DAY, DOWN, GONE, SAME, START, TIMEOUT, Step, after
from tests.evidence.drafts import NOW, RULES, clerk, draft, file, record, site, snapshots
from tests.retrieval.scripted import PROFILES, moved
from tests.sizes import examples

HOST = "https://example.com"
AGENT = "MyBot/1.0 (+https://example.com/bot)"
BODY = b"""User-agent: mybot
Crawl-delay: 1.5
Disallow: /a
Allow: /a/b
Disallow: /*.pdf$
Disallow: /caf\xc3\xa9
Allow: /x/index.html

User-agent: MyBot/1.0
Disallow: /1.0

User-agent: *
Disallow: /
Allow: https://example.com/abs
"""
PATHS = ["/", "/a", "/a/b", "/a/b/c?d=e", "/doc.pdf", "/doc.pdf?x", "/caf%C3%A9", "/caf%e9", "/x/",
         "/1.0", "/abs", "/robots.txt", "//a", "/%61", "/a$", "/A"]  # fmt: skip
LATIN = file("User-agent: *\nDisallow: /é\n".encode("latin-1"), "iso-8859-1")
MANY = b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % n for n in range(1100))
LARGE = Response(200, body=BODY + b"#" * 600_000, complete=False)
CUT = b"User-agent: *\n" + b"#" * 511_980 + b"\nDisallow: /a\n"
MARKED = Response(200, {"etag": '"1"'}, BODY)

STORIES: dict[str, list[Step]] = {
    "a file": [(0, file(BODY))],
    "no file": [(0, GONE)],
    "an empty file": [(0, file(b""))],
    "HTML": [(0, file(b"<html>Disallow: /</html>"))],
    "another charset": [(0, LATIN)],
    "an unknown charset": [(0, file(BODY, "no-such-charset"))],
    "UTF-16": [(0, file(b"\xff\xfe" + BODY.decode().encode("utf-16-le"), ""))],
    "bytes": [(0, file(bytes(range(256)) + b"\nUser-agent: *\nDisallow: /\xff\n", ""))],
    "not modified": [(0, MARKED), (DAY, SAME)],
    "a timeout": [(0, TIMEOUT)],
    "503": [(0, DOWN)],
    "a stale copy": [(0, file(BODY)), (DAY, TIMEOUT)],
    "a copy in another charset": [(0, LATIN), (DAY, DOWN)],
    "gone, then down": [(0, file(BODY)), (DAY, GONE), (2 * DAY, DOWN)],
    "too large": [(0, LARGE)],
    "longer than is parsed": [(0, file(CUT))],
    "too many rules": [(0, file(MANY))],
    "a redirect": [(0, [moved("https://example.com/r"), file(BODY)])],
    "a loop": [(0, [moved("/robots.txt")])],
    "another host": [(0, [moved("https://other.example/"), file(BODY)])],
}
LATER = (0.0, 13 * 3600.0, 31 * DAY)


def decisions(dialect: str, profile: str, story: str, agent: str = AGENT) -> list[Draft]:
    """All that is decided about a site in the course of its story, written down."""
    steps = STORIES[story]
    if story == "another host" and profile == "open":
        steps = [(0, [moved("https://other.example/")])]
    entry = after(*steps, profile=profile)
    held = ParsedEntry(entry, dialects.get(dialect), profiles.get(profile))
    writer, made = clerk(agent, profile, dialect), []
    for later in LATER:
        now = START + steps[-1][0] + later
        known = held.at(now)
        for path in PATHS:
            url = HOST + path
            made.append(writer.draft(url, known.check(url, agent), known, now))
    return made


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("dialect", dialects.names())
def test_every_decision_comes_out_as_it_was(dialect: str, profile: str) -> None:
    """In every dialect and profile, whatever became of the retrieval, at any time."""
    reasons = set()
    for story in STORIES:
        made = decisions(dialect, profile, story)
        replay = Replay(snapshots(*made), engine())
        for number, each in enumerate(made, 1):
            again = record(each, number)
            reasons.add(again.metadata["reason"])
            assert replay.again(again) is None, (story, again)
    expected = {"rule-matched", "unavailable", "unreachable"}
    expected |= {"too-large"} if profile == "open" else {"stale-copy"}
    expected |= {"too-many-rules"} if dialect == "scanner" else set()
    assert expected <= reasons


@pytest.mark.parametrize(
    "agent", ["*", "", "MyBot", "a,b", "Mozilla/5.0 (compatible; MyBot/1.0)", "ü"]
)
def test_every_agent_is_asked_for_again(agent: str) -> None:
    """As it was given, by each dialect in its own way."""
    for dialect in dialects.names():
        made = decisions(dialect, "rfc9309", "a file", agent)
        replay = Replay(snapshots(*made), engine())
        assert [replay.again(record(each)) for each in made] == [None] * len(made)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(dialects.names()),
    st.binary(max_size=60),
    st.lists(
        st.text(st.characters(codec="ascii", exclude_characters="?#"), max_size=6), max_size=4
    ),
)
def test_any_file_and_any_path_come_out_as_they_were(
    dialect: str, body: bytes, paths: list[str]
) -> None:
    """What one made of it, the other makes of it."""
    known = site((0, file(b"User-agent: *\nDisallow: /" + body, "")), dialect=dialect)
    writer = clerk(dialect=dialect)
    for path in ["/", *paths]:
        url = HOST + "/" + path
        made = writer.draft(url, known.check(url, "MyBot"), known, NOW)
        assert Replay(snapshots(made), engine()).again(record(made)) is None


def test_a_profile_that_was_changed_is_replayed_as_it_was() -> None:
    """What a site means that cannot be reached is a setting: the record says which."""
    for setting, allowed in (("allow", True), ("disallow", False)):
        profile = profiles.get("rfc9309").but(unreachable=setting)
        held = ParsedEntry(after((0, TIMEOUT)), dialects.get("rfc9309"), profile)
        writer = clerk()
        writer.profile = profile
        verdict = held.at(START).check(HOST + "/a", "MyBot")
        made = writer.draft(HOST + "/a", verdict, held.at(START), START)
        assert record(made).metadata["allowed"] is allowed
        assert Replay(snapshots(made), engine()).again(record(made)) is None


# Alterations.


def altered(made: Draft, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Record:
    """The record with something else in it, as whoever writes a whole new chain can have it."""
    values = copy.deepcopy(record(made).to_dict())
    change(values["content"], values["metadata"])
    return Record.from_dict(values)


def both(name: str, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """Change what is said twice in both places."""

    def change(content: dict[str, Any], metadata: dict[str, Any]) -> None:
        content[name] = metadata[name] = value

    return change


def said(*path: str, value: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """Change something in the metadata."""

    def change(_: dict[str, Any], metadata: dict[str, Any]) -> None:
        for name in path[:-1]:
            metadata = metadata[name]
        metadata[path[-1]] = value

    return change


BLOCKED = draft("/private/x")
ALTERATIONS = {
    "the URL": said("url", value=HOST + "/public"),
    "the agent": said("agent", value="*"),
    "the reason": said("reason", value="no-group"),
    "the reason, which there is not": said("reason", value="because"),
    "the line": said("line", value=4),
    "the rule": both("matchedRule", "Disallow: /priv"),
    "the rule, in one place": said("matchedRule", value=None),
    "the delay": both("crawlDelay", 0),
    "the delay, in one place": said("crawlDelay", value=3),
    "the decision": both("allowed", True),
    "the decision, in one place": said("allowed", value=True),
    "the dialect": said("dialect", value="robotrules"),
    "the dialect, which there is not": said("dialect", value="nosuch"),
    "the profile": said("profile", value="nosuch"),
    "the availability": said("outcome", "availability", value="unavailable"),
    "the availability, and so the copy": said("outcome", "availability", value="unreachable"),
    "the file": said("snapshot", value="ab" * 32),
    "no file": said("snapshot", value=None),
    "no outcome": said("outcome", value=None),
    "not respected": said("reason", value="not-respected"),
    "excluded": said("reason", value="excluded"),
}


@pytest.mark.parametrize("name", ALTERATIONS)
def test_what_was_altered_comes_out_otherwise(name: str) -> None:
    """Whoever writes the chain anew still has to be right."""
    rules = (
        b"User-agent: MyBot\nCrawl-delay: 2\nDisallow: /private\n\nUser-agent: *\nDisallow: /x\n"
    )
    made = draft("/private/x", rules=rules)
    replay = Replay(snapshots(made), engine())
    assert replay.again(record(made)) is None
    if name == "the dialect":  # in which the same rule has no line of its own
        made = draft("/private/open", dialect="rfc9309")
        replay = Replay(snapshots(made), engine())
    difference = replay.again(altered(made, ALTERATIONS[name]))
    assert isinstance(difference, Difference)
    assert (difference.id, difference.engine) == (1, "")
    assert difference.problem
    assert difference.url == altered(made, ALTERATIONS[name]).url


@pytest.mark.parametrize("kind", ["robots_allowed", "blocked_by_exclusion", "x", ""])
def test_the_type_says_what_the_record_says(kind: str) -> None:
    """A type that does not fit is found."""
    values = {**record(BLOCKED).to_dict(), "type": kind}
    difference = Replay(snapshots(BLOCKED), engine()).again(Record.from_dict(values))
    assert difference is not None
    assert "type" in difference.problem


def test_the_profile_decides_what_cannot_be_reached() -> None:
    """A record of a site out of reach says allowed, or it does not."""
    for profile, setting in (("open", "disallow"), ("rfc9309", "allow")):
        made = draft("/", site=site((0, TIMEOUT), profile=profile), profile=profile)
        replay = Replay(snapshots(made), engine())
        assert replay.again(record(made)) is None
        difference = replay.again(altered(made, said("outcome", "unreachable", value=setting)))
        assert difference is not None
        assert "allowed" in difference.problem
        assert difference.recorded["allowed"] is not difference.replayed["allowed"]


def test_the_charset_decides_what_a_file_says() -> None:
    """A file in Latin 1 has other paths in UTF-8."""
    made = draft("/%C3%A9", site=site((0, LATIN)))
    replay = Replay(snapshots(made), engine())
    assert replay.again(record(made)) is None
    assert replay.again(altered(made, said("outcome", "charset", value="utf-8"))) is not None


def test_a_file_too_large_is_known_to_be() -> None:
    """In profile open it allows everything; whoever says it was complete is contradicted."""
    known = site((0, Response(200, body=RULES, complete=False)), profile="open")
    made = draft("/private", site=known, profile="open")
    replay = Replay(snapshots(made), engine())
    assert replay.again(record(made)) is None
    assert replay.again(altered(made, said("outcome", "complete", value=True))) is not None
    assert replay.again(altered(made, said("profile", value="rfc9309"))) is not None


def test_another_file_comes_out_otherwise() -> None:
    """The snapshot decides, not what the record says it says."""
    difference = Replay(lambda _: b"User-agent: *\nDisallow: /x", engine()).again(record(BLOCKED))
    assert difference is not None
    assert difference.problem == "was disallowed, now allowed"
    assert difference.recorded["line"] == 3
    assert difference.replayed == {
        "allowed": True,
        "reason": "no-rule-matched",
        "line": 0,
        "matchedRule": None,
        "crawlDelay": None,
    }
    shifted = Replay(lambda _: b"\n" + RULES, engine()).again(record(BLOCKED))
    assert shifted is not None
    assert shifted.problem == "was decided by rule-matched, line 3, now by rule-matched, line 4"
    slower = Replay(lambda _: RULES.replace(b": 2", b": 3"), engine()).again(record(BLOCKED))
    assert slower is not None
    assert slower.problem == "comes out with a different crawlDelay"


def test_a_missing_file_is_told() -> None:
    """Nothing is decided without what it rests on."""
    difference = Replay(lambda _: None, engine()).again(record(BLOCKED))
    assert difference is not None
    assert "is missing" in difference.problem
    assert difference.replayed == {}
    assert str(difference).startswith(f"record 1: {HOST}/private/x: cannot be decided again")


def test_files_are_told_apart() -> None:
    """Records of many sites, files and charsets, in any order, and more than are kept."""
    made = [draft("/private", rules=RULES + b"#%d\n" % number) for number in range(200)]
    made += [draft("/private", rules=b"User-agent: *\nDisallow: /x%d\n" % n) for n in range(200)]
    made += [draft("/é", site=site((0, LATIN))), draft("/é", site=site((0, file(LATIN.body))))]
    replay = Replay(snapshots(*made), engine())
    for each in [*made, *reversed(made)]:
        assert replay.again(record(each)) is None


def test_a_difference_of_another_version_is_told_as_such() -> None:
    """Who decided then is named, if it is not who decides now."""
    made = draft("/private", engine="manners 0.0.1")
    assert Replay(snapshots(made), engine()).again(record(made)) is None
    difference = Replay(lambda _: b"", engine()).again(record(made))
    assert difference is not None
    assert difference.engine == "manners 0.0.1"
    assert str(difference).endswith("(decided by manners 0.0.1)")
    same = Replay(lambda _: b"", "manners 0.0.1").again(record(made))
    assert same is not None
    assert same.engine == ""
    assert "decided by" not in str(same)


# Queries that are not recorded.


@pytest.mark.parametrize(
    ("path", "is_decided_again"),
    [
        ("/private?x", True),
        ("/open?x", True),
        ("/q?secret=1", False),
        ("/end", True),
        ("/end?x", False),
    ],
)
def test_a_redacted_query_may_have_decided(path: str, is_decided_again: bool) -> None:
    """What cannot be decided without it is told; everything else comes out as it was."""
    rules = b"User-agent: *\nDisallow: /private\nDisallow: /*secret\nDisallow: /end$\n"
    made = draft(path, rules=rules, redact_query=True)
    difference = Replay(snapshots(made), engine()).again(record(made))
    assert (difference is None) is is_decided_again
    if difference is not None:
        assert difference.problem == "its query is not recorded, and may have been decisive"


def test_a_redacted_record_that_was_altered_comes_out_otherwise() -> None:
    """A record that says it is redacted does not get away with anything."""
    made = draft("/private/x?q", redact_query=True)

    def change(content: dict[str, Any], metadata: dict[str, Any]) -> None:
        content["allowed"] = metadata["allowed"] = True

    assert Replay(snapshots(made), engine()).again(altered(made, change)) is not None


# The user's own settings.


def ruled(url: str, exclude: list[str], include: list[str], **others: Any) -> Draft:
    verdict = Overrides(Exclusions(exclude, include), lambda _: False).check(url)
    assert verdict is not None
    return clerk(include=tuple(include), **others).draft(url, verdict, None, NOW)


@pytest.mark.parametrize("exclude", [["/a"], ["*b*"], ["re:c=[0-9]$"], ["/x", "/a/b"]])
def test_an_exclusion_is_decided_again(exclude: list[str]) -> None:
    """By the pattern of the record; another one would not have excluded it."""
    made = ruled(HOST + "/a/b?c=1", exclude, [])
    replay = Replay(snapshots(), engine())
    assert made.type == "blocked_by_exclusion"
    assert replay.again(record(made)) is None
    for bad in ("/nowhere", "re:(", "", 5, None):
        assert replay.again(altered(made, said("exclusion", "exclude", value=bad))) is not None
    assert replay.again(altered(made, said("exclusion", value={}))) is not None
    assert replay.again(altered(made, both("allowed", True))) is not None


def test_an_inclusion_is_decided_again() -> None:
    """None of the patterns matches; one that does would have let it in."""
    made = ruled(HOST + "/a", [], ["/b", "re:c$"])
    replay = Replay(snapshots(), engine())
    assert replay.again(record(made)) is None
    for bad in (["/a"], [], None, ["re:("], "/a", 5):
        assert replay.again(altered(made, said("exclusion", "include", value=bad))) is not None


def test_what_was_not_respected_stays_so() -> None:
    """The user's choice, then as now; and it never blocks."""
    made = ruled(HOST + "/a", [], [])
    replay = Replay(snapshots(), engine())
    assert replay.again(record(made)) is None
    assert replay.again(altered(made, both("allowed", False))) is not None
    assert replay.again(altered(made, said("line", value=1))) is not None


# Records of any content.

SIMPLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
JUNK = st.recursive(
    SIMPLE | st.just("rfc9309"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
NAMES = sorted(record(BLOCKED).metadata)
OUTCOME = sorted(record(BLOCKED).metadata["outcome"])


@settings(max_examples=examples(300))
@given(
    st.dictionaries(st.sampled_from(NAMES), JUNK, max_size=3),
    st.dictionaries(st.sampled_from(OUTCOME), JUNK, max_size=3),
    st.dictionaries(st.sampled_from(["allowed", "matchedRule", "crawlDelay"]), JUNK, max_size=2),
    st.sets(st.sampled_from(NAMES), max_size=2),
)
def test_no_record_breaks_a_replay(
    metadata: dict[str, Any], outcome: dict[str, Any], content: dict[str, Any], gone: set[str]
) -> None:
    """A record that somebody made up is told, whatever it says."""
    values = json.loads(json.dumps(record(BLOCKED).to_dict()))
    values["metadata"]["outcome"].update(outcome)
    values["metadata"].update(metadata)
    values["content"].update(content)
    for name in gone:
        del values["metadata"][name]
    made = Record.from_dict(values)
    difference = Replay(snapshots(BLOCKED), engine()).again(made)
    if difference is not None:
        assert str(difference)

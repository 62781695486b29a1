"""Values: what the engine returns is immutable, and can be copied, compared, pickled, shared."""

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import manners
from manners import CrawledPage, Page, Reason, Rule, Verdict
from manners.cache.site import Site
from manners.client.page import Hop, LazyVerdict
from manners.retrieval.outcome import Availability, Outcome

BODY = """\
# a file with everything
User-agent: MyBot
User-agent: OtherBot
Crawl-delay: 2.5
Request-rate: 1/10
Visit-time: 0100-0445
Disallow: /private/
Allow: /private/open
Disallow: /*.pdf$
Clean-param: session

User-agent: *
Disallow: /caf\u00e9
Whatever: this is

Host: example.com
Sitemap: https://example.com/sitemap.xml
"""

DIALECTS = ["rfc9309", "google", "specificity", "robotrules", "scanner", "audit"]

URLS = [
    "https://example.com/",
    "https://example.com/private/x",
    "https://example.com/private/open/x",
    "https://example.com/a/b.pdf",
    "https://example.com/a/b.pdf?x",
    "https://example.com/caf%C3%A9",
    "https://example.com/robots.txt",
    "/\udcff",
    "",
]

HOSTILE = "/a\nb\rc\x1b]0;x\x07\x9b31m\x85\u2028\u2029\u202e\x00\udcff\ud800"


def values() -> dict[str, Any]:
    """One of each value, made anew at each call."""
    robots = manners.parse(BODY, url="https://example.com/robots.txt")
    site = Site(robots, Outcome(Availability.AVAILABLE, "200"))
    verdict = LazyVerdict(site, "https://example.com/", "MyBot")
    hop = Hop("https://example.com/", True, verdict, 200, "", 1.0, 2.0, 3.0)
    headers = {"content-type": "text/html"}
    return {
        "Robots": robots,
        "Policy": robots.policy("MyBot"),
        "Verdict": robots.check("/private/x", agent="MyBot"),
        "Verdict without a rule": robots.check("/elsewhere", agent="MyBot"),
        "Rule": robots.groups[0].rules[0],
        "Group": robots.groups[0],
        "Line": list(manners.lines(BODY))[6],
        "Sitemap": robots.sitemaps[0],
        "Hop": hop,
        "Page": Page("https://example.com/", (hop,), headers, b"body", False),
        "CrawledPage": CrawledPage("https://example.com/", (hop,), headers, b"body", depth=2),
    }


REFUSED = (AttributeError, TypeError)
"""A frozen class with slots raises the one for a field and may raise the other for a property."""

FIELDS = {
    "Robots": ["groups", "sitemaps", "host", "directives", "truncated"],
    "Policy": ["rules", "crawl_delay", "request_rate", "visit_time"],
    "Verdict": [
        "allowed",
        "reason",
        "rule",
        "line",
        "line_text",
        "agent",
        "specificity",
        "crawl_delay",
        "url",
        "path",
        "dialect",
        "truncated",
        "retrieval",
    ],
    "Rule": ["allow", "pattern", "line", "text"],
    "Group": ["agents", "rules", "allows", "disallows", "specificity", "directives", "line"],
    "Line": ["number", "kind", "key", "value", "pattern", "text", "problems"],
    "Sitemap": ["url", "line"],
    "Hop": ["url", "was_allowed", "verdict", "status", "cause", "started", "waited", "seconds"],
    "Page": ["url", "hops", "headers", "body", "complete", "verdict", "status", "ok", "usage"],
    "CrawledPage": ["url", "hops", "headers", "body", "complete", "depth", "state", "type"],
}


@pytest.mark.parametrize("name", values())
def test_values_compare(name: str) -> None:
    """Two values made of the same input are equal, and different from anything else."""
    value, twin = values()[name], values()[name]
    assert value is not twin
    assert value == twin
    assert value != "something else"
    assert value != object()


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", values())
def test_values_pickle(name: str, protocol: int) -> None:
    """A value survives pickling, in every protocol that can hold it."""
    value = values()[name]
    restored = pickle.loads(pickle.dumps(value, protocol))
    assert restored == value
    assert type(restored) is type(value)
    assert repr(restored) == repr(value)


@pytest.mark.parametrize("name", values())
def test_values_copy(name: str) -> None:
    """A shallow and a deep copy equal their original."""
    value = values()[name]
    assert copy.copy(value) == value
    assert copy.deepcopy(value) == value


@pytest.mark.parametrize(
    ("name", "field"), [(name, field) for name, fields in FIELDS.items() for field in fields]
)
def test_values_have_their_fields_and_refuse_assignment(name: str, field: str) -> None:
    """A field can be read and neither assigned nor deleted."""
    value = values()[name]
    before = getattr(value, field)
    with pytest.raises(REFUSED):
        setattr(value, field, None)
    with pytest.raises(REFUSED):
        delattr(value, field)
    assert getattr(value, field) == before


@pytest.mark.parametrize("name", FIELDS)
def test_values_take_no_new_attribute(name: str) -> None:
    """A value has the attributes it is made with and no others."""
    with pytest.raises(REFUSED):
        setattr(values()[name], "of_my_own", 1)  # noqa: B010


@pytest.mark.parametrize("name", ["Verdict", "Rule", "Group", "Line", "Sitemap", "Hop", "Page"])
def test_values_hash(name: str) -> None:
    """Equal values have one hash: they are keys, and members of a set."""
    assert len({values()[name], values()[name]}) == 1


def test_pages_hash_by_url_and_hops() -> None:
    """Pages that differ in anything else are different, with the same hash."""
    page: Page = values()["Page"]
    other = Page(page.url, page.hops, {"content-type": "text/plain"}, page.body, page.complete)
    assert other != page
    assert hash(other) == hash(page)
    assert len({page, other}) == 2
    assert hash(values()["CrawledPage"]) == hash(values()["CrawledPage"])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_restored_file_gives_the_same_answers(dialect: str) -> None:
    """A parsed file decides the same after pickling and copying, used before or not."""
    robots = manners.parse(BODY, dialect=dialect)
    expected = [robots.check(url, agent="MyBot") for url in URLS]
    for other in (pickle.loads(pickle.dumps(robots)), copy.copy(robots), copy.deepcopy(robots)):
        assert [other.check(url, agent="MyBot") for url in URLS] == expected
        assert other.policy("MyBot").allowed_many(URLS) == [verdict.allowed for verdict in expected]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_restored_policy_gives_the_same_answers(dialect: str) -> None:
    """A policy keeps its agent, rules and directives through pickling."""
    policy = manners.parse(BODY, dialect=dialect).policy("MyBot")
    restored = pickle.loads(pickle.dumps(policy))
    assert [restored.check(url) for url in URLS] == [policy.check(url) for url in URLS]
    assert restored.crawl_delay == policy.crawl_delay
    assert restored.rules == policy.rules


def test_files_differ_by_content_and_dialect() -> None:
    """Another body or another dialect makes another file."""
    robots = manners.parse(BODY)
    assert robots != manners.parse(BODY + "User-agent: Third\nDisallow: /\n")
    assert robots != manners.parse(BODY, dialect="google")
    assert robots.policy("MyBot") != robots.policy("Unknown")


def test_bytes_and_text_make_the_same_file() -> None:
    """A file reads the same whether it is passed as bytes or as text."""
    assert manners.parse(BODY.encode()) == manners.parse(BODY)


def test_sequences_cannot_be_changed() -> None:
    """What a file holds is kept in tuples, so that sharing it is safe."""
    robots = manners.parse(BODY)
    for group in robots.groups:
        assert isinstance(group.allows, tuple)
        assert isinstance(group.disallows, tuple)
        assert isinstance(group.rules, tuple)
    assert isinstance(next(iter(manners.lines(BODY))).problems, tuple)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_file_is_shared_between_threads(dialect: str) -> None:
    """Many threads asking one fresh file, for several agents at once, get the same answers."""
    agents = ["MyBot", "OtherBot", "Third", "*"]
    questions = [(url, agent) for agent in agents for url in URLS] * 20
    alone = manners.parse(BODY, dialect=dialect)
    expected = [alone.check(url, agent=agent) for url, agent in questions]
    shared = manners.parse(BODY, dialect=dialect)
    with ThreadPoolExecutor(max_workers=16) as pool:
        answers = pool.map(lambda question: shared.check(question[0], agent=question[1]), questions)
        assert list(answers) == expected


def test_a_policy_is_shared_between_threads() -> None:
    """Bulk checks of one policy do not disturb each other."""
    policy = manners.parse(BODY).policy("MyBot")
    expected = [policy.allowed(url) for url in URLS]
    with ThreadPoolExecutor(max_workers=8) as pool:
        assert all(answer == expected for answer in pool.map(policy.allowed_many, [URLS] * 200))


def test_ways_of_asking_agree() -> None:
    """File and policy, one URL and many, bool and verdict all say the same."""
    robots = manners.parse(BODY)
    policy = robots.policy("MyBot")
    for url in URLS:
        verdict = robots.check(url, agent="MyBot")
        assert policy.check(url) == verdict
        assert robots.allowed(url, agent="MyBot") is verdict.allowed
        assert policy.allowed(url) is verdict.allowed
    assert policy.allowed_many(URLS) == [policy.allowed(url) for url in URLS]
    assert policy.allowed_many([]) == []


def test_a_verdict_is_true_when_it_allows() -> None:
    """`bool(verdict)` is `verdict.allowed`."""
    robots = manners.parse(BODY)
    assert bool(robots.check("/", agent="MyBot")) is True
    assert bool(robots.check("/private/", agent="MyBot")) is False
    assert not Verdict(False, Reason.UNREACHABLE)
    assert Verdict(True, Reason.UNAVAILABLE)


def test_a_verdict_as_text() -> None:
    """A verdict in words names answer, reason, line and pattern."""
    verdict = Verdict(False, Reason.RULE_MATCHED, Rule(False, "/private/", line=3))
    assert str(verdict) == "disallowed: rule-matched, line 3: /private/"


@pytest.mark.parametrize(
    ("verdict", "start"),
    [
        (Verdict(True, Reason.NO_GROUP), "allowed: no-group"),
        (Verdict(True, Reason.NO_RULE_MATCHED), "allowed: no-rule-matched"),
        (Verdict(True, Reason.ROBOTS_TXT_ITSELF), "allowed: robots-txt-itself"),
        (Verdict(True, Reason.TOO_LARGE), "allowed: too-large"),
        (Verdict(True, Reason.TOO_MANY_RULES), "allowed: too-many-rules"),
        (Verdict(False, Reason.EXCLUDED), "disallowed: excluded"),
        (Verdict(True, Reason.UNAVAILABLE), "allowed: unavailable"),
        (Verdict(False, Reason.UNREACHABLE), "disallowed: unreachable"),
        (Verdict(False, Reason.STALE_COPY), "disallowed: stale-copy"),
        (Verdict(True, Reason.NOT_RESPECTED), "allowed: not-respected"),
    ],
)
def test_a_verdict_without_a_rule_as_text(verdict: Verdict, start: str) -> None:
    """A verdict no rule took part in says its answer and reason."""
    assert str(verdict).startswith(start)
    assert "line" not in str(verdict)


def test_there_are_twelve_reasons() -> None:
    """The reasons are those of the design, spelt as there, and the purpose."""
    assert {reason.value for reason in Reason} == {
        "rule-matched",
        "no-rule-matched",
        "no-group",
        "robots-txt-itself",
        "too-large",
        "too-many-rules",
        "excluded",
        "unavailable",
        "unreachable",
        "stale-copy",
        "not-respected",
        "usage",
    }


def test_hostile_text_stays_on_one_line() -> None:
    """Whatever a pattern contains, the verdict in words is one printable line."""
    verdict = Verdict(False, Reason.RULE_MATCHED, Rule(False, HOSTILE, line=3, text=HOSTILE))
    assert str(verdict).isprintable()


@given(st.text(st.characters(exclude_categories=())))
def test_any_pattern_stays_on_one_line(pattern: str) -> None:
    """No pattern breaks the sentence."""
    text = str(Verdict(False, Reason.RULE_MATCHED, Rule(False, pattern, line=3)))
    assert len(text.splitlines()) == 1
    assert text.startswith("disallowed: rule-matched, line 3")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_hostile_file_stays_on_one_line(dialect: str) -> None:
    """A line of a file cannot break the sentence it is quoted in."""
    body = b"User-agent: *\nDisallow: /a\x1b]0;x\x07\xc2\x85\xe2\x80\xa8\xe2\x80\xae\xff\n"
    robots = manners.parse(body, dialect=dialect)
    for url in ("/a", "/a\n\x1b", HOSTILE, "/a\x1b]0;x\x07\x85\u2028\u202e\udcff"):
        assert str(robots.check(url, agent="MyBot")).isprintable()


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("url", [*URLS, HOSTILE])
def test_a_verdict_as_json(dialect: str, url: str) -> None:
    """`to_dict()` holds every field in a form JSON can carry."""
    verdict = manners.parse(BODY, dialect=dialect).check(url, agent="MyBot")
    record = verdict.to_dict()
    assert set(record) == set(FIELDS["Verdict"])
    assert json.loads(json.dumps(record)) == record
    assert record["allowed"] is verdict.allowed
    assert record["reason"] == verdict.reason.value
    assert record["url"] == url
    assert record["line"] == verdict.line
    assert record["line_text"] == verdict.line_text
    assert record["dialect"] == dialect


def test_a_verdict_made_by_hand_as_json() -> None:
    """Fields that were never set do not keep a verdict from being written."""
    record = Verdict(False, Reason.RULE_MATCHED, Rule(False, "/private/", line=3)).to_dict()
    assert set(record) == set(FIELDS["Verdict"])
    assert json.loads(json.dumps(record)) == record


def test_a_verdict_says_everything_about_its_rule() -> None:
    """The fields of a verdict agree with the rule and group they come from."""
    robots = manners.parse(BODY)
    verdict = robots.check("https://example.com/private/x", agent="mybot/1.0")
    assert verdict.rule is not None
    assert verdict.rule.line == verdict.line == 7
    assert verdict.line_text == "Disallow: /private/"
    assert (verdict.agent, verdict.specificity, verdict.crawl_delay) == ("MyBot", 3, 2.5)
    assert (verdict.url, verdict.path) == ("https://example.com/private/x", "/private/x")
    assert (verdict.dialect, verdict.truncated, verdict.retrieval) == ("rfc9309", False, None)

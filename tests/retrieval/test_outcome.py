"""Outcomes: values that can be stored, compared and printed long after the retrieval."""

import json
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manners.retrieval.outcome import Availability, Outcome, RobotsHop

HOUR, DAY = 3600.0, 86_400.0
HOSTILE = "a\nb\rc\x1b]0;x\x07\x9b31m\x85\u2028\u2029\u202e\x00\udcff\ud800"


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome(Availability.AVAILABLE, "200"), "available (200)"),
        (Outcome(Availability.AVAILABLE), "available"),
        (
            Outcome(Availability.AVAILABLE, "200, looks like HTML"),
            "available (200, looks like HTML)",
        ),
        (Outcome(Availability.UNAVAILABLE, "404"), "unavailable (404)"),
        (Outcome(Availability.UNAVAILABLE, "redirect loop"), "unavailable (redirect loop)"),
        (Outcome(Availability.UNREACHABLE, "timeout"), "unreachable (timeout)"),
        (Outcome(Availability.UNREACHABLE, "refused address"), "unreachable (refused address)"),
        (
            Outcome(Availability.UNREACHABLE, "timeout", copy=True, age=3 * HOUR),
            "unreachable (timeout); used a copy from 3 h ago",
        ),
        (
            Outcome(Availability.UNREACHABLE, "503", copy=True, age=29 * DAY),
            "unreachable (503); used a copy from 29 d ago",
        ),
        (
            Outcome(Availability.UNREACHABLE, copy=True, age=600.0),
            "unreachable; used a copy from 10 min ago",
        ),
        (
            Outcome(Availability.UNREACHABLE, "timeout", copy=True, age=0.2),
            "unreachable (timeout); used a copy from 0.2 s ago",
        ),
        (Outcome(Availability.UNREACHABLE, "timeout", age=3 * HOUR), "unreachable (timeout)"),
    ],
)
def test_an_outcome_is_said_in_a_few_words(outcome: Outcome, said: str) -> None:
    """str() has the availability, what made it so, and the copy that decided."""
    assert str(outcome) == said


def test_nothing_hostile_reaches_a_terminal() -> None:
    """A note is ours, and is escaped all the same."""
    said = str(Outcome(Availability.UNREACHABLE, HOSTILE))
    assert said.isprintable()
    assert said.startswith("unreachable (a\\nb\\rc\\x1b]0;x\\x07")


def test_str_has_nothing_of_what_a_server_says() -> None:
    """Hops, headers and charset hold a server's text; what is printed does not hold them."""
    outcome = Outcome(
        Availability.AVAILABLE,
        "200",
        hops=(RobotsHop("https://example.com/owned", 200),),
        headers=(("etag", "owned"),),
        charset="owned",
    )
    assert "owned" not in str(outcome)


def test_the_last_hop_is_the_one_that_counts() -> None:
    """Status and final URL are those of the last hop, where there is one."""
    outcome = Outcome(
        Availability.AVAILABLE,
        url="http://a/robots.txt",
        hops=(RobotsHop("u", 301), RobotsHop("v", 200)),
    )
    assert (outcome.status, outcome.final_url) == (200, "v")
    nothing = Outcome(Availability.UNREACHABLE, "offline", url="http://a/robots.txt")
    assert (nothing.status, nothing.final_url) == (None, "http://a/robots.txt")


def test_a_header_that_is_not_there_is_empty() -> None:
    """Headers are looked up by their names in lower case."""
    outcome = Outcome(Availability.AVAILABLE, headers=(("etag", '"1"'),))
    assert (outcome.header("etag"), outcome.header("age")) == ('"1"', "")


@pytest.mark.parametrize("availability", Availability)
def test_only_what_went_well_goes_without_saying(availability: Availability) -> None:
    """A file that was found needs no remark in a verdict."""
    assert Outcome(availability).is_plain is (availability is Availability.AVAILABLE)


def test_an_outcome_does_not_change() -> None:
    """A changed outcome is another outcome."""
    outcome = Outcome(Availability.AVAILABLE, "200")
    with pytest.raises(FrozenInstanceError):
        outcome.note = "404"  # type: ignore[misc]
    assert outcome.but(note="206") == Outcome(Availability.AVAILABLE, "206")
    assert hash(outcome) == hash(Outcome(Availability.AVAILABLE, "200"))


texts = st.text(max_size=20)
times = st.floats(0, 4e9)
outcomes = st.builds(
    Outcome,
    st.sampled_from(Availability),
    note=texts,
    profile=texts,
    url=texts,
    hops=st.lists(
        st.builds(RobotsHop, texts, st.none() | st.integers(100, 699), texts), max_size=6
    ).map(tuple),
    headers=st.dictionaries(texts, texts, max_size=5).map(lambda made: tuple(made.items())),
    bytes=st.integers(0, 2**40),
    charset=texts,
    complete=st.booleans(),
    not_modified=st.booleans(),
    at=times,
    seconds=times,
    confidence=st.sampled_from(["high", "low"]),
    age=times,
    copy=st.booleans(),
)


@settings(deadline=None)
@given(outcomes)
def test_an_outcome_comes_back_from_json(outcome: Outcome) -> None:
    """Writing, through JSON, and reading give the same outcome."""
    written = outcome.to_dict()
    assert Outcome.from_dict(written) == outcome
    assert Outcome.from_dict(json.loads(json.dumps(written))) == outcome


@settings(deadline=None)
@given(outcomes)
def test_any_outcome_is_printable(outcome: Outcome) -> None:
    """Whatever an outcome holds, its text is one line and harmless."""
    assert str(outcome).isprintable()
    assert str(outcome).startswith(outcome.availability.value)


def test_plain_values_are_plain() -> None:
    """to_dict() has strings, numbers, lists and dictionaries only."""
    made = Outcome(
        Availability.AVAILABLE, hops=(RobotsHop("u", 200),), headers=(("etag", '"1"'),)
    ).to_dict()
    assert type(made["availability"]) is str
    assert made["hops"] == [{"url": "u", "status": 200, "cause": ""}]
    assert made["headers"] == {"etag": '"1"'}
    assert set(made) == set(Outcome.__slots__)


def test_what_a_server_put_into_a_header_is_escaped_in_json() -> None:
    """JSON of any outcome is ASCII without control characters, lone surrogates included."""
    outcome = Outcome(
        Availability.AVAILABLE, headers=(("etag", HOSTILE),), hops=(RobotsHop(HOSTILE, 200),)
    )
    text = json.dumps(outcome.to_dict())
    assert text.isascii()
    assert text.isprintable()
    assert Outcome.from_dict(json.loads(text)) == outcome

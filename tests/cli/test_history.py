"""`robots --history` and `check --at`: what a site said, and the verdict that held."""

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from manners.cache.backends import open_backend
from manners.cache.entry import Entry
from manners.cli import history, inputs
from manners.cli.options import Options
from manners.evidence.store import EvidenceStore
from manners.retrieval.outcome import Availability, Outcome, RobotsHop
from tests.cache.steps import DAY
from tests.cli.running import Ran, runner, settle
from tests.contracts.test_evidence_history import STEPS, TIMES, decisions
from tests.evidence.strands import write

DAY_ONE = 1_790_812_800.0
"""2026-10-01."""
CLOSED = b"User-agent: *\nDisallow: /a\nCrawl-delay: 2\n"
OPEN = b"User-agent: *\nAllow: /\n"
SITE, PAGE = "https://a.example", "https://a.example/a"
Run = Callable[..., Ran]


def entry(at: float, outcome: Outcome, body: bytes | None = None) -> Entry:
    """What is known of the site after a retrieval, which counts for a day."""
    outcome = outcome.but(at=at, url=f"{SITE}/robots.txt", profile="rfc9309")
    return Entry(SITE, body, "", outcome, at, at, at + DAY)


def replied(status: int) -> Outcome:
    """The outcome of a status."""
    kinds = {200: Availability.AVAILABLE, 404: Availability.UNAVAILABLE}
    hops = (RobotsHop(f"{SITE}/robots.txt", status),)
    return Outcome(kinds.get(status, Availability.UNREACHABLE), str(status), hops=hops)


@pytest.fixture(autouse=True)
def _settle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settle(monkeypatch, tmp_path)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A cache that saw a file on October 1 and 2, no file on 3, an error on 5, and a file on 9."""

    async def fill() -> None:
        backend = open_backend(str(tmp_path / "cache.db"))
        for day, status, body in (
            (0, 200, CLOSED),
            (1, 200, CLOSED),
            (2, 404, None),
            (4, 503, None),
            (8, 200, OPEN),
        ):
            await backend.save(entry(DAY_ONE + day * DAY, replied(status), body))
        await backend.close()

    asyncio.run(fill())
    return tmp_path / "cache.db"


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `manners check`."""
    return runner(capsys, "check")


@pytest.fixture
def robots(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `manners robots`."""
    return runner(capsys, "robots")


def test_versions_are_listed(robots: Run, cache: Path) -> None:
    """One line for each: when it was first and last seen, the result, and which file it was."""
    ran = robots("--history", "a.example", "--cache", cache)
    assert (ran.code, ran.err) == (0, "")
    header = ["FIRST", "SEEN", "LAST", "SEEN", "RESULT", "BYTES", "SHA-256"]
    assert ran.lines[0].split() == header
    assert [line[:23] for line in ran.lines[1:]] == [
        "2026-10-01 00:00:00 UTC",
        "2026-10-03 00:00:00 UTC",
        "2026-10-05 00:00:00 UTC",
        "2026-10-09 00:00:00 UTC",
    ]
    assert "2026-10-02 00:00:00 UTC  available (200)" in ran.lines[1]
    assert "unavailable (404)" in ran.lines[2]
    assert "unreachable (503)" in ran.lines[3]


def test_versions_are_listed_for_programs(robots: Run, cache: Path) -> None:
    """One object for each, with times in seconds and the whole SHA-256."""
    ran = robots("--history", PAGE, "--cache", cache, "--json")
    first, *_, last = ran.objects
    assert first["origin"] == SITE
    assert (first["first"], first["last"]) == (DAY_ONE, DAY_ONE + DAY)
    assert (first["bytes"], len(first["sha256"])) == (len(CLOSED), 64)
    assert first["outcome"]["availability"] == "available"
    assert last["fresh_until"] == DAY_ONE + 9 * DAY


def test_the_store_of_evidence_has_history_too(robots: Run, cache: Path, tmp_path: Path) -> None:
    """It is looked into if it is there, or named, and both make one history."""
    with EvidenceStore(tmp_path / "manners.db") as store:
        write([store], decisions(*STEPS, times=TIMES))
    by_default = robots("--history", "example.com", "--json")
    assert [each["outcome"]["note"] for each in by_default.objects] == [
        "200",
        "200",
        "404",
        "200",
        "503",
    ]
    (tmp_path / "manners.db").rename(tmp_path / "other.db")
    named = robots("--history", "example.com", "--json", "--store", "other.db", "--cache", cache)
    assert named.out == by_default.out
    assert (
        len(robots("--history", SITE, "--json", "--store", "other.db", "--cache", cache).lines) == 4
    )


def test_what_is_unknown_is_said_with_what_to_do(robots: Run, cache: Path) -> None:
    """Exit code 1 for a site that nothing is known of, 2 if there is nothing to look into."""
    ran = robots("--history", "b.example", "--cache", cache)
    assert (ran.code, ran.out) == (1, "")
    assert "nothing is known of https://b.example from before: a cache in a file" in ran.err
    nowhere = robots("--history", "a.example")
    assert nowhere.code == 2
    assert "name a cache (--cache FILE) or an evidence store" in nowhere.err
    missing = robots("--history", "a.example", "--cache", "missing.db")
    assert (missing.code, missing.err) == (2, "manners: there is no cache at 'missing.db'\n")
    assert not Path("missing.db").exists()


def test_the_verdict_that_held_is_given(check: Run, cache: Path) -> None:
    """By the file of that time, or by what is done without one."""
    for moment, code, words in (
        (
            "2026-10-01",
            1,
            "disallowed  https://a.example/a  line 2: Disallow: /a; seen 2026-10-01 ",
        ),
        ("2026-10-02T12:00", 1, "00:00:00 UTC to 2026-10-02 00:00:00 UTC"),
        ("2026-10-03T00:00:00Z", 0, "allowed     https://a.example/a  unavailable (404); seen"),
        ("2026-10-05T01:00", 1, "unreachable (503); seen 2026-10-05 00:00:00 UTC to"),
        ("2026-10-09T02:00+01:00", 0, "line 2: Allow: /; seen 2026-10-09"),
    ):
        ran = check("--at", moment, PAGE, "--cache", cache)
        assert (ran.code, ran.err) == (code, ""), moment
        assert words in ran.out
    ran = check("--at", "2026-10-05T01:00", PAGE, "--cache", cache, "--profile", "open")
    assert ran.code == 0


def test_what_is_not_known_then_is_not_decided(check: Run, cache: Path) -> None:
    """Exit code 3, and what is known nearest to that time."""
    ran = check("--at", "2026-10-07", PAGE, "--cache", cache)
    away = "unreachable (503) was last seen 2026-10-05 00:00:00 UTC"
    file = f"a file ({sha256(OPEN).hexdigest()[:12]}) was first seen 2026-10-09 00:00:00 UTC"
    assert (ran.code, ran.out) == (3, f"not-known   {PAGE}  {away} and {file}\n")
    before = check("--at", "2026-09-30T23:59:59", PAGE, "--cache", cache)
    assert (before.code, "was first seen 2026-10-01" in before.out) == (3, True)
    other = check("--at", "2026-10-01", "https://b.example/", "--cache", cache)
    assert (other.code, "nothing is known of this site" in other.out) == (3, True)
    many = check("--at", "2026-10-01", PAGE, "b.example", "x:", f"{SITE}/b", "--cache", cache)
    assert (many.code, [line.split()[0] for line in many.lines]) == (
        3,
        ["disallowed", "not-known", "invalid-url", "allowed"],
    )


def test_programs_get_the_version_that_decided(check: Run, cache: Path) -> None:
    """The verdict, the version, and if it is not known, the nearest ones."""
    ran = check(
        "--at", "2026-10-01", PAGE, "--cache", cache, "--json", "--agent", "A", "--agent", "B"
    )
    assert [each["allowed"] for each in ran.objects] == [False, False]
    assert ran.objects[0]["version"]["last"] == DAY_ONE + DAY
    unknown = check("--at", "2026-10-07", PAGE, "--cache", cache, "--json").object
    assert (unknown["allowed"], unknown["reason"]) == (None, "not-known-then")
    assert unknown["before"]["last"] < unknown["at"] < unknown["after"]["first"]


def test_several_agents_make_columns(check: Run, cache: Path) -> None:
    """One for each agent, and for a site that is not known, too."""
    ran = check(
        "--at", "2026-10-01", PAGE, "b.example", "--cache", cache, "--agent", "A", "--agent", "B"
    )
    assert ran.lines[1].split()[:3] == ["disallowed,", "line", "2"]
    assert ran.lines[1].endswith("seen 2026-10-01 00:00:00 UTC to 2026-10-02 00:00:00 UTC")
    assert ran.lines[2].split() == ["not-known", "not-known", "https://b.example"]


def test_own_exclusions_count_as_ever(check: Run, cache: Path, tmp_path: Path) -> None:
    """What the user does not want is not asked of the past."""
    (tmp_path / "manners.toml").write_text('exclude = ["/b"]\n')
    ran = check("--at", "2026-10-01", f"{SITE}/b", "--cache", cache)
    assert (ran.code, "excluded" in ran.out, "seen" in ran.out) == (1, True, False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("check", "--at", "soon", PAGE), "--at is a date, or a date and a time"),
        (("check", "--at", "2026-10-01", "--robots", "x", PAGE), "contradict each other"),
        (("check", "--at", "2026-10-01", "--allow-private", PAGE), "leave out --allow-private"),
        (("check", "--store", "x.db", PAGE), "--store is for --at"),
        (("robots", "--store", "x.db", PAGE), "--store is for --history"),
        (("robots", "--history", "--save", "x", PAGE), "leave out --save"),
        (("robots", "--history", "--profile", "open", PAGE), "leave out --profile"),
        (("robots", "--history", "--store", "missing.db", PAGE), "missing.db"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    capsys: pytest.CaptureFixture[str], cache: Path, arguments: tuple[str, ...], words: str
) -> None:
    """Each names what to leave out, or what is missing."""
    del cache
    ran = runner(capsys)(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err


def test_a_damaged_history_is_not_believed(check: Run, robots: Run, cache: Path) -> None:
    """Exit code 3: nothing is decided by what somebody has changed."""
    with closing(sqlite3.connect(cache)) as connection, connection:
        connection.execute("UPDATE bodies SET body = x'00'")
    for ran in (
        check("--at", "2026-10-01", PAGE, "--cache", cache),
        robots("--history", SITE, "--cache", cache),
    ):
        assert (ran.code, ran.out) == (3, "")
        assert "has a version that cannot be read" in ran.err


def test_a_version_is_found_for_other_commands(cache: Path) -> None:
    """`version_of` gives the version of a time, or says what is known."""
    options = Options(None, {"cache": str(cache)})
    version = history.version_of("a.example", history.parse_moment("2026-10-02"), options)
    assert version.body == CLOSED
    with pytest.raises(history.NotKnownThen, match="was at 2026-10-07 00:00:00 UTC"):
        history.version_of(SITE, history.parse_moment("2026-10-07"), options)
    with pytest.raises(inputs.Unusable):
        history.parse_moment("yesterday")

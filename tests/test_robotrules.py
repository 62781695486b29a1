"""`RobotRules` keeps the promises of seed 003, WWW::RobotRules, for any number of hosts."""

import gc
import logging
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import manners
from manners import RobotRules, robotrules
from manners.errors import InvalidURL, StoreError, UnknownName
from manners.testing import Clock
from tests.robots.test_seed_003 import ANCIENT_CASTLE, CYBERMAPPER, GO_AWAY, INFINITE_SPACE
from tests.sizes import examples

PLACE, OTHER = "http://some.place", "http://some.other.place"
ROBOTS = f"{PLACE}/robots.txt"
CASTLE = "http://ancientcastle.example.com/robots.txt"
CLOSED = "User-agent: *\nDisallow: /\n"
NOW = 1_000_000_000.0


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def rules(clock: Clock) -> Iterator[RobotRules]:
    with RobotRules("MOMspider/1.0", now=clock) as made:
        yield made


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "robots.db"


# What the document says.


def test_the_synopsis(rules: RobotRules) -> None:
    """Two servers' files are parsed, and URLs of both are checked by one object."""
    rules.parse(f"{PLACE}/robots.txt", INFINITE_SPACE)
    rules.parse(f"{OTHER}/robots.txt", GO_AWAY)
    assert rules.allowed(f"{PLACE}/page") is True
    assert rules.allowed(f"{PLACE}/tmp/x") is False
    assert rules.allowed(f"{OTHER}/page") is False
    assert rules.allowed("http://a.third.place/page") is None


def test_one_object_serves_any_number_of_hosts(rules: RobotRules) -> None:
    """Each of many hosts has its own rules, more than are kept at hand."""
    count = robotrules._POLICIES + 20
    for number in range(count):
        rules.parse(f"http://h{number}/robots.txt", f"User-agent: *\nDisallow: /{number}/")
    for _ in range(2):
        for number in range(count):
            assert rules.allowed(f"http://h{number}/{number}/") is False
            assert rules.allowed(f"http://h{number}/{number + 1}/") is True
    assert len(rules.hosts()) == count
    assert len(rules._policies) <= robotrules._POLICIES


@pytest.mark.parametrize(
    ("text", "agent", "path", "allowed"),
    [
        (INFINITE_SPACE, "MOMspider/1.0", "/cyberworld/map/x", False),
        (INFINITE_SPACE, "MOMspider/1.0", "/tmp/", False),
        (INFINITE_SPACE, "MOMspider/1.0", "/", True),
        (CYBERMAPPER, "MOMspider/1.0", "/cyberworld/map/x", False),
        (CYBERMAPPER, "cybermapper/2", "/cyberworld/map/x", True),
        (GO_AWAY, "cybermapper/2", "/", False),
        (ANCIENT_CASTLE, "Gaston", "/", False),
        (ANCIENT_CASTLE, "Belle", "/library", True),
        (ANCIENT_CASTLE, "Belle", "/west-wing/rose", False),
        (ANCIENT_CASTLE, "Beast", "/west-wing/rose", True),
        ("user-AGENT: *\nDISALLOW: /a # why", "x", "/ab", False),
        ("User-agent: A\nUser-agent: B\nDisallow: /", "b", "/", False),
        ("User-agent: *\nNonsense: /\nAllow: /\nDisallow: /a", "x", "/a", False),
        ("User-agent: *\nDisallow: http://some.place/a\nDisallow: http://b/c", "x", "/a", False),
        ("User-agent: *\nDisallow: http://some.place/a\nDisallow: http://b/c", "x", "/c", True),
    ],
)
def test_the_examples(text: str, agent: str, path: str, allowed: bool) -> None:
    """The four files of the document, and its sentences on fields, are answered as it says."""
    with RobotRules(agent) as rules:
        rules.parse(ROBOTS, text)
        assert rules.allowed(PLACE + path) is allowed


def test_a_text_may_be_bytes(rules: RobotRules) -> None:
    """What comes from a server is bytes, and need not be UTF-8."""
    rules.parse(ROBOTS, b"User-agent: *\nDisallow: /\xff\n")
    assert rules.allowed(f"{PLACE}/%FF") is False
    assert rules.allowed(f"{PLACE}/\udcff") is False
    assert rules.allowed(f"{PLACE}/x") is True


def test_two_byte_order_marks_are_not_one(rules: RobotRules) -> None:
    """A file is decoded once, when it is parsed, and not again when it is read from the store."""
    text = b"\xef\xbb\xbf\xef\xbb\xbfUser-agent: x\nDisallow: /\n"
    rules.parse(ROBOTS, text)
    same = manners.parse(text, "robotrules", ROBOTS).allowed(f"{PLACE}/", "MOMspider/1.0")
    assert rules.allowed(f"{PLACE}/") is same


# Malformed records.


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def test_the_castle_is_split_with_a_warning(
    rules: RobotRules, caplog: pytest.LogCaptureFixture
) -> None:
    """Each record that lacks the blank line before it is a warning with URL and line."""
    rules.parse(CASTLE, ANCIENT_CASTLE)
    problem = "a blank line is missing before this User-agent; put there"
    assert warnings(caplog) == [f"{CASTLE}, line 6: {problem}", f"{CASTLE}, line 9: {problem}"]
    assert {record.name for record in caplog.records} == {"manners.robotrules"}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("\nDisallow: /", 2, "no User-agent in the record of this rule; taken as for everybody"),
        (
            "User-agent: *\nDisallow: /a\n\nDisallow: /b",
            4,
            "no User-agent in the record of this rule; taken as for nobody",
        ),
        ("User-agent: *\nno colon\x1b[2J here", 2, "no field and value; ignored"),
    ],
)
def test_what_is_malformed_is_told(
    rules: RobotRules, caplog: pytest.LogCaptureFixture, text: str, line: int, problem: str
) -> None:
    """A rule without a record and a line without a colon are warnings, and quote nothing."""
    rules.parse(ROBOTS, text)
    assert warnings(caplog) == [f"{ROBOTS}, line {line}: {problem}"]


@pytest.mark.parametrize("text", [INFINITE_SPACE, CYBERMAPPER, GO_AWAY, "", "\n# x\n\nSitemap: a"])
def test_a_proper_file_brings_no_warning(
    rules: RobotRules, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    """Comment lines do not separate records, and other fields are no mistake."""
    rules.parse(ROBOTS, text)
    assert warnings(caplog) == []


def test_warnings_are_safe_and_few(rules: RobotRules, caplog: pytest.LogCaptureFixture) -> None:
    """A hostile URL and a file with thousands of mistakes do not get far into a log."""
    url = "http://user:secret@some.place/\x1b[2J\n/robots.txt"
    rules.parse(url, "User-agent: a\nDisallow: /\x1b\n" * 5000)
    assert len(warnings(caplog)) == 10
    for message in warnings(caplog):
        assert message.startswith("http://some.place/%1B[2J%0A/robots.txt, line ")
        assert message.isprintable()
        assert "secret" not in message


def test_another_dialect_has_no_blank_lines_to_miss(caplog: pytest.LogCaptureFixture) -> None:
    """In RFC 9309 a User-agent after a rule is as it should be."""
    with RobotRules("x", dialect="rfc9309") as rules:
        rules.parse(CASTLE, ANCIENT_CASTLE)
    assert warnings(caplog) == []


def test_nothing_is_printed_unless_somebody_asks() -> None:
    """Without a logging configuration standard error stays empty."""
    script = (
        "import manners\n"
        "manners.RobotRules('x').parse('http://h/robots.txt', 'Disallow: /')\n"
        "manners.RobotRules('x')"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, check=True
    )
    assert (ran.stdout, ran.stderr) == (b"", b"")


# Time.


def test_a_file_is_good_for_a_year(rules: RobotRules, clock: Clock) -> None:
    """Without a time it expires after 365 days, to the second."""
    rules.parse(ROBOTS, CLOSED)
    assert rules.fresh_until(PLACE) == NOW + 365 * 86_400
    clock.now = NOW + 365 * 86_400
    assert rules.allowed(f"{PLACE}/") is False
    clock.now += 1
    assert rules.allowed(f"{PLACE}/") is None


@pytest.mark.parametrize(
    ("fresh_until", "allowed"),
    [(NOW + 1, False), (NOW, False), (NOW - 1, None), (0, None), (-5, None), (float("inf"), False)],
)
def test_a_file_is_good_until_the_time_given(
    rules: RobotRules, fresh_until: float, allowed: bool | None
) -> None:
    """A time in the past, and 0 is one, makes the host unknown at once."""
    rules.parse(ROBOTS, CLOSED, fresh_until)
    assert rules.allowed(f"{PLACE}/") is allowed
    assert rules.fresh_until(PLACE) == fresh_until


def test_a_text_that_is_none_stores_nothing(rules: RobotRules) -> None:
    """What was known stays; what was not stays unknown."""
    rules.parse(ROBOTS, CLOSED, NOW + 5)
    for url in (ROBOTS, f"{OTHER}/robots.txt"):
        rules.parse(url, None, NOW + 10)
    assert rules.fresh_until(PLACE) == NOW + 5
    assert rules.allowed(f"{PLACE}/") is False
    assert rules.allowed(f"{OTHER}/") is None
    assert rules.hosts() == [PLACE]


def test_an_empty_text_allows_everything(rules: RobotRules) -> None:
    """A host whose file is empty is known."""
    rules.parse(ROBOTS, "")
    assert rules.allowed(f"{PLACE}/") is True


def test_parsing_again_replaces(rules: RobotRules) -> None:
    """Rules and time are those of the last file, for this host alone; visits stay."""
    rules.parse(ROBOTS, CLOSED)
    rules.parse(f"{OTHER}/robots.txt", CLOSED)
    rules.visit(PLACE)
    assert rules.allowed(f"{PLACE}/b") is False
    rules.parse(ROBOTS, "User-agent: *\nDisallow: /a", NOW + 5)
    assert [rules.allowed(PLACE + path) for path in ("/a", "/b")] == [False, True]
    assert rules.allowed(f"{OTHER}/b") is False
    assert (rules.fresh_until(PLACE), rules.visits(PLACE)) == (NOW + 5, 1)


# Hosts and URLs.


def test_a_host_is_an_origin(rules: RobotRules) -> None:
    """Scheme and port count; the way it is written does not."""
    rules.parse("http://USER:secret@Some.Place:80/robots.txt", CLOSED)
    assert rules.hosts() == [PLACE]
    for url in ("http://some.place/", "HTTP://SOME.PLACE:80/x", "http://u@some.place"):
        assert rules.allowed(url) is False, url
    for url in ("https://some.place/", "http://some.place:8080/", "https://some.place:80/"):
        assert rules.allowed(url) is None, url


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("mailto:a@some.place", True),
        ("ftp://some.place/x", True),
        ("file:///etc/hosts", True),
        ("/x", True),
        ("", True),
        ("http:", None),
        ("http:///x", None),
        ("HTTPS://a b/", None),
        ("http://h:99999/", None),
    ],
)
def test_urls_that_no_file_is_about(rules: RobotRules, url: str, allowed: bool | None) -> None:
    """Other schemes are allowed; an http URL without a proper host is unknown."""
    assert rules.allowed(url) is allowed


@pytest.mark.parametrize("url", ["mailto:a@b", "http:///", "/robots.txt", "ftp://h/robots.txt"])
def test_what_is_told_needs_a_host(rules: RobotRules, url: str) -> None:
    """Rules and visits of no host are an error, and store nothing."""
    for told in (lambda: rules.parse(url, ""), lambda: rules.visit(url), lambda: rules.visits(url)):
        with pytest.raises(InvalidURL):
            told()
    assert rules.hosts() == []


# The name.


@pytest.mark.parametrize(
    "name", ["FooBot", "FooBot/1.2", "FooBot/1.2 [http://foobot.int; foo@bot.int]", " FooBot x"]
)
def test_the_name_is_the_first_word_up_to_a_slash(name: str) -> None:
    """Without version and address."""
    with RobotRules(name) as rules:
        assert rules.agent() == "FooBot"


@pytest.mark.parametrize("name", ["", " ", "/1.0", "/ x"])
def test_a_robot_needs_a_name(rules: RobotRules, name: str) -> None:
    """A name that is none is refused, and nothing is cleared."""
    rules.parse(ROBOTS, CLOSED)
    with pytest.raises(ValueError, match="is not a robot name"):
        RobotRules(name)
    with pytest.raises(ValueError, match="is not a robot name"):
        rules.agent(name)
    assert (rules.agent(), rules.allowed(PLACE)) == ("MOMspider", False)


def test_another_name_clears(rules: RobotRules) -> None:
    """Rules, times and visits are gone, and the old name is returned."""
    rules.parse(ROBOTS, CLOSED)
    rules.visit(PLACE)
    assert rules.agent("Wubble/2.0") == "MOMspider"
    assert rules.agent() == "Wubble"
    assert rules.hosts() == []
    assert rules.allowed(f"{PLACE}/") is None
    assert (rules.fresh_until(PLACE), rules.last_visit(PLACE)) == (None, None)
    assert rules.visits(PLACE) == 0


def test_the_same_name_does_not_clear(rules: RobotRules) -> None:
    """Nor does the same in another version; upper case makes it another."""
    rules.parse(ROBOTS, CLOSED)
    rules.visit(PLACE)
    for name in ("MOMspider", "MOMspider/2.0 (new)"):
        assert rules.agent(name) == "MOMspider"
        assert rules.allowed(f"{PLACE}/") is False
        assert rules.visits(PLACE) == 1
    rules.agent("momspider")
    assert rules.hosts() == []


def test_answers_are_for_the_new_name(rules: RobotRules) -> None:
    """After a change of name a file is read for the new one."""
    for name, allowed in (("Belle", True), ("Gaston", False), ("Beast", True)):
        rules.agent(name)
        rules.parse(CASTLE, ANCIENT_CASTLE)
        assert rules.allowed("http://ancientcastle.example.com/hall") is allowed, name


def test_a_name_may_be_any_string(store: Path) -> None:
    """A name of bytes that are no UTF-8 is kept and found again."""
    for _ in range(2):
        with RobotRules("b\udcff\ud800", store) as rules:
            rules.visit(PLACE)
    with RobotRules("b\udcff\ud800", store) as rules:
        assert rules.visits(PLACE) == 2


# Visits.


def test_visits_are_counted_by_host(rules: RobotRules, clock: Clock) -> None:
    """How many and when, for each host by itself, known or not."""
    assert (rules.visits(PLACE), rules.last_visit(PLACE)) == (0, None)
    rules.visit(f"{PLACE}/a")
    clock.now += 7
    rules.visit(f"{PLACE}/b")
    rules.visit(OTHER, at=NOW + 3)
    assert (rules.visits(f"{PLACE}/c"), rules.last_visit(f"{PLACE}/d")) == (2, NOW + 7)
    assert (rules.visits(OTHER), rules.last_visit(OTHER)) == (1, NOW + 3)
    assert rules.allowed(PLACE) is None
    assert rules.fresh_until(PLACE) is None
    assert rules.hosts() == [OTHER, PLACE]


def test_the_last_visit_is_the_latest(rules: RobotRules) -> None:
    """A visit that is noted late counts, and does not turn the clock back."""
    for moment in (5, 9, 0, 7):
        rules.visit(PLACE, at=moment)
    assert (rules.visits(PLACE), rules.last_visit(PLACE)) == (4, 9)


# Dialects.


@pytest.mark.parametrize(
    ("dialect", "answers"),
    [
        ("robotrules", [False, False, False]),
        ("rfc9309", [True, False, True]),
        ("google", [True, False, True]),
    ],
)
def test_a_dialect_on_request(dialect: str, answers: list[bool]) -> None:
    """Files are read as the dialect says: Allow, wildcards, the longest rule."""
    text = "User-agent: *\nDisallow: /a\nAllow: /a/b\n\nUser-agent: *\nDisallow: /*.pdf$\n"
    with RobotRules("MOMspider/1.0", dialect=dialect) as rules:
        rules.parse(ROBOTS, text)
        assert [rules.allowed(PLACE + path) for path in ("/a/b", "/a", "/a/b?x")] == answers
        assert rules.allowed(f"{PLACE}/x.pdf") is (dialect == "robotrules")


def test_a_dialect_sees_the_whole_name() -> None:
    """Where the name is looked for in a comment, it is found there."""
    header = "Mozilla/5.0 (compatible; MyBot/1.0; +http://my.bot)"
    for dialect in ("rfc9309", "google"):
        with RobotRules(header, dialect=dialect) as rules:
            rules.parse(ROBOTS, "User-agent: MyBot\nDisallow: /")
            assert rules.agent() == "Mozilla"
            assert rules.allowed(PLACE) is False, dialect
            rules.agent("Mozilla/5.0 (compatible; YourBot/1.0)")
            assert rules.allowed(PLACE) is True, dialect


def test_an_unknown_dialect_is_refused(store: Path) -> None:
    """Before anything is stored."""
    with pytest.raises(UnknownName):
        RobotRules("x", store, dialect="nonsense")
    assert not store.exists()


# A model of it all.

HOSTS = st.sampled_from([PLACE, OTHER, "https://some.place", "http://some.place:8080"])
PATHS = st.sampled_from(["", "/", "/a", "/a/b", "/b", "/c?a"])
CLOSED_PATHS = st.lists(st.sampled_from(["/a", "/b", "/c", "/a/b", "/"]), max_size=3)
NAMES = st.sampled_from(["One/1", "One/2", "Two", "Three x"])


class Known:
    """What the model knows of a host."""

    def __init__(self) -> None:
        self.closed: list[str] = []
        self.fresh_until: float | None = None
        self.visits = 0
        self.last: float | None = None


class Model(RuleBasedStateMachine):
    """A dictionary of hosts beside the real thing, told and asked the same."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.real = RobotRules("One/1", now=self.clock)
        self.name = "One"
        self.known: dict[str, Known] = {}

    def teardown(self) -> None:
        self.real.close()

    @rule(host=HOSTS, closed=CLOSED_PATHS, seconds=st.none() | st.integers(-2, 20))
    def parse(self, host: str, closed: list[str], seconds: int | None) -> None:
        text = "User-agent: *\n" + "".join(f"Disallow: {path}\n" for path in closed)
        until = None if seconds is None else self.clock.now + seconds
        self.real.parse(f"{host}/robots.txt", text, until)
        known = self.known.setdefault(host, Known())
        known.closed = closed
        known.fresh_until = self.clock.now + robotrules.YEAR if until is None else until

    @rule(host=HOSTS)
    def parse_nothing(self, host: str) -> None:
        self.real.parse(f"{host}/robots.txt", None)

    @rule(host=HOSTS, path=PATHS)
    def ask(self, host: str, path: str) -> None:
        known = self.known.get(host)
        if known is None or known.fresh_until is None or known.fresh_until < self.clock.now:
            expected = None
        else:
            expected = not any((path or "/").startswith(closed) for closed in known.closed)
        assert self.real.allowed(host + path) is expected

    @rule(host=HOSTS, at=st.none() | st.integers(-5, 5))
    def visit(self, host: str, at: int | None) -> None:
        moment = self.clock.now + (at or 0)
        self.real.visit(host, None if at is None else moment)
        known = self.known.setdefault(host, Known())
        known.visits += 1
        known.last = moment if known.last is None else max(known.last, moment)

    @rule(name=NAMES)
    def rename(self, name: str) -> None:
        short = name.partition(" ")[0].partition("/")[0]
        assert self.real.agent(name) == self.name
        if short != self.name:
            self.known.clear()
        self.name = short

    @rule(seconds=st.sampled_from([1, 5, 20, robotrules.YEAR]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def both_know_the_same(self) -> None:
        assert self.real.agent() == self.name
        assert self.real.hosts() == sorted(self.known)
        for host, known in self.known.items():
            assert self.real.fresh_until(host) == known.fresh_until
            assert self.real.visits(host) == known.visits
            assert self.real.last_visit(host) == known.last


TestModel = Model.TestCase
TestModel.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)


# The store.


def test_a_store_is_opened_again(store: Path, clock: Clock) -> None:
    """Rules, times and visits outlive the object, for the same name in any version."""
    with RobotRules("MOMspider/1.0", store, now=clock) as rules:
        rules.parse(ROBOTS, INFINITE_SPACE, NOW + 9)
        rules.visit(PLACE)
    with RobotRules("MOMspider/2.0", str(store), now=clock) as rules:
        assert rules.allowed(f"{PLACE}/tmp/x") is False
        assert rules.allowed(f"{PLACE}/x") is True
        assert (rules.fresh_until(PLACE), rules.visits(PLACE)) == (NOW + 9, 1)
        assert rules.last_visit(PLACE) == NOW


def test_a_store_opened_under_another_name_is_cleared(store: Path) -> None:
    """What was allowed to one robot is nothing to another."""
    with RobotRules("One", store) as rules:
        rules.parse(ROBOTS, CLOSED)
        rules.visit(PLACE)
    with RobotRules("Two", store) as rules:
        assert rules.hosts() == []
    with RobotRules("One", store) as rules:
        assert rules.hosts() == []


def test_passwords_are_not_stored(store: Path) -> None:
    """Credentials in a URL do not get into the file."""
    with RobotRules("One", store) as rules:
        rules.parse("http://user:secret@some.place/robots.txt", CLOSED)
        rules.visit("http://user:secret@some.place/")
    assert b"secret" not in b"".join(path.read_bytes() for path in store.parent.iterdir())


def test_what_one_object_parses_the_other_sees(store: Path) -> None:
    """Also where it has the earlier file at hand, and where the store was cleared in between."""
    with RobotRules("One", store) as one, RobotRules("One", store) as two:
        one.parse(ROBOTS, CLOSED)
        assert two.allowed(PLACE) is False
        one.parse(ROBOTS, "")
        assert two.allowed(PLACE) is True
        one.agent("Else")
        one.agent("One")
        assert two.allowed(PLACE) is None
        one.parse(ROBOTS, CLOSED)
        assert two.allowed(PLACE) is False


def test_each_object_goes_by_its_own_name(store: Path) -> None:
    """One changes the name: the other finds the store cleared, and asks on as who it is."""
    hall = "http://ancientcastle.example.com/hall"
    with RobotRules("Gaston", store) as gaston, RobotRules("Gaston", store) as other:
        gaston.parse(CASTLE, ANCIENT_CASTLE)
        assert gaston.allowed(hall) is False
        other.agent("Belle")
        assert (gaston.agent(), gaston.allowed(hall)) == ("Gaston", None)
        other.parse(CASTLE, ANCIENT_CASTLE)
        assert (gaston.allowed(hall), other.allowed(hall)) == (False, True)
        # Taking the name that the store has clears nothing, and changes the answers.
        gaston.agent("Belle")
        assert gaston.allowed(hall) is True


WRITER = """
import sys
from manners import RobotRules
path, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with RobotRules("One/1.0", path) as rules:
    print("open", flush=True)
    for turn in range(count):
        rules.parse(f"http://h{turn % 7}/robots.txt", "User-agent: *\\nDisallow: /%d/" % number)
        rules.visit("http://shared/")
        rules.visit(f"http://own{number}/")
        assert rules.allowed(f"http://h{turn % 7}/x") is True
"""


def writer(store: Path, number: int, count: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(store), str(number), str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_processes_share_a_store(store: Path) -> None:
    """Three processes open a new file at once and write: no visit is lost, nobody fails."""
    running = [writer(store, number, 100) for number in range(3)]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()
    with RobotRules("One", store) as rules:
        assert rules.visits("http://shared/") == 300
        assert [rules.visits(f"http://own{number}/") for number in range(3)] == [100] * 3
        for host in range(7):
            closed = [rules.allowed(f"http://h{host}/{number}/") for number in range(3)]
            assert sorted(closed, key=bool) == [False, True, True]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_process_that_is_killed_leaves_a_whole_store(store: Path) -> None:
    """At twenty random moments of writing: what is found is a state that was written."""
    rng = random.Random(3)
    seen = 0
    for number in range(20):
        with writer(store, number, 1_000_000) as process:
            assert process.stdout
            assert process.stdout.readline() == b"open\n"
            time.sleep(rng.uniform(0, 0.02))
            process.send_signal(signal.SIGKILL)
        with RobotRules("One", store) as rules:
            # A parse, then two visits: at most the last visit of each killed process is missing.
            own = rules.visits(f"http://own{number}/")
            seen += own
            assert own <= rules.visits("http://shared/") - (seen - own) <= own + number + 1
            for host in rules.hosts():
                if host.startswith("http://h"):
                    closed = [rules.allowed(f"{host}/{each}/") for each in range(number + 1)]
                    assert closed.count(False) == 1
        connection = sqlite3.connect(store)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
    assert seen > 0


def test_threads_share_an_object(store: Path) -> None:
    """Visits of eight threads all count, while files are parsed, asked, and the name is set."""
    with RobotRules("One", store) as rules:

        def work(number: int) -> None:
            for turn in range(50):
                rules.visit(PLACE)
                rules.agent(f"One/{turn}")
                rules.parse(ROBOTS, f"User-agent: *\nDisallow: /{turn}/")
                assert rules.allowed(f"{PLACE}/x{number}") is True

        failed: list[BaseException] = []

        def caught(number: int) -> None:
            try:
                work(number)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=caught, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        assert rules.visits(PLACE) == 400


# Stores that cannot be used.


def test_a_database_of_somebody_else_is_refused_and_left_alone(store: Path) -> None:
    """No byte of it changes."""
    connection = sqlite3.connect(store)
    connection.execute("CREATE TABLE theirs (value)")
    connection.commit()
    connection.close()
    before = store.read_bytes()
    with pytest.raises(StoreError, match="another application"):
        RobotRules("One", store)
    assert store.read_bytes() == before
    assert [path.name for path in store.parent.iterdir()] == [store.name]


@pytest.mark.parametrize("content", [b"no database", b"x" * 5000, b"SQLite format 3\0" + b"\1" * 9])
def test_a_file_that_is_no_database_is_refused(store: Path, content: bytes) -> None:
    """It is left as it was."""
    store.write_bytes(content)
    with pytest.raises(StoreError):
        RobotRules("One", store)
    assert store.read_bytes() == content


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """As is a folder in place of a file."""
    for place in (tmp_path / "none" / "robots.db", tmp_path):
        with pytest.raises(StoreError):
            RobotRules("One", place)


def test_a_store_that_is_damaged_is_a_store_error(store: Path) -> None:
    """Whenever that is noticed: on opening, or on asking."""
    with RobotRules("One", store) as rules:
        for number in range(300):
            rules.parse(f"http://h{number}/robots.txt", "User-agent: *\n" + "#" * 300)
    content = bytearray(store.read_bytes())
    content[4096:] = bytes([255]) * (len(content) - 4096)
    store.write_bytes(content)

    def ask() -> None:
        with RobotRules("One", store) as rules:
            for number in range(300):
                rules.allowed(f"http://h{number}/")

    with pytest.raises(StoreError):
        ask()


def test_a_store_that_another_process_holds_is_a_store_error(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After waiting, and reading goes on meanwhile."""
    monkeypatch.setattr(robotrules, "_WAIT", 0.05)
    with RobotRules("One", store) as rules:
        rules.parse(ROBOTS, CLOSED)
        other = sqlite3.connect(store, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert rules.allowed(PLACE) is False
        with pytest.raises(StoreError, match="locked"):
            rules.visit(PLACE)
        with pytest.raises(StoreError, match="locked"):
            rules.parse(ROBOTS, "")
        with pytest.raises(StoreError, match="locked"):
            rules.agent("Two")
        other.close()
        assert (rules.agent(), rules.allowed(PLACE), rules.visits(PLACE)) == ("One", False, 0)


def test_a_closed_object_is_a_store_error() -> None:
    """Closing twice does nothing more."""
    rules = RobotRules("One")
    rules.close()
    rules.close()
    with pytest.raises(StoreError, match="closed"):
        rules.allowed(PLACE)


@pytest.mark.filterwarnings("error")
def test_an_object_that_is_dropped_closes_its_store(store: Path) -> None:
    """Nobody has to close it, and nothing complains."""
    rules = RobotRules("One", store)
    rules.visit(PLACE)
    database = rules._database
    del rules
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError):
        database.execute("SELECT 1")
    assert logging.getLogger("manners.robotrules").handlers

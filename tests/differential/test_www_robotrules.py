"""`RobotRules` beside the real WWW::RobotRules, which runs in a Perl process of its own.

Every difference between the two has a name, a predicate and an example. `DIFFERENTIAL_SEED` repeats
a run.
"""

import os
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import pytest

from manners import RobotRules
from manners._text import to_bytes, to_text
from manners.errors import InvalidURL
from manners.urls import origin
from tests.differential.generate import MAX_LINE, Case, cases
from tests.shared import agents, body, needs_shared
from tests.shared import cases as shared_cases

SEED = os.environ.get("DIFFERENTIAL_SEED", "robotrules")
FILES = 700
NOW = 1_000_000_000

# Values go in and out as hexadecimal, so that any byte may be part of them; the clock is set.
SCRIPT = r"""
use strict;
our $now; BEGIN { $now = 0; *CORE::GLOBAL::time = sub () { $now }; }
use WWW::RobotRules; use URI;
$| = 1; my $rules;
sub netloc { my $uri = URI->new($_[0]); $uri->host . ':' . $uri->port }
my %do = (
  now => sub { $now = $_[0]; undef },
  new => sub { $rules = WWW::RobotRules->new($_[0]); undef },
  agent => sub { $rules->agent(@_) },
  parse => sub { $rules->parse(@_); undef },
  allowed => sub { $rules->allowed($_[0]) },
  visit => sub { $rules->visit(netloc($_[0]), $_[1]); undef },
  visits => sub { $rules->no_visits(netloc($_[0])) },
  last_visit => sub { $rules->last_visit(netloc($_[0])) },
  fresh_until => sub { $rules->fresh_until(netloc($_[0])) },
);
while (my $line = <STDIN>) {
  chomp $line;
  my ($name, @values) = split / /, $line;
  my $answer = eval { $do{$name}->(map { pack 'H*', substr $_, 1 } @values) };
  print $@ ? "died\n" : defined $answer ? '=' . unpack('H*', $answer) . "\n" : "undef\n";
}
"""


def is_installed() -> bool:
    if shutil.which("perl") is None:
        return False
    ran = subprocess.run(["perl", "-MWWW::RobotRules", "-e1"], capture_output=True, check=False)
    return ran.returncode == 0


pytestmark = pytest.mark.skipif(
    not is_installed(), reason="Perl with WWW::RobotRules is not installed"
)


class Perl:
    """The real module, asked over pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin
        assert process.stdout
        self.to, self.back = process.stdin, process.stdout

    def ask(self, name: str, *values: str | bytes | float) -> str | None:
        written = [value if isinstance(value, bytes) else to_bytes(str(value)) for value in values]
        self.to.write(" ".join([name, *("=" + each.hex() for each in written)]).encode() + b"\n")
        self.to.flush()
        answer = self.back.readline().decode().strip()
        assert answer, "Perl has ended"
        assert answer != "died", (name, values)
        return None if answer == "undef" else to_text(bytes.fromhex(answer[1:]))

    def allowed(self, url: str) -> bool | None:
        return {"1": True, "0": False, "-1": None}[self.ask("allowed", url) or ""]


@pytest.fixture(scope="module")
def perl() -> Iterator[Perl]:
    with subprocess.Popen(
        ["perl", "-e", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        yield Perl(process)


class Question(NamedTuple):
    """A file, where it is from, who asks, and what for."""

    body: bytes
    agent: str
    url: str
    file_url: str = "http://h/robots.txt"


class Difference(NamedTuple):
    name: str
    explains: Callable[[Question], bool]
    example: Question
    ours: bool | None
    theirs: bool | None


_AUTHORITY = re.compile(r"https?://([^/?#]*)(.?)", re.DOTALL).match
CLOSED = b"User-agent: *\nDisallow: /\n"


def authority(url: str) -> tuple[str, str]:
    """Of an http URL, the authority and the character behind it."""
    found = _AUTHORITY(url)
    return (found[1], found[2]) if found else ("", "/")


def has_long_line(question: Question) -> bool:
    return any(len(line) > MAX_LINE for line in re.split(rb"[\r\n]", question.body))


DIFFERENCES = [
    Difference(  # path_query is empty, or begins with the query; RFC 3986, 6.2.3: the path is "/"
        "no_path",
        lambda question: authority(question.url)[1] != "/",
        Question(CLOSED, "bot", "http://h"),
        ours=False,
        theirs=True,
    ),
    Difference(  # URI's host is as it is written, and so is the key
        "host_in_capitals",
        lambda question: (
            question.url[:8] != question.url[:8].lower()
            or authority(question.url)[0] != authority(question.url)[0].lower()
        ),
        Question(CLOSED, "bot", "http://H/"),
        ours=False,
        theirs=None,
    ),
    Difference(  # the key is host and port there, the origin here
        "scheme_in_key",
        lambda question: question.url.startswith("https") != question.file_url.startswith("https"),
        Question(CLOSED, "bot", "https://h:80/"),
        ours=None,
        theirs=False,
    ),
    Difference(  # the port is the empty string there
        "empty_port",
        lambda question: authority(question.url)[0].endswith(":"),
        Question(CLOSED, "bot", "http://h:/"),
        ours=False,
        theirs=None,
    ),
    Difference(  # URI's host is unescaped; here it is no host, as for whoever sends a request
        "escaped_host",
        lambda question: "%" in authority(question.url)[0],
        Question(CLOSED, "bot", "http://%68/"),
        ours=None,
        theirs=False,
    ),
    Difference(  # URI->new drops it; RFC 3986 has no white space in a URL
        "white_space_around_a_url",
        lambda question: question.url != question.url.strip(),
        Question(CLOSED, "bot", " http://h/"),
        ours=True,
        theirs=False,
    ),
    Difference(  # a line counts up to a NUL, in every dialect
        "nul",
        lambda question: b"\0" in question.body,
        Question(b"User-agent: *\nDisallow: /a\0b\n", "bot", "http://h/a"),
        ours=False,
        theirs=True,
    ),
    Difference(  # a byte order mark is skipped, in every dialect
        "byte_order_mark",
        lambda question: question.body.startswith((b"\xef", b"\xff", b"\xfe")),
        Question(b"\xef\xbb\xbfUser-agent: x\nDisallow: /\n", "bot", "http://h/"),
        ours=True,
        theirs=False,
    ),
    Difference(  # a line is cut after so many bytes, in every dialect
        "long_line",
        has_long_line,
        Question(
            b"User-agent: *\nDisallow: /" + b"a" * MAX_LINE, "bot", "http://h/" + "a" * 16_652
        ),
        ours=False,
        theirs=True,
    ),
    Difference(  # more than 512,000 bytes are not read
        "long_file",
        lambda question: len(question.body) > 512_000,
        Question(b"#\n" * 256_001 + CLOSED, "bot", "http://h/"),
        ours=True,
        theirs=False,
    ),
    Difference(  # "*" is nobody's name here, so a record that names everybody's part is not ours
        "robot_called_star",
        lambda question: question.agent.split()[0].partition("/")[0] == "*",
        Question(b"User-agent:\nDisallow: /\n", "*", "http://h/"),
        ours=True,
        theirs=False,
    ),
]


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.name)
def test_a_known_difference_is_one(perl: Perl, difference: Difference) -> None:
    """Each difference has an example that both answer as the table says."""
    question = difference.example
    perl.ask("new", question.agent)
    perl.ask("parse", question.file_url, question.body)
    with RobotRules(question.agent) as rules:
        rules.parse(question.file_url, question.body)
        answers = rules.allowed(question.url), perl.allowed(question.url)
    assert answers == (difference.ours, difference.theirs)
    assert difference.explains(question)


def usable_name(names: tuple[str, ...]) -> str:
    """The first that has a name in it; both refuse or ignore the others, each in its way."""
    for name in names:
        if name.split() and name.split()[0].partition("/")[0] not in ("", "0"):
            return name
    return "bot/1.0"


HOSTS = ("http://h", "https://example.com", "http://h:8080", "http://other.example")


def elsewhere(url: str, host: str) -> str:
    """A URL, or a path, moved to a host when it names none."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", url):
        return url
    return host + (url if url.startswith("/") else "/" + url)


class Both:
    """One object of ours and one of theirs, told and asked the same."""

    def __init__(self, perl: Perl, agent: str, answers: "Counter[bool | None]") -> None:
        self.perl, self.now, self.agent, self.answers = perl, NOW, agent, answers
        self.bodies: dict[str, bytes] = {}
        perl.ask("now", self.now)
        perl.ask("new", agent)
        self.rules = RobotRules(agent, now=lambda: self.now)

    def wait(self, seconds: int) -> None:
        self.now += seconds
        self.perl.ask("now", self.now)

    def rename(self, agent: str) -> None:
        # There and back: the same bytes come from Perl as one text only.
        assert self.perl.ask("agent", agent) == to_text(to_bytes(self.rules.agent(agent)))
        self.agent = agent

    def parse(self, host: str, text: bytes, fresh_until: int | None) -> None:
        url = host + "/robots.txt"
        self.rules.parse(url, text, fresh_until)
        self.perl.ask("parse", url, text, *(() if fresh_until is None else (fresh_until,)))
        self.bodies[host] = text

    def compare(self, url: str) -> bool:
        """Whether the answers are the same; when not, the difference is a known one."""
        ours, theirs = self.rules.allowed(url), self.perl.allowed(url)
        self.answers[ours] += 1
        if ours is theirs:
            return True
        try:
            host = origin(url)
        except InvalidURL:
            host = "https://" if url.startswith("https") else "http://"
        question = Question(self.bodies.get(host, b""), self.agent, url, host + "/robots.txt")
        assert any(each.explains(question) for each in DIFFERENCES), (question, ours, theirs)
        return False

    def compare_visits(self) -> None:
        for host in HOSTS:
            assert self.rules.visits(host) == int(self.perl.ask("visits", host) or 0)
            last, fresh = self.rules.last_visit(host), self.rules.fresh_until(host)
            assert (None if last is None else str(int(last))) == self.perl.ask("last_visit", host)
            assert (None if fresh is None else str(int(fresh))) == self.perl.ask(
                "fresh_until", host
            )


_TO_CLOSE = re.compile(rb"(?i)\b(?:allow|dis+alow|dissallow|diasllow)\s*:")

_RULES = re.compile(rb"(?i)disallow\s*:[ \t]*(/[^\s#]*)")


def play(both: Both, rng: random.Random, case: Case) -> list[bool]:
    """A file is parsed for some host, time passes, and questions are asked."""
    if rng.random() < 0.6:
        both.rename(usable_name(case.agents))
    host = rng.choice(HOSTS)
    until = rng.choice((None, None, None, both.now - 1, both.now, both.now + 5, both.now + 1000))
    # Half of the files have rules only that this module reads, or little would be closed.
    text = case.body if rng.random() < 0.5 else _TO_CLOSE.sub(b"Disallow:", case.body)
    both.parse(host, text, until)
    if rng.random() < 0.5:
        both.wait(rng.choice((1, 4, 400)))
    for _ in range(rng.choice((0, 1, 2))):
        moment = both.now if rng.random() < 0.5 else None
        both.rules.visit(host + "/x", moment)
        both.perl.ask("visit", host + "/x", *(() if moment is None else (moment,)))
    both.compare_visits()
    # What the rules say, literally, is what this module closes.
    values = [to_text(found) for found in _RULES.findall(text)] or ["/"]
    literal = [host + rng.choice(values) + rng.choice(("", "a", "/b?c", "#d")) for _ in range(10)]
    return [both.compare(url) for url in (*(elsewhere(url, host) for url in case.urls), *literal)]


def test_both_give_the_same_answers_and_count_the_same_visits(perl: Perl) -> None:
    """Random files, hosts, names, times and visits: nothing differs but what is known to."""
    rng = random.Random(SEED)
    source = cases(SEED, urls=10)
    same: list[bool] = []
    answers: Counter[bool | None] = Counter()
    while len(same) < FILES * 20:
        first = next(source)
        both = Both(perl, usable_name(first.agents), answers)
        for case in (first, *islice(source, 7)):
            same += play(both, rng, case)
        both.rules.close()
    # Most of what is generated has no known difference in it, or nothing would be compared.
    assert sum(same) > 0.95 * len(same)
    assert min(answers[each] for each in (True, False, None)) > 0.1 * len(same), answers


@needs_shared
def test_its_own_suite_gets_the_same_answers_from_both(perl: Perl) -> None:
    """Every case of WWW::RobotRules' suite is answered as it says, here and there."""
    for case in shared_cases("cases-www-robotrules.jsonl"):
        agent = agents(case)
        assert isinstance(agent, str)
        perl.ask("now", NOW)
        perl.ask("new", agent)
        perl.ask("parse", case["robots_url"], body(case))
        with RobotRules(agent) as rules:
            rules.parse(case["robots_url"], body(case))
            answers = rules.allowed(case["url"]), perl.allowed(case["url"])
        # The suite takes -1, unknown, for true, as Perl does.
        assert [each is not False for each in answers] == [case["allowed"]] * 2, case["id"]
        assert answers[0] is answers[1], case["id"]

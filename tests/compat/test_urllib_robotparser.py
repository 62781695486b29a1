"""The drop-in for `urllib.robotparser`, beside the real one.

Every difference between the two has a name and a reason. What the standard library does is worked
out a second time, by changing the default dialect step by step until it is read as the standard
library reads it; the step that brings the other answer is the difference.
"""

import copy
import inspect
import pickle
import random
import re
import time
import tomllib
import urllib.robotparser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from http.client import BadStatusLine, IncompleteRead
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any
from urllib.error import URLError
from urllib.parse import quote, unquote, urlparse, urlunparse

import pytest

import manners
from manners.compat import urllib_robotparser
from manners.compat.urllib_robotparser import RobotFileParser
from manners.robots.agents import Choice, by_name
from manners.robots.dialects import Dialect, get
from manners.robots.groups import Group
from tests.shared import Case, body, cases, needs_shared

RFC9309 = get("rfc9309")
StandardParser = urllib.robotparser.RobotFileParser
PAGE = (Path(__file__).resolve().parents[2] / "docs/coming-from/urllib.md").read_text("utf-8")
DIFFERENCES = tomllib.loads(Path(__file__).with_name("urllib_differences.toml").read_text("utf-8"))[
    "difference"
]
NAMES = [each["name"] for each in DIFFERENCES]

both = pytest.mark.parametrize(
    "parser_class", [RobotFileParser, StandardParser], ids=["manners", "urllib"]
)
before_rfc9309 = pytest.mark.skipif(
    "9309" in (urllib.robotparser.__doc__ or ""),
    reason="the standard library of this Python follows RFC 9309 in part",
)


def parsed(parser_class: Any, lines: Iterable[str] | bytes) -> Any:
    parser = parser_class()
    parser.parse(lines)
    return parser


# The standard library's answers, by changing the default dialect.


@dataclass(frozen=True)
class Reading:
    """A question, and how the file is read to answer it."""

    lines: tuple[str, ...]
    agent: str
    url: str
    urllib: str
    """Whose normalisation: that of 3.13, or that of 3.14."""
    dialect: Dialect = RFC9309

    def but(self, **changes: Any) -> "Reading":
        return replace(self, dialect=self.dialect.but(name="changed", **changes))

    @property
    def body(self) -> str:
        return "\n".join(self.lines)

    @property
    def allowed(self) -> bool:
        return manners.parse(self.body, self.dialect).allowed(self.url, self.agent)


def reads_lines_strictly(reading: Reading) -> Reading:
    # A byte order mark makes the first key an unknown one.
    lines = tuple("#" if line.startswith("\ufeff") else line for line in reading.lines)
    return replace(reading, lines=lines).but(keys="exact", colon_optional=False)


def ends_groups_early(reading: Reading) -> Reading:
    """The file rewritten so that its groups are what the standard library makes of it."""
    lines = list(reading.lines)
    waiting: list[int] = []  # User-agent lines that nothing belongs to yet
    is_open = False
    for line in manners.lines(reading.body, reading.dialect):
        at = line.number - 1
        if line.kind == "user-agent":
            waiting.append(at)
            is_open = True
        elif line.kind in ("allow", "disallow", "crawl-delay", "request-rate"):
            waiting.clear()
            if not is_open:
                lines[at] = "#"
            elif line.kind not in ("allow", "disallow"):
                lines[at] = "Disallow: none"  # a rule that matches no path
        elif at < len(lines) and lines[at] == "":
            for each in waiting:
                lines[each] = "#"
            waiting.clear()
            is_open = False
    for each in waiting:
        lines[each] = "#"
    return replace(reading, lines=tuple(lines))


def first_by_name(groups: Sequence[Group], agents: Iterable[str], dialect: Dialect) -> Choice:
    choice = by_name(groups, agents, dialect)
    return choice._replace(groups=choice.groups[:1])


def first_by_part(groups: Sequence[Group], agents: Iterable[str], _: Dialect) -> Choice:
    (agent,) = agents
    own = agent.split("/")[0].lower()
    everybody = [group for group in groups if "*" in group.agents]
    named = [
        group
        for group in groups
        if group not in everybody and any(name.lower() in own for name in group.agents)
    ]
    return Choice(tuple((named or everybody)[:1]))


def decoded(text: str, version: str) -> str:
    """What the standard library compares instead of a path, a query or a rule."""
    if version == "3.13":
        return quote(urlunparse(urlparse(unquote(text))))

    def octets(text: str) -> str:
        return quote(unquote(text, errors="surrogateescape"), errors="surrogateescape")

    path, mark, query = text.partition("?")
    return octets(path) + mark + re.sub("[^=&]+", lambda found: octets(found[0]), query)


@cache
def decoding(version: str, wildcards: bool) -> dict[str, Any]:
    """The fields of a dialect that decodes everything, with operators or without."""

    def literal(value: bytes, _: str | None) -> bytes:
        return decoded(value.decode("utf-8", "surrogateescape"), version).encode()

    def pattern(value: bytes, _: str | None) -> bytes:
        text, anchor, _end = value.partition(b"$")
        return b"*".join(literal(piece, None) for piece in text.split(b"*")) + anchor

    return {
        "normalise_pattern": pattern if wildcards else literal,
        "normalise_path": partial(decoded, version=version),
        "wildcards": wildcards,
    }


CHANGES: dict[str, Callable[[Reading], Reading]] = {
    "robots_txt_itself": lambda reading: reading.but(robots_txt_allowed=False),
    "line_reading": reads_lines_strictly,
    "group_lines": ends_groups_early,
    "combined_groups": lambda reading: reading.but(select=first_by_name),
    "agent_name": lambda reading: reading.but(select=first_by_part),
    "fragment": lambda reading: replace(reading, url=reading.url.replace("#", "%23")),
    "normalisation": lambda reading: reading.but(**decoding(reading.urllib, wildcards=True)),
    "wildcards": lambda reading: reading.but(**decoding(reading.urllib, wildcards=False)),
    "most_specific_rule": lambda reading: reading.but(rank="first"),
    "empty_rule": lambda reading: reading.but(empty_rule="allows"),
}


def the_difference(reading: Reading, theirs: bool) -> str | None:
    """The name of what makes the standard library's answer another one than ours, if it is.

    The changes are made one after another, in the order in which a file is read. The difference is
    the one that brings the other answer for good.
    """
    readings = accumulate(CHANGES.values(), lambda before, change: change(before), initial=reading)
    answers = [each.allowed for each in readings]
    ours = parsed(RobotFileParser, reading.lines).can_fetch(reading.agent, reading.url)
    assert ours == answers[0], f"the drop-in does not read as RFC 9309 says: {reading}"
    assert theirs == answers[-1], f"the changes do not explain the other answer: {reading}"
    if ours == theirs:
        return None
    (name,) = [
        name
        for number, name in enumerate(CHANGES, 1)
        if answers[number - 1] != theirs and set(answers[number:]) == {theirs}
    ]
    return name


def reading_of(case: Case, version: str) -> Reading:
    text = body(case).decode("utf-8", "surrogateescape")
    return Reading(tuple(text.splitlines()), case["agent"], case["url"], version)


@needs_shared
@pytest.mark.parametrize("version", ["3.13", "3.14"])
def test_every_case_of_the_standard_library_holds_or_differs_in_one_named_way(version: str) -> None:
    """Each row of CPython's own suite has its answer, or exactly one of the named differences."""
    rows = cases(f"cases-urllib-{version}.jsonl")
    found = Counter(the_difference(reading_of(case, version), case["allowed"]) for case in rows)
    assert set(found) <= {None, *NAMES}
    assert found[None] > len(rows) / 2


def running_version() -> str:
    """Which normalisation the standard library of this Python has."""
    parser = parsed(StandardParser, ["User-agent: *", "Disallow: /a?"])
    return "3.14" if parser.can_fetch("bot", "/a") else "3.13"


@pytest.mark.parametrize("difference", DIFFERENCES, ids=NAMES)
@pytest.mark.parametrize("version", ["3.13", "3.14"])
def test_every_name_is_needed(difference: dict[str, Any], version: str) -> None:
    """Each difference is the one and only explanation of its example, and has a reason."""
    lines = tuple(difference["robots"].lstrip("\n").splitlines())
    reading = Reading(lines, difference["agent"], difference["url"], version)
    assert the_difference(reading, not difference["allowed"]) == difference["name"]
    assert "RFC 9309 2." in difference["reason"]


def test_every_name_has_a_change_and_a_row_on_the_page() -> None:
    """The table of differences, the changes and the page list the same names."""
    assert list(CHANGES) == NAMES
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == NAMES


@before_rfc9309
@pytest.mark.parametrize("difference", DIFFERENCES, ids=NAMES)
def test_the_standard_library_differs_where_it_is_said_to(difference: dict[str, Any]) -> None:
    """The running standard library has the other answer to each example."""
    lines = difference["robots"].lstrip("\n").splitlines()
    theirs = parsed(StandardParser, lines).can_fetch(difference["agent"], difference["url"])
    assert theirs == (not difference["allowed"])


_LINES = [
    *("User-agent: *", "User-agent: *", "User-agent: bot", "User-agent: Bot-Mobile", "user-agent:"),
    *(
        "User-agent: *",
        "Disallow: /",
        "Disallow: /a",
        "Allow: /a",
        "Allow: /a/b",
        "Disallow: /a/b",
        "Disallow:",
    ),
    *("Disallow: /a%2Fb", "Allow: /%61", "Disallow: /a*", "Disallow: /*b$", "Disallow: *"),
    *("Disallow: /a?b=c", "Disallow: /a%23b", "Disallow: /a?", "Disallow: a", "Allow: /robots"),
    *("", "", "", "  ", "# a comment", "Crawl-delay: 1", "Request-rate: 1/2", "Sitemap: /s"),
    *("Disalow: /a", "Disallow /a", "\ufeffUser-agent: *", "Colour: blue", "what"),
]
_AGENTS = ["bot", "Bot-Mobile/1.0", "mybot", "*", "Mozilla/5.0 (compatible; bot/2.0)"]
_URLS = [
    *("/", "/a", "/a/b", "/a%2fb", "/a*", "/a*b$", "/a?b=c", "/a?", "/a#b", "/a#b", "/a%23b", "/b"),
    *("/robots.txt", "http://example.com/a", "https://example.com", "/%61/b"),
]


@before_rfc9309
def test_nothing_else_differs_from_the_running_standard_library() -> None:
    """For random files each answer is the same or has one name, and every name occurs."""
    rng, version = random.Random(9309), running_version()
    found: Counter[str | None] = Counter()
    for _ in range(600):
        lines = (*rng.choice([(), ("User-agent: *",)]), *rng.choices(_LINES, k=rng.randint(1, 8)))
        parser = parsed(StandardParser, lines)
        for url in rng.sample(_URLS, 3):
            reading = Reading(lines, rng.choice(_AGENTS), url, version)
            found[the_difference(reading, parser.can_fetch(reading.agent, url))] += 1
    assert set(found) == {None, *NAMES}


# The interface, beside the standard library's.


def test_the_public_methods_and_their_parameters_are_the_same() -> None:
    """Whatever is called by position or by name is called in the same way."""

    def methods(parser_class: Any) -> dict[str, list[tuple[str, object]]]:
        return {
            name: [
                (each.name, each.default) for each in inspect.signature(method).parameters.values()
            ]
            for name, method in inspect.getmembers(parser_class, inspect.isfunction)
            if name == "__init__" or not name.startswith("_")
        }

    assert methods(RobotFileParser) == methods(StandardParser)
    assert len(methods(StandardParser)) > 8


SIMPLE = """\
User-agent: figtree
Crawl-delay: 3
Request-rate: 9/30
Allow: /tmp/open
Disallow: /tmp

User-agent: other
User-agent: another
Disallow: /a/

User-agent: *
Disallow: /secret/
Sitemap: https://example.com/sitemap.xml
"""


@both
@pytest.mark.parametrize(
    ("agent", "path", "allowed"),
    [
        ("figtree", "/tmp/x", False),
        ("FigTree/2.0", "/tmp/open/x", True),
        ("figtree", "/secret/", True),
        ("another", "/a/b", False),
        ("another", "/b", True),
        ("mybot", "/secret/x", False),
        ("*", "/secret/x", False),
        ("mybot", "", True),
    ],
)
def test_a_simple_file_has_the_same_answers(
    parser_class: Any, agent: str, path: str, allowed: bool
) -> None:
    parser = parsed(parser_class, SIMPLE.splitlines())
    assert parser.can_fetch(agent, path) is allowed
    assert parser.can_fetch(useragent=agent, url=f"https://example.com{path}") is allowed


@both
def test_a_simple_file_has_the_same_delays_rates_and_sitemaps(parser_class: Any) -> None:
    """A delay in whole seconds is an int, and a rate is a pair with names."""
    parser = parsed(parser_class, SIMPLE.splitlines())
    assert parser.crawl_delay("figtree") == 3
    assert isinstance(parser.crawl_delay("figtree"), int)
    assert parser.crawl_delay("mybot") is None
    requests, seconds = parser.request_rate("figtree")
    assert (requests, seconds) == (9, 30)
    assert parser.request_rate("figtree").requests == 9
    assert parser.request_rate("figtree").seconds == 30
    assert parser.request_rate("mybot") is None
    assert parser.site_maps() == ["https://example.com/sitemap.xml"]
    assert parsed(parser_class, ["User-agent: *"]).site_maps() is None


@both
def test_a_simple_file_is_written_the_same(parser_class: Any) -> None:
    """`str` gives the groups with their delays and rules, an empty line between them."""
    groups = SIMPLE.partition("Sitemap")[0].rstrip("\n")
    assert str(parsed(parser_class, SIMPLE.splitlines())) == groups
    assert str(parser_class()) == ""


def test_what_is_for_everybody_is_written_last() -> None:
    parser = parsed(RobotFileParser, ["User-agent: *", "Disallow: /", "User-agent: a", "Allow: /"])
    assert str(parser) == "User-agent: a\nAllow: /\n\nUser-agent: *\nDisallow: /"


@both
def test_nothing_is_known_before_a_file_is_read(parser_class: Any) -> None:
    """Nothing may be fetched, and there is no delay, no rate and no sitemap."""
    parser = parser_class("https://example.com/robots.txt")
    assert parser.can_fetch("bot", "https://example.com/") is False
    assert parser.crawl_delay("bot") is None
    assert parser.request_rate("bot") is None
    assert parser.site_maps() is None
    assert parser.mtime() == 0


@both
def test_reading_sets_the_time(parser_class: Any) -> None:
    """`mtime` is when the file was parsed, or when `modified` was called."""
    parser, before = parser_class(), time.time()
    parser.modified()
    assert before <= parser.mtime() == parser.last_checked <= time.time()
    assert parser.can_fetch("bot", "/") is True
    parser = parsed(parser_class, [])
    assert before <= parser.mtime() <= time.time()
    assert parser.can_fetch("bot", "/") is True


@both
def test_the_url_is_kept_with_its_host_and_path(parser_class: Any) -> None:
    parser = parser_class()
    assert (parser.url, parser.host, parser.path) == ("", "", "")
    parser.set_url(url="http://example.com:8080/robots.txt")
    assert parser.url == "http://example.com:8080/robots.txt"
    assert (parser.host, parser.path) == ("example.com:8080", "/robots.txt")


@both
def test_the_switches_set_by_hand_decide(parser_class: Any) -> None:
    """`allow_all` and `disallow_all` decide without a file, and `disallow_all` comes first."""
    parser = parser_class()
    assert (parser.allow_all, parser.disallow_all) == (False, False)
    parser.allow_all = True
    assert parser.can_fetch("bot", "/secret/") is True
    parser.disallow_all = True
    assert parser.can_fetch("bot", "/") is False
    parser = parsed(parser_class, SIMPLE.splitlines())
    parser.allow_all = True
    assert parser.can_fetch("bot", "/secret/") is True
    parser.allow_all, parser.disallow_all = False, True
    assert parser.can_fetch("bot", "/") is False


@both
@pytest.mark.parametrize(
    "lines",
    [
        SIMPLE.splitlines(),
        tuple(SIMPLE.splitlines()),
        SIMPLE.splitlines(keepends=True),
        SIMPLE.replace("\n", "\r\n").splitlines(keepends=True),
        SIMPLE.replace("\n", "\r").splitlines(keepends=True),
    ],
    ids=["lines", "tuple", "readlines", "CRLF", "CR"],
)
def test_lines_may_end_or_not(parser_class: Any, lines: Sequence[str]) -> None:
    """What `splitlines` and `readlines` return is read alike, also from a generator."""
    for each in (lines, (line for line in lines)):
        parser = parsed(parser_class, each)
        assert not parser.can_fetch("figtree", "/tmp")
        assert not parser.can_fetch("bot", "/secret/")
        assert parser.can_fetch("bot", "/tmp")


@pytest.mark.parametrize("whole", [SIMPLE, SIMPLE.encode()], ids=["str", "bytes"])
def test_a_file_in_one_piece_is_a_file(whole: Any) -> None:
    """A string is not read as one line for each character, which would allow everything."""
    parser = parsed(RobotFileParser, whole)
    assert str(parser) == str(parsed(RobotFileParser, SIMPLE.splitlines()))
    assert not parser.can_fetch("bot", "/secret/")


def test_a_second_file_takes_the_place_of_the_first() -> None:
    parser = parsed(RobotFileParser, SIMPLE.splitlines())
    parser.allow_all = True
    parser.parse(["User-agent: *", "Disallow: /new/"])
    assert parser.can_fetch("bot", "/secret/")
    assert not parser.can_fetch("bot", "/new/")
    assert parser.site_maps() is None


def test_more_is_read_of_delays_rates_and_sitemaps() -> None:
    """Fractions, units and relative sitemaps have values, where the standard library has none."""
    parser = RobotFileParser("https://example.com/robots.txt")
    parser.parse(
        [
            "User-agent: *",
            "Crawl-delay: 0.5",
            "Request-rate: 1/2m",
            "Disallow: /",
            "Sitemap: /s.xml",
        ]
    )
    assert parser.crawl_delay("bot") == 0.5
    assert parser.request_rate("bot") == (1, 120)
    assert parser.site_maps() == ["https://example.com/s.xml"]


@both
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda parser: pickle.loads(pickle.dumps(parser))]
)
def test_a_copy_answers_as_the_original(parser_class: Any, copied: Callable[[Any], Any]) -> None:
    """A copied and a pickled parser keep rules, time, switches and address."""
    parser = parser_class("https://example.com/robots.txt")
    parser.parse(SIMPLE.splitlines())
    parser.allow_all = True
    other = copied(parser)
    parser.allow_all = False
    assert other.allow_all is True
    other.allow_all = False
    assert not other.can_fetch("bot", "/secret/")
    assert (str(other), other.url, other.mtime()) == (str(parser), parser.url, parser.mtime())


@needs_shared
def test_delays_rates_and_sitemaps_of_the_standard_librarys_suite_hold() -> None:
    """Each row that comes from CPython has its value."""
    rows = [each for each in cases("cases-properties.jsonl") if "cpython" in each["source"]]
    for row in rows:
        lines = body(row).decode("utf-8", "surrogateescape").splitlines()
        parser = parsed(RobotFileParser, lines)
        if row["property"] == "sitemaps":
            assert (parser.site_maps() or []) == row["value"], row
        else:
            value = getattr(parser, row["property"])(row["agent"])
            named = value._asdict() if row["property"] == "request_rate" and value else value
            assert named == row["value"], row
    assert len(rows) >= 15


# Reading from a server, beside the standard library.

BODY = b"User-agent: *\nDisallow: /private/\n"
LIMIT = 512_000


class Site(BaseHTTPRequestHandler):
    """Answers to every path as the path says."""

    def do_GET(self) -> None:
        name = self.path.split("/")[1]
        if name.isdigit():
            self.answer(int(name), BODY)
        else:
            getattr(self, f"answer_{name}")()

    def answer(self, status: int, body: bytes, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def answer_moved(self) -> None:
        self.answer(301, b"", Location="/200/robots.txt")

    def answer_loop(self) -> None:
        self.answer(302, b"", Location=self.path)

    def answer_file(self) -> None:
        self.answer(302, b"", Location="file:///etc/hostname")

    def answer_bracket(self) -> None:
        self.answer(302, b"", Location="http://[")

    def answer_ftp(self) -> None:
        self.answer(302, b"", Location="ftp://127.0.0.1:" + self.path.split("/")[2] + "/robots.txt")

    def answer_early(self) -> None:
        self.answer(200, BODY, length=len(BODY) + 1)

    def answer_noise(self) -> None:
        self.wfile.write(b"what?\r\n\r\n")

    def answer_latin(self) -> None:
        self.answer(200, BODY + b"Disallow: /caf\xe9\n")

    def answer_drip(self) -> None:
        comment = b"#" * 20
        self.answer(200, b"", length=len(BODY) + len(comment))
        for at in range(len(comment)):
            self.wfile.write(comment[at : at + 1])
            time.sleep(0.01)
        self.wfile.write(b"\n" + BODY[:-1])

    def answer_large(self) -> None:
        filled = (BODY + b"# filler\n" * LIMIT)[: LIMIT - 14] + b"\n"
        # The last line that counts begins before the limit and ends long behind it.
        text = filled + b"Disallow: /" + b"x" * 10_000 + b"\nDisallow: /beyond/\n"
        self.answer(200, text[: LIMIT + 1], length=len(text))
        time.sleep(0.05)
        self.wfile.write(text[LIMIT + 1 :])

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """A server whose clients may go away."""

    def handle_error(self, request: object, client_address: object) -> None:
        pass


class FileTransfer(StreamRequestHandler):
    """As much FTP as it takes to be handed a file."""

    def handle(self) -> None:
        with ThreadingTCPServer(("127.0.0.1", 0), FileBody) as data:
            Thread(target=data.handle_request).start()
            high, low = divmod(data.server_address[1], 256)
            replies = {
                b"USER": b"230 welcome",
                b"PASV": b"227 (127,0,0,1,%d,%d)" % (high, low),
                b"RETR": b"150 here it is\r\n226 that was it",
            }
            self.wfile.write(b"220 ready\r\n")
            for line in self.rfile:
                self.wfile.write(replies.get(line[:4].upper(), b"200 well") + b"\r\n")


class FileBody(StreamRequestHandler):
    def handle(self) -> None:
        self.wfile.write(BODY)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of a server on this machine."""
    with Server(("127.0.0.1", 0), Site) as server:
        Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


def outcome(parser_class: Any, url: str) -> str:
    """What becomes of `read`, in the words of the documentation."""
    parser = parser_class(url)
    try:
        parser.read()
    except Exception as error:
        assert not parser.can_fetch("bot", "/")
        return type(error).__name__
    answers = parser.can_fetch("bot", "/"), parser.can_fetch("bot", "/private/x")
    return {
        (True, True): "everything allowed",
        (True, False): "the rules",
        (False, False): "nothing allowed",
    }[answers]


ANSWERS: dict[str, tuple[list[str], str, str]] = {
    "200": (["200"], "the rules", "the rules"),
    "401, 403": (["401", "403"], "everything allowed", "nothing allowed"),
    "429": (["429"], "nothing allowed", "everything allowed"),
    "any other 4xx": (
        ["400", "404", "410", "451", "499"],
        "everything allowed",
        "everything allowed",
    ),
    "5xx": (["500", "502", "503", "599"], "nothing allowed", "nothing allowed"),
    "a redirect": (["moved"], "the rules", "the rules"),
    "a redirect in a circle": (["loop"], "everything allowed", "nothing allowed"),
    "a redirect to no place, or to a file": (
        ["302", "304", "file"],
        "nothing allowed",
        "nothing allowed",
    ),
    "a redirect to no URL": (["bracket"], "URLError", "ValueError"),
    "no connection": (["refused"], "URLError", "URLError"),
    "a body that ends early": (["early"], "URLError", "IncompleteRead"),
    "no HTTP": (["noise"], "URLError", "BadStatusLine"),
    "a body that takes longer than 10 seconds": (["drip"], "URLError", "the rules"),
}


def address(site: str, name: str) -> str:
    if name == "refused":
        with Server(("127.0.0.1", 0), Site) as closed:
            return f"http://127.0.0.1:{closed.server_address[1]}/robots.txt"
    return f"{site}/{name}/robots.txt"


@pytest.mark.parametrize("answer", ANSWERS)
def test_read_decides_as_rfc9309_2_3_1_says(
    site: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer of a server means what the table says."""
    monkeypatch.setattr(urllib_robotparser, "_SECONDS", 0.1 if "longer" in answer else 5.0)
    names, expected, _ = ANSWERS[answer]
    for name in names:
        assert outcome(RobotFileParser, address(site, name)) == expected, name


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_read_of_the_standard_library_decides_as_the_page_says(site: str, answer: str) -> None:
    """The other column of the table is true, too."""
    names, _, expected = ANSWERS[answer]
    for name in names:
        assert outcome(StandardParser, address(site, name)) == expected, name


def test_the_page_has_the_table_of_answers() -> None:
    """Each answer has a row with both outcomes, in the same words."""
    rows = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
    assert {row[0]: row[1:] for row in rows if row[0] in ANSWERS} == {
        answer: [ours, theirs] for answer, (_, ours, theirs) in ANSWERS.items()
    }


@needs_shared
def test_the_statuses_of_the_standard_library_are_those_of_the_shared_table() -> None:
    """What the shared cases say of CPython is what the table of answers says of it."""
    words = {
        "allow_all": "everything allowed",
        "disallow_all": "nothing allowed",
        "disallow_all_until_read": "nothing allowed",
    }
    rows = [each for each in cases("cases-http-status.jsonl") if "cpython" in each["source"]]
    for row in rows:
        label = {401: "401, 403", 403: "401, 403", "4XX": "any other 4xx", "5XX": "5xx"}
        assert ANSWERS[label[row["status"]]][2] == words[row["access"]], row
    assert rows


@pytest.mark.parametrize("failure", ["500", "429", "302", "noise", "early", "refused"])
def test_a_failure_keeps_the_earlier_copy(site: str, failure: str) -> None:
    """RFC 9309 2.3.1.4: what was read before counts on, and so does its time."""
    parser = RobotFileParser(address(site, "200"))
    parser.read()
    read_at = parser.mtime()
    assert read_at > 0
    parser.set_url(address(site, failure))
    try:
        parser.read()
    except URLError:
        assert failure in ("noise", "early", "refused")
    assert parser.can_fetch("bot", "/")
    assert not parser.can_fetch("bot", "/private/x")
    assert parser.mtime() == read_at


@pytest.mark.parametrize("failure", ["500", "429", "302", "noise", "refused"])
def test_no_file_is_no_copy(site: str, failure: str) -> None:
    """A 404 allows everything only until the server fails."""
    parser = RobotFileParser(address(site, "404"))
    parser.read()
    assert parser.allow_all
    assert parser.can_fetch("bot", "/private/x")
    parser.set_url(address(site, failure))
    try:
        parser.read()
    except URLError:
        assert failure in ("noise", "refused")
    assert not parser.allow_all
    assert not parser.can_fetch("bot", "/")


def test_a_file_that_is_back_counts_again(site: str) -> None:
    """After 200, 404 and 200 the rules decide."""
    parser = RobotFileParser()
    for name, allowed in [("200", False), ("404", True), ("200", False)]:
        parser.set_url(address(site, name))
        parser.read()
        assert parser.can_fetch("bot", "/private/x") is allowed


def test_the_cause_of_a_failure_is_told(site: str) -> None:
    """A `URLError` says what happened, and has the original error as its cause."""
    for name, cause in [("early", ConnectionError), ("noise", BadStatusLine)]:
        with pytest.raises(URLError) as caught:
            RobotFileParser(address(site, name)).read()
        assert isinstance(caught.value.__cause__, cause)
    with pytest.raises(URLError, match="the connection ended 1 byte early"):
        RobotFileParser(address(site, "early")).read()
    with pytest.raises(IncompleteRead):
        StandardParser(address(site, "early")).read()


def test_a_file_over_the_limit_is_read_up_to_a_whole_line(site: str) -> None:
    """RFC 9309 2.5: rules behind the limit do not count, and the last one is not cut short."""
    ours = RobotFileParser(address(site, "large"))
    ours.read()
    assert not ours.can_fetch("bot", "/private/x")
    assert ours.can_fetch("bot", "/beyond/")
    assert ours.can_fetch("bot", "/" + "x" * 9_999)
    assert not ours.can_fetch("bot", "/" + "x" * 10_000)
    theirs = StandardParser(address(site, "large"))
    theirs.read()
    assert not theirs.can_fetch("bot", "/beyond/")


def test_a_file_that_is_not_utf8_is_read(site: str) -> None:
    parser = RobotFileParser(address(site, "latin"))
    parser.read()
    assert not parser.can_fetch("bot", "/private/x")
    assert not parser.can_fetch("bot", "/caf%E9")


def test_a_redirect_to_ftp_is_not_read(site: str) -> None:
    """The opener of urllib follows it; what is found there is no answer."""
    with ThreadingTCPServer(("127.0.0.1", 0), FileTransfer) as server:
        Thread(target=server.handle_request).start()
        parser = RobotFileParser(address(site, f"ftp/{server.server_address[1]}"))
        with pytest.raises(URLError, match="not an http or https URL"):
            parser.read()
    assert not parser.can_fetch("bot", "/")


# The standard library leaves the file open, and Python 3.14 says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("where", ["", "/robots.txt", "ftp://example.com/robots.txt", "file"])
def test_only_http_is_read(where: str, tmp_path: Path) -> None:
    """A file that the standard library reads is refused, and nothing is known of it."""
    path = tmp_path / "robots.txt"
    path.write_bytes(BODY)
    parser = RobotFileParser(path.as_uri() if where == "file" else where)
    with pytest.raises(manners.InvalidURL):
        parser.read()
    assert parser.mtime() == 0
    assert not parser.can_fetch("bot", "/")
    if where == "file":
        assert outcome(StandardParser, path.as_uri()) == "the rules"

"""The drop-in for Protego: the same interface, and every other answer has a name and a reason.

A robots.txt is read here once more, in steps, each of which can be done in two ways: as manners
does it, and as Protego does. With no step done as Protego, the answer is the drop-in's; with all of
them, it is Protego's. Where the two differ, the steps are handed over one by one, in the order a
file goes through them. The step at which the answer changes is what the difference is named after.
"""

import inspect
import pickle
import random
import re
import tomllib
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import time
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlparse, urlsplit

import protego
import pytest
from protego import _protego, _urlpattern, _utils

import manners
from manners._text import to_bytes
from manners.compat.protego import Protego, RequestRate, VisitTime
from manners.robots import directives
from manners.robots.agents import product_token, token_key
from manners.robots.patterns import rfc_path, rfc_pattern
from manners.urls import match_path
from tests.shared import SHARED, Case, body, cases, corpus, needs_shared

HERE = Path(__file__).parent
DIFFERENCES = tomllib.loads((HERE / "protego_differences.toml").read_text("utf-8"))["difference"]
PAGE = HERE.parents[1] / "docs" / "coming-from" / "protego.md"

STEPS = (
    "byte_order_mark",
    "size_limit",
    "line_ends",
    "line_syntax",
    "other_lines",
    "ascii_names",
    "product_token",
    "absolute_rule",
    "dollar_twice",
    "index_html",
    "url_path",
    "robots_txt_itself",
    "percent_encoding",
    "most_octets",
    "value_syntax",
    "several_values",
)
"""What the two do differently, in the order a file goes through it."""

READING = frozenset(STEPS[:4])
UP_TO_PATTERNS = frozenset(STEPS[:10])

Steps = frozenset[str]
"""The steps that are done as Protego does them."""

BROWSER = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


class Question(NamedTuple):
    """What is asked of both."""

    robots: str
    agent: str
    url: str = ""
    ask: str = "can_fetch"

    def put_to(self, parser: Any) -> Any:
        """The answer of a parser; named tuples and iterators as plain tuples."""
        if self.ask == "can_fetch":
            return parser.can_fetch(self.url, self.agent)
        if self.ask in ("sitemaps", "preferred_host"):
            answer = getattr(parser, self.ask)
        else:
            answer = getattr(parser, self.ask)(self.agent)
        return answer if answer is None or isinstance(answer, str | float) else tuple(answer)


# Lines.

KINDS: dict[str, str] = {
    spelling: kind
    for kind, spellings in {
        "user-agent": _protego._USER_AGENT_DIRECTIVE,
        "allow": _protego._ALLOW_DIRECTIVE,
        "disallow": _protego._DISALLOW_DIRECTIVE,
        "sitemap": _protego._SITEMAP_DIRECTIVE,
        "host": _protego._HOST_DIRECTIVE,
        "crawl-delay": _protego._CRAWL_DELAY_DIRECTIVE,
        "request-rate": _protego._REQUEST_RATE_DIRECTIVE,
        "visit-time": _protego._VISIT_TIME_DIRECTIVE,
    }.items()
    for spelling in spellings
}
KNOWN = frozenset(KINDS.values())
RULES = frozenset({"allow", "disallow"})
TIMED = frozenset({"crawl-delay", "request-rate", "visit-time"})

Said = tuple[str, str]
"""What a line is about, and its value."""


def lines(text: str, theirs: Steps) -> list[Said]:
    """The lines of a file that have a key."""
    return _lines(text, theirs & READING)


@lru_cache(maxsize=16)
def _lines(text: str, theirs: Steps) -> list[Said]:
    if "byte_order_mark" not in theirs:
        text = text.removeprefix("\ufeff")
    if "size_limit" not in theirs:
        text = manners.parse("\ufeff" + text).body.decode("utf-8", "surrogateescape")
    raw = text.splitlines() if "line_ends" in theirs else re.split(r"\r\n|\r|\n", text)
    read = their_line if "line_syntax" in theirs else our_line
    return [said for said in map(read, raw) if said]


def our_line(raw: str) -> Said | None:
    (line,) = manners.lines("\ufeff" + raw)  # a second mark would be a part of the line
    return (line.kind if line.kind in KNOWN else "other", line.value) if line.key else None


def their_line(raw: str) -> Said | None:
    content = raw.partition("#")[0].strip()
    found = _protego._extract_directive(content) if content else None
    return (KINDS.get(found[0], "other"), found[1]) if found else None


# Groups, and whose they are.


class Group(NamedTuple):
    """Names, and what is said to them."""

    names: list[str]
    said: list[Said]


def groups(said: list[Said], kinds: frozenset[str], theirs: Steps) -> list[Group]:
    """The groups as they are for lines of these kinds: rules, or timed directives."""
    ends = RULES | kinds if "other_lines" not in theirs else RULES | TIMED | {"other"}
    found: list[Group] = []
    ended = True
    for kind, value in said:
        if kind == "user-agent":
            if ended:
                found.append(Group([], []))
            ended = False
            found[-1].names.append(value)
        elif found:
            ended = ended or kind in ends
            if kind in kinds:
                found[-1].said.append((kind, value))
    return found


def chosen(found: list[Group], agent: str, theirs: Steps) -> list[Said]:
    """What is said to an agent."""
    choose = their_choice if "product_token" in theirs else our_choice
    return [said for group in choose(found, agent, theirs) for said in group.said]


def our_choice(found: list[Group], agent: str, theirs: Steps) -> list[Group]:
    """Token and token are equal; `*` where no group names the agent."""
    own, keys = product_token(agent).lower(), our_keys
    if "ascii_names" in theirs:
        own, keys = own_in_any_letters(agent), keys_in_any_letters
    for key in filter(None, (own, "*")):
        named = [group for group in found if key in keys(group)]
        if named:
            return named
    return []


def our_keys(group: Group) -> set[str | None]:
    return {token_key(name) for name in group.names}


def keys_in_any_letters(group: Group) -> set[str | None]:
    return {"*" if token_key(name) == "*" else any_letters(name) for name in group.names}


def any_letters(name: str) -> str:
    """The leading product token, in whatever letters."""
    found = re.match(r"[\w-]+", name)
    return found[0].lower() if found else ""


def own_in_any_letters(agent: str) -> str:
    """The product token of an agent, in whatever letters."""
    if not agent.startswith("Mozilla/"):
        return any_letters(agent)
    compatible = re.findall(r"\bcompatible; *([\w-]+)", agent)
    return str(compatible[-1] if compatible else product_token(agent)).lower()


def their_choice(found: list[Group], agent: str, theirs: Steps) -> list[Group]:  # noqa: ARG001
    """The longest name that stands in the agent's where a word begins; `*` counts as one letter."""
    named: dict[str, list[Group]] = {}
    for group in found:
        values = [value.strip().lower() for value in group.names]
        stripped = [value.replace("*", "") for value in values if value != "*"]
        for name in dict.fromkeys(filter(None, (*values, *stripped))):
            named.setdefault(name, []).append(group)

    def score(name: str) -> int:
        words = rf"(?<![^\W_])(?<![-_]){re.escape(name)}"
        return 1 if name == "*" else len(name) * bool(re.search(words, agent.strip().lower()))

    best = max(named, key=score, default="")
    return named[best] if best and score(best) else []


# Rules.


class Pattern(NamedTuple):
    """A rule as each of the two makes it comparable."""

    allow: bool
    ours: str
    theirs: str


@lru_cache(maxsize=64)
def patterns(robots: str, agent: str, theirs: Steps) -> list[Pattern]:
    """What the rules for an agent become."""
    found = groups(lines(robots, theirs), RULES, theirs)
    return [
        pattern
        for kind, value in chosen(found, agent, theirs)
        for written in variants(value, theirs)
        for pattern in with_folder(kind == "allow", written, theirs)
        if pattern.ours and pattern.theirs
    ]


def variants(value: str, theirs: Steps) -> list[str]:
    """The values that a value stands for."""
    if value.startswith(("http://", "https://")):
        if "absolute_rule" not in theirs:
            return []
        value = "/" + value
    if "dollar_twice" in theirs and "$" in value:
        return [value, value.replace("$", "%24")]
    return [value]


def with_folder(allow: bool, value: str, theirs: Steps) -> Iterator[Pattern]:
    """A pattern, and the one for the folder of an index page."""
    found = Pattern(allow, our_pattern(value), _utils._quote_pattern(value))
    yield found
    if allow and "index_html" in theirs and found.theirs.endswith("/index.html"):
        folders = [pattern.removesuffix("index.html") + "$" for pattern in found[1:]]
        yield Pattern(True, *folders)


def our_pattern(value: str) -> str:
    return (rfc_pattern(to_bytes(value), None) or b"").decode("ascii")


def can_fetch(question: Question, theirs: Steps) -> bool:
    """Whether the agent may fetch the URL."""
    path = their_path(question.url) if "url_path" in theirs else match_path(question.url)
    our_path, quoted_path = rfc_path(path), _utils._quote(path, _utils._KEPT, _utils._SAFE)
    if "robots_txt_itself" in theirs:
        itself = "/robots.txt" in question.url and urlparse(question.url).path == "/robots.txt"
    else:
        itself = our_path.partition("?")[0] == "/robots.txt"
    if itself:
        return True
    best = (0, True)
    for pattern in patterns(question.robots, question.agent, theirs & UP_TO_PATTERNS):
        if "percent_encoding" in theirs:
            matched = _urlpattern._URLPattern(pattern.theirs).match(quoted_path)
        else:
            matched = _urlpattern._URLPattern(pattern.ours).match(our_path)
        if matched:
            octets = pattern.theirs if "most_octets" in theirs else pattern.ours
            best = max(best, (len(octets), pattern.allow))
    return best[1]


def their_path(url: str) -> str:
    url = url.partition("#")[0]
    parts = urlsplit(url)
    path = parts.path + (f"?{parts.query}" if "?" in url else "")
    return path if path.startswith("/") else "/" + path


# Everything else that can be asked.

OUR_VALUES: dict[str, Callable[[str], Any]] = {
    "crawl_delay": directives.seconds,
    "request_rate": directives.request_rate,
    "visit_time": directives.visit_time,
}
SLOWEST: dict[str, Callable[[Any], float]] = {
    "crawl_delay": float,
    "request_rate": lambda rate: rate[1] / rate[0],
    "visit_time": lambda window: -directives.VisitTime(*window).minutes,
}


def timed(question: Question, theirs: Steps) -> Any:
    """Crawl-delay, Request-rate or Visit-time."""
    kind = question.ask.replace("_", "-")
    found = groups(lines(question.robots, theirs), TIMED, theirs)
    said = [value for each, value in chosen(found, question.agent, theirs) if each == kind]
    read = their_value if "value_syntax" in theirs else our_value
    values = [value for text in said if (value := read(question.ask, text)) is not None]
    if not values:
        return None
    return values[-1] if "several_values" in theirs else max(values, key=SLOWEST[question.ask])


def our_value(ask: str, text: str) -> Any:
    value = OUR_VALUES[ask](text)
    return tuple(value) if isinstance(value, tuple) else value


def their_value(ask: str, text: str) -> Any:
    line = f"User-agent: *\n{ask.replace('_', '-')}: {text}"
    return Question(line, "a", ask=ask).put_to(protego.Protego.parse(line))


def answer(question: Question, theirs: Steps) -> Any:
    """The answer when these steps are done as Protego does them, and the others as we do."""
    said = lines(question.robots, theirs)
    match question.ask:
        case "can_fetch":
            return can_fetch(question, theirs)
        case "sitemaps":
            return tuple(value for kind, value in said if kind == "sitemap" and value)
        case "preferred_host":
            return next((value for kind, value in reversed(said) if kind == "host" and value), None)
        case _:
            return timed(question, theirs)


def names(question: Question) -> list[str]:
    """The steps at which the answer changes on the way from ours to theirs."""
    answers = [answer(question, frozenset(STEPS[:done])) for done in range(len(STEPS) + 1)]
    return [
        step
        for step, before, after in zip(STEPS, answers, answers[1:], strict=False)
        if before != after
    ]


# The questions.


@dataclass(frozen=True)
class Asked:
    """A question, and both answers to it."""

    source: str
    question: Question
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        asked = self.question._replace(robots=f"<{self.source}>")
        return f"{asked}: ours {self.ours!r}, theirs {self.theirs!r}"


def put(source: str, questions: list[Question]) -> Iterator[Asked]:
    """Put questions about one file to both."""
    if questions:
        mine = Protego.parse(questions[0].robots)
        other = protego.Protego.parse(questions[0].robots)
        for question in questions:
            yield Asked(source, question, question.put_to(mine), question.put_to(other))


def example(difference: dict[str, Any]) -> Question:
    """The question that shows a difference."""
    robots = difference["robots"]
    if "repeat" in difference:
        unit, times = difference["repeat"]
        robots = robots.replace("{}", unit * times)
    agent, ask = difference.get("agent", "MyBot"), difference.get("ask", "can_fetch")
    return Question(robots, agent, difference.get("url", ""), ask)


def row(case: Case) -> Question:
    """The question of a row of the shared cases."""
    robots = body(case).decode("utf-8", "surrogatepass")
    ask = case.get("property", "can_fetch").replace("host", "preferred_host")
    return Question(robots, case.get("agent", "*"), case.get("url", ""), ask)


def rows() -> list[Case]:
    """The rows of Protego's own suite."""
    others = [case for case in cases("cases-properties.jsonl") if "/protego " in case["source"]]
    return [*cases("cases-protego.jsonl"), *others]


def expected(case: Case) -> Any:
    """What a row says is the answer, as the parsers say it."""
    if "property" not in case:
        return case["allowed"]
    value = case["value"]
    if isinstance(value, dict):
        return tuple(clock(value[name]) for name in value)
    return tuple(value) if isinstance(value, list) else value


def clock(value: object) -> object:
    return time(int(value[:2]), int(value[2:])) if isinstance(value, str) else value


def about(text: str, rng: random.Random) -> list[Question]:
    """Questions about a real file, made from its own rules and names."""
    said = [line for line in manners.lines(text) if line.value]
    values = [line.value for line in said if line.kind in RULES]
    written = [line.value for line in said if line.kind == "user-agent"]
    agents = ["mybot", "googlebot", BROWSER, *rng.sample(written, min(1, len(written)))]
    agents += [f"{name}-news" for name in rng.sample(written, min(1, len(written)))]
    urls = []
    for value in rng.sample(values, min(3, len(values))):
        path = "/" + value.lstrip("/")
        urls.append("https://example.com" + path.rstrip("$").replace("*", "x"))
        urls.append(path)
        urls.append(path.rpartition("/")[0] + "/")
        urls.append(path.replace("*", "").replace("?", "%3f") + "?a=1&b")
    questions = [Question(text, agent, url) for url in urls for agent in agents]
    timed = ("crawl_delay", "request_rate", "visit_time")
    questions += [Question(text, agent, ask=ask) for agent in agents for ask in timed]
    return [*questions, *(Question(text, "*", ask=ask) for ask in ("sitemaps", "preferred_host"))]


FILES = 300
"""How many real files are asked about; the whole corpus takes minutes."""


@pytest.fixture(scope="module")
def asked() -> list[Asked]:
    """Every question there is: the examples, the rows, and real files."""
    found = [each for entry in DIFFERENCES for each in put(entry["name"], [example(entry)])]
    if SHARED.is_dir():
        found += [each for case in rows() for each in put(case["id"], [row(case)])]
        rng = random.Random(9309)
        for doc in rng.sample(sorted(corpus()), FILES):
            found += put(doc, about(corpus()[doc].decode("utf-8", "replace"), rng))
    return found


@pytest.fixture(scope="module")
def named(asked: list[Asked]) -> list[tuple[Asked, list[str]]]:
    """The questions to which there are two answers, with the steps that make the difference."""
    return [(each, names(each.question)) for each in asked if each.ours != each.theirs]


def test_the_steps_lead_from_our_answers_to_theirs(asked: list[Asked]) -> None:
    """No step as Protego does it gives the drop-in's answer, all of them give Protego's."""
    everything = frozenset(STEPS)
    for each in asked:
        assert answer(each.question, frozenset()) == each.ours, str(each)
        assert answer(each.question, everything) == each.theirs, str(each)


def test_every_difference_has_exactly_one_name(named: list[tuple[Asked, list[str]]]) -> None:
    """No disagreement with Protego is unexplained, and none is explained twice."""
    for each, found in named:
        assert len(found) == 1, f"{each} {found}"


def test_every_name_is_needed(named: list[tuple[Asked, list[str]]]) -> None:
    """Each listed difference occurs, and no other does."""
    assert {name for _, found in named for name in found} == set(STEPS)
    assert [entry["name"] for entry in DIFFERENCES] == list(STEPS)
    assert all("RFC 9309 2." in entry["reason"] for entry in DIFFERENCES)


@pytest.mark.parametrize("entry", DIFFERENCES, ids=lambda entry: entry["name"])
def test_an_example_shows_its_difference(entry: dict[str, Any]) -> None:
    """The example in the table has the answers the table gives, because of what it is named."""
    (each,) = put(entry["name"], [example(entry)])
    assert shown(each.ours) == entry["ours"]
    assert shown(each.theirs) == entry["theirs"]
    assert names(each.question) == [entry["name"]]


def shown(value: Any) -> Any:
    """An answer as the table writes it."""
    if value is None:
        return []
    return [each.strftime("%H%M") for each in value] if isinstance(value, tuple) else value


@needs_shared
def test_every_row_holds_or_has_exactly_one_name() -> None:
    """What Protego's suite asserts is what the drop-in answers, but for the named differences."""
    for case in rows():
        question, wanted = row(case), expected(case)
        (each,) = put(case["id"], [question])
        assert each.theirs == wanted, f"not what Protego 0.7 says: {each}"
        if each.ours != wanted:
            assert len(names(question)) == 1, f"{each} {names(question)}"


def test_every_name_is_in_the_table_of_the_page() -> None:
    """The page for users has a row for each difference, and for nothing else."""
    table = PAGE.read_text("utf-8").partition("\n## What is different\n")[2]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(STEPS)


# The interface.

FILE = """\
User-agent: *
Disallow: /private/
Allow: /private/open
Crawl-delay: 2.5
Request-rate: 10/1m 0600-0845
Visit-time: 2200-0400
Sitemap: https://example.com/sitemap.xml
Host: www.example.com
"""


def public(of: object) -> dict[str, object]:
    return {name: value for name, value in inspect.getmembers(of) if not name.startswith("_")}


def test_the_public_names_are_the_same() -> None:
    """Methods, their parameters in their order, and properties."""
    mine, other = public(Protego), public(protego.Protego)
    assert mine.keys() == other.keys()
    for name, value in other.items():
        if callable(value):
            wanted = [*inspect.signature(value).parameters.values()]
            found = [*inspect.signature(getattr(Protego, name)).parameters.values()]
            assert [(each.name, each.kind, each.default) for each in found] == [
                (each.name, each.kind, each.default) for each in wanted
            ]
        else:
            assert isinstance(value, property)
            assert isinstance(mine[name], property)


def test_everything_protego_exports_is_here() -> None:
    from manners.compat import protego as drop_in

    assert all(hasattr(drop_in, name) for name in protego.__all__)


def test_the_fields_are_the_same() -> None:
    """RequestRate and VisitTime have the names and the order of Protego's."""
    assert RequestRate._fields == protego.RequestRate._fields
    assert VisitTime._fields == protego.VisitTime._fields


def test_a_plain_file_has_the_same_answers() -> None:
    """Where nothing is odd, nothing differs, and each answer is of Protego's type."""
    mine, other = Protego.parse(FILE), protego.Protego.parse(FILE)
    for url in (
        "/",
        "/private/",
        "/private/open",
        "https://example.com/private/x?y",
        "/robots.txt",
    ):
        assert mine.can_fetch(url, "mybot") is other.can_fetch(url, "mybot")
    assert mine.crawl_delay("mybot") == other.crawl_delay("mybot") == 2.5
    rate, window = mine.request_rate("mybot"), mine.visit_time("mybot")
    assert isinstance(rate, RequestRate)
    assert tuple(rate) == other.request_rate("mybot") == (10, 60, time(6, 0), time(8, 45))
    assert isinstance(window, VisitTime)
    assert tuple(window) == other.visit_time("mybot") == (time(22, 0), time(4, 0))
    assert list(mine.sitemaps) == list(other.sitemaps) == ["https://example.com/sitemap.xml"]
    assert next(mine.sitemaps) == next(other.sitemaps)
    assert mine.preferred_host == other.preferred_host == "www.example.com"


def test_a_parser_without_a_file_allows_everything() -> None:
    """The class can be called, as Protego's can."""
    for parser in (Protego(), protego.Protego()):
        assert parser.can_fetch("/", "mybot")
        assert parser.crawl_delay("mybot") is None
        assert parser.request_rate("mybot") is None
        assert parser.visit_time("mybot") is None
        assert list(parser.sitemaps) == []
        assert parser.preferred_host is None


@pytest.mark.parametrize("content", [b"User-agent: *", bytearray(b""), None, ["User-agent: *"]])
def test_what_is_no_text_is_a_type_error(content: Any) -> None:
    """As there; the message says what came instead."""
    for parse in (Protego.parse, protego.Protego.parse):
        with pytest.raises(TypeError, match=type(content).__name__):
            parse(content)


def test_a_parser_is_pickled_with_its_answers() -> None:
    """A copy in another process answers alike."""
    copy = pickle.loads(pickle.dumps(Protego.parse(FILE)))
    assert type(copy) is Protego
    assert not copy.can_fetch("/private/", "mybot")
    assert copy.crawl_delay("mybot") == 2.5
    assert list(copy.sitemaps) == ["https://example.com/sitemap.xml"]


def test_a_parser_can_be_subclassed_referred_to_and_labelled() -> None:
    """What people do with instances of a Python class, they can do here."""

    class Labelled(Protego):
        pass

    parser = Labelled.parse(FILE)
    assert type(parser) is Labelled
    for each in (parser, Protego.parse(FILE), protego.Protego.parse(FILE)):
        each.__dict__["label"] = "example.com"
        assert weakref.ref(each)() is each


def test_what_is_no_url_has_an_answer() -> None:
    """Protego raises here; a check of ours never does."""
    url = "http://[::1/private/?x"
    with pytest.raises(ValueError, match="IPv6"):
        protego.Protego.parse(FILE).can_fetch(url, "mybot")
    assert not Protego.parse(FILE).can_fetch(url, "mybot")

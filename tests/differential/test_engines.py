"""Both engines give one answer: the plain one says what it is, the compiled one has to agree.

`DIFFERENTIAL_SEED` repeats a run. `TEST_PAIRS` is how many pairs of a rule set and a path a run
compares, for the dialects of the package together. Runs under a sanitizer ask for fewer.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import manners
from manners import Robots, _compiled, urls
from manners.errors import InvalidURL
from manners.robots import agents, dialects, matcher, patterns
from manners.robots.dialects import Dialect
from manners.robots.matcher import CompiledMatcher, PlainMatcher
from tests.differential.generate import Case, cases
from tests.sizes import examples, seed, size

needs_kernel = pytest.mark.skipif(
    _compiled.kernel is None, reason="the compiled kernel is not built, or MANNERS_PURE is set"
)
pytestmark = needs_kernel

PAIRS = size("PAIRS")
EXAMPLES = examples(2_000)
SEED = seed("DIFFERENTIAL_SEED")


# The dialects: those of the package, and others made of the same fields, for the ways through the
# kernel that no dialect of the package takes.


def lowered_pattern(value: bytes, url: str | None) -> bytes | None:
    """A pattern as no function of the package makes it."""
    return None if value == b"/b" else b"/" * (url is not None) + value.lower()


def lowered_path(path: str) -> str:
    return path.encode("ascii", "replace").decode("ascii").lower()


OWN = [dialects.get(name) for name in dialects.names()]
_RFC, _GOOGLE, _ROBOTRULES, _SCANNER = map(
    dialects.get, ("rfc9309", "google", "robotrules", "scanner")
)
MADE = [
    _RFC.but(
        name="functions the kernel does not know",
        agent_key=agents.normalised_key,
        normalise_pattern=lowered_pattern,
        normalise_path=lowered_path,
    ),
    _RFC.but(
        name="records of rfc9309",
        record_end="blank",
        rules_without_agent="everybody",
        empty_rule="allows",
        index_html=True,
        max_rules=6,
    ),
    _RFC.but(
        name="falls back, by an unknown key",
        agent_key=agents.normalised_key,
        own_key=agents.normalised_key,
        empty_section_falls_back=True,
    ),
    dialects.get("specificity").but(name="falls back, specifically", empty_section_falls_back=True),
    _GOOGLE.but(name="first of google", rank="first", keys="exact", own_server_only=True),
    _ROBOTRULES.but(
        name="wild robotrules",
        rules=("allow", "disallow"),
        wildcards=True,
        rank="longest",
        index_html=True,
    ),
    _SCANNER.but(
        name="allowing scanner",
        rank="allow-first",
        keys="prefix",
        agent_key=agents.google_token_key,
        own_key=agents.verbatim_key,
        robots_txt_allowed=False,
        max_rules=6,
    ),
    _RFC.but(
        name="wild literals",
        normalise_pattern=patterns.literal_pattern,
        normalise_path=patterns.literal_path,
        agent_key=agents.whole_key,
    ),
]
EVERY = [*OWN, *MADE]
BY_NAME = {dialect.name: dialect for dialect in EVERY}


# The comparison.


class Difference(NamedTuple):
    """What one engine says and the other does not."""

    what: str
    url: str | None
    plain: Any
    compiled: Any


@contextmanager
def plain_urls() -> Iterator[None]:
    """Without the kernel's functions for URLs, so that the plain engine is plain throughout."""
    plain = {"match_path": urls.plain_match_path, "origin": urls.plain_origin}
    kept = [(vars(module), dict(vars(module))) for module in (urls, matcher)]
    for names, _ in kept:
        names.update(plain)
    try:
        yield
    finally:
        for names, before in kept:
            names.update({name: before[name] for name in plain})


Said = tuple[bool, manners.Rule | None]


def decided(made: Any, asked: Sequence[str]) -> list[Said]:
    """What the rules say about each URL, and which rule says it."""
    answers = [made._decide(url) for url in asked]
    rules = {number: made._rule(number) for _, number in answers}
    return [(allowed, rules[number]) for allowed, number in answers]


def about(made: Any) -> dict[str, object]:
    """What a matcher says before it is asked for a URL."""
    names = ("agent", "specificity", "_has_group", "too_many_rules", "_timed_lines")
    return {name: getattr(made, name) for name in names}


FEW, OFTEN = 4, 100
"""A matcher arranges its rules when it is asked often; asked a few times, twice, it has not yet."""


def difference(case: Case, dialect: Dialect) -> Difference | None:
    """The first thing that the engines do not agree on; None when they agree on everything."""
    with plain_urls():
        robots = manners.parse(case.body, dialect, case.url)
    again = manners.parse(case.body, dialect, case.url)
    return difference_between(robots, again, case.agents, case.urls)


def difference_between(
    read_plainly: Robots, robots: Robots, names: tuple[str, ...], asked: Sequence[str]
) -> Difference | None:
    """The same for a file that was read, once for each engine."""
    with plain_urls():
        plain = PlainMatcher(read_plainly, names)
        right, verdicts = decided(plain, asked), [plain.allowed(url) for url in asked]
    made = CompiledMatcher(robots, names)
    made.allowed_many(["/"] * OFTEN)
    for name, value in about(plain).items():
        if value != getattr(made, name):
            return Difference(name, None, value, getattr(made, name))
    some = [asked[at : at + FEW] for at in range(0, len(asked), FEW)]
    fresh = [CompiledMatcher(robots, names) for _ in some]
    pairs = list(zip(fresh, some, strict=True))
    ways: dict[str, tuple[Sequence[object], Sequence[object]]] = {
        "decide, asked seldom": (right, [each for one, few in pairs for each in decided(one, few)]),
        "allowed_many, asked seldom": (
            verdicts,
            [each for one, few in pairs for each in one.allowed_many(few)],
        ),
        "allowed": (verdicts, [made.allowed(url) for url in asked]),
        "allowed_many": (verdicts, made.allowed_many(asked)),
        "decide": (right, decided(made, asked)),
    }
    for what, (ours, theirs) in ways.items():
        if ours != theirs:
            at = next(n for n in range(len(asked)) if ours[n] != theirs[n])
            return Difference(what, asked[at], ours[at], theirs[at])
    return None


def smallest(case: Case, dialect: Dialect) -> tuple[Case, Difference | None]:
    """The case without the URLs and lines that the difference does not need."""
    found = difference(case, dialect)
    if found is not None:
        case = case._replace(urls=[] if found.url is None else [found.url])
    lines = case.body.splitlines(keepends=True)
    size = len(lines)
    while size:
        for at in range(0, len(lines), size):
            fewer = lines[:at] + lines[at + size :]
            if difference(case._replace(body=b"".join(fewer)), dialect) is not None:
                lines = fewer
                break
        else:
            size //= 2
    case = case._replace(body=b"".join(lines))
    return case, difference(case, dialect) or found


def report(case: Case, dialect: Dialect, seed: object = SEED) -> str:
    """What somebody needs who wants to see a difference again."""
    small, found = smallest(case, dialect)
    told: dict[str, object] = {"body": small.body, "agents": small.agents, "file": small.url}
    told |= found._asdict() if found else {"urls": small.urls}
    shown = [f"{name}: {value!r}" for name, value in told.items()]
    return "\n".join([f"DIFFERENTIAL_SEED={seed}, dialect {dialect.name}", *shown])


def compare(dialect: Dialect, pairs: int, seed: int = SEED) -> tuple[int, str | None]:
    """How many pairs were compared, and the first difference met."""
    compared = 0
    for case in cases(f"{seed} {dialect.name}"):
        if compared >= pairs:
            return compared, None
        compared += len(case.urls)
        try:
            differs = difference(case, dialect) is not None
        except Exception as error:
            raise AssertionError(
                f"{error!r}\nDIFFERENTIAL_SEED={seed}, {dialect}: {case}"
            ) from error
        if differs:
            return compared, report(case, dialect, seed)
    raise AssertionError("the generator has no end")


# The tests.


@pytest.mark.long
@pytest.mark.parametrize("dialect", OWN, ids=lambda dialect: dialect.name)
def test_both_engines_give_one_answer(dialect: Dialect, capsys: pytest.CaptureFixture[str]) -> None:
    """Verdict, rule and line are the same for every file and URL that the generator thinks of."""
    compared, found = compare(dialect, PAIRS // len(OWN))
    with capsys.disabled():  # stderr, which the processes of a parallel run share
        print(f"\nDIFFERENTIAL_SEED={SEED}: {compared} pairs, {dialect.name}", file=sys.stderr)
    assert found is None, found
    assert compared >= PAIRS // len(OWN)


@pytest.mark.long
@pytest.mark.parametrize("dialect", MADE, ids=lambda dialect: dialect.name)
def test_both_engines_give_one_answer_in_a_dialect_of_a_users_own(dialect: Dialect) -> None:
    """A dialect with changed fields takes other ways through the kernel, to the same answers."""
    _, found = compare(dialect, PAIRS // 24)
    assert found is None, found


_LINE_PARTS = st.sampled_from(
    [
        *(b"User-agent: *\n", b"User-agent: bot\n", b"user-agent ", b"Disallow: /", b"Allow: /"),
        *(b"disallow ", b"Disalow:", b"Allowed: ", b"Crawl-delay: 1\n", b"\n", b"\r", b"\r\n"),
        *(b"/", b"a", b"b", b"*", b"$", b"%", b"2", b"F", b"~", b"e", b" ", b'"', b"\xc3\xa9"),
        *(b"\0", b"\xff", b"\xef\xbb\xbf", b"#", b":", b"\t", b"\x0b", b"?", b"\\", b"//"),
        *(b"index.html", b"http://h/a", b"*aaaa", b"%2F", b"%7e", b"Disallow: /*abab\n" * 16),
        *(b"Disallow: /*a\n" * 1_001, b"a" * 16_663),
    ]
)
_BODIES = st.lists(_LINE_PARTS | st.binary(max_size=3), max_size=24).map(b"".join)
_AGENT = st.sampled_from(["bot", "*", "", "Bot/1.0", "a", "é"]) | st.text(max_size=4)
_ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=4)  # lone surrogates too
_URL_PARTS = [
    *("/", "a", "b", "*", "$", "%", "2", "F", "~", "e", "?", ";", "#", "//", "http://h", "é"),
    *("https://h", "://", ":", "\0", "\udcff", "\ud800", "aaaa", "abab", "index.html", " "),
    *("robots.txt", "[", "]", "@", "\\", ":80", ":443", ".", "H", "xn--", "http://", "_"),
]
_URL = st.lists(st.sampled_from(_URL_PARTS) | _ANY_TEXT, max_size=16).map("".join)
_FILE_URL = st.none() | st.sampled_from(["http://h/robots.txt", "https://h", "", "h"]) | _URL


@given(_BODIES, st.lists(_AGENT, max_size=2), _FILE_URL, _URL, st.sampled_from(sorted(BY_NAME)))
@example(b"User-agent: *\nDisallow: /abc\nAllow: /a***", ["bot"], None, "/abc", "rfc9309")
# What was found and put right.
@example(b"User-agent: *\nDisallow\x0b /a", ["bot"], None, "/a", "rfc9309")
@example(b"User-agent: \xc3\xa9\nDisallow: /", ["\udcc3\udca9"], None, "/", "scanner")
@example(b"User-agent: *\nDisallow:\n", ["bot"], "http://h", "/", MADE[0].name)
@example(
    b"User-agent: bot\nUser-agent: *\n" + b"Disallow: /a\n" * 1_001, ["bot"], None, "/", "scanner"
)
@settings(max_examples=EXAMPLES, deadline=None)
def test_whatever_the_bytes_both_engines_give_one_answer(
    body: bytes, names: list[str], file_url: str | None, url: str, dialect: str
) -> None:
    """Any bytes for a file, any text for an agent and a URL; what fails is made small."""
    case = Case(body, tuple(names), file_url, [url])
    found = difference(case, BY_NAME[dialect])
    assert found is None, found


ON_URLS = [
    (urls.origin, urls.plain_origin),
    (urls.host, urls.plain_host),
    (urls.requestable, urls.plain_requestable),
]


def result(function: Any, url: str) -> tuple[str, str]:
    try:
        return "returns", function(url)
    except InvalidURL as error:
        return "raises", str(error)


@given(_URL)
@example("//://")
@example("http://")
@example("https://" + "h" * 253)
@example("http://" + "h" * 254 + "./")
@settings(max_examples=EXAMPLES, deadline=None)
def test_a_url_has_one_path_and_one_origin(url: str) -> None:
    """The kernel's functions for URLs return, and raise, what the plain ones do."""
    assert urls.match_path(url) == urls.plain_match_path(url)
    for function, plain in ON_URLS:
        assert result(function, url) == result(plain, url)


def test_the_urls_of_the_generator_have_one_path_and_one_origin() -> None:
    """The same for the URLs that are made from rules."""
    made = cases(f"{SEED} urls", urls=200)
    for url in (url for _ in range(100) for url in next(made).urls):
        assert urls.match_path(url) == urls.plain_match_path(url), (SEED, url)
        for function, plain in ON_URLS:
            assert result(function, url) == result(plain, url), (SEED, url)


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize("dialect", EVERY, ids=lambda dialect: dialect.name)
def test_answers_have_the_same_types(dialect: Dialect) -> None:
    """A bool is a bool, a text of a user's own class is a text, and what is no text is refused."""
    robots = manners.parse(b"User-agent: *\nDisallow: /a\nDisallow: /*b$", dialect)
    made = [PlainMatcher(robots, ("bot",)), CompiledMatcher(robots, ("bot",))]
    asked = [Text("/a"), Text("http://h/\xe9b"), "/b", "/c", ""]
    plain, compiled = (
        repr((about(each), decided(each, asked), each.allowed_many(asked))) for each in made
    )
    assert plain == compiled
    for each in made:
        for wrong in (None, b"/a", 5):
            with pytest.raises(TypeError):
                each.allowed(wrong)
            with pytest.raises(TypeError):
                each._decide(wrong)
            with pytest.raises(TypeError):
                each.allowed_many(["/a", wrong])
        with pytest.raises(IndexError):
            each._rule(1_000)


UNMADE = """
from manners.robots.policy import Policy
for ask in ("allowed", "decide", "check"):
    try:
        getattr(Policy.__new__(Policy), ask)("/")
    except (TypeError, AttributeError):
        print("raises")
"""


def test_a_policy_that_was_never_made_raises() -> None:
    """A class of a user's own that forgets to call `__init__` gets an error, not a crash."""
    ran = subprocess.run(
        [sys.executable, "-c", UNMADE], capture_output=True, text=True, check=False
    )
    assert ran.stdout.split() == ["raises"] * 3, ran


def test_the_installed_kernel_has_no_planted_bug() -> None:
    """Bugs are planted in builds that a test makes, and nowhere else; nothing is counted."""
    assert _compiled.kernel.planted() == (0, 0)


# Threads.


def run_in_threads(count: int, work: Any) -> list[Any]:
    """What each of several threads makes of the work, all of them starting at once."""
    results: list[Any] = [None] * count
    barrier = threading.Barrier(count)

    def run(n: int) -> None:
        barrier.wait()
        results[n] = work(n)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@contextmanager
def switch_interval(seconds: float) -> Iterator[None]:
    """How long a thread may keep the interpreter while others wait for it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("dialect", OWN, ids=lambda dialect: dialect.name)
def test_one_policy_answers_alike_in_many_threads(dialect: Dialect) -> None:
    """Eight threads that share a file and a policy get what one thread gets."""
    for case in islice(cases(f"{SEED} threads"), 20):
        alone = manners.parse(case.body, dialect, case.url).policy(case.agents)
        verdicts = [alone.check(url) for url in case.urls]
        robots = manners.parse(case.body, dialect, case.url)

        def together(
            n: int, robots: Robots = robots, case: Case = case
        ) -> tuple[list[manners.Verdict], list[bool], list[bool]]:
            policy = robots.policy(case.agents)  # made by whichever thread comes first
            asked = case.urls[n:] + case.urls[:n]
            checked = [policy.check(url) for url in asked]
            checked = checked[-n:] + checked[:-n] if n else checked
            one_by_one = [policy.allowed(url) for url in case.urls]
            return checked, one_by_one, policy.allowed_many(case.urls)

        expected = [each.allowed for each in verdicts]
        with switch_interval(1e-6):
            for found in run_in_threads(8, together):
                assert found == (verdicts, expected, expected), (SEED, dialect, case)


def test_a_policy_arranges_its_rules_while_others_ask() -> None:
    """The checks that make a policy arrange its rules may run while other threads ask it."""
    # Patterns that have to be escaped are kept apart from the file; a path of many such characters
    # makes a check without arranged rules last.
    rules = "".join(f"Disallow: /*\xe9{n}x\n" for n in range(500))
    asked = ["/" + "\xe9" * 500 + end for end in ("499x", "", "499")]
    for _ in range(20):
        policy = manners.parse(f"User-agent: *\n{rules}").policy("bot")

        def ask(n: int, policy: manners.Policy = policy) -> list[bool]:
            few = [each for _ in range(4) for each in policy.allowed_many(asked)]
            return few if n else few[:3] + [policy.allowed(url) for url in asked] * 3

        for found in run_in_threads(8, ask):
            assert found == [False, True, True] * 4


@contextmanager
def another_thread() -> Iterator[Callable[[Callable[[], object]], int]]:
    """What tells how far another thread counts while some work is done.

    No thread is made to give way: the other one counts only when the work lets it.
    """
    count, is_over = 0, False

    def run() -> None:
        nonlocal count
        while not is_over:
            count += 1
            time.sleep(0)  # gives way

    def progress(work: Callable[[], object]) -> int:
        before = count
        work()
        return count - before

    thread = threading.Thread(target=run)
    try:
        with switch_interval(1_000):
            thread.start()
            time.sleep(0.01)
            yield progress
    finally:
        is_over = True
        thread.join()


def test_allowed_many_lets_other_threads_run() -> None:
    """While many URLs are checked, another thread counts on; while one is, it does not."""
    rules = "".join(f"Disallow: /*{'a*' * 40}{n}b$\n" for n in range(200))
    policy = manners.parse(f"User-agent: *\n{rules}").policy("bot")
    asked = [f"/{'a' * 900}{n}b" for n in range(2_000)]
    with another_thread() as progress:
        assert progress(lambda: [policy.allowed(url) for url in asked]) == 0
        assert any(progress(lambda: policy.allowed_many(asked)) for _ in range(20))

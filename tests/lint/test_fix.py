"""`manners.lint.fix`: only what is proved is done, for every engine, and done once."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manners.errors import UnknownName
from manners.lint import ENGINES, fix, run
from manners.lint.impact import compare_agents
from manners.lint.source import Source
from manners.robots import dialects
from manners.robots.policy import parse
from tests.lint.verdicts import applied, assert_same_verdicts
from tests.shared import corpus, needs_shared
from tests.sizes import examples

# What is done.

FIXED = {
    "a star at the end": (b"User-agent: *\nDisallow: /a*\n", b"User-agent: *\nDisallow: /a\n"),
    "a redundant rule": (
        b"User-agent: *\nDisallow: /a\nDisallow: /a/b\nDisallow: /c\n",
        b"User-agent: *\nDisallow: /a\nDisallow: /c\n",
    ),
    "one of two equal rules": (
        b"User-agent: *\nDisallow: /a\nDisallow: /b\nDisallow: /a\n",
        b"User-agent: *\nDisallow: /a\nDisallow: /b\n",
    ),
    "a fix that makes room for another": (
        b"User-agent: *\nDisallow: /a**\nDisallow: /b\n",
        b"User-agent: *\nDisallow: /a\nDisallow: /b\n",
    ),
    "a comment behind a value": (
        b"User-agent: *\nDisallow: /a*  # slow\n",
        b"User-agent: *\nDisallow: /a  # slow\n",
    ),
    "a comment behind a rule that is removed": (
        b"User-agent: *\nDisallow: /a\nDisallow: /a/b  # ticket 12\nDisallow: /c\n",
        b"User-agent: *\nDisallow: /a\n# ticket 12\nDisallow: /c\n",
    ),
    "an allow behind a rule that is removed": (
        b"User-agent: *\nDisallow: /a\nDisallow: /a/b  # manners: allow two-cases\n",
        b"User-agent: *\nDisallow: /a\n",
    ),
    "a comment behind a sitemap that is removed": (
        b"Sitemap: https://example.com/a\nSitemap: https://example.com/a # old\n",
        b"Sitemap: https://example.com/a\n# old\n",
    ),
    "rules that are all in vain, below a byte order mark": (
        b"\xef\xbb\xbfUser-agent: a\nAllow: /x\nAllow: /y\n\nUser-agent: b\nAllow: /q\n",
        b"User-agent: a\nAllow: /y\n\nUser-agent: b\nAllow: /q\n",
    ),
    "CR LF": (
        b"User-agent: *\r\nDisallow: /a\r\nDisallow: /a/b\r\nDisallow: /c*\r\n",
        b"User-agent: *\r\nDisallow: /a\r\nDisallow: /c\r\n",
    ),
    "no final newline": (b"User-agent: *\nDisallow: /a*", b"User-agent: *\nDisallow: /a"),
    "a byte order mark": (
        b"\xef\xbb\xbfUser-agent: *\nDisallow: /a*\n",
        b"User-agent: *\nDisallow: /a\n",
    ),
    "an allow that allows nothing": (
        b"User-agent: *\n# manners: allow P407\nDisallow: /a\n",
        b"User-agent: *\nDisallow: /a\n",
    ),
    "not UTF-8": (
        b"User-agent: *\nDisallow: /\xff*\nDisallow: /c*\n",
        b"User-agent: *\nDisallow: /\xff\nDisallow: /c\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_what_is_proved_is_done(before: bytes, after: bytes) -> None:
    """Each file becomes the better one, which means the same and is left as it is."""
    assert fix(before) == after
    assert fix(after) == after
    assert_same_verdicts(before, after)


def test_text_is_fixed_like_its_bytes() -> None:
    """A string gives bytes."""
    assert fix("User-agent: *\nDisallow: /caf\u00e9*\n", select=("trailing-star",)) == (
        b"User-agent: *\nDisallow: /caf\xc3\xa9\n"
    )


def test_rules_are_selected_as_for_run() -> None:
    """Only the fixes of the rules that are asked for are made."""
    body = b"User-agent: *\nDisallow: /a*\nDisallow: /b\nDisallow: /b/c\n"
    assert (
        fix(body, select=("P",)) == b"User-agent: *\nDisallow: /a\nDisallow: /b\nDisallow: /b/c\n"
    )
    assert fix(body, ignore=("P",)) == b"User-agent: *\nDisallow: /a*\nDisallow: /b\n"
    with pytest.raises(UnknownName, match="trailing-star"):
        fix(body, select=("trailing",))
    with pytest.raises(UnknownName, match="google"):
        fix(body, ("gogle",))


# What is left alone.

LEFT_ALONE = {
    # A star counts in the length: without it the Allow is the longer one.
    "a star that counts": (
        b"User-agent: *\nDisallow: /general/\nAllow: /general/mall/\nDisallow: */business360/*\n"
    ),
    "a star before a tie": b"User-agent: *\nAllow: /\nDisallow: /*\n",
    "the only rule": b"User-agent: a\nAllow: /\n\nUser-agent: *\nDisallow: /b\n",
    "an allowed finding": b"User-agent: *\n# manners: allow P407\nDisallow: /a*\n",
    "HTML": b"<html>\n<p>Disallow: /a*\n</html>\n",
    "nothing": b"",
}


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_is_not_proved_is_left_alone(body: bytes) -> None:
    """A fix that would change a verdict, or that nobody wants, is not made."""
    assert fix(body) == body


def test_utf16_is_left_alone() -> None:
    """No edit of its text fits its bytes."""
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        body = "User-agent: *\nDisallow: /a*\n".encode(encoding)
        assert fix(body) == body


def test_every_engine_has_its_say() -> None:
    """`/a%7Eb` is `/a~b` for RFC 9309 only: what is redundant for one is not for both."""
    body = b"User-agent: *\nDisallow: /a~b\nDisallow: /a%7Eb\n"
    select = ("R",)
    assert len(fix(body, ("rfc9309",), select=select)) < len(body)
    assert fix(body, ("google",), select=select) == body
    assert fix(body, ENGINES, select=select) == body


@needs_shared
def test_a_real_star_that_counts_is_left_alone() -> None:
    """`Disallow: */business360/*` decides against `Allow: /general/mall/` by one character."""
    body = corpus()["r00006"]
    line = b"*/business360/*"
    assert line in body
    fixed = fix(body)
    assert line in fixed
    shortened = parse(body.replace(line, line[:-1]))
    assert compare_agents(parse(body), shortened), "no verdict depends on the star any more"
    findings = run(body)
    number = body[: body.index(line)].count(b"\n") + 1
    star = [each for each in findings if (each.name, each.line) == ("trailing-star", number)]
    assert all(each.fix is None for each in star)


@pytest.mark.parametrize(
    ("body", "engine"),
    [
        # Without its own group, an agent has the delay of everybody.
        (
            b"User-agent: a\nDisallow: /b\n\nUser-agent: *\nDisallow: /b\nCrawl-delay: 9\n",
            "rfc9309",
        ),
        # A group without rules does not count; one that gets some would get its delay, too.
        (b"User-agent: a\nCrawl-delay: 5\n\nAllow: /\n", "scanner"),
    ],
)
def test_delays_stay_with_their_agents(body: bytes, engine: str) -> None:
    """A fix that gives somebody another delay is not made."""
    assert_same_verdicts(body, fix(body, (engine,)), (engine,))


# Unsafe fixes.


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"User-agent: *\nDisallow: admin/\n", b"User-agent: *\nDisallow: /admin/\n"),
        (
            b"User-agent: *\nDisallow: https://www.example.com/a\n",
            b"User-agent: *\nDisallow: /a\n",
        ),
    ],
)
def test_unsafe_fixes_are_made_if_they_are_asked_for(before: bytes, after: bytes) -> None:
    """A rule that never matches is left alone, unless its verdicts shall change."""
    assert fix(before) == before
    assert fix(before, unsafe=True) == after
    assert compare_agents(parse(before), parse(after))


def test_unsafe_includes_safe() -> None:
    """All that can be done is done."""
    body = b"User-agent: *\nDisallow: admin/\nDisallow: /b*\n"
    assert fix(body, unsafe=True) == b"User-agent: *\nDisallow: /admin/\nDisallow: /b\n"


@pytest.mark.parametrize(
    "body",
    [
        b"\xef\xbb\xbf" * 60 + b"User-agent: *\nDisallow: /a*\n",
        "ï»¿".encode() * 60 + b"User-agent: *\nDisallow: /a*\n",
        b"User-agent: *\nDisallow: " + b"https://example.com/" * 60 + b"a*\n",
        b"Disallow: /b*\nUser-agent: *\nDisallow: " + b"https://example.com/" * 21 + b"a\n",
    ],
    ids=["marks", "garbled marks", "URLs within URLs", "the same, one more round"],
)
@pytest.mark.parametrize("unsafe", [False, True])
def test_fixes_that_make_room_for_others_without_an_end(body: bytes, unsafe: bool) -> None:
    """Each round removes one of many layers: all of them or none, so that it is done once."""
    fixed = fix(body, unsafe=unsafe, select=("all",))
    assert fix(fixed, unsafe=unsafe, select=("all",)) == fixed


def test_garbled_marks_are_removed_together() -> None:
    """Files that were joined, or converted again and again, have several."""
    marks = "ï»¿ï»¿п»ї".encode()
    assert fix(marks + b"User-agent: *\nDisallow: /a\n", unsafe=True) == (
        b"User-agent: *\nDisallow: /a\n"
    )


# Any file.

PATTERNS = st.text(st.sampled_from("ab/*$"), max_size=6).map(
    lambda text: f"/{text}"
) | st.sampled_from(
    ["", "/", "/*", "*", "*/a", "/a b", "/%7Ea", "/~a", "/caf\u00e9*", "a/", "/a#b", "/a**", "/a*$"]
)
RULES = st.tuples(st.sampled_from(["Allow", "Disallow"]), PATTERNS).map(": ".join)
AGENTS = st.sampled_from(
    ["*", "a", "b", "A", "a/1.0", "b*", "Mozilla/5.0 (x)", "c2bot", "a b", "", "ab"]
).map("User-agent: {}".format)
OTHERS = st.sampled_from(
    [
        "", "# manners: allow trailing-star", "# manners: allow P407, R301, nothing",
        "Crawl-delay: 5", "Sitemap: https://www.example.com/s", "Noindex: /a", "Disallow /a",
        "disalow: /b", "<!-- no -->", "// no", "Disallow:", "Host: example.com",
        "User-agent: * Disallow: /",
    ]
)  # fmt: skip
LINES = st.one_of(RULES, RULES, RULES, AGENTS, AGENTS, OTHERS)
ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r"])


@st.composite
def files(draw: st.DrawFn, always_numbered: bool = False) -> bytes:
    """Small files; where a line has a comment behind it, no other line has the same."""
    end, lines = draw(ENDS), draw(st.lists(LINES, max_size=9))
    numbered = [
        f"{line} # c{number}" if always_numbered or draw(st.booleans()) else line
        for number, line in enumerate(lines)
    ]
    body = end.join(numbered) + draw(st.sampled_from(["", end]))
    mark = "\ufeff" if draw(st.integers(0, 9)) == 0 else ""
    return (mark + body).encode()


def comments_of(body: bytes) -> list[bytes]:
    """The comments that stand by themselves, but for those that allow something."""
    lines = [line.strip() for line in body.replace(b"\r", b"\n").split(b"\n")]
    return [line for line in lines if line.startswith(b"#") and b"manners:" not in line]


def is_within(some: list[bytes], more: list[bytes]) -> bool:
    """Whether some lines are among others, in the same order."""
    rest = iter(more)
    return all(line in rest for line in some)


def assert_fixed_well(body: bytes, engines: Sequence[str], fixed: bytes) -> None:
    """Everything that is promised of a fix."""
    assert_same_verdicts(body, fixed, engines, urls=100)
    assert fix(fixed, engines) == fixed
    assert is_within(comments_of(body), comments_of(fixed))
    assert not fixed.startswith(b"\xef\xbb\xbf")
    empty = [[group for group in Source(each).groups if not group.rules] for each in (body, fixed)]
    assert empty[0] or not empty[1], "a group has lost its last rule line"


@settings(max_examples=examples(400))
@given(files())
def test_any_file_is_fixed_well(body: bytes) -> None:
    """No verdict of anybody changes; a second time changes nothing; comments survive."""
    assert_fixed_well(body, ENGINES, fix(body))


@settings(max_examples=examples(150))
@given(files(), st.sampled_from(dialects.names()))
def test_any_file_is_fixed_well_for_any_engine(body: bytes, engine: str) -> None:
    """The same for each engine, asked for by itself."""
    assert_fixed_well(body, (engine,), fix(body, (engine,)))


@settings(max_examples=examples(150))
@given(files(always_numbered=True))
def test_the_order_of_lines_survives(body: bytes) -> None:
    """Lines that are there before and after are in the same order, each once.

    The fix of `split-group` moves the rules of a group up to others, so it is left out.
    """
    fixed = fix(body, ignore=("split-group",))
    numbers = [int(number) for number in re.findall(rb" # c(\d)", fixed)]
    assert numbers == sorted(set(numbers))


@settings(max_examples=examples(150))
@given(files(always_numbered=True))
def test_every_comment_survives(body: bytes) -> None:
    """Also one behind a rule that is removed; an allow goes with the line that it is about."""
    numbers = [re.findall(rb"# c(\d)", each) for each in (body, fix(body))]
    assert sorted(numbers[0]) == sorted(numbers[1])


@settings(max_examples=examples(100))
@given(files())
def test_unsafe_fixes_are_made_once(body: bytes) -> None:
    """Also those that change verdicts end, and a second time changes nothing."""
    fixed = fix(body, unsafe=True)
    assert fix(fixed, unsafe=True) == fixed


@settings(max_examples=examples(150))
@given(files())
def test_every_safe_fix_that_is_offered_is_safe_by_itself(body: bytes) -> None:
    """Who takes one of several quick fixes changes no verdict."""
    for finding in run(body, select=("all",)):
        if finding.fix is not None and finding.fix.is_safe:
            assert_same_verdicts(body, applied(body, finding), urls=50)


def test_a_fix_that_is_safe_with_others_only_is_not_called_proved() -> None:
    """In a long file, too: a star that counts beside another is dropped with the other one."""
    rules = b"".join(b"Disallow: /%d*\n" % number for number in range(600))
    body = b"User-agent: *\nAllow: /a*\nDisallow: /a*\n" + rules
    offered = [finding for finding in run(body) if finding.line == 2 and finding.fix]
    assert offered, "dropping both stars is proved"
    for finding in offered:
        assert finding.fix
        if finding.fix.is_proved:
            assert_same_verdicts(body, applied(body, finding))
    assert any(not finding.fix.is_proved for finding in offered if finding.fix)
    assert fix(body).count(b"*") == 1


@pytest.mark.parametrize("between", ["", "\n", "User-agent: b\nDisallow: /c\n\n"])
def test_many_groups_of_one_agent_are_merged_at_once(between: str) -> None:
    """In the order of the file, however many there are; a second time changes nothing."""
    groups = (f"User-agent: a\nDisallow: /{number:02}\n{between}" for number in range(60))
    body = "".join(groups).encode()
    fixed = fix(body)
    assert fixed.count(b"User-agent: a") == 1
    assert re.findall(rb"/(\d+)", fixed) == [b"%02d" % number for number in range(60)]
    assert fix(fixed) == fixed
    assert_same_verdicts(body, fixed)

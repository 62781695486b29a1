"""Signals of two files, compared: lines for the linter's proofs, answers for people."""

import json

import pytest

from manners import lint, parse
from manners.lint.agent_signals import MAX_PATHS, SignalChange, signal_changes, signals_differ
from manners.lint.difference import difference
from manners.lint.proving import unchanged
from manners.signals import usage

RULE = "Disallow: /cart\n"
STAR = "User-agent: *\nContent-Usage: search=n"


def changes(before: str, after: str) -> list[str]:
    """What is said of a change."""
    return [str(change) for change in signal_changes(parse(before), parse(after))]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", []),
        ("Content-Usage: train-ai=n", "Content-Usage: train-ai=n", []),
        (
            "Content-Usage: train-ai=y",
            "Content-Usage: train-ai=n",
            ["AI training: was allowed, is refused, for everybody"],
        ),
        # The same answer by another standard is no change.
        ("Content-Usage: train-ai=n", "Content-Signal: ai-train=no", []),
        # An old label says nothing.
        ("Content-Usage: genai=n", "Content-Usage: bots=n", []),
        (
            "",
            "Content-Signal: search=yes, ai-train=no",
            [
                "search: was unknown, is allowed, for everybody",
                "AI training: was unknown, is refused, for everybody",
            ],
        ),
        (
            "DisallowAITraining: /",
            "DisallowAITraining: /essays/",
            ["AI training: was refused, is unknown, for everybody, at /"],
        ),
        (
            "Content-Usage: train-ai=n",
            "Content-Usage: train-ai=n\nContent-Usage: /open/*.txt$ train-ai=y",
            ["AI training: was refused, is allowed, for everybody, at /open/.txt"],
        ),
    ],
)
def test_a_change_is_told_in_answers(before: str, after: str, expected: list[str]) -> None:
    """By purpose and path, whatever standard says so."""
    group = "User-agent: *\n"
    found = changes(f"{group}{before}\n{RULE}", f"{group}{after}\n{RULE}")
    assert found == expected


def test_a_named_group_inherits_no_signal() -> None:
    """Who gets a group of his own is told nothing any more, and that is said."""
    before = f"User-agent: *\nContent-Signal: ai-train=no\n{RULE}"
    assert changes(before, f"{before}\nUser-agent: mybot\n{RULE}") == [
        "AI training: was refused, is unknown, for mybot"
    ]


def test_everybody_else_is_not_everybody() -> None:
    """A change for `*` is not one for those who have groups of their own."""
    named = f"\nUser-agent: mybot\nContent-Signal: ai-train=no\n{RULE}"
    before = f"User-agent: *\n{RULE}{named}"
    after = f"User-agent: *\nContent-Signal: ai-train=no\n{RULE}{named}"
    assert changes(before, after) == ["AI training: was unknown, is refused, for everybody else"]


def test_a_policy_token_changes_the_answer_of_its_crawlers() -> None:
    """Google-Extended speaks of what Googlebot fetches."""
    before = f"User-agent: *\n{RULE}"
    found = changes(before, f"{before}\nUser-agent: Google-Extended\nDisallow: /\n")
    assert found == [
        "input to AI: was unknown, is refused, for Googlebot",
        "AI training: was unknown, is refused, for Googlebot",
    ]


def test_closing_a_path_is_no_change_of_a_signal() -> None:
    """A path that may not be fetched has no AIPREF preference; its sentence says that it closed."""
    before = f"User-agent: *\nContent-Usage: train-ai=n\n{RULE}"
    assert changes(before, before + "Disallow: /\n") == []


def test_every_change_is_an_answer_of_usage() -> None:
    """What is said can be asked for again."""
    before = "User-agent: *\nContent-Usage: /a train-ai=y\nAllow: /\nUser-agent: b\nDisallow:\n"
    after = "User-agent: *\nContent-Usage: train-ai=n\nContent-Signal: use=immediate\nAllow: /\n"
    found = list(signal_changes(parse(before), parse(after)))
    assert {change.purpose for change in found} >= {"ai-train", "search", "archive", "ai-index"}
    for change in found:
        for agent in change.agents:
            for path in change.paths:
                asked = (
                    usage(f"https://a.example{path}", agent, body)[change.purpose].answer
                    for body in (before, after)
                )
                assert tuple(asked) == (change.before, change.after)


def test_many_agents_and_paths_are_bounded() -> None:
    """However large the files are: so many kinds of agents, so many paths, and short sentences."""
    lines = [f"Content-Usage: /{'x' * 200}{n} train-ai=n" for n in range(200)]
    groups = [f"User-agent: agent-{n}\n" + "\n".join(lines[n:]) + f"\n{RULE}" for n in range(100)]
    groups = [text.replace("agent-", f"agent{'-' * 100}") for text in groups]
    found = list(signal_changes(parse(""), parse("\n".join(groups[:20]))))
    assert found
    assert max(len(change.paths) for change in found) <= MAX_PATHS
    assert max(len(str(change)) for change in found) < 600


def test_a_difference_has_the_answers() -> None:
    """In its sentences, and as data."""
    before, after = (f"User-agent: *\nContent-Usage: train-ai={v}\n{RULE}" for v in "yn")
    found = difference(parse(before), parse(after))
    assert found.is_equal
    assert found.sentences[1:] == [
        "AI training: was allowed, is refused, for everybody.",
        "content-usage for everybody: train-ai=n instead of train-ai=y.",
    ]
    assert json.loads(json.dumps(found.to_dict()))["signals"] == [
        {
            "purpose": "ai-train",
            "before": "yes",
            "after": "no",
            "agents": ["*"],
            "paths": ["/"],
            "everywhere": True,
        }
    ]


def test_names_are_shown_as_text() -> None:
    """A file cannot write to a terminal through a name or a path."""
    change = SignalChange("ai-train", "yes", "no", ("a\x1b[31m",), False, ("/\x1b[2J",), False)
    assert "\x1b" not in str(change)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # A group that is dropped: its agent falls to `*`.
        (f"{STAR}\nUser-agent: a", STAR),
        # The User-agent lines directly above a signal.
        (
            "User-agent: a\nContent-Usage: search=n\nUser-agent: b",
            "User-agent: a\nUser-agent: b\nContent-Usage: search=n",
        ),
        ("License: https://a/l\nUser-agent: *", "User-agent: *\nLicense: https://a/l"),
        # At the end, behind a blank line, it is for everybody.
        (
            "User-agent: a\nAllow: /\n\nLicense: https://a/l",
            "User-agent: a\nAllow: /\nLicense: https://a/l",
        ),
    ],
)
def test_a_fix_that_moves_a_signal_is_not_proved(before: str, after: str) -> None:
    """No verdict changes, and still somebody is told something else."""
    assert signals_differ(parse(before), parse(after))
    assert not unchanged(before.encode(), after.encode(), ["rfc9309"])


def test_fixes_keep_the_signals() -> None:
    """A group that copies `*` is not dropped where `*` has a signal that it has not."""
    copied = "User-agent: *\n{}Disallow: /a\n\nUser-agent: mybot\nDisallow: /a\n"
    assert lint.fix(copied.format("")) != copied.format("").encode()
    signal = copied.format("Content-Signal: ai-train=no\n")
    assert lint.fix(signal) == signal.encode()

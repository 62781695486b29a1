"""Rules about usage signals: what they find, what they leave alone, and what their fixes say."""

import pytest

from manners import lint, parse
from manners.lint import Finding
from manners.signals import usage


def found(body: str, *rules: str, url: str | None = None) -> list[Finding]:
    """What some rules find."""
    return lint.run(body, select=rules, url=url)


def group(*lines: str) -> str:
    """A group for everybody with some lines, and a rule."""
    return "\n".join(("User-agent: *", *lines, "Disallow: /cart", ""))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("train-ai=n, ai-use=n, search=y", ""),
        ("train-ai=n;why=x", ""),
        ("/a train-ai=n", ""),
        ("/a\ttrain-ai=n", ""),
        ("new-label=n", ""),
        ("", "without a preference"),
        ("/a/", "without a preference"),
        ("train-ai=no", "says nothing"),
        ("train_ai=n", "`train-ai` is one"),
        ("train-ai=N", "says nothing"),
        ("train-ai", "boolean"),
        ('train-ai="n"', "string"),
        ("train-ai=?0", "boolean"),
        ("train-ai=(n)", "list"),
        ("Train-AI=n", "`train-ai=n` is"),
        ("train-ai = n", "`train-ai=n` is"),
        ("train-ai=n search=y", "`train-ai=n, search=y` is"),
        ("train-ai=n,", "nothing of"),
        ("train-ai:n", "`train-ai=n` is"),
        ("train-ai=n; search=y", "a comma has to stand before"),
        ("train-ai=n, train-ai=y", "given twice"),
        ("train-ai=n, train-ai=n, search=y", "given twice"),
    ],
)
def test_mistakes_of_content_usage_are_named(value: str, message: str) -> None:
    """As RFC 9651 and the draft read them: what is well formed and meant so is left alone."""
    findings = found(group(f"Content-Usage: {value}"), "A806")
    assert [message in finding.message for finding in findings] == ([True] if message else [])


@pytest.mark.parametrize(
    ("value", "fixed"),
    [
        ("Train-AI=No, SEARCH=yes", "train-ai=n, search=y"),
        ("/a train_ai=disallow", "/a train-ai=n"),
        ("train-ai=n;search=y", "train-ai=n, search=y"),
        ("*.pdf train-ai=n", "/*.pdf train-ai=n"),
    ],
)
def test_a_fix_says_what_was_meant(value: str, fixed: str) -> None:
    """Only if it is asked for: readers are told what the line did not say."""
    body = group(f"Content-Usage: {value}")
    assert lint.fix(body, select=["A"]) == body.encode()
    assert lint.fix(body, select=["A"], unsafe=True) == group(f"Content-Usage: {fixed}").encode()
    assert found(group(f"Content-Usage: {fixed}"), "A") == []


@pytest.mark.parametrize("value", ["bots=no", "train-ai=n, train-ai=yes", "train-ai=maybe"])
def test_a_guess_is_no_fix(value: str) -> None:
    """Where it is not clear what is meant, a person has to write it."""
    assert all(finding.fix is None for finding in found(group(f"Content-Usage: {value}"), "A"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("genai=n", [("warning", "`train-ai` comes closest")]),
        ("bots=n", [("warning", "says nothing")]),
        ("rag-ground=n", [("info", "says nothing")]),
        ("rag-ground=n, genai=n", [("warning", "genai")]),
        ("train-ai=n", []),
        ("genai=", []),  # not readable: another rule
    ],
)
def test_old_labels_are_mistakes_and_new_ones_are_news(
    value: str, expected: list[tuple[str, str]]
) -> None:
    """A label that a draft had before is a warning, one that none had is information."""
    findings = found(group(f"Content-Usage: {value}"), "A805")
    assert [finding.severity.value for finding in findings] == [text for text, _ in expected]
    assert all(text in item.message for item, (_, text) in zip(findings, expected, strict=True))


def test_google_takes_the_line_of_the_draft_for_a_rule() -> None:
    """An error, since the site is closed for Googlebot; and the finding is right about that."""
    body = "User-agent: *\nDisallowAITraining: /\n"
    (finding,) = found(body, "A812")
    assert (finding.severity.value, finding.line) == ("error", 2)
    assert not parse(body, "google").allowed("/a", "Googlebot")
    assert parse(body).allowed("/a", "Googlebot")
    (empty,) = found("User-agent: *\nDisallowAITraining:\n", "A812")
    assert empty.severity.value == "info"
    assert found(body, "S103", "S104") == []


def test_a_line_above_all_groups_is_for_nobody() -> None:
    """The signals have no claim from it; License may stand there."""
    body = "Content-Usage: train-ai=n\nLicense: https://a.example/l\n" + group()
    (finding,) = found(body, "A808")
    assert (finding.line, "for nobody" in finding.message) == (1, True)
    assert usage("https://a.example/", robots_txt=body)["ai-train"].answer == "unknown"
    (finding,) = found("Content-Signal: ai-train=no\n" + group(), "A808")
    assert "no text says" in finding.message


def test_licences_are_whole_urls() -> None:
    """A path becomes one if the site is known; a port of its own keeps http."""
    url = "https://a.example/robots.txt"
    body = "License: /l.xml\n" + group()
    (finding,) = found(body, "A809", url=url)
    assert finding.fix is not None
    assert lint.fix(body, select=["A809"], unsafe=True, url=url).startswith(
        b"License: https://a.example/l.xml\n"
    )
    for value in ("//b.example/l", "", "l.xml", "ftp://a.example/l"):
        (finding,) = found(f"License: {value}\n" + group(), "A809", url=url)
        assert finding.fix is None
    (finding,) = found("License: http://a.example:8080/l\n" + group(), "A810")
    assert finding.fix is None


def test_a_licence_at_the_end_belongs_to_the_last_group() -> None:
    """It is reported where that makes a difference."""
    end = "\nLicense: https://a.example/l\n"
    two = group() + "\nUser-agent: GPTBot\nDisallow: /\n"
    assert [item.line for item in found(two + end, "A811")] == [7]
    assert parse(two + end).policy("GPTBot").licences == ("https://a.example/l",)
    assert parse(two + end).policy("MyBot").licences == ()
    assert found(group() + end, "A811") == []
    assert found(two + "License: https://a.example/l\n", "A811") == []


@pytest.mark.parametrize(
    ("rest", "lines"),
    [
        ("User-agent: bingbot\nDisallow: /x\n", [6]),
        ("User-agent: bingbot\nContent-Signal: ai-train=yes\nDisallow: /x\n", []),
        ("User-agent: GPTBot\nDisallow: /\n", []),
        ("User-agent: Google-Extended\nDisallow: /x\n", []),
        ("User-agent: a\nUser-agent: b\nDisallow: /x\n", [6, 7]),
    ],
)
def test_a_named_group_inherits_nothing(rest: str, lines: list[int]) -> None:
    """Unless it has signals of its own, may fetch nothing, or is for a token."""
    body = group("Content-Signal: ai-train=no", "Crawl-delay: 1") + "\n" + rest
    assert [item.line for item in found(body, "A813")] == lines
    assert found(group() + "\n" + rest.replace("Content-Signal", "X"), "A813") == []


def test_a_token_that_fetches_nothing_has_no_pace() -> None:
    """A group that also names a crawler may have one."""
    delay = "Crawl-delay: 10\nDisallow: /\n"
    (finding,) = found(f"User-agent: Applebot-Extended\n{delay}", "A814")
    assert (finding.line, "Applebot" in finding.message) == (2, True)
    assert found(f"User-agent: Applebot-Extended\nUser-agent: Applebot\n{delay}", "A814") == []


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        (("Content-Usage: train-ai=n", "Content-Usage: train-ai=y"), 1),
        (("Content-Usage: train-ai=n", "Content-Usage: /a train-ai=y"), 0),
        (("Content-Usage: /a train-ai=n", "Content-Usage: /a train-ai=y"), 1),
        (("Content-Usage: ai-use=y", "Content-Signal: ai-input=no"), 1),
        (("Content-Signal: ai-train=yes", "Content-Signal: ai-train=no"), 0),
        (("Content-Usage: search=y", "Content-Signal: ai-train=no"), 0),
    ],
)
def test_contradictions_are_found_where_both_count(lines: tuple[str, ...], number: int) -> None:
    """For one agent and one path; two Content-Signal lines are another rule's."""
    assert len(found(group(*lines), "A815")) == number

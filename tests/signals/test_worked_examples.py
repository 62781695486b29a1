"""The worked examples of the text that the merged model comes from (table B5), by number."""

import re
from typing import Any, NamedTuple

import pytest

from tests.shared import SHARED, needs_shared
from tests.signals.sources import (
    ANNOUNCED,
    LICENCE_URL,
    codes,
    content,
    licence,
    page,
    permits,
    prohibits,
    robots,
)


class Example(NamedTuple):
    """A row: what a site says, and what follows for one purpose."""

    number: int
    purpose: str
    answer: str
    sources: dict[str, Any]
    path: str = "/page"
    agent: str = "MyBot"
    conflict: bool = False
    conditions: bool = False
    problem: bool = False


def rsl(*contents: str, **more: Any) -> dict[str, Any]:
    """A site with a licence in its robots.txt."""
    return {"robots_txt": ANNOUNCED, "licences": {LICENCE_URL: licence(*contents)}} | more


def lines(*written: str) -> dict[str, Any]:
    """A site with these lines in its group for everybody."""
    return {"robots_txt": robots(*written)}


def tag(*values: str) -> dict[str, Any]:
    """A page with X-Robots-Tag headers."""
    return {"headers": [("X-Robots-Tag", value) for value in values]}


def tdm(*rules: tuple[str, int]) -> str:
    """A tdmrep.json."""
    return str([{"location": path, "tdm-reservation": n} for path, n in rules]).replace("'", '"')


NEWS = (content("/", permits("all")), content("/news/", prohibits("ai-train")))
GLOBAL_AND_OWN: dict[str, Any] = {
    "robots_txt": "License: https://example.com/global.xml\nUser-agent: ExampleBot\nAllow: /\n"
    "License: https://example.com/bot.xml\nUser-agent: *\nAllow: /\n",
    "licences": {
        "https://example.com/global.xml": licence(content("/", prohibits("ai-train"))),
        "https://example.com/bot.xml": licence(content("/", permits("all"))),
    },
}
TRAIN_N = "Content-Usage: train-ai=n"
SHUT_OUT = {"robots_txt": "User-agent: GPTBot\nDisallow: /\n"}
EXTENDED = {"robots_txt": "User-agent: Google-Extended\nDisallow: /\n\nUser-agent: *\nAllow: /\n"}
USAGE_HEADER = [("Content-Usage", "train-ai=n, ai-use=n, search=y")]
MARKDOWN = [("content-signal", "ai-train=yes, search=yes, ai-input=yes")]
RUDE = "RudeBot: noindex, nofollow, googlebot: nofollow"
LIST_TAG = [("Robots-Tag", "*;nosnippet, FriendBot;noindex")]
META_BOTH = '<meta name="robots" content="noindex"><meta name="mybot" content="index">'
FIVE_DOLLARS = '<payment type="training"><amount currency="USD">5</amount></payment>'
ALL_YES = rsl(
    content("/", permits("all")), tdmrep=tdm(("/", 0)), trust_txt="datatrainingallowed=yes"
)
ALL_YES["robots_txt"] += "Content-Signal: ai-train=yes\nContent-Usage: train-ai=y\n"

EXAMPLES = [
    Example(1, "ai-train", "no", lines(TRAIN_N)),
    Example(
        2, "ai-train", "yes", lines(TRAIN_N, "Content-Usage: /lessons/ train-ai=y"), "/lessons/1"
    ),
    Example(3, "ai-train", "unknown", lines(TRAIN_N, "Disallow: /closed/"), "/closed/1"),
    Example(4, "ai-train", "no", lines(TRAIN_N, "Content-Usage: train-ai=y"), conflict=True),
    Example(5, "ai-train", "yes", lines("Content-Usage: train-ai=n, train-ai=y")),
    Example(
        6,
        "ai-train",
        "yes",
        {"headers": [("Content-Usage", "train-ai=n"), ("Content-Usage", "train-ai=y")]},
    ),
    Example(
        7,
        "ai-train",
        "no",
        lines(TRAIN_N) | {"headers": [("Content-Usage", "train-ai=y")]},
        conflict=True,
    ),
    Example(
        8,
        "search",
        "unknown",
        lines("Content-Usage: train-ai=n, search=n", "Content-Usage: /blog/ train-ai=y"),
        "/blog/1",
    ),
    Example(9, "ai-train", "unknown", lines("Content-Usage: train-ai=no"), problem=True),
    Example(10, "ai-train", "unknown", lines("Content-Usage: Train-AI=n"), problem=True),
    Example(11, "search", "unknown", lines("Content-Usage: train-ai=n; search=y")),
    Example(
        12, "ai-train", "unknown", lines("Content-Usage: *.pdf train-ai=n"), "/a.pdf", problem=True
    ),
    Example(13, "ai-train", "no", lines("Content-Usage: /*.pdf$ train-ai=n"), "/a.pdf"),
    Example(14, "ai-train", "unknown", {"robots_txt": f"{TRAIN_N}\n{robots()}"}, problem=True),
    Example(
        15,
        "ai-train",
        "unknown",
        {"robots_txt": f"{robots(TRAIN_N)}\nUser-agent: MyBot\nAllow: /\n"},
    ),
    Example(16, "ai-train", "unknown", lines("Content-Usage: bots=n, train-genai=n"), problem=True),
    Example(17, "search", "yes", {"headers": USAGE_HEADER}),
    Example(18, "ai-input", "unknown", lines("Content-Signal: search=yes, ai-train=no")),
    Example(19, "ai-train", "no", lines("Content-Signal: search=yes,ai-train=no,use=reference")),
    Example(20, "ai-train", "no", lines("Content-Signal: use=reference")),
    Example(21, "search", "no", lines("Content-Signal: use=immediate")),
    Example(
        22, "ai-train", "no", lines("Content-Signal: ai-train=yes, use=reference"), conflict=True
    ),
    Example(
        23,
        "ai-train",
        "no",
        {
            "robots_txt": robots("Content-Signal: ai-train=no")
            + robots("Content-Signal: ai-train=yes")
        },
        conflict=True,
    ),
    Example(
        24,
        "ai-train",
        "no",
        lines("Content-Signal: search=yes, ai-train=no") | {"headers": MARKDOWN},
        conflict=True,
    ),
    Example(
        25,
        "ai-train",
        "unknown",
        {"headers": [("Content-Signal", "ai-train=disallow")]},
        problem=True,
    ),
    Example(26, "ai-train", "unknown", {"robots_txt": "# Content-Signal: ai-train=no\n"}),
    Example(27, "search", "yes", rsl(content("/", prohibits("ai-all")))),
    Example(28, "ai-train", "no", rsl(content("/", permits("search")))),
    Example(29, "ai-train", "no", rsl(*NEWS), "/news/1"),
    Example(29, "search", "yes", rsl(*NEWS), "/news/1"),
    Example(
        30, "ai-input", "no", rsl(content("/", permits("ai-train ai-input"), prohibits("all")))
    ),
    Example(
        31, "ai-train", "no", rsl(content("/", permits("ai-all"), FIVE_DOLLARS)), conditions=True
    ),
    Example(
        32,
        "ai-input",
        "yes",
        rsl(content("/", permits("ai-input"), '<payment type="attribution"/>')),
        conditions=True,
    ),
    Example(
        33,
        "ai-train",
        "no",
        rsl(content("/", permits("ai-train"), server="https://licences.example")),
        conditions=True,
    ),
    Example(34, "ai-train", "yes", GLOBAL_AND_OWN, agent="ExampleBot"),
    Example(
        35,
        "ai-train",
        "unknown",
        {
            "robots_txt": f"License: /license.xml\n{robots()}",
            "licences": {LICENCE_URL: licence(content("/", prohibits("all")))},
        },
        problem=True,
    ),
    Example(
        36,
        "ai-train",
        "unknown",
        {"robots_txt": ANNOUNCED, "licences": {LICENCE_URL: "<html><body>404</body>"}},
        problem=True,
    ),
    Example(37, "ai-train", "unknown", rsl('<content url="/"/>'), problem=True),
    Example(
        38,
        "ai-train",
        "unknown",
        {
            "headers": [("Link", '<https://creativecommons.org/licenses/by/4.0/>; rel="license"')],
            "licences": {
                "https://creativecommons.org/licenses/by/4.0/": licence(
                    content("/", prohibits("all"))
                )
            },
        },
    ),
    Example(
        39,
        "crawl",
        "no",
        rsl(content("/", permits("all")))
        | {"robots_txt": f"License: {LICENCE_URL}\nUser-agent: *\nDisallow: /\n"},
    ),
    Example(40, "ai-train", "no", {"tdmrep": tdm(("/", 1))}),
    Example(41, "ai-train", "unknown", {"tdmrep": tdm(("/", 0))}),
    Example(42, "tdm", "no", {"tdmrep": tdm(("/", 1), ("/open/", 0))}, "/open/1"),
    Example(43, "tdm", "yes", {"tdmrep": tdm(("/", 1)), "headers": [("tdm-reservation", "0")]}),
    Example(
        44,
        "tdm",
        "no",
        {"tdmrep": tdm(("/", 1)), "headers": [("tdm-reservation", "2")]},
        problem=True,
    ),
    Example(
        45, "tdm", "unknown", {"tdmrep": '{"location": "/", "tdm-reservation": 1}'}, problem=True
    ),
    Example(46, "search", "unknown", {"tdmrep": tdm(("/", 1))}),
    Example(47, "search", "unknown", tag("googlebot: noindex")),
    Example(48, "follow", "no", tag(RUDE), agent="Googlebot"),
    Example(48, "search", "unknown", tag(RUDE), agent="Googlebot"),
    Example(49, "search", "no", {"html": META_BOTH}),
    Example(50, "search", "unknown", tag("all")),
    Example(51, "ai-input", "no", tag("nosnippet"), agent="Googlebot"),
    Example(51, "ai-input", "unknown", tag("nosnippet")),
    Example(
        52,
        "search",
        "no",
        tag("unavailable_after: Friday, 25-Jun-10 15:00:00 GMT") | {"now": "2026-11-16T00:00:00Z"},
    ),
    Example(53, "snippet", "no", {"headers": LIST_TAG}, agent="OtherBot"),
    Example(54, "ai-train", "no", EXTENDED, agent="Googlebot"),
    Example(54, "crawl", "yes", EXTENDED, agent="Googlebot"),
    Example(55, "ai-train", "unknown", SHUT_OUT),
    Example(
        56,
        "ai-train",
        "no",
        lines("Content-Signal: ai-train=yes") | {"headers": [("Content-Usage", "train-ai=n")]},
        conflict=True,
    ),
    Example(
        57,
        "ai-train",
        "no",
        lines("Content-Usage: train-ai=y") | {"tdmrep": tdm(("/", 1))},
        conflict=True,
    ),
    Example(
        58,
        "search",
        "no",
        lines("Content-Signal: search=yes") | {"html": '<meta name="robots" content="noindex">'},
        conflict=True,
    ),
    Example(
        59,
        "ai-train",
        "no",
        lines("Content-Usage: train-ai = y", "Content-Signal: ai-train=no"),
        problem=True,
    ),
    Example(60, "ai-train", "no", ALL_YES | tag("noai"), conflict=True),
    Example(
        61,
        "crawl",
        "no",
        {
            "robots_txt": "User-agent: *\nDisallow: /\nContent-Signal: search=yes, ai-train=yes\n",
            "headers": MARKDOWN,
        },
    ),
    Example(
        62,
        "tdm",
        "no",
        rsl(content("/", prohibits("all")), headers=[("tdm-reservation", "0")]),
        conflict=True,
    ),
]


@pytest.mark.parametrize(
    "row", EXAMPLES, ids=lambda row: f"{row.number}-{row.purpose}-{row.answer}"
)
def test_a_worked_example_has_its_answer(row: Example) -> None:
    """The answer, whether claims contradict each other, and whether something is asked for."""
    found = page(row.path, row.agent, **row.sources)[row.purpose]  # type: ignore[index]
    assert (found.answer, found.conflict) == (row.answer, row.conflict)
    assert bool(found.conditions) == row.conditions
    assert bool(codes(found)) == row.problem


@needs_shared
def test_the_worked_examples_are_those_of_the_text() -> None:
    """Every row of the table is here, with the purposes and the answers that it has there."""
    text = (SHARED / "signals" / "signals.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \| .*? \| ([^|]*) \| ([^|]*) \| [^|]* \|$", text, re.MULTILINE)
    assert {int(number) for number, _, _ in rows} == {row.number for row in EXAMPLES}
    for number, purposes, answers in rows:
        here = [row for row in EXAMPLES if row.number == int(number)]
        assert {row.purpose for row in here} == {*purposes.split(" / ")}
        written = [re.split(r"[ ,]", answer)[0] for answer in answers.split(" / ")]
        assert sorted(row.answer for row in here) == sorted(written), number

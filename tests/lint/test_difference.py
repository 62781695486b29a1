"""What a change of robots.txt does: classes of agents, examples, sentences, counted URLs."""

import random
from typing import Any

import pytest

import manners
from manners.lint.data.crawlers import STAR_IGNORERS
from manners.lint.difference import (
    EXAMPLES,
    AgentChange,
    RobotsDifference,
    count_urls,
    difference,
    difference_of_agents,
)
from manners.lint.sentences import agent_sentences, engine_sentences
from manners.robots import dialects
from tests.lint.impact.brute import one_line_edit
from tests.shared import corpus, needs_shared
from tests.sizes import size

SITE = "https://example.com"
ENGINES = ("rfc9309", "robotrules")
STAGING = "User-agent: *\nDisallow: /\n"
SHOP = """\
User-agent: *
Disallow: /shop/
Allow: /shop/ok
Disallow: /*.pdf$
Crawl-delay: 2

User-agent: GPTBot
Disallow: /
Sitemap: https://shop.example/map.xml
"""


def between(before: str, after: str, **options: Any) -> RobotsDifference:
    return difference(manners.parse(before), manners.parse(after), **options)


def paths(change: AgentChange) -> tuple[list[str], list[str]]:
    closed, opened = change.closed, change.opened
    return [witness.path for witness in closed], [witness.path for witness in opened]


def assert_real(found: RobotsDifference) -> int:
    """Every path gets the verdicts that are printed, from the engine; how many there are."""
    number = 0
    for change in found.changes:
        for witnesses, was_allowed in ((change.closed, True), (change.opened, False)):
            assert len(witnesses) <= EXAMPLES
            assert len({witness.path for witness in witnesses}) == len(witnesses)
            for witness in witnesses:
                old = found.before.check(SITE + witness.path, change.asked[0])
                new = found.after.check(SITE + witness.path, change.asked[1])
                assert (old.allowed, new.allowed) == (was_allowed, not was_allowed)
                assert (old.rule, new.rule) == (witness.before, witness.after)
                number += 1
    return number


def test_a_staging_file_closes_everything_to_everybody() -> None:
    """The shortest URL, and those whose rules are of another kind."""
    found = between(SHOP, STAGING)
    (change,) = found.changes
    assert change.is_for_everybody
    assert paths(change) == (["/", "/shop/ok"], [])
    assert "Googlebot" in change.crawlers
    assert found.sentences[0] == (
        "Everybody else, such as Googlebot and bingbot, loses everything."
    )
    assert found.is_equal is False
    assert assert_real(found) == 2


def test_everything_else_that_changed_is_named() -> None:
    """Delays for each agent, sitemaps, signals, unknown keys."""
    before = SHOP + "Content-Signal: ai-train=no\nHost: a.example\n"
    found = between(before, SHOP.replace("delay: 2", "delay: 10").replace("/map", "/sitemap"))
    assert found.is_equal is True
    assert found.sentences == [
        "No verdict changes, for any URL and any crawler.",
        "AI training: was refused, is unknown, for GPTBot.",
        "crawl-delay for everybody: 10 instead of 2.",
        "content-signal for gptbot: removed ai-train=no.",
        "sitemap: https://shop.example/sitemap.xml instead of https://shop.example/map.xml.",
        "host: removed a.example.",
    ]


def test_equal_files_are_equal_for_every_url() -> None:
    """A rule that changes nothing for anybody is no change."""
    found = between(
        SHOP, SHOP.replace("Disallow: /shop/\n", "Disallow: /shop/\nDisallow: /shop/x\n")
    )
    assert found.is_equal is True
    assert found.changes == ()


def test_crawlers_that_ignore_the_star_lose_nothing_by_it() -> None:
    """Those in the dated list obey a group with their own name only."""
    found = between("", STAGING)
    assert not {*found.changes[0].crawlers} & {*STAR_IGNORERS}
    own = "User-agent: AdsBot-Google\nDisallow:\n\n"
    named = between(own, own.replace("Disallow:", "Disallow: /") + STAGING)
    assert named.change_for("AdsBot-Google") is not None


def test_a_crawler_that_a_file_names_is_in_one_class() -> None:
    """However it is written; the sentence writes it as its owner does."""
    found = between(
        "User-agent: GOOGLEBOT\nDisallow: /a\n", "User-agent: googlebot\nDisallow: /b\n"
    )
    (change,) = found.changes
    assert (change.agents, change.crawlers) == (("GOOGLEBOT",), ())
    assert found.sentences == ["Googlebot loses /b.", "Googlebot may now fetch /a."]


def test_agents_with_the_same_change_are_one_class() -> None:
    """Three names are shown, the others counted."""
    agents = "".join(f"User-agent: bot-{letter}\n" for letter in "abcdefg")
    found = between(f"{agents}Disallow: /x\n", f"{agents}Disallow: /y\n")
    assert found.sentences[0] == "bot-a, bot-b, bot-c and 4 more lose /y."


def test_an_agent_that_is_asked_about_is_in_its_class() -> None:
    """A name that neither file has is among everybody else."""
    found = between(SHOP, STAGING, names=["MyBot"])
    change = found.change_for("mybot")
    assert change is not None
    assert change.is_for_everybody
    assert found.change_for("GPTBot") is None
    assert found.change_for("Unheard") is None


def test_examples_differ_in_kind() -> None:
    """Fifty rules of one folder are one example."""
    rules = "".join(f"Disallow: /shop/{number}\n" for number in range(50))
    found = between("", f"User-agent: *\n{rules}Disallow: /*.pdf$\nDisallow: /*?sort=\n")
    closed, _ = paths(found.changes[0])
    assert sorted(closed, key=len) == closed
    assert sum(path.startswith("/shop/") for path in closed) == 1
    assert {"/.pdf", "/?sort="} <= {*closed}


def test_what_a_new_rule_opens_beside_what_it_closes_is_seen() -> None:
    """`/p7/` is longer than the pattern it replaces was for one URL: research, 4.7."""
    found = between(
        "User-agent: *\nDisallow: /p7/*x0=\nAllow: /p7/ok\n",
        "User-agent: *\nDisallow: /p7/\nAllow: /p7/ok\n",
    )
    assert paths(found.changes[0]) == (["/p7/"], ["/p7/okx0="])


def test_urls_are_counted_for_each_class() -> None:
    """All batches count; a few are kept as a sample."""
    urls = [f"{SITE}/shop/ok/{number}" for number in range(20)]
    (found,) = count_urls([between(SHOP, STAGING)], [urls[:7], urls[7:], [f"{SITE}/shop/no"]])
    counts = found.changes[0].urls
    assert counts is not None
    assert (counts.total, counts.closed, counts.opened) == (21, 20, 0)
    assert counts.closed_sample == tuple(urls[:5])
    assert found.sentences[0].endswith("loses everything; 20 of your 21 URLs.")
    assert found.to_dict()["changes"][0]["urls"]["closed"] == 20


def test_what_is_not_decided_is_called_so() -> None:
    """It never counts as equal."""
    before = "User-agent: *\n" + "".join(f"Disallow: /*{a}*{b}\n" for a in "abc" for b in "xyz")
    found = difference(manners.parse(before), manners.parse(before[:-10]), steps=3)
    assert found.is_equal is not True
    assert any("not decided" in sentence for sentence in found.sentences)


def test_two_agents_of_one_file() -> None:
    """What one may fetch that the other may not, each way, and the delays."""
    found = difference_of_agents(manners.parse(SHOP), "Googlebot", "GPTBot")
    assert paths(found.changes[0]) == (["/", "/shop/ok"], [])
    assert agent_sentences(found, "Googlebot", "GPTBot") == [
        "Googlebot may fetch / and /shop/ok, and GPTBot may not.",
        "crawl-delay for GPTBot: removed 2.",
    ]
    assert_real(found)
    same = difference_of_agents(manners.parse(SHOP), "a", "b")
    assert agent_sentences(same, "a", "b") == ["a and b may fetch the same."]


def test_two_engines_of_one_file() -> None:
    """Paths on which they disagree, and for whom."""
    engines = [dialects.get(name).but(robots_txt_allowed=True) for name in ENGINES]
    found = difference(*(manners.parse(SHOP, engine) for engine in engines))
    assert_real(found)
    assert engine_sentences(found, "rfc9309", "robotrules") == [
        "robotrules disallows /shop/ok for everybody else, such as Googlebot and bingbot;"
        " rfc9309 does not.",
        "robotrules allows /.pdf for everybody else, such as Googlebot and bingbot;"
        " rfc9309 does not.",
    ]


@pytest.mark.long
@needs_shared
def test_every_example_from_real_files_is_real() -> None:
    """Edited lines, and pairs of files that have nothing to do with each other."""
    bodies = list(corpus().values())
    rng = random.Random(7)
    number = 0
    for _ in range(size("LINT_FILES")):
        before = rng.choice(bodies)
        after = rng.choice(bodies) if rng.random() < 0.2 else one_line_edit(rng, before)
        if after is not None and len(before) + len(after) < 50_000:
            number += assert_real(difference(manners.parse(before), manners.parse(after)))
    assert number > size("LINT_FILES") // 4

"""What is easy to get wrong in each standard, beyond the shared cases."""

import re
from pathlib import Path
from typing import Any

import pytest

from manners.signals import PURPOSES, PolicyToken, editions, may, standards, usage
from tests.signals.sources import (
    ANNOUNCED,
    LICENCE_URL,
    codes,
    content,
    licence,
    licensed,
    page,
    permits,
    prohibits,
    robots,
)

TRAIN_N = "Content-Usage: train-ai=n"


def test_every_standard_has_an_edition_with_a_date() -> None:
    """A claim can say by which version of its standard it was read."""
    for standard in standards():
        assert editions(standard)[-1].name
        assert editions(standard)[-1].date >= "2022"


def test_the_documentation_has_every_standard_with_its_version() -> None:
    """A new reader, and a new draft, have their row."""
    text = (Path(__file__).parents[2] / "docs" / "how-to" / "usage.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \|", text, re.MULTILINE))
    for standard in standards():
        assert rows[standard] == editions(standard)[-1].name
    for purpose in PURPOSES:
        assert f"\n| `{purpose}` |" in text


# Groups of robots.txt.


def test_a_signal_belongs_to_the_user_agent_lines_directly_above() -> None:
    """The signal is a's alone, while RFC 9309 makes one group of both for the rule."""
    robots_txt = f"User-agent: a\n{TRAIN_N}\nUser-agent: b\nDisallow: /x\n"
    for agent, answer in (("a", "no"), ("b", "unknown")):
        found = page(agent=agent, robots_txt=robots_txt)
        assert found["ai-train"].answer == answer
        assert page("/x", agent, robots_txt=robots_txt)["crawl"].answer == "no"


def test_what_is_no_rule_leaves_user_agent_lines_together() -> None:
    """Crawl-delay, Sitemap and comments between User-agent lines change nothing."""
    robots_txt = f"User-agent: a\nCrawl-delay: 1\n\n# b, too\nUser-agent: b\nAllow: /\n{TRAIN_N}\n"
    assert page(agent="a", robots_txt=robots_txt)["ai-train"].answer == "no"
    assert page(agent="b", robots_txt=robots_txt)["ai-train"].answer == "no"


def test_a_content_signal_outside_any_group_is_for_everybody() -> None:
    """Also for an agent with a group of its own, with low confidence and a problem."""
    robots_txt = "Content-Signal: ai-train=no\nUser-agent: MyBot\nAllow: /\n"
    found = page(robots_txt=robots_txt)["ai-train"]
    assert (found.answer, found.claims[0].confidence) == ("no", "low")
    assert codes(found) == {"outside-group"}


def test_a_claim_says_where_it_stands() -> None:
    """Line, group, path, text and the version of the standard."""
    found = page("/a/b", robots_txt=robots("Content-Usage: /a/ train-ai=n;x=1 # why"))
    [claim] = found["ai-train"].claims
    assert (claim.line, claim.where, claim.path) == (3, "*", "/a/")
    assert (claim.url, claim.edition) == ("https://example.com/robots.txt", "attach-05, vocab-08")
    assert claim.text == "Content-Usage: /a/ train-ai=n;x=1 # why"


# AIPREF.


def test_the_longest_rule_counts_even_if_it_cannot_be_read() -> None:
    """A malformed preference for a path does not fall back to a shorter path."""
    found = page("/a/b", robots_txt=robots(TRAIN_N, "Content-Usage: /a/ train-ai=y,"))
    assert found["ai-train"].answer == "unknown"
    assert codes(found["ai-train"]) == {"malformed"}


def test_a_header_counts_where_robots_txt_is_closed() -> None:
    """Only preferences in robots.txt need a path that may be crawled."""
    sources: dict[str, Any] = {"robots_txt": "User-agent: *\nDisallow: /\n" + TRAIN_N}
    assert page(**sources)["ai-train"].answer == "unknown"
    assert page(**sources, headers=[("Content-Usage", "train-ai=n")])["ai-train"].answer == "no"


def test_patterns_are_compared_in_encoded_octets() -> None:
    """An escaped and a plain character are the same, and count as long as they are when encoded."""
    found = page(
        "/caf%C3%A9/x",
        robots_txt=robots("Content-Usage: /café/ train-ai=n", "Content-Usage: /caf*/ train-ai=y"),
    )
    assert found["ai-train"].answer == "no"


# Content Signals.


@pytest.mark.parametrize("word", ["no", "NO", " no "])
def test_keys_and_values_of_content_signals_ignore_case(word: str) -> None:
    """The policy shows lower case only; nothing says that it matters."""
    found = page(robots_txt=robots(f"Content-Signal: AI-Train = {word},,search=yes"))
    assert (found["ai-train"].answer, found["search"].answer) == ("no", "yes")


def test_a_repeated_key_is_read_restrictively() -> None:
    """Within a line and in several, any no is no."""
    found = page(robots_txt=robots("Content-Signal: ai-train=no, ai-train=yes"))
    assert (found["ai-train"].answer, found["ai-train"].conflict) == ("no", True)


def test_a_ceiling_is_marked_as_implied() -> None:
    """`use` refuses by level; no word of the line names the purpose."""
    found = page(robots_txt=robots("Content-Signal: use=immediate"))
    for purpose in ("ai-train", "search", "archive", "ai-index"):
        assert [claim.implied for claim in found[purpose].claims] == [True]
    assert found["ai-input"].answer == "unknown"


# RSL.


def test_a_license_behind_the_rules_of_a_group_is_that_groups() -> None:
    """An agent of another group has no licence."""
    sources: dict[str, Any] = {
        "robots_txt": f"User-agent: a\nAllow: /\nLicense: {LICENCE_URL}\nUser-agent: *\nAllow: /\n",
        "licences": {LICENCE_URL: licence(content("/", prohibits("ai-train")))},
    }
    assert page(agent="a", **sources)["ai-train"].answer == "no"
    assert page(agent="b", **sources)["ai-train"].answer == "unknown"


def test_a_license_at_the_end_of_the_file_is_for_everybody() -> None:
    """Behind a blank line it is meant so; the problem says that the grammar has it otherwise."""
    sources: dict[str, Any] = {
        "robots_txt": f"{robots()}User-agent: a\nAllow: /\n\nLicense: {LICENCE_URL}\n",
        "licences": {LICENCE_URL: licence(content("/", prohibits("ai-train")))},
    }
    for agent in ("a", "b"):
        found = page(agent=agent, **sources)["ai-train"]
        assert (found.answer, codes(found)) == ("no", {"license-at-end"})


def test_a_narrower_path_that_is_silent_leaves_the_broader_one_in_force() -> None:
    """A directory that prohibits training opens nothing that the site's closed list refuses."""
    found = licensed(
        content("/", permits("search")), content("/news/", prohibits("ai-train")), path="/news/1"
    )
    assert [found[p].answer for p in ("search", "ai-input", "ai-train")] == ["yes", "no", "no"]


def test_an_offer_for_the_narrower_usage_counts_before_a_wider_one() -> None:
    """Everything is free, training costs: training is not free."""
    found = licensed(
        content("/", permits("all")),
        content("/", permits("ai-train"), '<payment type="subscription"/>'),
    )
    assert (found["ai-train"].answer, found["ai-input"].answer) == ("no", "yes")
    assert found["ai-train"].conditions == ("payment: subscription",)


def test_a_licence_for_some_users_is_no_licence_for_all() -> None:
    """A class of users and a country are conditions; nobody said who asks."""
    found = licensed(content("/", permits("all"), permits("education personal", "user")))
    assert found["ai-train"].answer == "no"
    assert found["ai-train"].conditions == ("user: education personal",)
    found = licensed(content("/", permits("all"), prohibits("US", "geo")))
    assert found["search"].conditions == ("geo: not us",)


@pytest.mark.parametrize(
    ("payment", "answer", "conditions"),
    [
        ("", "yes", ()),
        ('<payment type="free"/>', "yes", ()),
        ('<payment type="contribution"/>', "yes", ("contribution",)),
        ('<payment type="subscription"/>', "no", ("payment: subscription",)),
        (
            "<payment><custom>https://a.example/ask</custom></payment>",
            "no",
            ("payment, terms: https://a.example/ask",),
        ),
        ('<payment type="barter"/>', "no", ("payment: barter",)),
        (
            '<reporting type="audit" profile="https://a.example/p"/>',
            "no",
            ("reporting: https://a.example/p",),
        ),
    ],
)
def test_what_has_to_be_paid_first_is_no_licence_yet(
    payment: str, answer: str, conditions: tuple[str, ...]
) -> None:
    """Attribution and contributions hinder nobody; everything else does, even an unknown kind."""
    found = licensed(content("/", permits("ai-train"), payment))["ai-train"]
    assert (found.answer, found.conditions) == (answer, conditions)


def test_a_server_is_a_condition_of_the_request() -> None:
    """A token is needed before access, whatever robots.txt allows."""
    found = licensed(content("/", permits("all"), server="https://licences.example"))
    assert found["crawl"].answer == "yes"
    assert found["crawl"].conditions == ("token from https://licences.example",)


def test_lists_with_commas_are_read_and_other_vocabularies_are_not() -> None:
    """RSL 0.9 had commas; a token with a prefix permits nothing that is known."""
    found = licensed(content("/", permits("search, x:summaries,ai-input")))
    answers = [found[p].answer for p in ("search", "ai-input", "ai-train")]
    assert answers == ["yes", "yes", "no"]


@pytest.mark.parametrize(
    ("url", "answer"),
    [
        ("https://example.com/page", "no"),
        ("https://other.example/page", "unknown"),
        ("", "no"),
        ("/pag*", "no"),
        ("/page$", "no"),
        ("/Page", "unknown"),
        ("http://[::1", "unknown"),
    ],
)
def test_the_url_of_a_content_is_a_pattern_for_this_site(url: str, answer: str) -> None:
    """Full URLs occur, too; one of another site is not for this one."""
    assert licensed(content(url, prohibits("ai-train")))["ai-train"].answer == answer


def test_mining_at_large_is_neither_granted_nor_refused_by_a_part() -> None:
    """Only what is said about all uses is said about mining."""
    assert licensed(content("/", prohibits("ai-all")))["tdm"].answer == "unknown"
    assert licensed(content("/", permits("all"), prohibits("ai-train")))["tdm"].answer == "unknown"
    assert licensed(content("/", permits("all")))["tdm"].answer == "yes"


def test_a_licence_for_a_part_of_the_page_grants_the_page_nothing() -> None:
    """In the body it covers its parent element: it can refuse, not permit."""
    link = f'<p><link rel="license" type="application/rsl+xml" href="{LICENCE_URL}">'
    for term, answer, problems in (
        (permits("all"), "unknown", {"part-of-page"}),
        (prohibits("all"), "no", set()),
    ):
        found = page(html=link, licences={LICENCE_URL: licence(content("", term))})["search"]
        assert (found.answer, codes(found)) == (answer, problems)


def test_a_page_and_its_site_are_read_restrictively() -> None:
    """A page cannot open what the site's licence refuses: the text has it both ways."""
    script = f'<script type="application/rsl+xml">{licence(content("", permits("all")))}</script>'
    found = page(
        robots_txt=ANNOUNCED,
        licences={LICENCE_URL: licence(content("/", prohibits("ai-train")))},
        html=f"<head>{script}</head>",
    )
    assert (found["ai-train"].answer, found["ai-train"].conflict) == ("no", True)
    assert found["search"].answer == "yes"


@pytest.mark.parametrize(
    "value",
    [
        f'<{LICENCE_URL}>; rel="license"; type="application/rsl+xml"',
        f"<{LICENCE_URL}>;type=application/rsl+xml;rel=license",
        f'</a>; title="x, <y>", <{LICENCE_URL}>; REL="up license"; Type="application/RSL+xml"',
    ],
)
def test_links_are_found_however_they_are_written(value: str) -> None:
    """Parameters in any order, quoted or not, behind other links."""
    found = page(
        headers=[("link", value)],
        licences={LICENCE_URL: licence(content("/", prohibits("ai-train")))},
    )
    assert found["ai-train"].answer == "no"


# TDMRep.


@pytest.mark.parametrize(
    ("headers", "answer"),
    [
        ([("tdm-reservation", "1, 1")], "no"),
        ([("tdm-reservation", "1"), ("TDM-Reservation", "1")], "no"),
        ([("tdm-reservation", "1, 0")], "unknown"),
        ([("tdm-reservation", "true")], "unknown"),
    ],
)
def test_a_reservation_sent_twice_is_compared(headers: list[tuple[str, str]], answer: str) -> None:
    """Equal values are one; different ones are an error, which says nothing."""
    assert page(headers=headers)["tdm"].answer == answer


@pytest.mark.parametrize(
    ("value", "answer"),
    [('"1"', "no"), ("1.0", "no"), ("true", "unknown"), ("[1]", "unknown"), ("2", "unknown")],
)
def test_the_first_match_decides_even_with_an_error(value: str, answer: str) -> None:
    """A string with a number is repaired; any other value is unset, and the search is over."""
    rules = ", ".join(f'{{"location": "/", "tdm-reservation": {each}}}' for each in (value, 0))
    assert page(tdmrep=f"[{rules}]")["tdm"].answer == answer


def test_a_policy_is_a_condition() -> None:
    """Reserved with a policy: those who meet it may; unreserved, the policy is not looked at."""
    headers = [("tdm-reservation", "1"), ("tdm-policy", "https://example.com/policy.json")]
    found = page(headers=headers)
    for purpose in ("tdm", "ai-train"):
        usage_found = found[purpose]
        assert usage_found.conditions == ("tdm-policy: https://example.com/policy.json",)
    assert page(headers=[("tdm-reservation", "0"), headers[1]])["tdm"].conditions == ()


def test_reservations_in_html_are_not_for_images() -> None:
    """A meta element is about the page that it stands in."""
    html = '<meta name="TDM-Reservation" content="1">'
    assert page(html=html)["tdm"].answer == "no"
    assert page(html=html, media="image/png")["tdm"].answer == "unknown"


# Words.


def test_nocache_takes_back_what_noarchive_means_to_bing() -> None:
    """Both words together count as nocache there, wherever they stand."""
    noarchive = [("X-Robots-Tag", "noarchive")]
    assert page(agent="bingbot", headers=noarchive)["ai-train"].answer == "no"
    found = page(agent="bingbot", headers=noarchive, html="<meta name=bingbot content=nocache>")
    assert (found["ai-train"].answer, found["archive"].answer) == ("unknown", "no")


@pytest.mark.parametrize(
    ("value", "answer"),
    [
        ("max-snippet:0", "no"),
        ("max-snippet: 0", "no"),
        ("max-snippet:50", "unknown"),
        ("max-snippet:-1", "unknown"),
        ("max-snippet", "unknown"),
    ],
)
def test_a_limit_is_a_refusal_only_if_nothing_is_left(value: str, answer: str) -> None:
    """No characters of an excerpt are no excerpt."""
    found = page(agent="Googlebot", headers=[("X-Robots-Tag", value)])
    assert (found["snippet"].answer, found["ai-input"].answer) == (answer, answer)


@pytest.mark.parametrize(
    ("date", "answer"),
    [
        ("25 Jun 2010 15:00:00 PST", "no"),
        ("Fri, 25 Jun 2010 15:00:00 +0200", "no"),
        ("2010-06-25T15:00:00Z", "no"),
        ("2010-06-25T15:00:00-08:00", "no"),
        ("2010-06-25", "no"),
        ("Sunday, 25-Jun-45 15:00:00 GMT, noai", "unknown"),
        ("tomorrow", "unknown"),
    ],
)
def test_pages_are_not_indexed_behind_their_date(date: str, answer: str) -> None:
    """Dates as RFC 822, RFC 850 and ISO 8601 have them, with their commas and colons."""
    headers = [("X-Robots-Tag", f"otherbot: nofollow, mybot: unavailable_after: {date}")]
    assert page(headers=headers, now=1_794_787_200)["search"].answer == answer
    undecided = page(headers=headers)["search"]
    assert undecided.answer == "unknown"
    assert undecided.problems


def test_words_about_images_are_for_images() -> None:
    """As given, as the header says, or as the URL ends."""
    headers = [("X-Robots-Tag", "noimageai")]
    assert page(headers=headers)["ai-train"].answer == "unknown"
    assert page(headers=headers, media="image")["ai-train"].answer == "no"
    assert page("/a.JPG?x=1", headers=headers)["ai-train"].answer == "no"
    assert page(headers=[*headers, ("Content-Type", "image/png")])["ai-train"].answer == "no"


def test_words_without_commas_are_repaired() -> None:
    """Their meaning is plain, and the confidence is low."""
    found = page(html="<meta name=robots content='noindex nofollow'>")
    assert (found["search"].claims[0].confidence, codes(found["search"])) == ("low", {"repaired"})


@pytest.mark.parametrize(
    "html",
    [
        "<!-- <meta name=robots content=noai> -->",
        "<script>'<meta name=robots content=noai>'</script>",
        "<title><meta name=robots content=noai></title>",
        "<template><meta name=robots content=noai></template>",
        "<a title='<meta name=robots content=noai>'>x</a>",
        '<a class="x" title="<meta name=robots content=noai>">x</a>',
        "<plaintext><meta name=robots content=noai>",
        "<meta name=robotsx content=noai>",
        "<meta property=robots content=noai>",
    ],
)
def test_what_is_no_element_of_the_page_says_nothing(html: str) -> None:
    """Comments, scripts, titles and templates contain no elements."""
    assert page(html=html)["ai-train"].answer == "unknown"


@pytest.mark.parametrize("encode", [str, lambda html: html.encode("utf-16"), str.encode])
def test_elements_are_found_anywhere_in_the_page(encode: type[str]) -> None:
    """In the body, too, which Google reads; as text or as bytes in any encoding."""
    html = "<!doctype html><p>x<svg><style/></svg><META\nCONTENT = 'NoAI' NaMe=ROBOTS /></p>"
    assert page(html=encode(html))["ai-train"].answer == "no"


@pytest.mark.parametrize("before", ["<p>", "</head>", '<p class="x">', "<body>\n", "<x-y z>"])
def test_a_body_grants_nothing(before: str) -> None:
    """What others may have written into a page can refuse, and not permit."""
    html = before + "<meta name=content-signal content='ai-train=yes,ai-input=no'>"
    found = page(html=html + "<meta name=tdm-reservation content=0>")
    assert [found[p].answer for p in ("ai-train", "ai-input", "tdm")] == [
        "unknown",
        "no",
        "unknown",
    ]


def test_a_robots_tag_that_cannot_be_read_says_nothing() -> None:
    """A structured field is read whole or not at all."""
    found = page(headers=[("Robots-Tag", "*;noindex, ;")])["search"]
    assert (found.answer, codes(found)) == ("unknown", {"malformed"})


# The others.


def test_a_policy_token_can_be_added() -> None:
    """One row: the token, the purposes, and whose crawlers it is for."""
    token = PolicyToken("No-Training", ("ai-train",), ("*",), "a draft")
    robots_txt = "User-agent: no-training\nDisallow: /\n"
    assert page(robots_txt=robots_txt)["ai-train"].answer == "unknown"
    found = page(robots_txt=robots_txt, policy_tokens=[token])
    assert (found["ai-train"].answer, found["crawl"].answer) == ("no", "yes")


@pytest.mark.parametrize(
    "robots_txt",
    [
        "User-agent: *\nDisallow: /\n",
        "User-agent: Google-Extended\nAllow: /\nUser-agent: *\nDisallow: /\n",
    ],
)
def test_a_policy_token_counts_by_its_name_and_grants_nothing(robots_txt: str) -> None:
    """`*` does not speak for it, and what it allows is no permission."""
    assert page(agent="Googlebot", robots_txt=robots_txt)["ai-train"].answer == "unknown"


def test_lines_about_training_are_matched_as_rules_are() -> None:
    """The longest path decides; of equal ones, the permission."""
    robots_txt = robots("DisallowAITraining: /", "AllowAITraining: /open/", "allowaitraining: /")
    found = [page(path, robots_txt=robots_txt)["ai-train"] for path in ("/open/1", "/a")]
    assert [one.answer for one in found] == ["yes", "yes"]
    assert page(html="<meta name=robots content=DisallowAITraining>")["ai-train"].answer == "no"


@pytest.mark.parametrize(
    ("text", "answer", "problems"),
    [
        ("DataTrainingAllowed = No # really", "no", set()),
        ("datatrainingallowed=yes\ndatatrainingallowed=no", "no", set()),
        ("#datatrainingallowed=no", "unknown", set()),
        ("datatrainingallowed=maybe", "unknown", {"unknown-value"}),
        ("<html>datatrainingallowed=no", "unknown", {"wrong-type"}),
    ],
)
def test_trust_txt_is_read_line_by_line(text: str, answer: str, problems: set[str]) -> None:
    """A server that answers with a page has no trust.txt."""
    found = page(trust_txt=b"\xef\xbb\xbf" + text.encode())["ai-train"]
    assert (found.answer, codes(found)) == (answer, problems)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("User-Agent: *\nDisallow: *.jpg\nAllow: *.txt", "no"),
        ("User-Agent: *\nDisallow: /\n[policy]\ntraining=no", "unknown"),
        ("# ai.txt\n## Training\nNo.", "unknown"),
        ("<!doctype html>\nUser-agent: *\nDisallow: /", "unknown"),
    ],
)
def test_only_spawnings_ai_txt_is_read(text: str, answer: str) -> None:
    """Other formats share its name, and are not guessed at."""
    assert page("/x/a.jpg", ai_txt=text)["ai-train"].answer == answer


def test_a_price_is_a_condition_of_the_request() -> None:
    """It refuses no use, and no robots.txt is needed to see it."""
    headers = [("crawler-price", "USD 0.01"), ("WWW-Authenticate", 'License realm="x"')]
    found = page(headers=headers)["crawl"]
    assert found.answer == "unknown"
    assert found.conditions == ("payment: crawl, USD 0.01", "token of an RSL licence")


# The answer.


def test_a_usage_has_no_truth_value() -> None:
    """There are three answers; the error says what to do instead."""
    with pytest.raises(TypeError, match=r"usage\.answer"):
        bool(usage("/")["crawl"])


def test_unknown_is_what_the_caller_says() -> None:
    """A page may be used if it may be fetched, and the purpose is not refused."""
    found = page(robots_txt=robots("Disallow: /closed"))
    assert may(found, "search", unknown="allow")
    assert not may(found, "search", unknown="deny")
    with pytest.raises(ValueError, match="'allow' or 'deny'"):
        found["search"].allowed(unknown="perhaps")  # type: ignore[arg-type]


def test_robots_txt_may_be_parsed_already() -> None:
    """A parsed file is read with its own dialect."""
    import manners

    parsed = manners.parse(robots(TRAIN_N), dialect="google")
    assert page(robots_txt=parsed)["ai-train"].answer == "no"


def test_headers_may_be_joined_or_a_mapping() -> None:
    """As this package's own client has them."""
    found = page(headers={"X-Robots-Tag": "mybot: nofollow\nnoindex"})
    assert (found["search"].answer, found["follow"].answer) == ("no", "no")

"""Whatever a site writes: every reader has an answer, and what it finds can be shown."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from manners.signals import PURPOSES, Usage, usage
from tests.signals.sources import LICENCE_URL, codes, page
from tests.sizes import examples

WORDS = [
    *("User-agent: ", "Content-Usage: ", "Content-Signal: ", "License: ", "Disallow: ", "Allow: "),
    *(
        "DisallowAITraining: ",
        "Google-Extended",
        "MyBot",
        "*",
        "/",
        "/a",
        "$",
        "%2f",
        "é",
        "\n",
        "\r",
    ),
    *("train-ai=n", "ai-use=y", "search=y", "ai-train=no", "use=immediate", "use=", "=", ",", ";"),
    *("noindex", "noai", "none", "nocache", "max-snippet:", "unavailable_after: ", "Friday, ", "0"),
    *("25-Jun-10 15:00:00 GMT", "2010-06-25", "9999-99-99", "bingbot: ", ":", " ", "\t", "\0", '"'),
    *("<rsl xmlns='https://rslstandard.org/rsl'>", "</rsl>", "<content url='/'>", "</content>"),
    *("<license>", "</license>", "<permits type='usage'>", "</permits>", "<prohibits", "all", "<"),
    *("<!DOCTYPE x [<!ENTITY a 'b'>]>", "&a;", "<?xml version='1.0' encoding='x'?>", ">", "<!--"),
    *(
        "<meta name=robots content=",
        "<meta name='tdm-reservation' content='1'>",
        "<template>",
        "/>",
    ),
    *("<link rel=license type=application/rsl+xml href=", "<script type=application/rsl+xml>"),
    *(
        "</script>",
        "<title>",
        "<svg>",
        "[",
        "]",
        "{",
        "}",
        '"location": "/"',
        '"tdm-reservation": 1',
    ),
    *(
        "datatrainingallowed=",
        "yes",
        "no",
        LICENCE_URL,
        'rel="license"',
        "1e999",
        "\ud800",
        "\ufeff",
    ),
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=25).map("".join) | st.text(
    st.characters(), max_size=30
)
BODIES = (
    TEXTS | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=50)
)
NAMES = (
    "Content-Usage",
    "Content-Signal",
    "X-Robots-Tag",
    "Robots-Tag",
    "Link",
    "Content-Type",
    "tdm-reservation",
    "tdm-policy",
    "crawler-price",
    "WWW-Authenticate",
    "\ud800",
)
SOURCES = st.fixed_dictionaries(
    {},
    optional={
        "robots_txt": BODIES,
        "html": BODIES,
        "tdmrep": BODIES,
        "trust_txt": BODIES,
        "ai_txt": BODIES,
        "media": TEXTS,
        "headers": st.lists(st.tuples(st.sampled_from(NAMES), TEXTS), max_size=4),
        "licences": st.dictionaries(st.just(LICENCE_URL), BODIES),
        "now": st.sampled_from([0, 1_794_787_200]),
    },
)
URLS = st.sampled_from(["https://example.com/a?b", "", "/a", "http://[::1", "https://u:p@h/a.jpg"])
AGENTS = st.sampled_from(["MyBot", "*", "", "Googlebot/2.1", ["bingbot", "x"], "\ud800"])


def assert_well_formed(found: dict[Any, Usage]) -> None:
    """Every purpose has an answer; everything behind it can be printed and is bounded."""
    assert tuple(found) == PURPOSES
    for answer in found.values():
        assert answer.answer in ("yes", "no", "unknown")
        assert answer.conflict <= (answer.answer == "no")
        json.dumps(answer.to_dict()).encode("ascii")
        for shown in (answer, *answer.claims, *answer.problems):
            assert str(shown).isprintable()
        for claim in answer.claims:
            assert claim.purpose == answer.purpose
            assert len(claim.text) <= 1_001
            assert claim.edition
        assert len(answer.problems) <= 2_000


@settings(max_examples=examples(1_000))
@given(URLS, AGENTS, SOURCES)
@example("", "", {"robots_txt": ""})
@example("https://h/", "MyBot", {"robots_txt": b"\xff\xfeU"})
@example("https://h/", "MyBot", {"headers": [("X-Robots-Tag", "unavailable_after: 0001-01-01")]})
def test_there_is_always_an_answer(
    url: str, agent: str | list[str], sources: dict[str, Any]
) -> None:
    """No source makes reading it fail."""
    assert_well_formed(usage(url, agent=agent, **sources))


@settings(max_examples=examples(300))
@given(SOURCES, st.sampled_from(["tdmrep", "trust_txt", "ai_txt"]), BODIES)
def test_a_source_changes_nothing_that_another_standard_says(
    sources: dict[str, Any], name: str, body: bytes | str
) -> None:
    """A file is read by its own standard; a no of any other stays."""
    before, after = page(**sources), page(**sources | {name: body})
    for purpose in PURPOSES:
        others = [
            [claim for claim in found[purpose].claims if claim.standard != name.replace("_", "-")]
            for found in (before, after)
        ]
        assert others[0] == others[1]
        if any(claim.value == "no" for claim in others[0]):
            assert after[purpose].answer == "no"


RSL = "<rsl xmlns='https://rslstandard.org/rsl'>"
LAUGHS = (
    "<!DOCTYPE x [<!ENTITY a 'lol'>"
    + "".join(f"<!ENTITY a{n} '{'&a;' * 10}'>" for n in range(20))
    + f"]>{RSL}<content url='/'><license>&a9;</license></content></rsl>"
)
EXTERNAL = f"<!DOCTYPE x SYSTEM 'file:///etc/passwd'>{RSL}</rsl>"


@pytest.mark.parametrize(
    "document",
    [
        LAUGHS,
        EXTERNAL,
        RSL + "<x:a xmlns:x='y'>" * 100_000,
        RSL + "<content url='/'/>" * 50_000 + "</rsl>",
        RSL + "<content url='/'>" * 200,
        RSL + " " * 2_000_000 + "</rsl>",
        b"<?xml version='1.0' encoding='no-such'?>" + RSL.encode() + b"</rsl>",
        b"<?xml version='1.0' encoding='idna'?>" + RSL.encode() + b"</rsl>",
        b"\xff\xfe" + RSL.encode("utf-16-le"),
        RSL + "<content url='/'><license><permits>all</permits></license></content></rsl>",
        RSL + "<license/></rsl>",
        "<rsl><content url='/'><license/></content></rsl>",
        "",
        "\0",
    ],
    ids=lambda text: repr(text[:30]),
)
def test_a_hostile_licence_is_not_conformant(document: str | bytes) -> None:
    """No entity is expanded, nothing is fetched, and size and depth are limited."""
    found = page(robots_txt=f"License: {LICENCE_URL}", licences={LICENCE_URL: document})
    assert_well_formed(found)
    assert (found["ai-train"].answer, codes(found["ai-train"])) == ("unknown", {"not-conformant"})


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        "[" + "1" * 10_000 + "]",
        "[1e999999]",
        b"\x80",
        "nul",
        "[NaN, {}]",
        "[" + '{"location":"/","tdm-reservation":' * 900 + "1" + "}" * 900 + "]",
        '[{"location": "\\ud800", "tdm-reservation": 1}]',
        " " * 2_000_000 + "[]",
    ],
    ids=lambda text: repr(text[:20]),
)
def test_a_hostile_tdmrep_says_nothing(body: str | bytes) -> None:
    """Depth, numbers and size are limited."""
    found = page(tdmrep=body)
    assert_well_formed(found)
    assert found["tdm"].answer == "unknown"


@pytest.mark.parametrize(
    "html",
    [
        "<" * 500_000,
        "<meta " * 100_000,
        "<meta name=" * 100_000,
        "<!--" * 200_000,
        "<title>" * 100_000,
        "<a " + "x=1 " * 200_000,
        "<meta name=robots content='" + "noai," * 100_000 + "'>",
        "<template>" * 100_000,
        "<svg>" * 100_000,
        "&amp" * 200_000,
        "<script type=application/rsl+xml>" * 30_000,
        "<meta name=robots content=x>" * 30_000,
    ],
    ids=lambda text: text[:20],
)
def test_a_hostile_page_is_read_once(html: str) -> None:
    """Each character is looked at a limited number of times: this ends."""
    assert_well_formed(page(html=html))


@pytest.mark.parametrize(
    "robots_txt",
    [
        "Content-Usage: /" + "*a" * 5_000 + " train-ai=n\n" * 10,
        "User-agent: a\n" * 30_000,
        "User-agent: MyBot\nContent-Usage: /*a*b train-ai=n\n" * 9_000,
        "User-agent: a\n" * 15_000 + "Content-Signal: ai-train=no\n" * 10_000,
        "User-agent: a\nLicense: https://a.example/\n" * 12_000,
        "User-agent: *\nContent-Signal: " + "ai-train=no," * 40_000,
    ],
    ids=range(6),
)
def test_a_hostile_robots_txt_is_read_once(robots_txt: str) -> None:
    """What a file is built to repeat is read once, or up to a limit."""
    assert_well_formed(page("/" + "a" * 2_000, robots_txt=robots_txt))

"""Directives, sitemaps, crawlers and AI: what the examples of the rules' pages cannot show."""

import re
from datetime import date

import pytest

from manners.lint.data import ai_crawlers, crawlers
from manners.lint.finding import Finding, Severity, apply_edits
from manners.lint.rule import LintRule
from manners.lint.rules import (
    bad_content_signal,
    bad_sitemap,
    bad_value,
    contradicting_signal,
    crawl_delay,
    delay_without_rules,
    disallowed_sitemap,
    duplicate_sitemap,
    foreign_sitemap,
    insecure_sitemap,
    long_delay,
    no_sitemap,
    noindex_rule,
    outdated_ai_token,
    partly_blocked_ai,
    relative_sitemap,
    retired_crawler,
    retired_directive,
    star_ignorer,
)
from manners.lint.source import Source

URL = "https://www.example.com/robots.txt"
RULES = [
    module.RULE
    for module in (
        bad_content_signal, bad_sitemap, bad_value, contradicting_signal, crawl_delay,
        delay_without_rules, disallowed_sitemap, duplicate_sitemap, foreign_sitemap,
        insecure_sitemap, long_delay, no_sitemap, noindex_rule, outdated_ai_token,
        partly_blocked_ai, relative_sitemap, retired_crawler, retired_directive, star_ignorer,
    )
]  # fmt: skip


def found(rule: LintRule, text: str, url: str | None = None) -> list[Finding]:
    return list(rule.check(Source(text.encode(), url=url)))


def lines(rule: LintRule, text: str, url: str | None = None) -> list[int]:
    return [finding.line for finding in found(rule, text, url)]


def fixed(rule: LintRule, text: str, url: str | None = None) -> str:
    """A file with every fix applied that the rule offers."""
    source = Source(text.encode(), url=url)
    fixes = [finding.fix for finding in rule.check(source) if finding.fix is not None]
    return apply_edits(source.data, [edit for fix in fixes for edit in fix.edits]).decode()


# Directives.


@pytest.mark.parametrize(
    ("agents", "reported"),
    [
        ("User-agent: *", True),
        ("User-agent: Googlebot/2.1", True),
        ("User-agent: bingbot\nUser-agent: Yandex", True),
        ("User-agent: bingbot", False),
        ("User-agent: *\nDisallow: /a\nUser-agent: bingbot", False),
        ("User-agent: *\nCrawl-delay: 1s\nUser-agent: bingbot", False),
    ],
)
def test_a_delay_is_reported_for_those_who_ignore_it(agents: str, reported: bool) -> None:
    """A Crawl-delay belongs to the User-agent lines directly above it."""
    text = f"{agents}\nCrawl-delay: 5\nDisallow: /\n"
    assert bool(found(crawl_delay.RULE, text)) is reported


@pytest.mark.parametrize(
    "line",
    ["Crawl-delay: ten", "Crawl-delay:", "Crawl-delay: -1", "Request-rate: 0/10", "Visit-time: 25",
     "Host:", "Clean-param:", "Clean-param: a&b=1", "Clean-param: /path"],
)  # fmt: skip
def test_an_unreadable_value_is_one_finding(line: str) -> None:
    """It is an error, and no other rule about directives adds to it."""
    text = f"User-agent: *\n{line}\nDisallow: /a\nSitemap: https://e.com/s\n"
    rules = [rule for rule in RULES if rule.code[0] == "D" and found(rule, text)]
    assert [rule.code for rule in rules] == ["D503"]
    assert found(rules[0], text)[0].severity is Severity.ERROR


@pytest.mark.parametrize("value", ["ref", "&ref", "a&b.c&d[]", "sid /forum/*.php", "sid  /a?b=c"])
def test_a_clean_param_with_names_is_good(value: str) -> None:
    """An empty name is harmless, and a path may have anything in it."""
    assert found(bad_value.RULE, f"User-agent: Yandex\nClean-param: {value}\nDisallow: /a\n") == []


@pytest.mark.parametrize(("delay", "reported"), [("60", []), ("60.5", [2]), ("1e9", [2])])
def test_a_delay_is_long_above_a_minute(delay: str, reported: list[int]) -> None:
    """A minute itself is not reported."""
    assert lines(long_delay.RULE, f"User-agent: *\nCrawl-delay: {delay}\n") == reported


@pytest.mark.parametrize(
    ("what", "text", "reported"),
    [
        ("nothing to lose", "User-agent: *\nDisallow:\nUser-agent: a\nCrawl-delay: 1\n", []),
        ("everybody", "User-agent: *\nDisallow: /a\nUser-agent: *\nCrawl-delay: 1\n", []),
        ("rules elsewhere", "User-agent: a\nAllow: /\nUser-agent: *\nDisallow: /a\n"
                            "User-agent: a\nCrawl-delay: 1\n", []),
        ("a group that is joined", "User-agent: a\nCrawl-delay: 1\n"
                                   "User-agent: *\nDisallow: /a\n", []),
        ("two names", "User-agent: *\nDisallow: /a\nUser-agent: a\nCrawl-delay: 1\n"
                      "User-agent: b\nCrawl-delay: 2\n", [4]),
        ("nobody", "Crawl-delay: 1\nCrawl-delay: 2\n", [1, 2]),
    ],
)  # fmt: skip
def test_a_delay_alone_opens_what_everybody_may_not_fetch(
    what: str, text: str, reported: list[int]
) -> None:
    """It matters only to a named agent without rules, where `*` has some."""
    assert lines(delay_without_rules.RULE, text) == reported, what


# Sitemaps.


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("/sitemap.xml", "https://www.example.com/sitemap.xml"),
        ("sitemap.xml", "https://www.example.com/sitemap.xml"),
        ("//cdn.example.com/s.xml", "https://cdn.example.com/s.xml"),
        ("www.example.com/s.xml", "https://www.example.com/s.xml"),
        ("cdn.example.com/s.xml", "cdn.example.com/s.xml"),
        ("//[", "//["),
    ],
)
def test_a_relative_sitemap_is_resolved(written: str, expected: str) -> None:
    """Another host without a scheme would be a guess: it is reported, and not changed."""
    text = f"Sitemap:  {written} # all\r\nUser-agent: *\r\n"
    assert lines(relative_sitemap.RULE, text, URL) == [1]
    assert fixed(relative_sitemap.RULE, text, URL) == text.replace(written, expected)


def test_without_a_url_nothing_is_resolved() -> None:
    """The host is not known then."""
    assert found(relative_sitemap.RULE, "Sitemap: /s.xml\n")[0].fix is None


@pytest.mark.parametrize(
    "value",
    ["", "http:///s.xml", "https:/www.example.com/s.xml", "https://https://example.com/s.xml",
     "{{siteUrl}}/sitemap.xml", "https://<host>/s.xml", "ftp://example.com/s.xml",
     "https://exa mple.com/s.xml", "https://a.com/1.xml,https://a.com/2.xml", "https://a%b.com/",
     "https://localhost/s.xml"],
)  # fmt: skip
def test_a_bad_sitemap_is_not_called_relative(value: str) -> None:
    """One rule reports a Sitemap line, not two."""
    assert lines(bad_sitemap.RULE, f"Sitemap: {value}\n") == [1]
    assert lines(relative_sitemap.RULE, f"Sitemap: {value}\n") == []
    assert lines(insecure_sitemap.RULE, f"Sitemap: {value}\n") == []


@pytest.mark.parametrize(
    "value",
    ["https://example.com/?next=https://example.com/a", "https://münchen.example/s.xml",
     "https://example.com:8443/s.xml", "HTTPS://[2001:db8::1]/s.xml", "https://e.com/a?b={c}"],
)  # fmt: skip
def test_an_unusual_sitemap_is_not_bad(value: str) -> None:
    """What could be fetched is not reported."""
    assert lines(bad_sitemap.RULE, f"Sitemap: {value}\n") == []
    assert lines(relative_sitemap.RULE, f"Sitemap: {value}\n") == []


def test_a_private_host_may_have_private_sitemaps() -> None:
    """A host without a dot is a warning, unless the file itself came from one."""
    text = "Sitemap: http://wiki/s.xml\n"
    assert [finding.severity for finding in found(bad_sitemap.RULE, text)] == [Severity.WARNING]
    assert found(bad_sitemap.RULE, text, "http://wiki/robots.txt") == []


def test_https_replaces_http_only_without_a_port() -> None:
    """A port of its own would not be the one of https."""
    text = "Sitemap: http://e.com/s.xml\nSitemap: HTTP://e.com/t.xml\nSitemap: http://e.com:81/\n"
    assert lines(insecure_sitemap.RULE, text) == [1, 2, 3]
    expected = "Sitemap: https://e.com/s.xml\nSitemap: https://e.com/t.xml\n"
    assert fixed(insecure_sitemap.RULE, text) == expected + "Sitemap: http://e.com:81/\n"
    assert lines(insecure_sitemap.RULE, text, "http://e.com/robots.txt") == []


def test_a_duplicate_sitemap_is_dropped_once() -> None:
    """The first line stays; URLs keep case."""
    text = "Sitemap: https://e.com/s\nsitemap: https://e.com/s\nSitemap: https://e.com/S\n"
    assert fixed(duplicate_sitemap.RULE, text) == text.replace("sitemap: https://e.com/s\n", "")


@pytest.mark.parametrize(
    ("what", "rules", "reported"),
    [
        ("by everybody's rules", "User-agent: *\nDisallow: /s", True),
        ("by Googlebot's", "User-agent: *\nAllow: /\nUser-agent: Googlebot\nDisallow: /s", True),
        ("with everything", "User-agent: *\nDisallow: /", True),
        ("for those without a name", "User-agent: *\nDisallow: /\nUser-agent: Googlebot\nAllow: /",
         False),
        ("for another crawler", "User-agent: BadBot\nDisallow: /", False),
        ("on another path", "User-agent: *\nDisallow: /t", False),
    ],
)  # fmt: skip
def test_a_disallowed_sitemap(what: str, rules: str, reported: bool) -> None:
    """Reported are sitemaps that Googlebot may not fetch, or everybody where the site is open."""
    text = f"{rules}\nSitemap: https://www.example.com/s.xml\n"
    assert bool(found(disallowed_sitemap.RULE, text)) is reported, what


def test_only_sitemaps_of_the_own_host_can_be_disallowed() -> None:
    """Of an unknown host the sitemaps decide which is the file's own."""
    text = (
        "User-agent: *\nDisallow: /s\n"
        "Sitemap: https://cdn.example.net/s1\nSitemap: https://cdn.example.net/s2\n"
        "Sitemap: https://WWW.example.com:443/s3\n"
    )
    assert lines(disallowed_sitemap.RULE, text) == [3, 4]
    assert lines(disallowed_sitemap.RULE, text, URL) == [5]


def test_a_foreign_sitemap_needs_a_known_host() -> None:
    """Where half of the sitemaps are elsewhere, nothing says which half."""
    text = "Sitemap: https://a.example/s\nSitemap: https://b.example/s\n"
    assert lines(foreign_sitemap.RULE, text) == []
    assert lines(foreign_sitemap.RULE, text, "https://www.a.example/robots.txt") == [2]


def test_a_file_without_directives_needs_no_sitemap() -> None:
    """There is more to say about it then."""
    assert found(no_sitemap.RULE, "<html>\n<title>404: not found</title>\n") == []


# Crawlers.


def test_a_retired_crawler_is_reported_once_with_what_is_missing() -> None:
    """The message says whether the file names the successor."""
    text = "User-agent: MSNBot/1.1\nDisallow: /a\n\nUser-agent: msnbot\nDisallow: /b\n"
    (finding,) = found(retired_crawler.RULE, text)
    assert finding.message.endswith("bingbot in 2010, which this file does not name")
    (finding,) = found(retired_crawler.RULE, text + "User-agent: Bingbot\nDisallow: /a\n")
    assert finding.message.endswith("bingbot in 2010")


def test_whoever_is_named_is_not_a_star_ignorer() -> None:
    """A file that names all of them shuts out all of them."""
    named = "".join(f"User-agent: {name}\n" for name in crawlers.STAR_IGNORERS)
    assert lines(star_ignorer.RULE, "User-agent: *\nAllow: /a\nDisallow: /\n") == [3]
    assert lines(star_ignorer.RULE, f"User-agent: *\n{named}Disallow: /\n") == []
    assert lines(star_ignorer.RULE, "User-agent: BadBot\nDisallow: /\n") == []


# AI.


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("not blocked", "User-agent: anthropic-ai\nDisallow: /private/\n"),
        ("shut out with everybody", "User-agent: anthropic-ai\nUser-agent: *\nDisallow: /\n"),
        ("named and let in", "User-agent: anthropic-ai\nDisallow: /\n\n"
                             "User-agent: ClaudeBot\nAllow: /\n"),
        ("another name of today", "User-agent: ChatGPT-User\nDisallow: /\n"),
    ],
)  # fmt: skip
def test_an_old_name_matters_where_the_new_one_is_open(what: str, text: str) -> None:
    """A block that works, and one that somebody decided on, are not reported."""
    assert found(outdated_ai_token.RULE, text) == [], what


def test_a_block_of_everybody_is_no_partial_one() -> None:
    """Only names that are blocked by name count, and only names that are open."""
    assert found(partly_blocked_ai.RULE, "User-agent: *\nDisallow: /\n") == []
    text = "User-agent: GPTBot\nUser-agent: *\nDisallow: /\n"
    assert found(partly_blocked_ai.RULE, text) == []
    assert lines(partly_blocked_ai.RULE, text + "User-agent: CCBot\nAllow: /\n") == [1]


@pytest.mark.parametrize(
    ("value", "severity", "column"),
    [
        ("search=yes,ai-train=no , use=full", None, 0),
        ("Search=YES,,", None, 0),
        ("", Severity.WARNING, 1),
        ("search=yes, ai-train=disallow", Severity.WARNING, 29),
        ("ai-training=no", Severity.WARNING, 17),
        ("search=yes ai-train=no", Severity.WARNING, 17),
        ("search", Severity.WARNING, 17),
        ("use=yes", Severity.WARNING, 17),
        ("tdm=no", Severity.INFO, 17),
        ("tdm=no, search=maybe", Severity.WARNING, 25),
    ],
)
def test_a_content_signal_is_read_part_by_part(
    value: str, severity: Severity | None, column: int
) -> None:
    """An unknown key may be a new one; a mistake in a known one is a warning."""
    findings = found(bad_content_signal.RULE, f"User-agent: *\nContent-Signal: {value}\n")
    expected = [] if severity is None else [(severity, column)]
    assert [(finding.severity, finding.column) for finding in findings] == expected


@pytest.mark.parametrize(
    ("what", "text", "reported"),
    [
        ("another agent", "User-agent: a\nContent-Signal: search=yes\nAllow: /\n"
                          "User-agent: b\nContent-Signal: search=no\nAllow: /\n", []),
        ("one agent of two", "User-agent: a\nContent-Signal: search=yes\nAllow: /\n"
                             "User-agent: b\nUser-agent: A\nContent-Signal: search=no\n", [6]),
        ("one line", "User-agent: *\nContent-Signal: search=no, search=yes, search=no\n", [2]),
        ("a ceiling first", "User-agent: *\nContent-Signal: use=immediate, search=yes\n", [2]),
        ("a high ceiling", "User-agent: *\nContent-Signal: use=reference, search=yes\n", []),
        ("a trainer with a path", "User-agent: *\nContent-Signal: ai-train=yes\nAllow: /\n"
                                  "User-agent: GPTBot\nDisallow: /private/\n", []),
        ("a reader's line", "User-agent: a\nContent-Signal: ai-train=yes\nAllow: /\n"
                            "User-agent: GPTBot\nDisallow: /\n", []),
    ],
)  # fmt: skip
def test_signals_contradict_for_one_agent(what: str, text: str, reported: list[int]) -> None:
    """Groups of one agent are read together, and a line is reported once."""
    assert lines(contradicting_signal.RULE, text) == reported, what


# Data.


def test_names_of_crawlers_are_tokens_without_duplicates() -> None:
    """A name that is no token could not be found in a User-agent line."""
    tables = (
        [retirement.name for retirement in crawlers.RETIRED],
        list(crawlers.STAR_IGNORERS),
        list(crawlers.SEARCH_ENGINES),
        list(crawlers.OTHER_CRAWLERS),
        list(crawlers.DELAY_IGNORERS),
        [crawler.name for crawler in ai_crawlers.AI_CRAWLERS],
        list(ai_crawlers.TRAINERS),
    )
    for table in tables:
        assert [name for name in table if not re.fullmatch("[A-Za-z0-9_-]+", name)] == []
        assert len({name.lower() for name in table}) == len(table)


def test_successors_run() -> None:
    """What replaced a crawler is in the tables, and is not itself gone."""
    running = {*crawlers.SEARCH_ENGINES, *crawlers.OTHER_CRAWLERS}
    retired = {retirement.name.lower() for retirement in crawlers.RETIRED}
    assert {row.successor for row in crawlers.RETIRED} - {""} <= running
    assert not retired & {name.lower() for name in (*running, *crawlers.STAR_IGNORERS)}
    assert not retired & set(ai_crawlers.BY_KEY)
    current = {row.name for row in ai_crawlers.AI_CRAWLERS if not row.until and not row.successor}
    assert {row.successor for row in ai_crawlers.AI_CRAWLERS} - {""} <= current
    assert set(ai_crawlers.TRAINERS) <= current


def test_dates_of_crawlers_are_dates() -> None:
    """Years lie before the day of their table."""
    for as_of in (crawlers.AS_OF, ai_crawlers.AS_OF):
        assert date.fromisoformat(as_of).isoformat() == as_of
    years = [row.until for row in crawlers.RETIRED if row.until is not None]
    assert all(1994 <= year <= int(crawlers.AS_OF[:4]) for year in years)
    months = [text for row in ai_crawlers.AI_CRAWLERS for text in (row.since, row.until) if text]
    assert [text for text in months if not re.fullmatch(r"20\d\d(-(0[1-9]|1[0-2]))?", text)] == []
    assert max(months) <= ai_crawlers.AS_OF


# Any bytes.


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.code))
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfeU\0s\0",
        b"Sitemap: http://[\nSitemap: \xff\nSitemap: //\x00\nContent-Signal: \xff=\xfe,=,==\n",
        b"Content-Signal\nCrawl-delay 5\nsitemap x\nClean-param:\xa0\nUser-agent:\nCrawl-delay: 1",
        b"User-agent: *\rContent-Signal: ai-train=yes\rSitemap: http://@:/\rCrawl-delay: 1e999",
    ],
)
def test_no_bytes_make_a_rule_fail(rule: LintRule, body: bytes) -> None:
    """Findings are in the order of lines that exist, one a line, with printable messages."""
    for url in (None, URL, "", "http://["):
        source = Source(body, url=url)
        numbers = [finding.line for finding in rule.check(source)]
        assert numbers == sorted(set(numbers))
        assert all(1 <= number <= max(1, len(source.lines)) for number in numbers)
        assert all(finding.message.isprintable() for finding in rule.check(source))

"""Whatever the bytes: the linter, the fixes and the formatter have an answer."""

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from manners.lint import Severity, fix, run
from manners.lint.formatting import format_body
from manners.lint.rule import all_rules
from manners.robots import dialects
from tests.sizes import examples

PARTS = [
    *("User-agent", "Disallow", "Allow", "Sitemap", "Crawl-delay", "Noindex", "Content-Signal"),
    *("Content-Usage", "License", "DisallowAITraining", "train-ai=n", "search=yes, ai-train=no"),
    *("Request-rate", "Visit-time", "Clean-param", "Host", "disalow", "useragent", "License"),
    *(":", ": ", "*", "$", "/", "//", "#", " ", "\t", "\n", "\r", "\r\n", "\0", "\ufeff", "%"),
    *("%2", "%7E", "%C3%A9", "%00", "a", "B", "é", "\u200b", "\u2028", "\U0001f577", "\x1b"),
    *("https://", "http://[::1]/", "http://h:99999/", "example.com", "sitemap.xml", "?", "=", "&"),
    *("Googlebot", "GPTBot", "anthropic-ai", "Mozilla/5.0 (compatible)", "AI2Bot", "bot/1.0"),
    *("# manners: allow ", "all", "P407", "trailing-star", ", ", "<html>", "<!--", "{{x}}", "^"),
    *("ai-train=no", "search=yes", "1/10s", "0600-0845", "nan", "1e999", "-1", "\ufffe", ".*"),
]
"""What a robots.txt may be made of, and what it should not."""
PIECES = st.sampled_from(PARTS).map(str.encode) | st.binary(max_size=3)
BODIES = st.one_of(
    st.lists(PIECES, max_size=40).map(b"".join),
    st.binary(max_size=200),
    st.text(st.characters(), max_size=60).map(lambda text: text.encode("utf-16", "surrogatepass")),
)


def assert_well_formed(body: bytes, engine: str, url: str | None) -> None:
    """Every finding can be shown; every rule that is used has one of the known severities."""
    codes = {rule.code: rule.name for rule in all_rules()}
    lines = body.count(b"\n") + body.count(b"\r") + 1
    for finding in run(body, (engine, "rfc9309"), select=("all",), url=url):
        assert finding.name == codes[finding.code]
        assert isinstance(finding.severity, Severity)
        assert 1 <= finding.line <= lines
        assert finding.column >= 1
        assert finding.message.isprintable(), finding
        assert finding.message == finding.message.strip()
        json.dumps(finding.to_dict()).encode("ascii")


@settings(max_examples=examples(500))
@given(
    BODIES,
    st.sampled_from(dialects.names()),
    st.sampled_from([None, "https://www.example.com/robots.txt", "http://[::1", "x"]),
)
@example(b"", "google", None)
@example(b"\xef\xbb\xbf", "google", None)
@example(b"\xff\xfe", "rfc9309", None)
@example(b"\xff\xfeU", "rfc9309", None)
@example(b"User-agent: *\nDisallow: /a\0b*", "google", None)
@example(b"#" * 20_000, "google", None)
@example(b":\n" * 200, "scanner", None)
@example(b"Sitemap: http://[::1\nSitemap: http://[\nSitemap: //h:x/", "google", "http://h/")
def test_findings_of_any_bytes_can_be_shown(body: bytes, engine: str, url: str | None) -> None:
    """No bytes, no engine and no address make it raise."""
    assert_well_formed(body, engine, url)


@settings(max_examples=examples(250))
@given(BODIES, st.booleans())
@example(b"\xef\xbb\xbf\xef\xbb\xbf", True)
@example(b"\xff\xfe\n", True)
@example(b"\r", True)
def test_any_bytes_are_fixed_and_formatted(body: bytes, unsafe: bool) -> None:
    """A second time changes nothing, whatever the bytes."""
    fixed = fix(body, unsafe=unsafe, select=("all",))
    assert fix(fixed, unsafe=unsafe, select=("all",)) == fixed
    formatted = format_body(body)
    assert format_body(formatted) == formatted

"""Rules about the file and its syntax: what the blocks of their docstrings cannot show."""

from importlib import import_module

import pytest

from manners.lint.finding import Finding, Severity, apply_edits
from manners.lint.rule import LintRule
from manners.lint.source import MAX_BYTES, MAX_LINE, Source

GROUP = b"User-agent: *\nDisallow: /private/\n"


def rule(name: str) -> LintRule:
    found: LintRule = import_module(f"manners.lint.rules.{name.replace('-', '_')}").RULE
    return found


def findings(name: str, body: bytes) -> list[Finding]:
    return list(rule(name).check(Source(body)))


def only(name: str, body: bytes) -> Finding:
    (found,) = findings(name, body)
    return found


def fixed(name: str, body: bytes) -> bytes:
    edits = [edit for found in findings(name, body) if found.fix for edit in found.fix.edits]
    return apply_edits(Source(body).data, edits)


# F001: what is no robots.txt.


@pytest.mark.parametrize(
    ("body", "content"),
    [
        (b"<!DOCTYPE html>\n<p>User-agent: *</p>", "an HTML page"),
        (b"\r\n <!-- built today -->\n<HTML><body>", "an HTML page"),
        (b'<?xml version="1.0"?>\n<!DOCTYPE html PUBLIC "x">', "an HTML page"),
        (b"<html>\n<pre>\nUser-agent: *\nDisallow: /\n</pre>", "an HTML page"),
        (b"<h1>Not Found</h1>", "an HTML page"),
        (b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>', "an XML document"),
        (b"[]", "JSON"),
        (b"Not Found\n", "some other text"),
        (b"Allow cookies\n", "some other text"),
        (b"Sorry, Page Not Found" + bytes(300), "some other text"),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48", "binary data"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00", "binary data"),
        ("Zugriff verweigert\n".encode("utf-16"), "some other text"),
    ],
)
def test_f001_says_what_the_file_is_instead(body: bytes, content: str) -> None:
    """A file without directives is called by what it is, and so is a page of HTML."""
    assert only("not-a-robots-txt", body).message.startswith(f"the file is {content}, not")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n\n",
        b"# nothing here\n",
        b"\xef\xbb\xbf",
        "ï»¿# nothing here".encode(),
        "ï»¿User-agent: *".encode(),
        b"<!-- a comment of HTML -->\nUser-agent: *\nDisallow: /\n",
        b"<div>spam</div>\nSitemap: https://example.com/sitemap.xml\n",
        b"// nothing here\n",
        b"Disallow /private/\n",
        b"Disallop: /private/\n",
        b"Crawl-delay: 5\n",
        GROUP.decode().encode("utf-16"),
        GROUP.decode().encode("utf-16-le"),
    ],
)
def test_f001_leaves_a_robots_txt_alone(body: bytes) -> None:
    """One directive that somebody reads, or nearly one, makes a robots.txt; nothing does, too."""
    assert findings("not-a-robots-txt", body) == []


@pytest.mark.parametrize(
    "name",
    ["stray-text", "unknown-directive", "bare-url", "wrong-comment-mark", "missing-colon",
     "nul-byte", "mixed-line-endings", "invisible-character"],
)  # fmt: skip
def test_only_f001_speaks_about_a_page(name: str) -> None:
    """The lines of an HTML page are not reported one by one."""
    page = b"<!doctype html>\r\n// x\na: 1\nfoo\n\0\nhttps://a/\n\xc2\xa0\nSitemap <a>"
    assert findings("not-a-robots-txt", page)
    assert findings(name, page) == []


# F002 to F006: encodings.


def test_f002_fix_is_the_file_without_its_mark() -> None:
    """Whoever applies the fix to the decoded bytes has removed the mark."""
    assert fixed("byte-order-mark", b"\xef\xbb\xbf" + GROUP) == GROUP
    assert findings("byte-order-mark", GROUP.decode().encode("utf-16")) == []


@pytest.mark.parametrize("mark", ["ï»¿", "п»ї", "∩╗┐", "Ã¯Â»Â¿", "\ufffd\ufffd\ufffd", "&#65279;"])
def test_f003_knows_the_mark_in_several_encodings(mark: str) -> None:
    """Before a directive it is an error with an unsafe fix, before a comment it is harmless."""
    lost = only("garbled-byte-order-mark", mark.encode() + GROUP)
    assert lost.severity is Severity.ERROR
    assert lost.fix is not None
    assert not lost.fix.is_safe
    assert fixed("garbled-byte-order-mark", mark.encode() + GROUP) == GROUP
    harmless = only("garbled-byte-order-mark", mark.encode() + b"# comment\n" + GROUP)
    assert harmless.severity is Severity.INFO
    assert harmless.fix is not None
    assert harmless.fix.is_safe


def test_f003_explains_rules_without_an_agent() -> None:
    """The rules below a garbled User-agent line are not reported a second time."""
    body = "ï»¿User-agent: *\nDisallow: /\n".encode()
    assert findings("rule-outside-group", body) == []
    assert findings("unknown-directive", body) == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_f004_finds_utf_16_with_and_without_a_mark(encoding: str) -> None:
    """UTF-16 is an error without a fix, and its NUL bytes are not reported."""
    body = GROUP.decode().encode(encoding)
    found = only("utf-16", body)
    assert found.severity is Severity.ERROR
    assert found.fix is None
    assert findings("nul-byte", body) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mixed-line-endings", "User-agent: *\r\nDisallow: /\n"),
        ("missing-final-newline", "User-agent: *"),
        ("untidy-lines", "user-agent:*\n"),
        ("missing-colon", "Disallow /a\n"),
        ("rule-outside-group", "Disallow: /a\n"),
        ("stray-text", "User-agent: *\nEOT\n"),
        ("several-directives-on-a-line", "User-agent: * Disallow: /\n"),
        ("invisible-character", "Disallow: /a\u200e\n"),
        ("bare-url", "User-agent: *\nhttps://example.com/sitemap.xml\n"),
    ],
)
def test_utf_16_files_get_no_fixes(name: str, text: str) -> None:
    """Edits count bytes of UTF-8, so they fit no file in UTF-16."""
    assert only(name, text.encode()).fix is not None
    assert only(name, text.encode("utf-16")).fix is None


def test_f005_reports_directives_or_else_one_comment() -> None:
    """Latin-1 in rules is reported line by line, in comments once."""
    rules = b"# caf\xe9\nUser-agent: *\nDisallow: /caf\xe9/\nAllow: /caf\xe9/a\n"
    assert [found.line for found in findings("not-utf-8", rules)] == [3, 4]
    assert only("not-utf-8", b"# caf\xe9\n# caf\xe9\n" + GROUP).line == 1
    assert findings("not-utf-8", "Disallow: /café/\n".encode()) == []


def test_f006_removes_nul_bytes_safely_at_the_end_only() -> None:
    """Text behind a NUL byte comes to life, so that fix is unsafe."""
    at_end = only("nul-byte", b"Disallow: /a\0\0 \0\n")
    assert at_end.fix is not None
    assert at_end.fix.is_safe
    assert fixed("nul-byte", b"Disallow: /a\0\0 \0\n") == b"Disallow: /a\n"
    within = only("nul-byte", b"Disallow: /a\0b\n")
    assert within.fix is not None
    assert not within.fix.is_safe
    assert fixed("nul-byte", b"Disallow: /a\0b\n") == b"Disallow: /ab\n"


# F007 to F012: lines and sizes.


@pytest.mark.parametrize(
    ("body", "line", "expected"),
    [
        (b"a: 1\r\nAllow: /\nAllow: /b\n", 1, b"a: 1\nAllow: /\nAllow: /b\n"),
        (b"Allow: /\r\nAllow: /\r\nAllow: /b\n", 3, b"Allow: /\r\nAllow: /\r\nAllow: /b\r\n"),
        (b"Allow: /\r\rAllow: /b\r", 1, b"Allow: /\n\nAllow: /b\n"),
        (b"Allow: /\r\r\nAllow: /b\r\n", 1, b"Allow: /\r\n\r\nAllow: /b\r\n"),
    ],
)
def test_f007_ends_lines_as_most_do(body: bytes, line: int, expected: bytes) -> None:
    """The first odd line is reported, and a lone CR never survives."""
    assert only("mixed-line-endings", body).line == line
    assert fixed("mixed-line-endings", body) == expected


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_f007_accepts_one_kind_of_line_ends(end: bytes) -> None:
    """LF throughout is fine, and so is CR LF; CR only is a warning."""
    assert findings("mixed-line-endings", GROUP.replace(b"\n", end)) == []
    lone = only("mixed-line-endings", GROUP.replace(b"\n", b"\r"))
    assert lone.severity is Severity.WARNING


def test_f008_points_at_the_first_line_beyond_the_limit() -> None:
    """A file of exactly the limit is fine; of a larger one, the first unread line is reported."""
    line = b"Disallow: /" + b"a" * 88 + b"\n"
    body = b"User-agent: *\n" + line * (MAX_BYTES // len(line) + 1)
    assert findings("too-large", body[:MAX_BYTES]) == []
    found = only("too-large", body)
    starts = [source_line.start for source_line in Source(body).lines]
    assert starts[found.line - 1] >= MAX_BYTES > starts[found.line - 2]


def test_f009_counts_rules_with_a_value() -> None:
    """2,048 rules are accepted, and lines without a value are not counted."""
    accepted = b"User-agent: *\nDisallow:\n" + b"Disallow: /a\n" * 2048
    assert findings("too-many-rules", accepted) == []
    assert only("too-many-rules", accepted + b"Allow: /b\n").line == 2051


def test_f010_cares_about_directives_only() -> None:
    """A line up to the limit is read in full; of a long comment nothing is lost."""
    at_limit = b"Disallow: /".ljust(MAX_LINE, b"a")
    assert findings("overlong-line", b"User-agent: *\n" + at_limit) == []
    assert only("overlong-line", b"User-agent: *\n" + at_limit + b"a").line == 2
    assert findings("overlong-line", b"# " + b"a" * MAX_LINE + b"\n" + GROUP) == []


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_f011_adds_the_line_end_of_the_file(end: bytes) -> None:
    """The last line gets what the lines above have."""
    body = GROUP.replace(b"\n", end)
    assert fixed("missing-final-newline", body.removesuffix(end)) == body
    assert findings("missing-final-newline", body) == []
    assert findings("missing-final-newline", b"") == []


@pytest.mark.parametrize(
    ("untidy", "tidy"),
    [
        (b"  DISALLOW :/a  # why \n", b"Disallow: /a  # why\n"),
        (b"User-Agent:*\n", b"User-Agent: *\n"),
        (b"Disallow: \n", b"Disallow:\n"),
        (b"Disallow:#all\n", b"Disallow:#all\n"),
        (b" # note \n", b"# note\n"),
        (b"Disallow /a \n", b"Disallow /a\n"),
        (b"Disalow:/a\n", b"Disalow: /a\n"),
    ],
)
def test_f012_writes_key_and_value(untidy: bytes, tidy: bytes) -> None:
    """White space and capitals are tidied, misspellings and missing colons are left to others."""
    assert fixed("untidy-lines", untidy) == tidy


# S101 to S109: syntax.


def test_s101_is_reported_once_for_all_rules() -> None:
    """Several rules without an agent are one mistake with one fix."""
    body = b"# by a plugin\r\nDisallow: /a\r\nAllow: /b\r\n" + GROUP
    found = only("rule-outside-group", body)
    assert (found.line, found.message.partition(" ")[0]) == (2, "2")
    assert fixed("rule-outside-group", body).startswith(b"# by a plugin\r\nUser-agent: *\r\nDis")
    assert findings("rule-outside-group", b"Disallow:\n" + GROUP) == []


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        (b"Disallow /a", Severity.WARNING),
        (b"User-agent Googlebot", Severity.WARNING),
        (b"Disallow /a b", Severity.ERROR),
        (b"Disallow https://example.com/", Severity.ERROR),
        (b"Sitemap https://example.com/sitemap.xml", Severity.ERROR),
    ],
)
def test_s102_is_an_error_where_nobody_reads_the_line(line: bytes, severity: Severity) -> None:
    """Two words are read by some, anything else by nobody; the fix inserts the colon."""
    body = GROUP + line + b"\n"
    assert only("missing-colon", body).severity is severity
    assert fixed("missing-colon", body) == GROUP + line.replace(b" ", b": ", 1) + b"\n"


@pytest.mark.parametrize(
    ("line", "expected", "severity"),
    [
        (b"Dissalow: /a", b"Disallow: /a", Severity.WARNING),
        (b"Useragent: a", b"User-agent: a", Severity.WARNING),
        (b"Crawl delay: 5", b"Crawl-delay: 5", Severity.WARNING),
        (b"Sitemaps: https://a/", b"Sitemap: https://a/", Severity.WARNING),
        (b"Disallow; /a", b"Disallow: /a", Severity.WARNING),
        (b"Disallow=/a", b"Disallow:/a", Severity.ERROR),
        (b"  Disallop : /a", b"  Disallow: /a", Severity.ERROR),
        (b"user_agent: a", b"User-agent: a", Severity.ERROR),
        (b"=Sitemap: https://a/", b"Sitemap: https://a/", Severity.ERROR),
        (b"-en User-agent: *", b"User-agent: *", Severity.ERROR),
    ],
)
def test_s103_corrects_keys(line: bytes, expected: bytes, severity: Severity) -> None:
    """Slips that Google accepts are warnings, others are errors."""
    assert only("misspelt-key", GROUP + line).severity is severity
    assert fixed("misspelt-key", GROUP + line) == GROUP + expected


@pytest.mark.parametrize(
    "line",
    [b"Nofollow: /a", b"Follow: /a", b"Index: /a", b"Hosts: a", b"Note that Sitemap: is here",
     b"https://example.com/sitemap.xml", b"// Disallow: /a", b"ACAP-disallow-crawl: /"],
)  # fmt: skip
def test_s103_leaves_other_words_alone(line: bytes) -> None:
    """A word that is merely similar, a sentence, a URL and a comment are no slips."""
    assert findings("misspelt-key", GROUP + line) == []


def test_s104_reports_every_key_once() -> None:
    """The second line with the same unknown key says nothing new."""
    body = GROUP + b"Nofollow: /a\nnofollow: /b\nMeta: x\n"
    assert [found.line for found in findings("unknown-directive", body)] == [3, 5]


def test_s105_reports_lines_in_a_row_once() -> None:
    """Neighbours and lines with a blank line between them are one finding."""
    body = b"foo bar baz\nfoo\n\nfoo { bar }\n" + GROUP + b"EOT\n"
    assert [found.line for found in findings("stray-text", body)] == [1, 7]
    after = b"# foo bar baz\n# foo\n\n# foo { bar }\n" + GROUP + b"# EOT\n"
    assert fixed("stray-text", body) == after


def test_s105_takes_a_script_as_one_piece() -> None:
    """What is between the tags is neither a directive nor a comment."""
    body = b"<script>\n// x\ncolor: red\nhttps://a/\n</script>\n" + GROUP
    assert only("stray-text", body).line == 1
    for name in ("wrong-comment-mark", "unknown-directive", "bare-url"):
        assert findings(name, body) == []


def test_s106_takes_several_lines_of_a_comment_together() -> None:
    """From `<!--` to `-->` is one finding; directives in it are read, so they stay."""
    body = GROUP + b"<!--\nCached by: x\n\nAllow: /a\nin 3 ms\n-->\nEOT\n"
    assert [found.line for found in findings("wrong-comment-mark", body)] == [3, 7]
    after = GROUP + b"# <!--\n# Cached by: x\n\nAllow: /a\n# in 3 ms\n# -->\nEOT\n"
    assert fixed("wrong-comment-mark", body) == after
    assert only("stray-text", body).line == 9


def test_s106_does_not_wait_for_an_end_that_never_comes() -> None:
    """A comment that is not closed is its own line only."""
    body = GROUP + b"<!-- open\nfoo bar baz\n"
    assert only("wrong-comment-mark", body).line == 3
    assert only("stray-text", body).line == 4


@pytest.mark.parametrize("line", [b"/*/print/", b"/*.pdf$", b"//example.com/a"])
def test_s106_leaves_paths_to_s107(line: bytes) -> None:
    """A path with a star is not the beginning of a comment."""
    assert findings("wrong-comment-mark", GROUP + line) == []
    assert only("bare-url", GROUP + line).line == 3


def test_s107_takes_the_key_from_the_line_above() -> None:
    """A key without a value on the line above is used up; a title has no key to offer."""
    assert (
        fixed("bare-url", b"User-agent: *\nDisallow:\n\n/a\n") == b"User-agent: *\n\nDisallow: /a\n"
    )
    assert (
        fixed("bare-url", b"User-agent: *\nAllow: /b\n/a\n")
        == b"User-agent: *\nAllow: /b\nAllow: /a\n"
    )
    assert only("bare-url", b"https://example.com/\n" + GROUP).fix is None


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("Disallow: /a\u200e", Severity.ERROR),
        ("Disallow: /a\u00a0b", Severity.ERROR),
        ("\ufeffDisallow: /a", Severity.ERROR),
        ("Disallow\u00a0: /a", Severity.ERROR),
        ("DisallowÂ\u00a0: /a", Severity.ERROR),
        ("Sitemap:\u00a0https://a/", Severity.WARNING),
        ("Disallow: /a\x07", Severity.ERROR),
        ("\u00a0", Severity.INFO),
    ],
)
def test_s108_finds_invisible_characters(line: str, severity: Severity) -> None:
    """They are errors in rules and keys; the fix removes them, and leaves no space at the end."""
    body = GROUP + line.encode() + b"\n"
    assert only("invisible-character", body).severity is severity
    after = fixed("invisible-character", body)
    assert findings("invisible-character", after) == []
    assert len(after) < len(body)


@pytest.mark.parametrize(
    "line",
    [
        "Disallow: /می‌شود",
        "Disallow: /a # b\u00a0c",
        "Disallow: /\u00e8\u00b4\u00ad",
        "Disallow:\t/a",
    ],
)
def test_s108_leaves_letters_and_comments_alone(line: str) -> None:
    """Joiners in Persian, comments, garbled letters and tabs are not reported."""
    assert findings("invisible-character", GROUP + line.encode()) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"User-agent: a Disallow: ", b"User-agent: a\nDisallow: "),
        (b"Disallow: /fn:Disallow: /dp/", b"Disallow: /fn\nDisallow: /dp/"),
        (b"User-agent: libWeb/clsHTTPDisallow: /", b"User-agent: libWeb/clsHTTP\nDisallow: /"),
        (b"User-agent: *<br/>Sitemap: https://a/<br/>", b"User-agent: *\nSitemap: https://a/"),
        (b"Allow: Sitemap: https://a/ # b", b"Sitemap: https://a/ # b"),
        (b"Allow: /a allow: /b crawl-delay: 5", b"Allow: /a\nallow: /b\ncrawl-delay: 5"),
    ],
)
def test_s109_splits_lines(line: bytes, expected: bytes) -> None:
    """Every directive gets a line, and a group keeps its rule, even an empty one."""
    assert fixed("several-directives-on-a-line", line + b"\n") == expected + b"\n"


@pytest.mark.parametrize(
    "line",
    [b"Disallow: /*.proxyallow:", b"Disallow: /a:sitemap:b", b"Sitemap: https://a/",
     b"Disallow: /a # Allow: /b", b"User-agent: WeSEE:Search"],
)  # fmt: skip
def test_s109_leaves_values_with_colons_alone(line: bytes) -> None:
    """A key within a word, and one in a comment, are no second directive."""
    assert findings("several-directives-on-a-line", line) == []

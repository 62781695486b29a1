"""Bulk answers row by row what `check` answers: verdict, reason, line, rule and delay."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import manners
from manners import bulk
from manners.robots import dialects
from tests.bulk.truth import (
    ADDED,
    NO_ROBOTS,
    Agent,
    Answer,
    Pairs,
    Record,
    Truth,
    agents_for,
    archive,
    assert_same,
    column,
    for_site,
    pa,
    pairs,
    read,
)
from tests.shared import corpus, needs_shared
from tests.sizes import seed, size

SEED = seed("BULK_SEED")
ROOT = Path(__file__).resolve().parents[2]
SITES, URLS = 40, 50
"""Of one comparison: several of them make a test."""


def ask(
    records: list[Record],
    asked: list[bytes],
    agent: Agent = "MyBot",
    dialect: str = "rfc9309",
    kind: str = "binary",
) -> list[Answer]:
    """What bulk says."""
    sites = bulk.Sites.from_table(archive(records), agent=agent, dialect=dialect)
    return read(sites.verdicts(pa.record_batch({"url": column(asked, kind)})))


def compare(drawn: Pairs, dialect: str, about: object) -> None:
    expected = Truth(drawn.records, drawn.agent, dialect).answers(drawn.urls)
    found = ask(drawn.records, drawn.urls, drawn.agent, dialect)
    assert_same(found, expected, drawn.urls, (about, f"agent {drawn.agent!r}"))


# Random files.


@pytest.mark.long
@pytest.mark.parametrize("dialect", dialects.names())
def test_random_pairs_are_answered_as_check_answers(dialect: str) -> None:
    """Every dialect, for files and URLs that are nasty on purpose, and all kinds of agents."""
    wanted = size("PAIRS") // len(dialects.names())
    for turn in range(-(-wanted // (SITES * URLS))):
        name = f"{SEED} bulk {turn}"
        compare(pairs(name, dialect, SITES, URLS), dialect, f"BULK_SEED={SEED}, {dialect}, {turn}")


@pytest.mark.parametrize("dialect", dialects.names())
def test_every_kind_of_agent_is_answered(dialect: str) -> None:
    """The star, no name at all, a header, a name that is not ASCII, several names of one agent."""
    drawn = pairs(f"{SEED} agents", dialect, 15, 12)
    for agent in agents_for(dialect):
        compare(drawn._replace(agent=agent), dialect, dialect)


PLAIN = """
import json, sys, manners
from tests.bulk.test_promises_answers import SEED, ask, compare
from tests.bulk.truth import pairs
found = {}
for dialect in sys.argv[1:]:
    drawn = pairs(f"{SEED} plain", dialect, 12, 20)
    compare(drawn, dialect, f"without the kernel, {dialect}")
    found[dialect] = ask(drawn.records, drawn.urls, drawn.agent, dialect)
print(json.dumps([manners.KERNEL, found]))
"""


def test_without_the_kernel_the_answers_are_the_same() -> None:
    """`MANNERS_PURE=1`: the plain engine agrees with `check`, and with the compiled one."""
    names = dialects.names()
    ran = subprocess.run(
        [sys.executable, "-c", PLAIN, *names],
        env={**os.environ, "MANNERS_PURE": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3_000:]
    engine, found = json.loads(ran.stdout)
    assert engine == "python"
    for dialect in names:
        drawn = pairs(f"{SEED} plain", dialect, 12, 20)
        ours = ask(drawn.records, drawn.urls, drawn.agent, dialect)
        plain = [Answer(*row) for row in found[dialect]]
        assert_same(plain, ours, drawn.urls, f"{dialect}: without the kernel, and with it")


# Real files.

_PATTERNS = re.compile(rb"allow[ \t]*:[ \t]*([^\s#]+)", re.IGNORECASE).findall


@needs_shared
@pytest.mark.long
@pytest.mark.parametrize("dialect", dialects.names())
def test_real_files_are_answered_as_check_answers(dialect: str) -> None:
    """The corpus as one archive, for an agent that many files name, and for one that none does."""
    step, names = size("CORPUS_STEP"), dialects.names()
    records: list[Record] = []
    asked: list[bytes] = []
    for number, (_, body) in enumerate(sorted(corpus().items())[names.index(dialect) :: step]):
        origin = f"https://c{number}.example"
        records.append(Record(origin, body))
        patterns = list(map(bytes, _PATTERNS(body))) or [b"/"]
        asked += for_site(f"{SEED} {dialect}", patterns, origin, 8)
    for agent in ("Googlebot", "MyBot"):
        compare(Pairs(records, asked, agent), dialect, f"BULK_SEED={SEED}, corpus, {dialect}")


# Bodies.

STAR = b"User-agent: *\n"
BODIES = {
    "nothing": b"",
    "spaces": b" \n\t\n",
    "a NUL": STAR + b"Disallow: /a\0b\nDisallow: /b\n",
    "NULs only": b"\0" * 500,
    "a byte order mark": b"\xef\xbb\xbf" + STAR + b"Disallow: /a\n",
    "half a byte order mark": b"\xef\xbb" + STAR + b"Disallow: /a\n",
    "UTF-16 LE": ("\ufeff" + STAR.decode() + "Disallow: /a\n").encode("utf-16-le"),
    "UTF-16 BE": ("\ufeff" + STAR.decode() + "Disallow: /a\n").encode("utf-16-be"),
    "carriage returns only": STAR.replace(b"\n", b"\r") + b"Disallow: /a\rAllow: /a/b\r",
    "all line ends": b"User-agent: *\r\nDisallow: /a\rAllow: /a/b\n\rDisallow: /b\r\n",
    "no last line end": STAR + b"Disallow: /a",
    "invalid UTF-8": STAR + b"Disallow: /\xff\xfe\nDisallow: /a\xc3\n",
    "what is not ASCII": STAR + "Disallow: /é\nDisallow: /漢/*😀$\n".encode(),
    "600 KB, a rule at the end": STAR + b"# " + b"x" * 78 + b"\n" * 1
    + b"Disallow: /filler/%s\n" % (b"y" * 60) * 8_000 + b"Disallow: /a\n",
    "600 KB in one line": STAR + b"Disallow: /b\nDisallow: /" + b"a" * 600_000 + b"\nDisallow: /c",
    "20,000 rules": STAR + b"".join(b"Disallow: /r%d\n" % n for n in range(20_000)),
    "20,000 rules with stars": STAR + b"".join(b"Disallow: /*r%d$\n" % n for n in range(20_000)),
    "1,001 rules": STAR + b"".join(b"Disallow: /r%d\n" % n for n in range(1_001)),
    "many groups": b"".join(b"User-agent: b%d\nDisallow: /a\n\n" % n for n in range(3_000)),
    "HTML": b"<!doctype html><title>404</title>\nUser-agent: *\nDisallow: /a\n",
    "gzip": b"\x1f\x8b\x08\0\0\0\0\0\0\3" + bytes(range(256)),
    "a delay that is no number": STAR + b"Crawl-delay: nan\nCrawl-delay: inf\nDisallow: /a\n",
    "a delay": STAR + b"Crawl-delay: 0.25\nCrawl-delay: 7\nDisallow: /a\n",
    "a delay of none": STAR + b"Crawl-delay: 0\nDisallow: /a\n",
    "a delay for others": b"User-agent: o\nCrawl-delay: 9\n\n" + STAR + b"Disallow: /a\n",
    "no group for us": b"User-agent: somebody\nDisallow: /\n",
}  # fmt: skip
PATHS = [
    *(b"/", b"", b"/a", b"/a/b", b"/b", b"/c", b"/a\0b", b"/\xff\xfe", b"/a\xc3", b"/%FF%FE"),
    *("/é".encode(), "/漢/x/😀".encode(), b"/%C3%A9", b"/r7", b"/r19999", b"/r1000", b"/x/r19999"),
    *(b"/robots.txt", b"/robots.txt?a", b"/filler/" + b"y" * 60, b"/" + b"a" * 600_000),
    *(b"/" + b"a" * 16_000, b"?a", b"#a", b"/a#b", b"//a", b"/a b", b";a", b"/index.html"),
]


@pytest.mark.parametrize("dialect", ["rfc9309", "google", "scanner"])
def test_hostile_files_are_answered_as_check_answers(dialect: str) -> None:
    """Whatever the bytes of a robots.txt are: each alone, and all in one archive."""
    records = [Record(f"https://b{at}.example", body) for at, body in enumerate(BODIES.values())]
    everything: list[bytes] = []
    for name, record in zip(BODIES, records, strict=True):
        asked = [record.origin.encode() + path for path in PATHS]
        expected = Truth([record], "MyBot", dialect).answers(asked)
        assert_same(ask([record], asked, "MyBot", dialect), expected, asked, (dialect, name))
        everything += asked
    random.Random(SEED).shuffle(everything)
    compare(Pairs(records, everything, "MyBot"), dialect, f"all in one archive, {dialect}")


@pytest.mark.parametrize("profile", ["rfc9309", "open"])
def test_a_body_that_was_cut_counts_as_the_profile_says(profile: str) -> None:
    """`complete` false, or more bytes than a profile reads: what there is, or all allowed."""
    long = STAR + b"Disallow: /a\n" + b"# " + b"x" * 600_000
    records = [
        Record("https://cut.example", STAR + b"Disallow: /a\nDisallow: /b", complete=False),
        Record("https://long.example", long),
        Record("https://exact.example", (STAR + b"Disallow: /a\n#" + b"x" * 524_288)[:524_288]),
        Record("https://none.example", None, 404, complete=False),
    ]
    asked = [record.origin.encode() + path for record in records for path in (b"/a", b"/b", b"/c")]
    truth = Truth(records, "MyBot", profile=profile)
    sites = bulk.Sites.from_table(archive(records), agent="MyBot", profile=profile)
    found = read(sites.verdicts(pa.record_batch({"url": column(asked)})))
    assert_same(found, truth.answers(asked), asked, profile)
    assert ({"too-large"} <= {answer.reason for answer in found}) is (profile == "open")


CHARSETS = [None, "", "utf-8", "UTF-8", "iso-8859-1", "windows-1251", "utf-16", "utf-16le"]
CHARSETS += ["shift_jis", "no-such-charset", "x-user-defined", "a\0b", "é"]


def test_a_charset_is_believed_as_live() -> None:
    """Also for the same bytes under another charset, and for one that nobody knows."""
    bodies = [STAR + b"Disallow: /caf\xe9\nDisallow: /\xd4\xd4", "Disallow: /é".encode()]
    bodies += [(STAR.decode() + "Disallow: /café\n").encode("utf-16-le"), STAR + b"Disallow: /a"]
    records = [
        Record(f"https://c{n}-{m}.example", body, charset=charset)
        for n, charset in enumerate(CHARSETS)
        for m, body in enumerate(bodies)
    ]
    paths = ["/café", "/caf%E9", "/caf%C3%A9", "/\udce9", "/ФФ", "/ÔÔ", "/a", "/é"]
    urls = [record.origin + path for record in records for path in paths]
    asked = [url.encode("utf-8", "surrogateescape") for url in urls]
    compare(Pairs(records, asked, "MyBot"), "rfc9309", "charsets")


@pytest.mark.parametrize("dialect", ["rfc9309", "robotrules", "google"])
def test_one_body_under_many_origins_is_each_ones_own(dialect: str) -> None:
    """A body that many sites share decides for each alone, also where it names one of them."""
    body = STAR + b"Disallow: https://o3.example/named\nDisallow: /a\nCrawl-delay: 3\n"
    records = [Record(f"https://o{n}.example", body) for n in range(1_000)]
    records += [Record(f"http://o{n}.example:8080", body + b"Disallow: /b") for n in range(9)]
    paths = (b"/named", b"/a", b"/b")
    asked = [record.origin.encode() + path for record in records for path in paths]
    compare(Pairs(records, asked, "MyBot"), dialect, f"one body, {dialect}")


def test_a_site_with_one_url_and_a_site_with_thousands_are_answered_alike() -> None:
    """How often a site is asked, in one batch or over many, changes no answer."""
    rules = b"".join(b"Disallow: /*%d/\nAllow: /a%d$\n" % (n, n) for n in range(0, 300, 7))
    records = [Record(f"https://n{n}.example", STAR + rules) for n in range(3)]
    rng = random.Random(SEED)
    paths = [b"/a%d/x%d/" % (rng.randrange(300), rng.randrange(300)) for _ in range(3_000)]
    often = [b"https://n0.example" + path[: rng.randrange(4, 12)] for path in paths]
    asked = [b"https://n1.example/a7", *often, b"https://n2.example/7/", *often[:50]]
    expected = Truth(records).answers(asked)
    sites = bulk.Sites.from_table(archive(records), agent="MyBot")
    one_by_one = [
        read(sites.verdicts(pa.record_batch({"url": column([url])})))[0] for url in asked[:40]
    ]
    assert_same(one_by_one, expected[:40], asked, "row by row, before the many")
    for turn in ("first", "second"):
        found = read(sites.verdicts(pa.record_batch({"url": column(asked)})))
        assert_same(found, expected, asked, f"{turn} time")


def test_no_sites_are_no_answers() -> None:
    """An empty archive knows no site: nothing is allowed, nothing disallowed."""
    sites = bulk.Sites.from_table(archive([]), agent="MyBot")
    assert len(sites) == 0
    asked = [b"https://a.example/", b"https://a.example/robots.txt"]
    assert read(sites.verdicts(pa.record_batch({"url": column(asked)}))) == [NO_ROBOTS] * 2
    assert list(sites.allowed(column(asked))) == [None, None]
    assert sorted(sites.missing(column(asked))) == ["https://a.example"]


# The users' own tables.


@pytest.mark.parametrize("name", ["body", "robots"])
@pytest.mark.parametrize(
    "kind", ["string", "large_string", "string_view", "binary", "large_binary"]
)
def test_two_columns_are_an_archive(name: str, kind: str) -> None:
    """`origin`, any URL of the site, and `body` or `robots`, text or binary: status 200."""
    bodies = [STAR + b"Disallow: /a", STAR + "Disallow: /é".encode(), b""]
    given = [
        "HTTPS://u:p@A.example:443/some/page?x#y",
        "http://bücher.example",
        "https://c.example",
    ]
    table = pa.table({"origin": column(given), name: column(bodies, kind)})
    sites = bulk.Sites.from_table(table, agent="MyBot")
    records = [Record(url, body) for url, body in zip(given, bodies, strict=True)]
    hosts = ["https://a.example", "http://xn--bcher-kva.example", "https://c.example", "http://a"]
    asked = [(host + path).encode() for host in hosts for path in ("/a", "/é", "/c", "/%C3%A9")]
    found = read(sites.verdicts(pa.record_batch({"url": column(asked)})))
    assert_same(found, Truth(records).answers(asked), asked, (name, kind))
    assert len(sites) == 3
    assert sites.agent == "MyBot"


def test_a_row_without_a_usable_origin_is_passed_over() -> None:
    """It belongs to no site; the rows beside it do."""
    given = [None, "", "n/a", "ftp://a.example", "https://a.example", "https://[::1", "a.example"]
    table = pa.table({"origin": given, "body": [STAR + b"Disallow: /"] * len(given)})
    sites = bulk.Sites.from_table(table, agent="MyBot")
    asked = ["https://a.example/", "http://a.example/", "https://b.example/"]
    found = [answer.allowed for answer in read(sites.verdicts(pa.table({"url": asked})))]
    assert found == [False, None, None]
    assert len(sites) == 1


def test_no_body_and_no_status_is_no_permission() -> None:
    """A row that says nothing about a site leaves it unknown, or the earlier row in force."""
    table = pa.table({"origin": ["https://a.example"], "body": pa.nulls(1, pa.binary())})
    sites = bulk.Sites.from_table(table, agent="MyBot")
    found = read(sites.verdicts(pa.table({"url": ["https://a.example/"]})))
    assert found == [NO_ROBOTS]


@pytest.mark.parametrize(
    ("table", "word"),
    [
        ({"body": [b""]}, "origin"),
        ({"origin": ["https://a.example"]}, "body"),
        ({"origin": [1], "body": [b""]}, "origin"),
        ({"origin": ["https://a.example"], "body": [1]}, "body"),
        ({"origin": ["https://a.example"], "body": [b""], "status": ["x"]}, "status"),
    ],
)
def test_a_table_that_is_no_archive_is_refused_by_name(table: dict[str, Any], word: str) -> None:
    """The error names the column that is missing or wrong."""
    with pytest.raises(manners.MannersError, match=word):
        bulk.Sites.from_table(pa.table(table), agent="MyBot")


def test_only_the_columns_asked_for_are_added() -> None:
    """`add` chooses among the columns of a verdict; the input's own come first, as they were."""
    sites = bulk.Sites.from_table(archive([Record("https://a.example", STAR)]), agent="MyBot")
    batch = pa.record_batch({"id": [7, 8], "page": ["https://a.example/", None]})
    assert sites.verdicts(batch, column="page").schema.names == ["id", "page", *ADDED]
    found = sites.verdicts(batch, column="page", add=("line", "allowed"))
    assert found.schema.names == ["id", "page", "line", "allowed"]
    assert found.column("id").to_pylist() == [7, 8]
    assert isinstance(found, pa.RecordBatch)
    assert isinstance(sites.verdicts(pa.table({"url": ["n/a"]})), pa.Table)
    types = {
        name: str(sites.verdicts(batch, column="page").schema.field(name).type) for name in ADDED
    }
    assert types["allowed"] == "bool"
    assert types["line"] == "int32"
    assert types["crawl_delay"] == "double"
    assert types["reason"].startswith("dictionary<values=string, indices=int8")
    assert types["rule"].startswith("dictionary<values=string, indices=int32")

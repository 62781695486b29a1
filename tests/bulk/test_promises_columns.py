"""However a column of URLs is written, cut, ordered and asked for, each row has one answer."""

import random
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manners
from manners import bulk, urls
from manners.bulk import hosts
from manners.compat import arrow
from manners.errors import InvalidURL
from tests.bulk.truth import (
    BODY,
    KINDS,
    OTHER,
    REASONS,
    UNDECIDED,
    Answer,
    Record,
    Truth,
    Value,
    archive,
    assert_same,
    chunked,
    column,
    pa,
    pairs,
    read,
    rows,
    sliced,
    world,
)
from tests.sizes import examples, seed

pl: Any = pytest.importorskip("polars")
pd: Any = pytest.importorskip("pandas")
duckdb: Any = pytest.importorskip("duckdb")

SEED = seed("BULK_SEED")

RECORDS = [
    Record("https://a.example", BODY),
    Record("https://a.example:8443", OTHER),
    Record("http://a.example", b"User-agent: *\nDisallow: /a"),
    Record("https://xn--bcher-kva.example", BODY),
    Record("https://xn--strae-oqa.example", BODY),
    Record("https://[2001:db8::1]", BODY),
    Record("http://[::1]:8080", OTHER),
    Record("http://192.0.2.7", BODY),
    Record("https://a.example.", b"User-agent: *\nDisallow: /dot"),
    Record("https://under_score.example", BODY),
    Record("https://" + "h" * 63 + ".example", BODY),
    Record("https://down.example", None, 503),
    Record("https://gone.example", None, 410),
]
HOSTS = [
    *("https://a.example", "HTTPS://A.Example", "https://a.example:443", "https://a.EXAMPLE:"),
    *("https://user:secret@a.example", "https://@a.example", "https://u@b.example@a.example"),
    *(
        "https://a.example:8443",
        "https://a.example:08443",
        "http://a.example:80",
        "hTTp://a.example",
    ),
    *(
        "http://a.example:443",
        "https://a.example:80",
        "https://bücher.example",
        "https://BÜCHER.example",
    ),
    *("https://xn--bcher-kva.example", "https://XN--BCHER-KVA.example", "https://straße.example"),
    *("https://bu\u0308cher.example", "https://bücher。example", "https://[2001:db8::1]"),
    *(
        "https://[2001:DB8:0:0::1]:443",
        "http://[::1]:8080",
        "http://[::1]",
        "http://[::1%25eth0]:8080",
    ),
    *("http://192.0.2.7", "http://192.0.2.7:80", "http://3221225991", "https://a.example."),
    *("https://under_score.example", "https://" + "h" * 63 + ".example", "https://" + "h" * 254),
    *("https://down.example", "https://gone.example", "https://b.example", "https://a.example.org"),
    *("https://a.exampl", "https://xa.example", "https://a.example:x", "https://a.example:99999"),
    *(
        "https://[::1",
        "https://::1",
        "https://",
        "http://",
        "https:",
        "https:/a.example",
        "https:///a",
    ),
    *("ftp://a.example", "//a.example", "a.example", "mailto:a@a.example", "javascript:", "data:,"),
    *("https://a.example\\", "https://a example", "https://a%2eexample", "https://\u200ba.example"),
    *(
        " https://a.example",
        "\ufeffhttps://a.example",
        "\nhttps://a.example",
        "https://a.\texample",
    ),
]
PATHS = [
    *(
        "",
        "/",
        "/private/x",
        "/private/ok",
        "/a.pdf",
        "?a",
        "#a",
        "/a#b",
        "/a.pdf#x",
        "/robots.txt",
    ),
    *(
        "/private /x",
        "/é",
        "/%70rivate/",
        "//private/",
        "/a\0b",
        "/*",
        "/$",
        ";x",
        "/" + "x" * 9_000,
    ),
]
NO_URLS: list[Value] = [
    *(None, "", " ", "n/a", "N/A", "null", "None", "nan", "-", "/", "/private/x", "//a.example/x"),
    *(
        "?",
        "#",
        ":",
        "://",
        "\0",
        "https",
        "http:",
        b"\xff",
        b"https://\xff",
        b"https://a.example\xff/",
    ),
    *(
        b"https://a.example/\xff",
        b"https://a.example/private/\xff\xfe",
        b"https://b\xc3\xbc\xff.example",
    ),
    *(b"https://a.example/\xed\xa0\x80", b"\xc3", b"https://a.example/" + b"x" * 100_000),
    *(
        b"https://" + b"h" * 100_000,
        b"x" * 100_000,
        b"https://a.example/private/" + b"\xc3\xa9" * 9_000,
    ),
]


@cache
def awkward() -> list[Value]:
    """Each way to write a host with each path, and what is no URL."""
    return [*(host + path for host in HOSTS for path in PATHS), *NO_URLS]


@cache
def right() -> list[Answer]:
    return Truth(RECORDS).answers(awkward())


@cache
def sites() -> Any:
    return bulk.Sites.from_table(archive(RECORDS), agent="MyBot")


def ask(data: Any, known: Any = None) -> list[Answer]:
    """The answers for a column."""
    table = pa.table({"url": data})
    return read((known or sites()).verdicts(table))


def in_batches(data: Any, cuts: Sequence[int], known: Any = None) -> list[Answer]:
    """The answers for a column that comes in batches."""
    found: list[Answer] = []
    at = 0
    for count in cuts:
        part = data.slice(at, count)
        at += count
        batch = pa.record_batch({"url": part})
        found += read((known or sites()).verdicts(batch))
    assert at >= len(data)
    return found


def sizes_of_batches(rng: random.Random, count: int) -> list[int]:
    """Batches of 1 to 70 rows, as many as so many rows need."""
    found: list[int] = []
    while sum(found) < count:
        found.append(min(rng.randint(1, 70), count - sum(found)))
    return found


# What a row says.


def test_a_url_of_every_shape_is_answered_as_check_answers() -> None:
    """However scheme, host, port and path are written; what is no URL has no answer."""
    assert_same(ask(column(awkward(), "binary")), right(), awkward())
    assert {answer.reason for answer in right()} >= {
        *UNDECIDED,
        "rule-matched",
        "no-rule-matched",
        "unreachable",
        "unavailable",
        "robots-txt-itself",
    }


def test_without_a_url_or_a_site_nothing_is_allowed() -> None:
    """Null, text that is no URL, a site that is not in the archive: null, and why."""
    asked: list[Value] = [
        None,
        "",
        "n/a",
        "/private/",
        "//a.example/",
        "ftp://a.example/",
        "HTTPS:",
    ]
    asked += [
        "https://nobody.example/",
        "https://a.example:9/",
        "https://nobody.example/robots.txt",
    ]
    reasons = ["no-url", *["invalid-url"] * 6, *["no-robots"] * 3]
    for kind in KINDS:
        found = ask(column(asked, kind))
        assert_same(found, [Answer(None, reason) for reason in reasons], asked, kind)
        assert list(sites().allowed(column(asked, kind))) == [None] * len(asked)


def test_an_answer_is_one_of_the_known_ones() -> None:
    """Allowed is null exactly for the three reasons; a line and a rule stand together."""
    for answer in ask(column(awkward(), "binary")):
        assert answer.reason in REASONS
        assert (answer.allowed is None) == (answer.reason in UNDECIDED), answer
        assert (answer.line is None) == (answer.rule is None), answer
        if answer.allowed is None:
            assert answer.crawl_delay is None, answer


def test_missing_sites_are_named_once() -> None:
    """Origins that URLs have and the archive does not; what is no URL has none."""
    expected = set()
    for url in ["https://a.example/", *awkward()]:
        try:
            text = url.decode("utf-8", "surrogateescape") if isinstance(url, bytes) else url or ""
            expected.add(urls.origin(text))
        except InvalidURL:
            continue
    expected -= {record.origin for record in RECORDS}
    found = sites().missing(column(awkward(), "binary"))
    assert sorted(found) == sorted(expected)


# How a column is written.


@pytest.mark.parametrize("kind", KINDS)
def test_the_type_of_a_column_changes_nothing(kind: str) -> None:
    """Strings and bytes, small, large and views, also where the bytes are no text."""
    assert_same(ask(column(awkward(), kind)), right(), awkward(), kind)
    allowed = [answer.allowed for answer in right()]
    assert_same(list(sites().allowed(column(awkward(), kind))), allowed, awkward(), kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["sliced", "chunks", "many chunks", "empty chunks"])
def test_where_a_column_is_cut_changes_nothing(kind: str, form: str) -> None:
    """Slices with offsets, chunks of any length."""
    rng = random.Random(f"{SEED} {kind} {form}")
    start = rng.randrange(200)
    part = slice(start, start + 500)
    values, expected = awkward()[part], right()[part]
    cuts = {
        "chunks": [rng.randrange(500) for _ in range(4)],
        "many chunks": list(range(0, 500, 3)),
        "empty chunks": [0, 0, 7, 7, 7, 500, 500],
    }
    data = chunked(values, kind, cuts[form]) if form in cuts else sliced(values, kind, 7, 3)
    assert_same(ask(data), expected, values, (kind, form))
    assert_same(
        list(sites().allowed(data)), [answer.allowed for answer in expected], values, (kind, form)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_column_has_no_answers(kind: str) -> None:
    """Of a type, in one chunk, in none, in a batch: no rows, and the columns are there."""
    for data in (column([], kind), pa.chunked_array([], getattr(pa, kind)())):
        assert list(sites().allowed(data)) == []
        found = sites().verdicts(pa.table({"url": data}))
        assert (found.num_rows, found.num_columns) == (0, 6)
    assert sites().verdicts(pa.record_batch({"url": column([], kind)})).num_rows == 0
    nothing = ask(column([None] * 9, kind))
    assert nothing == [Answer(None, "no-url")] * 9


def dictionary(values: Sequence[Value], index: Any, kind: str = "string") -> Any:
    """A dictionary-encoded column: values no row has, values that are null, rows that are null."""
    distinct: list[Value] = [b"https://nobody.example/", None, *dict.fromkeys(values)]
    place = {value: at for at, value in enumerate(distinct)}
    indices = pa.array([None if value is None else place[value] for value in values], index)
    return pa.DictionaryArray.from_arrays(indices, column(distinct, kind))


@pytest.mark.parametrize("index", ["int16", "uint16", "int32", "int64"])
@pytest.mark.parametrize("kind", ["string", "large_string", "binary"])
def test_a_dictionary_changes_nothing(index: str, kind: str) -> None:
    """A dictionary-encoded column has the answers of its rows, also cut and in several chunks."""
    values, expected = awkward()[-300:] * 2, right()[-300:] * 2
    data = dictionary(values, getattr(pa, index)(), kind)
    assert_same(ask(data), expected, values, "as one")
    assert_same(ask(data.slice(100, 300)), expected[100:400], values[100:400], "sliced")
    allowed = [answer.allowed for answer in expected]
    assert_same(list(sites().allowed(data)), allowed, values, "allowed")
    halves = [dictionary(values[:250], data.type.index_type, kind)]
    halves.append(dictionary(values[250:], data.type.index_type, kind))
    assert_same(ask(pa.chunked_array(halves)), expected, values, "dictionaries that differ")


def test_a_null_among_the_values_of_a_dictionary_is_a_null() -> None:
    """An index that points to a null is a row without a URL."""
    data = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None], pa.int8()), pa.array([None, "https://a.example/"])
    )
    assert [answer.reason for answer in ask(data)] == ["no-url", "no-rule-matched", "no-url"]


@pytest.mark.parametrize(
    "library",
    ["polars", "polars frame", "polars categorical", "pandas", "duckdb"],
)
def test_columns_of_other_libraries_are_read(library: str) -> None:
    """What speaks Arrow is asked about as it is."""
    texts = ["https://a.example/private/x", None, "https://A.example/", "n/a"] * 3
    make: dict[str, Callable[[], Any]] = {
        "polars": lambda: pl.Series(texts),
        "polars frame": lambda: pl.DataFrame({"url": texts}),
        "polars categorical": lambda: pl.Series(texts, dtype=pl.Categorical),
        "pandas": lambda: pd.Series(texts, dtype="str"),
        "duckdb": lambda: duckdb.sql("select unnest($u::varchar[]) as url", params={"u": texts}),
    }
    answers = sites().allowed(make[library]())
    assert list(answers) == [False, None, True, None] * 3
    assert pa.array(answers).to_pylist() == [False, None, True, None] * 3


WRONG: dict[str, Callable[[], Any]] = {
    "numbers": lambda: pa.array([1, 2]),
    "lists": lambda: pa.array([["https://a.example/"]]),
    "a list": lambda: ["https://a.example/"],
    "a text": lambda: "https://a.example/",
    "nothing": lambda: None,
    "two columns": lambda: pa.table({"a": ["n/a"], "b": ["n/a"]}),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_column_of_urls_is_refused(name: str) -> None:
    """An error, even where there is no row that could be wrong."""
    with pytest.raises((TypeError, manners.MannersError)):
        sites().allowed(WRONG[name]())


def test_a_column_that_is_not_there_is_named() -> None:
    """The error names the column asked for, and those that there are."""
    with pytest.raises((manners.MannersError, KeyError, TypeError), match="address") as raised:
        sites().verdicts(pa.table({"link": ["n/a"], "id": [1]}), column="address")
    assert "link" in str(raised.value)


def test_a_column_of_the_input_with_the_name_of_ours_is_not_lost_in_silence() -> None:
    """An input that has a column `allowed` is refused, or keeps it."""
    table = pa.table({"url": ["https://a.example/private/x"], "allowed": ["theirs"]})
    try:
        kept = [each.to_pylist() for each in sites().verdicts(table).columns]
    except (manners.MannersError, ValueError) as error:
        kept = [["theirs"]] if "allowed" in str(error) else []
    assert ["theirs"] in kept


# Order, batches, threads.


@pytest.mark.parametrize("order", ["sorted", "shuffled", "backwards", "twice"])
def test_the_order_of_rows_changes_nothing(order: str) -> None:
    """Each URL has its answer, whatever stands before and behind it."""
    at = list(range(len(awkward())))
    if order == "shuffled":
        random.Random(SEED).shuffle(at)
    elif order == "backwards":
        at.reverse()
    elif order == "twice":
        at = [*at, *at]
    else:
        at.sort(key=lambda number: str(awkward()[number]))
    values = [awkward()[number] for number in at]
    expected = [right()[number] for number in at]
    assert_same(ask(column(values, "binary")), expected, values, order)


@pytest.mark.parametrize("kind", ["string", "large_binary", "string_view"])
def test_the_size_of_batches_changes_nothing(kind: str) -> None:
    """Batches of 1 to 70 rows, cut anywhere, have the answers of the column."""
    rng = random.Random(f"{SEED} {kind}")
    data = column(awkward(), kind)
    for _ in range(2):
        cuts = sizes_of_batches(rng, len(data))
        assert_same(in_batches(data, cuts), right(), awkward(), f"BULK_SEED={SEED}")


_SOME = st.lists(st.sampled_from(awkward()) | st.binary(max_size=20), max_size=40)


@given(_SOME, st.sampled_from(KINDS), st.lists(st.integers(0, 40), max_size=6), st.integers(0, 9))
@settings(max_examples=examples(300), deadline=None)
def test_any_column_cut_anywhere_has_one_answer(
    values: list[Value], kind: str, cuts: list[int], before: int
) -> None:
    """Any bytes at all among the URLs; what fails is made small."""
    expected = Truth(RECORDS).answers(values)
    assert_same(ask(chunked(values, kind, cuts)), expected, values, "chunks")
    assert_same(ask(sliced(values, kind, before, 2)), expected, values, "sliced")


def test_asked_again_the_answers_stay() -> None:
    """A `Sites` does not change by being asked, also after errors and empty columns."""
    fresh = bulk.Sites.from_table(archive(RECORDS), agent="MyBot")
    data = column(awkward(), "binary")
    for _ in range(3):
        assert_same(ask(data, fresh), right(), awkward())
        with pytest.raises((TypeError, manners.MannersError)):
            fresh.allowed(pa.array([1]))
        assert list(fresh.allowed(column([]))) == []


@pytest.mark.parametrize("dialect", ["rfc9309", "robotrules"])
def test_eight_threads_have_the_answers_of_one(dialect: str) -> None:
    """One `Sites` for all, asked in other orders and batches by each, before anybody has asked."""
    drawn = pairs(f"{SEED} threads", dialect, 60, 20)
    expected = Truth(drawn.records, drawn.agent, dialect).answers(drawn.urls)
    for turn in range(3):
        shared = bulk.Sites.from_table(archive(drawn.records), agent=drawn.agent, dialect=dialect)
        found: list[Any] = [None] * 8
        barrier = threading.Barrier(8)

        def work(
            number: int,
            shared: Any = shared,
            found: list[Any] = found,
            turn: int = turn,
            barrier: threading.Barrier = barrier,
        ) -> None:
            rng = random.Random(f"{SEED} {turn} {number}")
            order = list(range(len(drawn.urls)))
            if number:
                rng.shuffle(order)
            data = column([drawn.urls[at] for at in order], rng.choice(KINDS))
            cuts = sizes_of_batches(rng, len(order)) if number % 2 else [len(order)]
            barrier.wait()
            answers = dict(zip(order, in_batches(data, cuts, shared), strict=True))
            found[number] = [answers[at] for at in range(len(order))]

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number, answers in enumerate(found):
            assert answers is not None, f"thread {number} ended with an error"
            assert_same(answers, expected, drawn.urls, f"thread {number}, BULK_SEED={SEED}")


# Buckets.


def test_a_bucket_is_the_hosts() -> None:
    """Scheme, port, path, case and the writing of a host change nothing; other hosts spread."""
    same = [
        "https://a.example/x",
        "HTTP://A.example:8080/y?z",
        "https://u:p@a.example",
        "http://a.example:1#f",
    ]
    for parts in (1, 2, 7, 64, 256, 4_096):
        found = hosts.buckets(column(same), parts).tolist()
        assert len(set(found)) == 1, (parts, found)
        assert 0 <= found[0] < parts
    many = [f"https://host{number}.example/" for number in range(10_000)]
    counts = [0] * 64
    for bucket in hosts.buckets(column(many), 64).tolist():
        counts[bucket] += 1
    assert min(counts) > 50, counts
    assert max(counts) < 400, counts


def test_what_is_no_url_is_in_bucket_0() -> None:
    """Nulls and non-URLs have a place, too: the first."""
    odd: list[Value] = [
        value
        for value, answer in zip(awkward(), right(), strict=True)
        if answer.reason in ("no-url", "invalid-url")
    ]
    assert set(hosts.buckets(column(odd, "binary"), 64).tolist()) == {0}


def test_urls_and_their_sites_are_in_one_bucket() -> None:
    """A URL, however it is written, is in the bucket of the origin that an archive has for it."""
    by_origin = dict.fromkeys(record.origin for record in RECORDS)
    names = list(by_origin)
    for parts in (7, 256):
        home = dict(zip(names, hosts.buckets(column(names), parts).tolist(), strict=True))
        found = hosts.buckets(column(awkward(), "binary"), parts).tolist()
        for url, bucket in zip(awkward(), found, strict=True):
            try:
                text = url.decode("utf-8", "surrogateescape") if isinstance(url, bytes) else url
                origin = urls.origin(text or "")
            except InvalidURL:
                continue
            assert home.get(origin, bucket) == bucket, (url, origin, parts)


@pytest.mark.parametrize("kind", [*KINDS, "dictionary"])
def test_a_bucket_does_not_depend_on_the_column(kind: str) -> None:
    """Type, slices and chunks change nothing."""
    expected = hosts.buckets(column(awkward(), "binary"), 64).tolist()
    if kind == "dictionary":
        data = [dictionary(awkward(), pa.int32(), "binary")]
    else:
        data = [column(awkward(), kind), sliced(awkward(), kind, 5, 2)]
        data.append(chunked(awkward(), kind, range(0, len(awkward()), 11)))
    for each in data:
        assert hosts.buckets(each, 64).tolist() == expected
    assert hosts.buckets(column([]), 64).tolist() == []


def test_buckets_are_for_ever() -> None:
    """Parts that were prepared by one version and one machine are read by another."""
    names = ["https://example.com/", "https://b.example/", "http://[::1]/", "http://a/"]
    found = hosts.buckets(column(names), 2**20).tolist()
    assert found == hosts.buckets(column([name.upper() for name in names]), 2**20).tolist()
    assert len(set(found)) == 4


# The columns of compat.arrow.


def test_arrow_by_origin_says_the_same() -> None:
    """`compat.arrow` with policies by origin allows what bulk allows, where rules decide."""
    available = [record for record in RECORDS if record.status == 200]
    files = pa.table(
        {"origin": [each.origin for each in available], "robots": [each.body for each in available]}
    )
    policies = arrow.policies(files, agent="MyBot")
    known = bulk.Sites.from_table(files, agent="MyBot")
    data = column(awkward(), "binary")
    ours, theirs = list(known.allowed(data)), list(arrow.allowed(data, policies))
    assert_same(ours, theirs, awkward(), "compat.arrow")


def test_a_world_of_sites_is_answered() -> None:
    """Every state of a site, redirects, copies, several records, odd rows: as live."""
    asked = rows(SEED, 3_000)
    known = bulk.Sites.from_table(archive(world()), agent="MyBot")
    assert_same(ask(column(asked), known), Truth(world()).answers(asked), asked)

"""A column of URLs in Arrow memory gets the answers its URLs get one by one.

Where a test asks for a `way`, it runs twice: the kernel reads the memory, and pyarrow does.
"""

import ctypes
import gc
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache, partial
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manners
from manners import Policy, _compiled, urls
from manners._text import to_bytes, to_text
from manners.compat import arrow
from manners.errors import InvalidURL, MissingExtra
from manners.robots.dialects import Dialect
from tests.compat import arrow_raw as raw
from tests.compat.arrow_raw import Raw, RawStream
from tests.differential.generate import Case, cases
from tests.differential.test_engines import (
    BY_NAME,
    EVERY,
    SEED,
    another_thread,
    needs_kernel,
    run_in_threads,
    switch_interval,
)
from tests.differential.test_planted_bugs import LINKER, build
from tests.sizes import examples

pa: Any = pytest.importorskip("pyarrow")
pl: Any = pytest.importorskip("polars")
pd: Any = pytest.importorskip("pandas")
duckdb: Any = pytest.importorskip("duckdb")

Values = Sequence[bytes | None]
Given = list[bool | None]

WAYS = [pytest.param("kernel", marks=needs_kernel), "pyarrow"]
KINDS = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]
LAYOUT = {"string": "binary", "large_string": "large_binary", "string_view": "binary_view"}
BODY = "User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\nAllow: /private/ok\nDisallow: /a"
SOME: list[bytes | None] = [
    *(b"https://h.example/", b"https://h.example/private/x", None, b"", b"/a", b"/private/ok"),
    *(b"https://h.example/long/enough/for/a/view.pdf", b"?", b"https://h.example/caf\xc3\xa9"),
    *(b"https://h.example/\xff/private/", None, b"/private/" + b"x" * 3_000, b"/123456789ab"),
    *(b"/a3456789012", b"/a34567890123", b"http://h/a\0b", b"/robots.txt"),
]


@contextmanager
def read_by(way: str) -> Iterator[None]:
    """Has the kernel, or pyarrow, read Arrow memory."""
    with pytest.MonkeyPatch.context() as patch:
        if way == "pyarrow":
            patch.setattr(arrow, "kernel", None)
        yield


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    with read_by(request.param):
        yield request.param


both_ways = pytest.mark.usefixtures("way")


@pytest.fixture
def policy() -> Policy:
    return manners.parse(BODY).policy("MyBot")


@cache
def corpus() -> list[Case]:
    return list(islice(cases(f"{SEED} arrow"), 40))


@cache
def policy_of(number: int, dialect: str) -> Policy:
    case = corpus()[number]
    url = "http://h/robots.txt" if dialect == "robotrules" else case.url
    return manners.parse(case.body, BY_NAME[dialect], url).policy(case.agents)


def one_by_one(policy: Policy, values: Values) -> Given:
    return [
        policy.allowed(to_text(each)) if each is not None and is_url_or_path(each) else None
        for each in values
    ]


def is_url_or_path(text: bytes) -> bool:
    """What a column is answered for: the engine alone has an answer for every string."""
    if text.startswith(b"/"):
        return True
    scheme, mark, rest = text.partition(b"://")
    return bool(mark and rest[:1].strip(b"/?#")) and scheme.lower() in (b"http", b"https")


def by_origin(policies: Mapping[str, Policy], values: Values) -> Given:
    """What the plain functions answer."""
    found: Given = []
    for each in values:
        try:
            own = None if each is None else policies.get(urls.plain_origin(to_text(each)))
        except InvalidURL:
            own = None
        found.append(None if own is None or each is None else own.allowed(to_text(each)))
    return found


def column(values: Values, kind: str = "string") -> Any:
    """An array of a kind, also of texts that are not UTF-8, which pyarrow would refuse."""
    array = pa.array(values, getattr(pa, LAYOUT.get(kind, kind))())
    if kind in LAYOUT:
        wanted = getattr(pa, kind)()
        array = pa.Array.from_buffers(wanted, len(array), array.buffers(), array.null_count)
    return array


def sliced(values: Values, kind: str, before: int, after: int) -> Any:
    """The same as a part of something longer."""
    around: Values = [b"/private/", None, b"/a"] * 5
    whole = column([*around[:before], *values, *around[:after]], kind)
    return whole.slice(before, len(values))


def chunked(values: Values, kind: str, cuts: Sequence[int]) -> Any:
    """The same in chunks, some of them empty, each a part of something longer."""
    at = [0, *sorted(min(cut, len(values)) for cut in cuts), len(values)]
    parts = [values[i:j] for i, j in pairwise(at)]
    chunks = [sliced(part, kind, n % 9, n % 4) for n, part in enumerate(parts)]
    return pa.chunked_array(chunks, getattr(pa, kind)())


def struct(array: Any) -> Any:
    return pa.StructArray.from_arrays([array], ["url"])


def reader(values: Values, kind: str, cuts: Sequence[int]) -> Any:
    table = pa.table({"url": chunked(values, kind, cuts)})
    return pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches()))


FORMS: dict[str, Callable[[Values, str, Sequence[int]], Any]] = {
    "array": lambda values, kind, _: column(values, kind),
    "sliced array": lambda values, kind, cuts: sliced(values, kind, cuts[0] % 15, cuts[1] % 15),
    "chunks": chunked,
    "table": lambda values, kind, cuts: pa.table({"url": chunked(values, kind, cuts)}),
    "record batch": lambda values, kind, _: pa.record_batch({"url": column(values, kind)}),
    "sliced batch": lambda values, kind, cuts: pa.record_batch(
        {"url": sliced([None, b"/a", *values], kind, cuts[0] % 15, 2)}
    ).slice(2),
    "sliced structs": lambda values, kind, cuts: struct(
        sliced([None, b"/a", b"/b", *values, b"/"], kind, cuts[0] % 15, 2)
    ).slice(3, len(values)),
    "stream": reader,
}


# One policy.


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
@both_ways
def test_every_kind_of_column_has_the_answers_of_its_urls(
    kind: str, form: str, policy: Policy
) -> None:
    """Whatever the type and however it is cut: what `allowed` says, and None for null."""
    short = [each for each in SOME if each is None or len(each) <= 12]
    for values in (SOME, short, [b"/a"] * 20, [None] * 9, [None], [b""], []):
        data = FORMS[form](values, kind, (3, 7, 7))
        answers = arrow.allowed(data, policy)
        assert list(answers) == one_by_one(policy, values)
        assert len(answers) == len(values)


@pytest.mark.parametrize("kind", KINDS)
@both_ways
def test_no_chunks_are_no_answers(kind: str, policy: Policy) -> None:
    """A stream of a type, with nothing in it, has no answers."""
    empty = pa.chunked_array([], getattr(pa, kind)())
    assert list(arrow.allowed(empty, policy)) == []
    assert list(arrow.allowed(pa.table({"url": empty}), policy)) == []


@pytest.mark.parametrize("dialect", EVERY, ids=lambda dialect: dialect.name)
@both_ways
def test_every_dialect_answers_for_columns_as_for_urls(dialect: Dialect) -> None:
    """Also the dialects that decide in Python, for random files and URLs."""
    rng = random.Random(f"{SEED} {dialect.name}")
    for number, case in enumerate(corpus()):
        policy = policy_of(number, dialect.name)
        values: list[bytes | None] = [*map(to_bytes, case.urls), None]
        rng.shuffle(values)
        kind, form = rng.choice(KINDS), rng.choice(sorted(FORMS))
        data = FORMS[form](values, kind, [rng.randrange(42) for _ in range(3)])
        found = list(arrow.allowed(data, policy))
        assert found == one_by_one(policy, values), (SEED, number, kind, form)


def _from_corpus(number: int) -> st.SearchStrategy[tuple[int, list[bytes | None]]]:
    known = st.sampled_from([to_bytes(url) for url in corpus()[number].urls])
    any_text = st.one_of(st.none(), known, known, known, st.binary(max_size=14))
    return st.tuples(st.just(number), st.lists(any_text, max_size=40))


@given(
    st.integers(0, 39).flatmap(_from_corpus),
    st.sampled_from(sorted(BY_NAME)),
    st.sampled_from(KINDS),
    st.sampled_from(sorted(FORMS)),
    st.lists(st.integers(0, 40), min_size=2, max_size=6),
    st.sampled_from(["kernel", "pyarrow"] if _compiled.kernel else ["pyarrow"]),
)
@settings(max_examples=examples(500), deadline=None)
def test_however_it_is_cut_a_column_has_one_answer(  # noqa: PLR0917
    file_and_values: tuple[int, list[bytes | None]],
    dialect: str,
    kind: str,
    form: str,
    cuts: list[int],
    way: str,
) -> None:
    """Boundaries of chunks and slices change nothing."""
    number, values = file_and_values
    policy = policy_of(number, dialect)
    with read_by(way):
        answers = list(arrow.allowed(FORMS[form](values, kind, cuts), policy))
    assert answers == one_by_one(policy, values)


@both_ways
def test_memory_need_not_be_aligned(policy: Policy) -> None:
    """Offsets and views may begin at any byte, as those of a file that is mapped do."""
    for kind in KINDS:
        array = column([each for each in SOME if each is not None], kind)
        moved = []
        for buffer in array.buffers():
            odd = None if buffer is None else pa.py_buffer(b"\0" + buffer.to_pybytes())[1:]
            moved.append(odd)
        data = pa.Array.from_buffers(array.type, len(array), moved)
        assert list(arrow.allowed(data, policy)) == list(arrow.allowed(array, policy))


LIBRARIES: dict[str, Callable[[Sequence[str | None]], Any]] = {
    "polars series": pl.Series,
    "polars binary": lambda values: pl.Series(values).cast(pl.Binary),
    "polars chunks": lambda values: pl.concat([pl.Series(values[:2]), pl.Series(values[2:])]),
    "polars frame": lambda values: pl.DataFrame({"url": values}),
    "polars slice": lambda values: pl.Series(["/a", *values, "/a"])[1:-1],
    "pandas series": lambda values: pd.Series(values, dtype="string[pyarrow]"),
    "pandas str": lambda values: pd.Series(values, dtype="str"),
    "pandas frame": lambda values: pd.DataFrame({"url": values}),
    "duckdb": lambda values: duckdb.sql(
        "select unnest($urls::varchar[]) as url", params={"urls": list(values)}
    ),
}


@pytest.mark.parametrize("library", LIBRARIES)
@both_ways
def test_columns_of_other_libraries_are_read(library: str, policy: Policy) -> None:
    """What speaks Arrow is read as it is."""
    texts = [
        None if each is None else to_text(each)
        for each in SOME
        if each is None or b"\xff" not in each
    ]
    texts = [text for text in texts if text is None or "\0" not in text]
    data = LIBRARIES[library](texts)
    expected = one_by_one(policy, [None if text is None else to_bytes(text) for text in texts])
    assert list(arrow.allowed(data, policy)) == expected


NOT_URLS: dict[str, tuple[Callable[[], Any], str]] = {
    "numbers": (lambda: pa.array([1, 2]), "not a column of strings"),
    "no numbers": (lambda: pa.chunked_array([], pa.int64()), "not a column of strings"),
    "nulls without a type": (lambda: pa.nulls(3), "not a column of strings"),
    "fixed size": (lambda: pa.array([b"ab"], pa.binary(2)), "not a column of strings"),
    "lists": (lambda: pa.array([["/a"]]), "not a column of strings"),
    "a dictionary": (lambda: pa.array(["/a"]).dictionary_encode(), "dictionary-encoded"),
    "a categorical": (lambda: pl.Series(["/a"], dtype=pl.Categorical), "dictionary-encoded"),
    "two columns": (lambda: pa.table({"a": ["/a"], "b": ["/b"]}), "2 columns"),
    "no columns": (lambda: pa.table({}), "0 columns"),
    "a table of numbers": (lambda: pa.table({"a": [1]}), "a: not a column of strings"),
    "structs with nulls": (lambda: pa.array([{"a": "/a"}, None]), "structs with nulls"),
    "a list": (lambda: ["/a"], "not Arrow data: list"),
    "a text": (lambda: "/a", "not Arrow data: str"),
    "nothing": (lambda: None, "not Arrow data: NoneType"),
}


@pytest.mark.parametrize("name", NOT_URLS)
@both_ways
def test_what_is_no_column_of_urls_is_a_type_error(name: str, policy: Policy) -> None:
    """The message says what is wrong, even where there is not one row."""
    make, message = NOT_URLS[name]
    with pytest.raises(TypeError, match=message):
        arrow.allowed(make(), policy)
    with pytest.raises(TypeError, match=message):
        arrow.allowed(make(), {"https://h.example": policy})


@pytest.mark.parametrize("wrong", [None, 5, "https://h.example", [], object])
@both_ways
def test_what_is_no_policy_is_a_type_error(wrong: Any, policy: Policy) -> None:
    """Neither instead of a policy, nor among policies by origin, nor where there are no rows."""
    for data in (column(SOME), column([])):
        with pytest.raises(TypeError, match="Policy"):
            arrow.allowed(data, wrong)
        with pytest.raises(TypeError, match="Policy"):
            arrow.allowed(data, {"https://a.example": policy, "https://b.example": wrong})


# Policies by origin.


def site(disallowed: str, dialect: str = "rfc9309", url: str | None = None) -> Policy:
    return manners.parse(f"User-agent: *\nDisallow: {disallowed}", dialect, url).policy("MyBot")


SITES = {
    "https://a.example": site("/a"),
    "https://a.example:8443": site("/b"),
    "http://a.example": site("/c"),
    "https://xn--bcher-kva.example": site("/a"),
    "https://[2001:db8::1]": site("/a"),
    "https://r.example": site("/a", "robotrules", "https://r.example/robots.txt"),
    "https://own.example": manners.parse("User-agent: *\nDisallow: /a", EVERY[-8]).policy("MyBot"),
}
WRITTEN = [
    *("https://a.example", "HTTPS://A.Example", "https://a.example:443", "https://a.EXAMPLE:"),
    *("https://user:secret@a.example", "https://@a.example", "https://a.example:8443"),
    *("https://a.example:08443", "https://A.example:8443", "http://a.example:80"),
    *("http://a.example", "HTTP://a.example", "https://bücher.example", "https://BÜCHER.example"),
    *("https://xn--bcher-kva.example", "https://XN--BCHER-KVA.example", "https://[2001:db8::1]"),
    *("https://[2001:DB8:0::1]:443", "https://r.example", "https://R.example", "r.example"),
    *("https://own.example", "https://OWN.example", "https://a.example.", "https://b.example"),
    *("https://a.exampl", "https://a.example.org", "https://a.example:9", "https://a.example:x"),
    *(
        "https://[::1",
        "https://",
        "http://",
        "https:/a.example",
        "ftp://a.example",
        "",
        "//a.example",
    ),
    *("https://a.example\\", "https://u@b.example@a.example", "https://a example", "a.example"),
    *("https://" + "h" * 253, "https://" + "h" * 254, "https://a.example@", "mailto:a@a.example"),
]
PATHS = ["", "/", "/a", "/b/x", "/c?d", "?a", "#a", "/a#b", "/robots.txt", "/A", ":", "/é"]


def written_urls() -> list[bytes | None]:
    """Each way to write an origin, with each path, and bytes that are no text."""
    made: list[bytes | None] = [(host + path).encode() for host in WRITTEN for path in PATHS]
    return [
        *made,
        None,
        b"https://a.example\xff/a",
        b"https://\xff",
        b"\xff",
        b"https://a.example/\xff",
    ]


@pytest.mark.parametrize("order", ["sorted", "shuffled", "as written"])
@pytest.mark.parametrize("kind", ["string", "large_binary", "string_view"])
@both_ways
def test_each_url_is_for_the_policy_of_its_origin(kind: str, order: str) -> None:
    """However the origin is written; a URL without one, or with another's, has no answer."""
    values = written_urls()
    if order == "shuffled":
        random.Random(SEED).shuffle(values)
    elif order == "sorted":
        values.sort(key=lambda value: value or b"")
    expected = by_origin(SITES, values)
    assert {True, False, None} == set(expected)
    assert list(arrow.allowed(column(values, kind), SITES)) == expected
    pieces = chunked(values, kind, range(0, len(values), 7))
    assert list(arrow.allowed(pieces, SITES)) == expected


@both_ways
def test_keys_are_any_url_of_the_site() -> None:
    """Upper case, credentials, ports and paths in a key change nothing."""
    keys = ["HTTPS://u:p@A.Example:443/x?y#z", "http://bücher.example:80", "http://[0:0::1]:8080/"]
    given = {key: site("/a") for key in keys}
    values = [b"https://a.example/a", b"http://xn--bcher-kva.example/a", b"http://[::1]:8080/a"]
    assert list(arrow.allowed(column(values), given)) == [False] * 3
    assert list(arrow.allowed(column([b"https://a.example/b", b"/a"]), given)) == [True, None]


@pytest.mark.parametrize("key", ["a.example", "", "ftp://a.example", "https://", "https://a:x"])
@both_ways
def test_a_key_that_is_no_url_is_invalid(key: str) -> None:
    """A policy that no URL could ever reach is a mistake."""
    with pytest.raises(InvalidURL):
        arrow.allowed(column([]), {"https://a.example": site("/a"), key: site("/b")})


@both_ways
def test_without_policies_there_are_no_answers() -> None:
    """No site is known: every answer is None."""
    assert list(arrow.allowed(column(SOME), {})) == [None] * len(SOME)


@both_ways
def test_a_thousand_origins_are_told_apart() -> None:
    """Each of very many similar origins has its own policy."""
    sites = {
        f"https://h{n}.example{':8080' * (n % 7 == 0)}": site(f"/{n % 10}") for n in range(1_000)
    }
    rng = random.Random(SEED)
    hosts = rng.choices([*sites, "https://h1000.example", "https://h.example"], k=5_000)
    values = [f"{host}/{rng.randrange(10)}".encode() for host in hosts]
    for each in (values, sorted(values)):
        assert list(arrow.allowed(column(each), sites)) == by_origin(sites, each)


@given(
    st.lists(
        st.none()
        | st.builds(
            lambda host, path: to_bytes(host + path),
            st.sampled_from(WRITTEN) | st.text(max_size=3).map("https://a.example".__add__),
            st.sampled_from(PATHS),
        ),
        max_size=30,
    ),
    st.sampled_from(KINDS),
    st.lists(st.integers(0, 30), max_size=5),
)
@settings(max_examples=examples(500), deadline=None)
@needs_kernel
def test_however_it_is_cut_a_column_has_one_answer_by_origin(
    values: list[bytes | None], kind: str, cuts: list[int]
) -> None:
    """What stood in the row before, or in another chunk, changes nothing."""
    assert list(arrow.allowed(chunked(values, kind, cuts), SITES)) == by_origin(SITES, values)


# Policies from a table.

FILES = {
    "origin": [
        "https://a.example/any",
        "HTTPS://B.example:443",
        None,
        "https://c.example",
        "http://d",
    ],
    "robots": ["User-agent: *\nDisallow: /a", "User-agent: *\nDisallow: /b", "x", None, ""],
}


@pytest.mark.parametrize("kind", KINDS)
@both_ways
def test_policies_come_from_a_table(kind: str) -> None:
    """Rows without an origin or a file are left out, and other columns are not looked at."""
    wanted = getattr(pa, kind)()
    columns = {name: pa.array(values).cast(wanted) for name, values in FILES.items()}
    table = pa.table({"status": range(5), **columns, "when": [None] * 5})
    for data in (table, table.to_batches()[0], table.to_reader(1), table.to_struct_array()):
        made = arrow.policies(data, "MyBot")
        assert list(made) == ["https://a.example", "https://b.example", "http://d"]
        assert made["https://a.example"] == manners.parse(
            FILES["robots"][0] or "", url="https://a.example/robots.txt"
        ).policy("MyBot")
    asked = column(
        [b"https://a.example/a", b"https://b.example/a", b"https://c.example/", b"http://D/"]
    )
    assert list(arrow.allowed(asked, made)) == [False, True, None, True]


@both_ways
def test_a_file_may_be_any_bytes() -> None:
    """What is not UTF-8 is read as `parse` reads it; the dialect is the one asked for."""
    body = b"User-agent: *\nDisallow: /\xff\0\nallow /x"
    table = pa.table({"origin": ["https://a.example"], "robots": [body]})
    made = arrow.policies(table, "MyBot", "google")["https://a.example"]
    assert made.robots.body == body
    assert made.robots.dialect.name == "google"


TABLES: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame(FILES),
    "polars binary": lambda: pl.DataFrame(FILES).with_columns(pl.col("robots").cast(pl.Binary)),
    "pandas": lambda: pd.DataFrame(FILES),
    "pandas with an index": lambda: pd.DataFrame(FILES, index=[7, 5, 3, 1, 0]),
    "duckdb": lambda: duckdb.from_arrow(pa.table(FILES)),
    "duckdb blob": lambda: duckdb.from_arrow(pa.table(FILES)).project(
        "origin, robots::blob as robots"
    ),
}


@pytest.mark.parametrize("name", TABLES)
@both_ways
def test_tables_of_other_libraries_are_read(name: str) -> None:
    """What speaks Arrow is read as it is."""
    made = arrow.policies(TABLES[name](), "MyBot")
    assert set(made) == {"https://a.example", "https://b.example", "http://d"}
    assert not made["https://b.example"].allowed("/b")


NOT_FILES: dict[str, tuple[Callable[[], Any], str]] = {
    "a missing column": (lambda: pa.table({"origin": ["https://a"]}), "'robots' is needed.*origin"),
    "no such columns": (lambda: pa.table({"x": [1], "y": [2]}), "'origin' is needed.*x, y"),
    "no columns": (lambda: pa.table({}), "'origin' is needed"),
    "a column twice": (
        lambda: pa.table([["https://a"], ["x"], ["y"]], names=["origin", "robots", "robots"]),
        "one column 'robots'",
    ),
    "numbers": (lambda: pa.table({"origin": ["https://a"], "robots": [1]}), "robots: not a column"),
    "no rows": (
        lambda: pa.schema({"origin": pa.string(), "robots": pa.int8()}).empty_table(),
        "robots: not a column",
    ),
    "a dictionary": (
        lambda: pa.table({"origin": pa.array(["https://a"]).dictionary_encode(), "robots": ["x"]}),
        "origin: dictionary-encoded",
    ),
    "a column": (lambda: column(SOME), "a column, not a table"),
    "a polars series": (lambda: pl.Series(["x"]), "a column, not a table"),
    "a dict": (lambda: FILES, "not Arrow data: dict"),
    "nothing": (lambda: None, "not Arrow data: NoneType"),
}


@pytest.mark.parametrize("name", NOT_FILES)
@both_ways
def test_what_is_no_table_of_files_is_a_type_error(name: str) -> None:
    """The message names the column."""
    make, message = NOT_FILES[name]
    with pytest.raises(TypeError, match=message):
        arrow.policies(make(), "MyBot")


@both_ways
def test_an_origin_of_a_table_that_is_no_url_is_invalid() -> None:
    """A file that no URL could ever reach is a mistake."""
    with pytest.raises(InvalidURL):
        arrow.policies(pa.table({"origin": ["a.example"], "robots": [""]}), "MyBot")


# Answers.

SIZES = [*range(18), *(n + d for n in (64, 128, 512, 1_024, 4_096) for d in (-1, 0, 1))]


def some_answers(size: int, seed: object = "") -> arrow.Answers:
    rng = random.Random(f"{SEED} {size} {seed}")
    codes = rng.choice([(0, 1, 2), (0, 1), (2,), (1,)])
    return arrow.Answers(bytes(rng.choices(codes, k=size)))


@pytest.mark.parametrize("size", SIZES)
@both_ways
def test_answers_are_an_arrow_array_of_booleans(size: int) -> None:
    """Every bit is in its place, whatever the length, in pyarrow, polars, pandas and DuckDB."""
    answers = some_answers(size)
    array = pa.array(answers)
    array.validate(full=True)
    assert array.type == pa.bool_()
    assert array.to_pylist() == list(answers)
    assert array.null_count == list(answers).count(None)
    assert array[size // 3 :].to_pylist() == list(answers)[size // 3 :]
    series = pl.Series(answers)
    assert series.to_list() == list(answers)
    assert series.null_count() == array.null_count
    frame = pd.DataFrame({"allowed": pd.Series(array, dtype=pd.ArrowDtype(pa.bool_()))})
    assert pa.table(frame)["allowed"].to_pylist() == list(answers)
    assert [None if each is None else bool(each) for each in pd.Series.from_arrow(answers)] == list(
        answers
    )
    counted = duckdb.from_arrow(pa.table({"allowed": array})).aggregate(
        "count(*), count(allowed), count(*) filter (allowed)"
    )
    codes = list(answers)
    assert counted.fetchall() == [(size, size - codes.count(None), codes.count(True))]


@both_ways
def test_answers_go_back_beside_their_urls(policy: Policy) -> None:
    """The recipes: a column more, in each library."""
    texts = ["https://h.example/", None, "https://h.example/a"]
    frame = pl.DataFrame({"url": texts})
    frame = frame.with_columns(allowed=pl.Series(arrow.allowed(frame["url"], policy)))
    assert frame["allowed"].to_list() == [True, None, False]
    table = pa.table({"url": texts})
    table = table.append_column("allowed", pa.array(arrow.allowed(table["url"], policy)))
    assert duckdb.from_arrow(table).filter("allowed").fetchall() == [("https://h.example/", True)]
    pandas = pd.DataFrame({"url": texts})
    pandas["allowed"] = pd.Series.from_arrow(arrow.allowed(pandas["url"], policy))
    assert pandas["allowed"].tolist() == [True, None, False]


def test_answers_say_what_they_are() -> None:
    """Length, order and a summary."""
    answers = arrow.Answers(bytes([1, 0, 2, 1]))
    assert list(answers) == [True, False, None, True]
    assert repr(answers) == "Answers(2 allowed, 1 disallowed, 1 unknown)"


@both_ways
def test_what_was_exported_needs_nobody() -> None:
    """The array outlives the answers, and may be released in another thread."""
    kept: list[Any] = [pa.array(some_answers(10_000, n)) for n in range(20)]
    expected = [list(some_answers(10_000, n)) for n in range(20)]
    gc.collect()

    def read_and_drop(n: int) -> bool:
        same: bool = kept[n].to_pylist() == expected[n]
        kept[n] = None
        return same

    assert run_in_threads(20, read_and_drop) == [True] * 20
    exported = some_answers(10_000, 0).__arrow_c_array__()
    array = pa.Array._import_from_c_capsule(*exported)
    del exported
    assert array.to_pylist() == expected[0]


def resident() -> int:
    """Bytes of memory this process has."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_exports_leak_nothing(way: str) -> None:
    """A thousand exports, consumed or not, take no memory in the end."""
    answers = arrow.Answers(bytes([1, 0, 2, 1]) * (250_000 if way == "kernel" else 1_000))
    exports: list[Callable[[], object]] = [
        answers.__arrow_c_array__,
        lambda: pa.array(answers),
        lambda: pa.DataType._import_from_c_capsule(answers.__arrow_c_array__()[0]),
    ]
    for each in exports:
        each()
    gc.collect()
    before, allocated = resident(), pa.total_allocated_bytes()
    for _ in range(350):
        for each in exports:
            each()
    gc.collect()
    # A quarter of a megabyte each: leaked by one way of three, 87 MB.
    assert resident() - before < 60_000_000
    assert pa.total_allocated_bytes() == allocated


# What comes in: how long it lives, and what fails.


@both_ways
def test_input_is_released(policy: Policy) -> None:
    """A thousand columns and streams later, pyarrow holds no more memory than before."""
    values = SOME * 20
    sites = {"https://h.example": policy}
    for make in FORMS.values():  # what pyarrow keeps for itself, it keeps from now on
        arrow.allowed(make(values, "string", (100, 200)), policy)
    gc.collect()
    before = pa.total_allocated_bytes()
    for n in range(125):
        for make in FORMS.values():
            arrow.allowed(make(values, KINDS[n % 6], (n, 2 * n, 300)), sites if n % 2 else policy)
        with pytest.raises(TypeError):
            arrow.allowed(pa.array([n]), policy)
        with pytest.raises(TypeError):
            arrow.allowed(pa.chunked_array([[n], [n]]), policy)
        arrow.policies(pa.table(FILES), "MyBot")
        with pytest.raises((OSError, ValueError)):
            arrow.allowed(failing(2), policy)
    gc.collect()
    assert pa.total_allocated_bytes() == before


class Vanishing:
    """Data that is gone as soon as it was handed over."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        stream: object = self.data.__arrow_c_stream__()
        del self.data
        gc.collect()
        return stream


@both_ways
def test_a_producer_may_go_away(policy: Policy) -> None:
    """What was handed over is enough."""
    data = Vanishing(chunked(SOME, "string_view", (3, 7)))
    assert list(arrow.allowed(data, policy)) == one_by_one(policy, SOME)
    assert list(arrow.allowed(pl.Series(["/a", "/b"]), policy)) == [False, True]


def failing(after: int) -> Any:
    """A stream that ends with an error."""

    def batches() -> Iterator[Any]:
        for _ in range(after):
            yield pa.record_batch({"url": ["/a", "/b"]})
        raise RuntimeError("the disk is gone")

    return pa.RecordBatchReader.from_batches(pa.schema({"url": pa.string()}), batches())


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_stream_that_fails_says_why(after: int, policy: Policy, way: str) -> None:
    """No answers are made of half a column."""
    with pytest.raises(
        OSError if way == "kernel" else (OSError, ValueError), match="the disk is gone"
    ):
        arrow.allowed(failing(after), policy)


def in_time(work: Callable[[], Any]) -> Any:
    """What a thread returns, which must not wait for ever."""
    found: Future[Any] = Future()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return found.result(60)


@both_ways
def test_a_stream_may_be_made_by_python(policy: Policy) -> None:
    """A generator behind a stream gets the GIL, and may ask the same policy meanwhile."""

    def batches() -> Iterator[Any]:
        for n in range(50):
            found = in_time(lambda: list(arrow.allowed(pa.array(["/a", "/b"]), policy)))
            assert found == [False, True]
            yield pa.record_batch({"url": column([b"/a"] * n)})

    stream = pa.RecordBatchReader.from_batches(pa.schema({"url": pa.string()}), batches())
    assert in_time(lambda: list(arrow.allowed(stream, policy))) == [False] * sum(range(50))


@both_ways
def test_a_stream_may_need_the_gil_in_threads_of_its_own(policy: Policy) -> None:
    """DuckDB calls a Python function in its threads while the stream is read."""
    with duckdb.connect(config={"threads": 4}) as connection:
        connection.create_function("path_of", lambda n: f"/{'ab'[n % 2]}", ["bigint"], "varchar")
        relation = connection.sql("select path_of(range) as url from range(20000)")
        answers = list(in_time(lambda: arrow.allowed(relation, policy)))
        assert (answers.count(False), answers.count(True)) == (10_000, 10_000)


WAITING = """
#include <unistd.h>
volatile int waiting, go;
int wait_for_python(void *stream, void *target) {
    waiting = 1;
    for (int n = 0; n < 20000 && !go; n++) usleep(1000);
    return go ? 0 : 35;  /* EDEADLK */
}
"""


@needs_kernel
@pytest.mark.skipif(not LINKER or shutil.which(LINKER[0]) is None, reason="no C compiler")
@pytest.mark.parametrize("method", ["get_schema", "get_next"])
def test_the_gil_is_free_while_a_stream_works(method: str, tmp_path: Path, policy: Policy) -> None:
    """A producer in C may wait for a thread that runs Python."""
    source = tmp_path / "waiting.c"
    source.write_text(WAITING, "ascii")
    library = ctypes.CDLL(str(build(source, "waiting", [])))
    waiting, go = (ctypes.c_int.in_dll(library, name) for name in ("waiting", "go"))

    def help_it() -> None:
        while not waiting.value:
            time.sleep(0.001)
        go.value = 1

    stream = RawStream([good()])
    pointer = ctypes.cast(library.wait_for_python, type(stream.stream.get_next))
    setattr(stream.stream, method, pointer)
    helper = threading.Thread(target=help_it)
    helper.start()
    if method == "get_next":  # nothing comes
        assert list(arrow.allowed(stream, policy)) == []
    else:
        with pytest.raises(ValueError, match="schema"):
            arrow.allowed(stream, policy)
    helper.join()


class Once:
    """Data that hands out the same capsules again and again."""

    def __init__(self, data: Any) -> None:
        is_array = hasattr(data, "__arrow_c_array__")
        self.method = "__arrow_c_array__" if is_array else "__arrow_c_stream__"
        self.capsules = getattr(data, self.method)()

    def __getattr__(self, name: str) -> Any:
        if name != self.method:
            raise AttributeError(name)
        return lambda: self.capsules


@needs_kernel
@pytest.mark.parametrize("form", ["array", "chunks"])
def test_what_was_consumed_is_refused(form: str, policy: Policy) -> None:
    """The second call finds nothing there, whether we or somebody else was first."""
    data: Any = Once(FORMS[form](SOME, "string", (3, 7)))
    assert list(arrow.allowed(data, policy)) == one_by_one(policy, SOME)
    with pytest.raises(ValueError, match="consumed"):
        arrow.allowed(data, policy)
    data = Once(FORMS[form](SOME, "string", (3, 7)))
    if form == "array":
        pa.Array._import_from_c_capsule(*data.capsules)
    else:
        pa.ChunkedArray._import_from_c_capsule(data.capsules)
    with pytest.raises(ValueError, match=r"consumed|released"):
        arrow.allowed(data, policy)


@both_ways
def test_a_reader_that_was_read_is_empty(policy: Policy) -> None:
    """A pyarrow reader gives its batches once, as it does to pyarrow."""
    stream = reader(SOME, "string", (3, 7))
    assert len(arrow.allowed(stream, policy)) == len(SOME)
    assert len(arrow.allowed(stream, policy)) == 0


# Structures that contradict themselves.


def broken(made: Raw, **changes: object) -> Raw:
    """With an array that is not what it was."""
    for name, value in changes.items():
        setattr(made.array, name, value)
    return made


def changed(made: Raw, **changes: object) -> Raw:
    """With a schema that is not what it was."""
    for name, value in changes.items():
        setattr(made.schema, name, value)
    return made


def good() -> Raw:
    return raw.offsets([0, 2, 4], b"/a/b")


def released(made: Raw, part: str) -> Raw:
    getattr(made, part).release = type(getattr(made, part).release)()
    return made


def without_buffer(number: int, made: Raw) -> Raw:
    """One of the pointers is null."""
    addresses = (ctypes.c_void_p * made.array.n_buffers).from_address(made.array.buffers)
    addresses[number] = None
    return made


def null_child(made: Raw, part: str) -> Raw:
    ctypes.c_void_p.from_address(getattr(made, part).children).value = None
    return made


LONG = b"https://h.example/private/x"
HOSTILE: dict[str, Callable[[], Any]] = {
    "a negative length": lambda: broken(good(), length=-1),
    "a very negative length": lambda: broken(good(), length=-(2**63)),
    "a negative offset": lambda: broken(good(), offset=-1),
    "too few buffers": lambda: broken(good(), n_buffers=2),
    "no buffers": lambda: broken(good(), n_buffers=0),
    "a negative number of buffers": lambda: broken(good(), n_buffers=-1),
    "no array of buffers": lambda: broken(good(), buffers=None),
    "no offsets": lambda: without_buffer(1, good()),
    "no texts": lambda: without_buffer(2, good()),
    "decreasing offsets": lambda: raw.offsets([0, 4, 2], b"/a/b"),
    "offsets that leave and come back": lambda: raw.offsets([0, 400_000_000, 4], b"/a/b"),
    "large offsets that come back": lambda: raw.offsets([0, 2**62, 4], b"/a/b", b"U"),
    "negative offsets": lambda: raw.offsets([-40_000_000, 2, 4], b"/a/b"),
    "the smallest offset": lambda: raw.offsets([-(2**63), 2**63 - 1], b"/a/b", b"Z"),
    "all offsets negative": lambda: raw.offsets([-40_000_000, -39_999_999], b"/a/b"),
    "a view of no buffer": lambda: raw.views([raw.view(27, 1, 0)], LONG),
    "a view of a negative buffer": lambda: raw.views([raw.view(27, -1, 0)], LONG),
    "a view without buffers": lambda: raw.views([raw.view(27, 0, 0)]),
    "a view past the end": lambda: raw.views([raw.view(27, 0, 1)], LONG),
    "a view far past the end": lambda: raw.views([raw.view(2**31 - 1, 0, 2**31 - 1)], LONG),
    "a view before the beginning": lambda: raw.views([raw.view(27, 0, -1)], LONG),
    "a view of negative size": lambda: raw.views([raw.view(-1, 0, 0)], LONG),
    "a view of the smallest size": lambda: raw.views([raw.view(-(2**31), 0, 0)], LONG),
    "views without sizes": lambda: without_buffer(3, raw.views([raw.view(27, 0, 0)], LONG)),
    "views without texts": lambda: without_buffer(2, raw.views([raw.view(27, 0, 0)], LONG)),
    "no views": lambda: without_buffer(1, raw.views([raw.view(27, 0, 0)], LONG)),
    "views with few buffers": lambda: broken(raw.views([raw.view(27, 0, 0)], LONG), n_buffers=2),
    "a dictionary": lambda: changed(good(), dictionary=ctypes.addressof(good().schema)),
    "an unknown format": lambda: changed(good(), format=b"tdD"),
    "an empty format": lambda: changed(good(), format=b""),
    "a format that is no text": lambda: changed(good(), format=b"\xff"),
    "no format": lambda: changed(good(), format=None),
    "a released array": lambda: released(good(), "array"),
    "a released schema": lambda: released(good(), "schema"),
    "a table of negative length": lambda: broken(raw.table(2, good()), length=-1),
    "a table at a negative offset": lambda: broken(raw.table(2, good()), offset=-1),
    "a table longer than its column": lambda: raw.table(3, good()),
    "a table far behind its column": lambda: broken(raw.table(2, good()), offset=3),
    "a table without its column": lambda: broken(raw.table(2, good()), n_children=0),
    "a table with a null column": lambda: null_child(raw.table(2, good()), "array"),
    "a table with a null schema": lambda: null_child(raw.table(2, good()), "schema"),
    "a table without columns": lambda: broken(raw.table(2, good()), children=None),
    "a schema without columns": lambda: changed(raw.table(2, good()), children=None),
    "a schema of few columns": lambda: changed(raw.table(2, good()), n_children=-1),
    "a table of a released column": lambda: raw.table(2, released(good(), "array")),
    "a table of broken offsets": lambda: raw.table(2, raw.offsets([0, 4, 2], b"/a/b")),
    "a table of tables": lambda: raw.table(2, raw.table(2, good())),
}


@needs_kernel
@pytest.mark.parametrize("name", HOSTILE)
def test_a_structure_that_contradicts_itself_is_refused(name: str, policy: Policy) -> None:
    """Alone, in a stream and by origin: an error, and everything is released once."""
    for answerer in (policy, {"https://h.example": policy}):
        data = HOSTILE[name]()
        ours = bool(data.array.release)
        with pytest.raises((TypeError, ValueError)):
            arrow.allowed(data, answerer)
        assert data.released == (ours and not data.array.release)  # once it was taken
        stream = RawStream([HOSTILE[name]()])
        if name != "a released array":  # the end of a stream
            with pytest.raises((TypeError, ValueError)):
                arrow.allowed(stream, answerer)
        assert stream.released == (name != "a released array")
        assert stream.chunks[0].released <= 1


@needs_kernel
def test_a_table_that_contradicts_itself_is_refused() -> None:
    """The same for the files of sites."""
    for make in HOSTILE.values():
        origins, bodies = good(), make()
        origins.schema.name, bodies.schema.name = b"origin", b"robots"
        with pytest.raises((TypeError, ValueError)):
            arrow.policies(raw.table(2, origins, bodies), "MyBot")


@needs_kernel
def test_columns_without_names_are_columns(policy: Policy) -> None:
    """A table's only column may have no name, or one that is no text."""
    for name in (None, b"", b"\xff"):
        unnamed = changed(good(), name=name)
        assert list(arrow.allowed(raw.table(2, unnamed), policy)) == [False, True]
    with pytest.raises(TypeError, match="'origin' is needed"):
        arrow.policies(
            raw.table(2, changed(good(), name=None), changed(good(), name=None)), "MyBot"
        )


@needs_kernel
def test_structures_at_their_limits_are_read(policy: Policy) -> None:
    """What the interface permits: nulls unknown, no memory for empty texts, no offsets for none."""
    empty = raw.offsets([0, 0, 0], b"")
    assert list(arrow.allowed(without_buffer(2, empty), policy)) == [None, None]
    nothing = broken(raw.offsets([0], b""), length=0)
    assert list(arrow.allowed(without_buffer(1, nothing), policy)) == []
    whole = good()
    assert list(arrow.allowed(whole, policy)) == [False, True]
    assert whole.released == 1
    end = raw.views([raw.view(26, 0, 1), raw.view(27, 0, 0)], LONG)
    assert list(arrow.allowed(end, policy)) == [None, False]  # `ttps:` is no URL


class Nonsense:
    """Says that it is Arrow data, and is not."""

    def __init__(self, result: object, method: str) -> None:
        setattr(self, method, lambda: result)


def nonsense() -> list[tuple[str, object]]:
    schema, array = good().__arrow_c_array__()
    stream = RawStream([good()]).__arrow_c_stream__()
    pairs: list[object] = [
        *(None, 5, "ab", (), (None,), (None, None), (1, 2), (schema,), (schema, array, array)),
        *((array, schema), (schema, schema), (schema, stream), [None, array], iter(()), b"ab"),
    ]
    streams: list[object] = [None, 5, "ab", (), schema, array, (stream,), b"ab"]
    return [("array", each) for each in pairs] + [("stream", each) for each in streams]


@needs_kernel
@pytest.mark.parametrize("number", range(len(nonsense())))
def test_nonsense_instead_of_capsules_is_refused(number: int, policy: Policy) -> None:
    """Wrong names, wrong numbers of capsules, and what is none."""
    kind, result = nonsense()[number]
    with pytest.raises((TypeError, ValueError)):
        arrow.allowed(Nonsense(result, f"__arrow_c_{kind}__"), policy)  # type: ignore[arg-type]


@both_ways
def test_an_error_of_the_producer_is_passed_on(policy: Policy) -> None:
    """What the methods raise is what the caller sees."""

    class Failing:
        def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
            raise LookupError("not today")

    with pytest.raises(LookupError, match="not today"):
        arrow.allowed(Failing(), policy)


@needs_kernel
@pytest.mark.parametrize("said", [b"out of paper", None, b"\xff"])
def test_errors_of_a_stream_have_number_and_message(said: bytes | None, policy: Policy) -> None:
    """Also where the producer has nothing to say; what came before is released."""
    stream = RawStream([good(), good()], error=5, said=said)
    with pytest.raises(
        OSError, match="out of paper" if said == b"out of paper" else "failed"
    ) as caught:
        arrow.allowed(stream, policy)
    assert caught.value.errno == 5
    assert [stream.released, *(each.released for each in stream.chunks)] == [1, 1, 1]
    stream = RawStream([good()], said=said)
    stream.schema_error = 22
    with pytest.raises(OSError, match="failed"):
        arrow.allowed(stream, policy)
    assert (stream.released, stream.asked) == (1, 0)


# Threads, and what is not made.


@needs_kernel
def test_other_threads_run_meanwhile() -> None:
    """Another thread counts on while a column is checked; nobody is made to give way.

    The column is made by hand: pyarrow lets other threads run while it hands over its own.
    """
    rules = "".join(f"Disallow: /*{'a*' * 40}{n}b$\n" for n in range(200))
    slow = manners.parse(f"User-agent: *\n{rules}").policy("bot")
    asked = [f"https://h/{'a' * 900}{n}b" for n in range(2_000)]
    places = [0, *accumulate(map(len, asked))]
    made = [raw.offsets(places, "".join(asked).encode()) for _ in range(20)]
    sites = {"https://h": slow}
    with another_thread() as progress:
        assert progress(lambda: [slow.allowed(url) for url in asked]) == 0
        assert any(progress(partial(arrow.allowed, data, slow)) for data in made[:10])
        assert any(progress(partial(arrow.allowed, data, sites)) for data in made[10:])


@both_ways
@pytest.mark.parametrize("dialect", ["rfc9309", "google", "robotrules", EVERY[-8].name])
def test_a_policy_answers_for_columns_in_many_threads(dialect: str) -> None:
    """Threads that share a policy, nobody having asked it before, get what one alone gets."""
    rules = "".join(f"Disallow: /*é{n}x\n" for n in range(300))
    asked = ["/" + "é" * 100 + end for end in ("299x", "", "299")] * 20
    data, made = pa.array(asked), BY_NAME[dialect]
    alone = manners.parse(f"User-agent: *\n{rules}", made, "http://h/robots.txt").policy("bot")
    expected = [alone.allowed(url) for url in asked]
    for _ in range(5):
        shared = manners.parse(f"User-agent: *\n{rules}", made, "http://h/robots.txt").policy("bot")
        sites = {"http://h": shared}
        there = pa.array(["http://h" + url for url in asked])

        def ask(
            n: int, shared: Policy = shared, sites: dict[str, Policy] = sites, there: Any = there
        ) -> list[bool | None]:
            if n % 4 == 0:
                return list(arrow.allowed(data, shared))
            if n % 4 == 1:
                return list(arrow.allowed(there, sites))
            if n % 4 == 2:
                return [shared.allowed(url) for url in asked]
            return [*shared.allowed_many(asked)]

        with switch_interval(1e-6):
            assert run_in_threads(8, ask) == [expected] * 8


@needs_kernel
def test_no_strings_are_made_of_ordinary_rows(policy: Policy) -> None:
    """A few bytes for each row, and no call for text; a row that needs one shows that it counts."""
    made = [f"https://h{n % 50}.example/{'private' if n % 3 else 'ü'}/{n}" for n in range(200_000)]
    sites = {f"https://h{n}.example": policy for n in range(50)}
    columns = [pa.array(made), pl.Series(made), pa.array(made, pa.large_string())]
    del made
    calls = 0

    def counting(data: bytes) -> str:
        nonlocal calls
        calls += 1
        return to_text(data)

    _compiled.kernel.connect(to_text=counting)
    try:
        for data in columns:
            for answerer in (policy, sites):
                tracemalloc.start()
                answers = arrow.allowed(data, answerer)
                _, peak = tracemalloc.get_traced_memory()
                tracemalloc.stop()
                assert peak < 4 * len(answers)
        assert calls == 0
        arrow.allowed(pa.array(["https://H1.example/"] * 7), sites)
        assert calls == 7
    finally:
        _compiled.kernel.connect(to_text=to_text)


# Which libraries are needed.

WITHOUT_PYARROW = """
import json, sys
sys.modules["pyarrow"] = None
import manners, polars
from manners.compat import arrow
policy = manners.parse("User-agent: *\\nDisallow: /a").policy("MyBot")
def told(work):
    try:
        return work()
    except manners.errors.MissingExtra as error:
        return str(error)
files = polars.DataFrame({"origin": ["https://h"], "robots": ["x"]})
print(json.dumps([
    told(lambda: list(arrow.allowed(polars.Series(["/a", "/b", None]), policy))),
    told(lambda: list(arrow.policies(files, "MyBot"))),
    told(lambda: polars.Series(arrow.Answers(bytes([1, 0, 2]))).to_list()),
]))
"""


def without_pyarrow(**environment: str) -> Any:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYARROW],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_without_the_kernel_pyarrow_is_needed() -> None:
    """The error names what to install."""
    told = without_pyarrow(MANNERS_PURE="1")
    assert told == [str(MissingExtra("pyarrow", "arrow"))] * 3
    assert "manners[arrow]" in told[0]


@needs_kernel
def test_with_the_kernel_nothing_is_needed() -> None:
    """The kernel reads and writes Arrow memory by itself."""
    told = without_pyarrow(MANNERS_PURE="0")
    assert told == [[False, True, None], ["https://h"], [True, False, None]]


ANSWERS = """
import json, sys
import manners, pyarrow
from manners.compat import arrow
from tests.compat.test_arrow import SITES, column, written_urls
policy = manners.parse(sys.argv[1]).policy("MyBot")
answers = [list(arrow.allowed(column(written_urls()), each)) for each in (SITES, policy)]
print(json.dumps([manners.KERNEL, answers]))
"""


@needs_kernel
def test_both_engines_give_one_answer() -> None:
    """A process without the kernel answers what this one does."""
    ran = subprocess.run(
        [sys.executable, "-c", ANSWERS, BODY],
        env={**os.environ, "MANNERS_PURE": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    policy = manners.parse(BODY).policy("MyBot")
    data = column(written_urls())
    ours = [list(arrow.allowed(data, each)) for each in (SITES, policy)]
    assert json.loads(ran.stdout) == ["python", ours]

"""A run over files gives every row the answer of `check`, whatever the files, memory and parts."""

import json
import random
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import manners
from manners import bulk
from tests.bulk.truth import (
    ADDED,
    LITTLE,
    Record,
    Truth,
    Value,
    archive,
    assert_rows,
    column,
    heavy_world,
    input_table,
    pa,
    parquet,
    plain_schema,
    rows,
    with_answers,
    world,
    written_table,
)
from tests.sizes import seed

SEED = seed("BULK_SEED")
COUNT = 900


@cache
def asked() -> list[Value]:
    return rows(SEED, COUNT)


@cache
def given() -> Any:
    return input_table(asked())


@cache
def expected() -> Any:
    return with_answers(given(), Truth(world()).answers(asked()))


class Files:
    """The inputs of runs, in a folder, and a place for their output."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.urls, self.robots = folder / "urls.parquet", folder / "robots.parquet"
        parquet.write_table(given(), self.urls, row_group_size=130)
        parquet.write_table(archive(world()), self.robots, row_group_size=20)
        self.out = folder / "out"

    def run(self, out: str = "out.parquet", **options: Any) -> Any:
        """Runs, and reads what was written."""
        place = self.folder / out
        options = {"agent": "MyBot", "urls": self.urls, "robots": self.robots, **options}
        bulk.run(options.pop("urls"), options.pop("robots"), place, **options)
        return written_table(place)

    def in_order(self, order: str) -> Path:
        """The same URLs, shuffled or grouped by site."""
        numbers = list(range(COUNT))
        if order == "shuffled":
            random.Random(f"{SEED} order").shuffle(numbers)
        else:
            numbers.sort(key=lambda at: str(asked()[at]).lower().split("host")[-1][:3])
        place = self.folder / f"{order}.parquet"
        parquet.write_table(given().take(numbers), place, row_group_size=70)
        return place


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive that does not fit into little memory."""
    place: Path = tmp_path_factory.mktemp("heavy") / "robots.parquet"
    parquet.write_table(archive(heavy_world()), place, row_group_size=10, compression="zstd")
    return place


# Rows and columns.


def test_every_row_has_the_answer_of_check(files: Files) -> None:
    """And every column of the input, with its type and its values, in the order of the input."""
    found = files.run()
    assert_rows(found, expected())
    assert found.schema.names == [*given().schema.names, *ADDED]
    assert found.column("id").to_pylist() == list(range(COUNT))


@pytest.mark.parametrize(
    ("order", "memory"), [("shuffled", LITTLE), ("grouped", LITTLE), ("shuffled", 2**30)]
)
def test_order_and_memory_change_no_row(files: Files, heavy: Path, order: str, memory: int) -> None:
    """URLs grouped by site or not, sites that fit into memory or not: the same rows."""
    urls = files.in_order(order)
    assert_rows(files.run(urls=urls, robots=heavy, memory=memory), expected())


@pytest.mark.parametrize("parts", [1, 7, 64])
def test_the_number_of_parts_changes_no_row(files: Files, heavy: Path, parts: int) -> None:
    """Each part is one file of a folder, named by its number."""
    robots = heavy if parts == 7 else files.robots
    found = files.run("out", parts=parts, robots=robots, memory=LITTLE)
    assert_rows(found, expected())
    names = sorted(path.name for path in files.out.glob("part-*"))
    assert names == [f"part-{number:05}-of-{parts:05}.parquet" for number in range(parts)]


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_change_no_row(files: Files, threads: int) -> None:
    """However many parts or batches are worked on at a time."""
    assert_rows(files.run(threads=threads), expected())
    assert_rows(files.run("out", threads=threads, parts=5), expected())


def test_several_files_are_one_input(files: Files) -> None:
    """A list of places, a glob and a folder, on both sides; files without a row among them."""
    for folder, table in (("u", given()), ("r", archive(world()))):
        (files.folder / folder).mkdir()
        for at, start in enumerate(range(0, table.num_rows, table.num_rows // 3 + 1)):
            part = table.slice(start, table.num_rows // 3 + 1)
            parquet.write_table(part, files.folder / folder / f"{at}.parquet")
        parquet.write_table(table.slice(0, 0), files.folder / folder / "9.parquet")
    urls, robots = files.folder / "u", files.folder / "r"
    assert_rows(files.run("a.parquet", urls=urls, robots=robots), expected())
    assert_rows(
        files.run("b.parquet", urls=f"{urls}/*.parquet", robots=f"{robots}/*.parquet"), expected()
    )
    lists = {"urls": sorted(urls.iterdir()), "robots": sorted(robots.iterdir())}
    assert_rows(files.run("c.parquet", **lists), expected())


def test_partitions_are_columns(files: Files) -> None:
    """Hive partitions of the input are columns of the output."""
    from pyarrow import dataset

    root = files.folder / "cc"
    half = COUNT // 2
    for name, part in (("warc", given().slice(0, half)), ("robotstxt", given().slice(half))):
        place = root / "crawl=CC-MAIN-2026-40" / f"subset={name}"
        place.mkdir(parents=True)
        parquet.write_table(part, place / "part-0.parquet")
    source = dataset.dataset(root, partitioning="hive")
    found = files.run(urls=root)
    assert plain_schema(found.select(source.schema.names)) == plain_schema(source)
    subsets = dict(zip(*(found.column(name).to_pylist() for name in ("id", "subset")), strict=True))
    assert subsets == {at: "warc" if at < half else "robotstxt" for at in range(COUNT)}
    assert_rows(found.drop_columns(["crawl", "subset"]), expected())
    kept = files.run("b.parquet", urls=root, keep=["id", "subset"], parts=3)
    assert kept.schema.names == ["id", "subset", *ADDED]


def test_only_the_columns_asked_for_are_kept(files: Files) -> None:
    """`keep` names columns of the input; the URL is one of them, and need not be kept."""
    assert_rows(files.run("a.parquet", keep=["id"]), expected().select(["id", *ADDED]))
    assert_rows(files.run("b.parquet", keep=["url"]), expected().select(["url", *ADDED]))
    assert_rows(files.run("c.parquet", keep=[]), expected().select(list(ADDED)))
    with pytest.raises(manners.MannersError, match="no-such"):
        files.run("d.parquet", keep=["id", "no-such"])
    assert not (files.folder / "d.parquet").exists()


@pytest.mark.parametrize(("only", "value"), [("allowed", True), ("disallowed", False)])
def test_only_writes_these_rows(files: Files, only: str, value: bool) -> None:
    """What is undecided is neither; the summary counts every row that was asked."""
    wanted = [answer is value for answer in expected().column("allowed").to_pylist()]
    assert_rows(files.run(only=only), expected().filter(pa.array(wanted)))
    assert_rows(files.run("out", only=only, parts=3), expected().filter(pa.array(wanted)))


@pytest.mark.parametrize("wrong", ["undecided?", "", "Allowed "])
def test_another_word_for_only_is_an_error(files: Files, wrong: str) -> None:
    """It would be a filter that nobody meant."""
    with pytest.raises((manners.MannersError, ValueError), match="only"):
        files.run(only=wrong)


def test_several_agents_are_one_row_each(files: Files) -> None:
    """A row for each URL and agent, with a column `agent`; each agent's own answers."""
    agents = ["MyBot", "OtherBot", "Googlebot/2.1"]
    for out, options in (("a.parquet", {}), ("out", {"parts": 5})):
        found = files.run(out, agent=agents, **options)
        assert found.num_rows == COUNT * len(agents)
        for agent in agents:
            own = found.filter(pa.array([each == agent for each in found["agent"].to_pylist()]))
            answers = Truth(world(), agent).answers(asked())
            assert_rows(own.drop_columns(["agent"]), with_answers(given(), answers))


@pytest.mark.parametrize(
    ("dialect", "profile"), [("google", "google"), ("robotrules", "rfc9309"), ("scanner", "open")]
)
def test_dialect_and_profile_are_those_asked_for(files: Files, dialect: str, profile: str) -> None:
    """In memory and in buckets."""
    answers = Truth(world(), "MyBot", dialect, profile).answers(asked())
    right = with_answers(given(), answers)
    assert_rows(files.run(dialect=dialect, profile=profile), right)
    options = {"dialect": dialect, "profile": profile, "parts": 4}
    assert_rows(files.run("out", **options), right)


def test_another_column_may_have_the_urls(files: Files) -> None:
    """By its name; one that is not there is named, with those that are."""
    renamed = files.folder / "renamed.parquet"
    table = given().rename_columns([name.replace("url", "page") for name in given().schema.names])
    parquet.write_table(table, renamed)
    found = files.run(urls=renamed, column="page")
    assert found.column("reason").to_pylist() == expected().column("reason").to_pylist()
    with pytest.raises(manners.MannersError, match="page") as raised:
        files.run("b.parquet", urls=renamed)
    assert "'url'" in str(raised.value) or "url" in str(raised.value).split()
    assert not (files.folder / "b.parquet").exists()


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary", "dictionary"])
def test_the_type_of_the_url_column_is_kept(files: Files, kind: str) -> None:
    """And changes no answer: in memory, and through buckets."""
    data = column(asked()).dictionary_encode() if kind == "dictionary" else column(asked(), kind)
    place = files.folder / "typed.parquet"
    parquet.write_table(pa.table({"url": data}), place)
    right = with_answers(pa.table({"url": data}), Truth(world()).answers(asked()))
    if kind == "dictionary":
        right = right.set_column(0, "url", column(asked()))
    assert_rows(files.run(urls=place), right)
    assert_rows(files.run("out", urls=place, parts=3), right)


TEXTS = [
    *("https://host0.example/private/a", "https://host0.example/", "n/a", "NA", "null", "nan"),
    *(
        "https://host0.example/a,b.pdf",
        'https://host1.example/private/"x"',
        "https://host1.example/é",
    ),
    *(
        "https://host4.example/x",
        "https://host5.example/x",
        "https://nowhere.example/",
        "1",
        "true",
    ),
    *("HTTPS://HOST0.example:443/private/a b", "https://host11.example/private/11", "/private/a"),
]

OTHERS: dict[str, Any] = {
    "decimals": pa.array([Decimal("1.5"), None, Decimal("-2.5")]),
    "structs": pa.array([{"a": 1, "b": ["x"]}, None, {"a": 2, "b": []}]),
    "maps": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "nanoseconds": pa.array([1, None, 3], pa.timestamp("ns")),
    "days": pa.array([1, None, 3], pa.date32()),
    "small numbers": pa.array([1, None, 255], pa.uint8()),
    "yes and no": pa.array([True, None, False]),
    "lists": pa.array([[1, None], None, []], pa.large_list(pa.int32())),
    "fixed bytes": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "words": pa.array(["a", None, "a"]).dictionary_encode(),
    "nothing": pa.nulls(3),
    "views": pa.array(["a", None, "b" * 40], pa.string_view()),
    "views of bytes": pa.array([b"a", None, b"b" * 40], pa.binary_view()),
    "lists of views": pa.array([["a"], None, ["b" * 40]], pa.list_(pa.string_view())),
}


RARE = ("nothing", "views", "views of bytes", "lists of views")
"""For which pyarrow lacks some functions: each by itself."""


@pytest.mark.parametrize("kinds", [sorted(OTHERS.keys() - set(RARE)), *([kind] for kind in RARE)])
def test_columns_of_any_type_are_kept(files: Files, kinds: list[str]) -> None:
    """In memory and through buckets, with their values."""
    place = files.folder / "typed.parquet"
    parquet.write_table(
        pa.table({"url": TEXTS[:3], **{each: OTHERS[each] for each in kinds}}), place
    )
    right = with_answers(written_table(place), Truth(world()).answers(TEXTS[:3]))
    assert_rows(files.run(urls=place), right)
    assert_rows(files.run("out", urls=place, parts=3), right)
    bulk.run(place, files.robots, files.folder / "out.jsonl", agent="MyBot")
    lines = (files.folder / "out.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["url"] for line in lines] == TEXTS[:3]


@pytest.mark.parametrize("kind", ["structs", "maps", "lists"])
def test_what_csv_has_no_words_for_is_named(files: Files, kind: str) -> None:
    """The error names the column."""
    place = files.folder / "typed.parquet"
    parquet.write_table(pa.table({"url": TEXTS[:3], kind: OTHERS[kind]}), place)
    with pytest.raises(manners.MannersError, match=kind):
        files.run("out.csv", urls=place)
    assert not (files.folder / "out.csv").exists()


def test_redirects_lead_through_buckets(files: Files) -> None:
    """Chains, loops and missing targets, over sites of all parts: as live, and part by part."""
    rng = random.Random(f"{SEED} webs")
    places = [f"https://w{at}.example{path}" for at in range(60) for path in ("/robots.txt", "/x")]
    rules = b"User-agent: *\nDisallow: /no"
    records = []
    for place in places:
        if rng.random() < 0.55:
            records.append(Record(place, None, 301, rng.choice(places), url=place))
        elif rng.random() < 0.8:
            records.append(Record(place, rules, rng.choice([200, 200, 404, 503]), url=place))
    table = pa.table(
        {"url": [f"https://w{at}.example/{word}" for at in range(60) for word in ("no", "yes")]}
    )
    urls, robots = files.folder / "web.parquet", files.folder / "webs.parquet"
    parquet.write_table(table, urls)
    parquet.write_table(archive(records), robots)
    right = with_answers(table, Truth(records).answers(table["url"].to_pylist()))
    for parts in (1, 5, 32):
        assert_rows(files.run(f"out{parts}", urls=urls, robots=robots, parts=parts), right)
    for number in range(5):
        bulk.run(urls, robots, files.out, agent="MyBot", part=f"{number}/5")
    assert_rows(written_table(files.out), right)


# Files of other kinds.


def text_table() -> Any:
    return pa.table({"id": list(range(len(TEXTS))), "url": TEXTS})


def write_as(kind: str, folder: Path) -> Path:
    place = folder / f"texts.{kind}"
    if kind == "parquet":
        parquet.write_table(text_table(), place)
    elif kind == "csv":
        from pyarrow import csv

        csv.write_csv(text_table(), place)
    else:
        lines = [json.dumps(row) + "\n" for row in text_table().to_pylist()]
        place.write_text("".join(lines), "utf-8")
    return place


def in_words(table: Any) -> list[dict[str, str]]:
    """Rows as text: what CSV writes as nothing is null elsewhere."""
    return [
        {name: _word(value) for name, value in row.items()}
        for row in sorted(table.to_pylist(), key=lambda row: int(row["id"]))
    ]


def _word(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


@pytest.mark.parametrize("written", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_every_kind_of_file_has_the_same_rows(files: Files, kind: str, written: str) -> None:
    """Parquet, CSV and JSON lines, in and out: the same rows, the same answers."""
    right = with_answers(text_table(), Truth(world()).answers(TEXTS))
    place = write_as(kind, files.folder)
    found = files.run(f"out.{written}", urls=place)
    assert in_words(found) == in_words(right)


@pytest.mark.parametrize("written", ["csv", "jsonl"])
def test_parts_of_every_kind_have_the_same_rows(files: Files, written: str) -> None:
    """Also where a file is put together from parts: one header, every line."""
    right = with_answers(text_table(), Truth(world()).answers(TEXTS))
    place = write_as("parquet", files.folder)
    found = files.run(f"out.{written}", urls=place, parts=5)
    assert in_words(found) == in_words(right)


def test_lines_of_text_are_urls(files: Files) -> None:
    """A text file has a URL in each line, and its column is `url`."""
    place = files.folder / "urls.txt"
    place.write_text("\n".join(TEXTS) + "\n", "utf-8")
    found = files.run(urls=place)
    right = with_answers(pa.table({"url": TEXTS}), Truth(world()).answers(TEXTS))
    assert_rows(found, right)


def test_json_lines_are_json(files: Files) -> None:
    """Null is null, true is true, a number is a number."""
    place = files.folder / "out.jsonl"
    files.run("out.jsonl", urls=write_as("parquet", files.folder))
    lines = [json.loads(line) for line in place.read_text("utf-8").splitlines()]
    answers = Truth(world()).answers(TEXTS)
    assert [[line.get(name) for name in ADDED] for line in lines] == [
        list(each) for each in answers
    ]


# What is written, and when.


def test_what_exists_is_not_overwritten(files: Files) -> None:
    """Neither a file nor a folder with parts; the error names --resume."""
    files.run()
    before = (files.folder / "out.parquet").read_bytes()
    with pytest.raises(manners.MannersError, match=r"out\.parquet"):
        files.run(agent="OtherBot")
    assert (files.folder / "out.parquet").read_bytes() == before
    files.run("out", parts=3)
    with pytest.raises(manners.MannersError, match="resume"):
        files.run("out", parts=3)


def test_nothing_is_left_behind(files: Files) -> None:
    """After a run there is the output, and nothing temporary beside or in it."""
    before = set(files.folder.iterdir())
    files.run("one.parquet", parts=3)
    files.run("two.jsonl")
    added = {path.name for path in set(files.folder.iterdir()) - before}
    assert {"one.parquet", "two.jsonl"} <= added
    assert not [name for name in added if "tmp" in name], added


def test_no_rows_are_a_file_with_columns(files: Files) -> None:
    """An input without rows is done, and has the columns that one with rows would have."""
    place = files.folder / "none.parquet"
    parquet.write_table(given().slice(0, 0), place)
    for out, options in (("a.parquet", {}), ("out", {"parts": 3})):
        found = files.run(out, urls=place, **options)
        assert plain_schema(found) == plain_schema(expected())
        assert found.num_rows == 0


def test_no_sites_are_no_answers(files: Files) -> None:
    """An archive without rows: every URL is undecided."""
    place = files.folder / "none.parquet"
    parquet.write_table(archive([]), place)
    found = files.run(robots=place)
    assert set(found.column("allowed").to_pylist()) == {None}
    assert found.num_rows == COUNT


@pytest.mark.parametrize("side", ["urls", "robots"])
def test_a_file_that_is_not_there_is_named(files: Files, side: str) -> None:
    """And one that is no Parquet, whatever its name says; nothing is written."""
    options: dict[str, Any] = {side: files.folder / "no-such.parquet"}
    with pytest.raises((manners.MannersError, FileNotFoundError), match="no-such"):
        files.run(**options)
    broken = files.folder / "broken.parquet"
    broken.write_bytes(b"PAR1 this is not one")
    options[side] = broken
    with pytest.raises(manners.MannersError, match="broken"):
        files.run(**options)
    assert not (files.folder / "out.parquet").exists()


def test_a_summary_adds_up(files: Files) -> None:
    """By answer and by reason, each sums to the rows; the counts are those of the rows."""
    summary = bulk.run(files.urls, files.robots, files.out, agent="MyBot", parts=3)
    told = summary.to_dict()
    assert told["urls"] == COUNT
    json.dumps(told)
    assert str(COUNT) in str(summary).replace(",", "")
    answers = expected().column("allowed").to_pylist()
    numbers = list(all_numbers(told))
    for value in (True, False, None):
        assert answers.count(value) in numbers, (value, told)
    reasons = expected().column("reason").to_pylist()
    for reason in set(reasons):
        assert reasons.count(reason) in [
            number for name, number in named_numbers(told) if name == reason
        ], (reason, told)


def named_numbers(told: Any, name: str = "") -> Any:
    """Every number of a summary, with the name it has."""
    if isinstance(told, dict):
        for key, value in told.items():
            yield from named_numbers(value, key)
    elif isinstance(told, list):
        for value in told:
            yield from named_numbers(value, name)
    elif isinstance(told, int):
        yield name, told


def all_numbers(told: Any) -> Any:
    return (number for _, number in named_numbers(told))

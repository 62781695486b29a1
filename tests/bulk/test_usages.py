"""Columns of usage: the answers are those of `manners.signals.usage`, row by row."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from manners import bulk, signals
from manners.bulk import Sites
from manners.bulk.decisions import ADD_USAGE, USAGES
from manners.bulk.engines import TableCheck
from manners.bulk.records import BulkError
from tests.cli.running import runner

FILES: dict[str, str | bytes] = {
    "plain": "User-agent: *\nDisallow: /closed/",
    "one": "User-agent: *\nContent-Usage: train-ai=n\nDisallow: /closed/",
    "paths": "User-agent: *\nContent-Usage: search=n\nContent-Usage: /a train-ai=y, ai-use=n",
    "named": "User-agent: *\nContent-Usage: train-ai=n\nUser-agent: mybot\nAllow: /",
    "signal": "User-agent: *\nContent-Signal: search=yes, ai-train=no, use=reference\nAllow: /",
    "low": "user-agent: MyBot\ncontent-signal: AI-TRAIN=yes\nContent-signal: use=immediate",
    "old": "User-agent: *\nDisallowAITraining: /a\nAllowAITraining: /a/b",
    "token": "User-agent: Google-Extended\nDisallow: /a",
    "comment": "# Content-Signal: ai-train=no\nUser-agent: *\nDisallow: /a",
    "outside": "Content-Usage: train-ai=n\nUser-agent: *\nDisallow: /a",
    "licence": "License: https://a.example/l.xml\nUser-agent: *\nDisallow: /a",
    "wide": "\ufeffUser-agent: *\nContent-Usage: train-ai=n".encode("utf-16-le"),
    "broken": b"User-agent: *\nContent-Usage: train-ai=n\xff\nDisallow: /\xff",
    "no-colon": "User-agent: *\nContent-Usage train-ai=n",
}
PATHS = ("/", "/a", "/a/b", "/closed/x", "/robots.txt", "/caf\u00e9", "/?q=1")
AGENTS = ("*", "MyBot", "Googlebot", ("Googlebot", "MyBot"))


def bodies() -> dict[str, bytes]:
    """The file of each site, as bytes."""
    return {
        f"https://{name}.example": body.encode() if isinstance(body, str) else body
        for name, body in FILES.items()
    }


def urls() -> list[str]:
    """URLs of all sites, mixed, with some of no site."""
    found = [site + path for site in (*bodies(), "https://unknown.example") for path in PATHS]
    random.Random(7).shuffle(found)
    return [*found, found[0]]


def archive(**columns: object) -> pa.Table:
    """The files as a table of sites."""
    found = bodies()
    return pa.table({"origin": list(found), "body": list(found.values()), **columns})


def expected(url: str, agent: str | tuple[str, ...], name: str) -> str | None:
    """What `usage` answers; null for unknown."""
    body = bodies().get("/".join(url.split("/")[:3]))
    answer = signals.usage(url, agent, body)[USAGES[name]].answer
    return None if answer == "unknown" else answer


@pytest.mark.parametrize("agent", AGENTS, ids=str)
def test_every_row_is_answered_as_usage_answers(agent: str | tuple[str, ...]) -> None:
    """Whatever the file, the path, the agent and the purpose."""
    sites = Sites.from_table(archive(), agent=agent, usage=True)
    rows = pa.table({"url": urls()})
    found = sites.verdicts(rows, add=ADD_USAGE)
    for name in ADD_USAGE:
        assert found[name].to_pylist() == [expected(url, agent, name) for url in urls()], name


def test_all_answers_occur() -> None:
    """The table above would see a column that is always null."""
    found = {expected(url, agent, "usage_ai_train") for url in urls() for agent in AGENTS}
    assert found == {"yes", "no", None}


def test_columns_may_be_dictionaries_and_chunks() -> None:
    """A column of any shape has the same answers, and null rows have none."""
    given = [*urls(), None, "not a URL"]
    sites = Sites.from_table(archive(), agent="MyBot", usage=True)
    plain = sites.verdicts(pa.table({"url": given}), add=["usage_ai_train"])["usage_ai_train"]
    assert plain.to_pylist()[-2:] == [None, None]
    encoded = pa.chunked_array([pa.array(given[:9]), pa.array(given[9:])]).dictionary_encode()
    for column in (encoded, pa.chunked_array([pa.array(given, pa.large_string())])):
        found = sites.verdicts(pa.table({"url": column}), add=["usage_ai_train"])
        assert found["usage_ai_train"].to_pylist() == plain.to_pylist()


def test_a_site_that_was_not_read_says_nothing() -> None:
    """Without a file, or with one answer for all URLs, usage is unknown."""
    table = archive(status=[404] * len(FILES))
    sites = Sites.from_table(table, agent="MyBot", usage=True)
    found = sites.verdicts(pa.table({"url": urls()}), add=ADD_USAGE)
    assert {value for name in ADD_USAGE for value in found[name].to_pylist()} == {None}


def test_a_charset_that_hides_words_is_read() -> None:
    """A file whose encoding the site names is decoded first."""
    body = "User-agent: *\nContent-Usage: train-ai=n".encode("utf-16-be")
    table = pa.table({"origin": ["https://a.example"], "body": [body], "charset": ["utf-16be"]})
    sites = Sites.from_table(table, agent="MyBot", usage=True)
    (row,) = sites.verdicts(pa.table({"url": ["https://a.example/"]}), add=ADD_USAGE).to_pylist()
    assert row["usage_ai_train"] == "no"


def test_sites_have_to_be_read_for_it() -> None:
    """Without `usage=True` no file is searched, and the error says so."""
    sites = Sites.from_table(archive(), agent="MyBot")
    with pytest.raises(BulkError, match="usage=True"):
        sites.verdicts(pa.table({"url": urls()}), add=["usage_ai_train"])
    with pytest.raises(BulkError, match="usage_ai_train"):
        sites.verdicts(pa.table({"url": urls()}), add=["usage_tdm"])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """An archive and a table of URLs in Parquet."""
    pyarrow.parquet.write_table(archive(), tmp_path / "robots.parquet")
    rows = {"id": list(range(len(urls()))), "url": urls()}
    pyarrow.parquet.write_table(pa.table(rows), tmp_path / "urls.parquet")
    return tmp_path


@pytest.mark.parametrize(
    "options",
    [{}, {"keep": ["id", "url"]}, {"agent": ["MyBot", "Googlebot"]}, {"parts": 2}],
    ids=str,
)
def test_a_run_adds_the_columns(files: Path, options: dict[str, object]) -> None:
    """Spliced, written anew, for several agents, and by parts."""
    out = f"{files / 'out'}/"
    given = {"agent": "MyBot", **options}
    bulk.run(files / "urls.parquet", files / "robots.parquet", out, add=["usage_ai_train"], **given)  # type: ignore[arg-type]
    rows = pyarrow.parquet.read_table(out).to_pylist()
    agents = given["agent"] if isinstance(given["agent"], list) else [given["agent"]]
    assert len(rows) == len(urls()) * len(agents)
    for row in rows:
        agent = row.get("agent", "MyBot")
        assert row["usage_ai_train"] == expected(row["url"], agent, "usage_ai_train")


def test_the_command_adds_the_columns(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By name, beside those of verdicts; not by default."""
    run = runner(capsys, "bulk", "--agent", "MyBot")
    out = files / "verdicts.jsonl"
    places = ("--urls", files / "urls.parquet", "--robots", files / "robots.parquet", "-o", out)
    assert run(*places, "--add", "allowed,usage_ai_train").code == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["usage_ai_train"] for row in rows} == {"yes", "no", None}
    out.unlink()
    assert run(*places).code == 0
    assert "usage" not in out.read_text()


def test_engines_of_clusters_add_the_columns() -> None:
    """As text, which every engine has."""
    check = TableCheck(agent="MyBot", keep=[], add=["usage_ai_train"])
    found = check.with_records(pa.table({"url": urls()}), archive())
    assert found.schema.field("usage_ai_train").type == pa.string()
    assert found["usage_ai_train"].to_pylist() == [
        expected(url, "MyBot", "usage_ai_train") for url in urls()
    ]

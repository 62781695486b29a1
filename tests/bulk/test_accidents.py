"""What goes wrong with files, disks and names is said, and costs nothing but itself."""

import errno
import json
import os
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from manners import bulk
from manners.bulk import bucketing, outputs, readers
from manners.bulk.parts import UnwritableOutput
from manners.bulk.records import BulkError, Problems
from manners.bulk.texts import UnreadableInput
from manners.cli import main
from tests.bulk.warcs import compressed, exchange, reply

ROBOTS = pa.table({"origin": ["https://a.example"], "body": ["User-agent: *\nDisallow: /x"]})
URLS = ["https://a.example/", "https://a.example/x", None]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files with URLs in a folder, and an archive in another."""
    monkeypatch.chdir(tmp_path)
    for name in ("urls", "robots"):
        Path(name).mkdir()
    parquet.write_table(ROBOTS, "robots/r.parquet")
    for name in ("b", "c"):
        parquet.write_table(pa.table({"id": [1, 2, 3], "url": URLS}), f"urls/{name}.parquet")
    return tmp_path


def run(urls: str, out: str, robots: str = "robots", **options: Any) -> bulk.Summary:
    return bulk.run(urls, robots, out, agent="MyBot", **options)


def answers(out: str) -> list[bool | None]:
    return [json.loads(line)["allowed"] for line in Path(out).read_text().splitlines()]


# CSV.


@pytest.mark.parametrize("rows", [1, 3, 300_000])
@pytest.mark.parametrize("cell", ['"https://a.example/x', '1,"https://a.example/x', '"'])
def test_a_quote_that_never_ends_is_an_error(cell: str, rows: int) -> None:
    """What follows it is one cell: its URLs would be lost, or a part of one that is allowed."""
    text = "id,url\n1,https://a.example/\n" + f"{cell}\n" + "2,https://a.example/x\n" * rows
    Path("u.csv").write_text(text)
    with pytest.raises(UnreadableInput, match=r"u\.csv: .*(a quote in it never ends|block size)"):
        run("u.csv", "v.jsonl")
    assert not Path("v.jsonl").exists()


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n\n"])
@pytest.mark.parametrize("last", ['"https://a.example/x,""y"""', "https://a.example/x", '"a\nb"'])
def test_whatever_a_csv_file_ends_with_no_row_is_lost_or_made(last: str, end: str) -> None:
    """Line breaks at the end or none, quotes that end, and cells of several lines."""
    Path("u.csv").write_bytes(f"id,url\n1,https://a.example/\n2,{last}{end}".encode())
    assert run("u.csv", "v.jsonl").dropped == 0
    assert answers("v.jsonl") == [True, None if last.startswith('"a') else False]


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", [[], [""], ["# made by hand", "", "# id,url"]])
def test_what_stands_before_the_names_of_columns_is_no_row(
    before: list[str], line_break: str
) -> None:
    """Comments and empty lines, as some programs write them."""
    lines = [*before, "id,url", "1,https://a.example/x", ""]
    Path("u.csv").write_bytes(line_break.join(lines).encode())
    run("u.csv", "v.jsonl")
    assert answers("v.jsonl") == [False]


# WARC.


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_warc_file_that_was_cut_anywhere_is_not_taken_for_whole(suffix: str) -> None:
    """A download that broke off is told from a file that ends, wherever it was cut."""
    parts = exchange("https://a.example/robots.txt", reply()) * 2
    whole = compressed(*parts) if suffix else b"".join(parts)
    # Cut between two records, a file is shorter, and whole.
    heads = (compressed(*parts[:n]) if suffix else b"".join(parts[:n]) for n in range(len(parts)))
    # The line breaks behind a record may be missing; one byte of the next may be padding.
    ends = {len(head) + more for head in heads for more in (range(2) if suffix else range(-4, 1))}
    path = Path(f"x.warc{suffix}")
    path.write_bytes(whole)
    assert sum(map(len, readers.open(path))) == 2
    cuts = set(range(len(compressed()) + 10, len(whole) - 4, 3)) - ends
    for size in sorted(cuts):
        path.write_bytes(whole[:size])
        problems = Problems()
        with pytest.raises(BulkError, match="damaged after byte"):
            list(readers.open(path))
        with suppress(BulkError):  # nothing could be read
            list(readers.open(path, problems))
        assert problems, size


# Names of columns and of outputs.


def test_a_column_that_is_asked_for_twice_is_written_once() -> None:
    """In a run, and in a batch."""
    run("urls", "v.jsonl", keep=["id", "id"], add=["allowed", "allowed"])
    assert list(json.loads(Path("v.jsonl").read_text().splitlines()[0])) == ["id", "allowed"]
    sites = bulk.Sites.from_table(ROBOTS, agent="MyBot")
    found = sites.verdicts(pa.table({"url": URLS}), add=["line", "line"])
    assert found.schema.names == ["url", "line"]


def test_columns_that_are_not_there_or_twice_are_named() -> None:
    """Of a batch, too."""
    sites, column = bulk.Sites.from_table(ROBOTS, agent="MyBot"), pa.array(URLS)
    with pytest.raises(BulkError, match="cannot add 'alowed'; choose from: allowed, reason"):
        sites.verdicts(pa.table({"url": column}), add=["alowed"])
    double = pa.Table.from_arrays([column, column], names=["url", "url"])
    with pytest.raises(BulkError, match="several columns 'url'"):
        sites.verdicts(double)


def test_a_column_without_a_single_value_has_no_answers() -> None:
    """Whoever builds a column of nothing but nulls gets one without a type."""
    sites = bulk.Sites.from_table(ROBOTS, agent="MyBot")
    assert list(sites.allowed(pa.nulls(3))) == [None] * 3
    rows = sites.verdicts(pa.record_batch({"url": pa.nulls(2)}), add=["reason"])
    assert rows["reason"].to_pylist() == ["no-url"] * 2


def test_sites_that_are_pickled_say_what_to_do_instead() -> None:
    """They would be sent to other processes, with all files in them."""
    with pytest.raises(TypeError, match="read them in each one"):
        pickle.dumps(bulk.Sites.from_table(ROBOTS, agent="MyBot"))


@pytest.mark.parametrize("name", ["v.json", "v.csv.gz", "v.txt", "v.xlsx", "V.TSV"])
def test_a_name_of_another_kind_of_file_is_no_folder(name: str) -> None:
    """Somebody who asks for `v.csv.gz` does not want a folder of Parquet files."""
    with pytest.raises(BulkError, match=r"cannot be written: name a \.parquet, \.csv or \.jsonl"):
        run("urls", name)
    assert not Path(name).exists()
    run("urls", f"{name}/")
    assert parquet.read_table(f"{name}/part-00000.parquet").num_rows == 6


@pytest.mark.parametrize("part", ["0/0", "1/1", "0/" + "9" * 5_000, "1/-2", "/", "1", "०/४"])
def test_a_part_that_cannot_be_is_refused(part: str) -> None:
    """Without a word about a part number -1."""
    with pytest.raises(BulkError, match="part") as caught:
        run("urls", "v", part=part)
    assert "-1" not in str(caught.value)


# Resuming.


@pytest.mark.parametrize("urls", ["urls", "urls/*.parquet", "parquet:urls"])
@pytest.mark.parametrize("robots", ["robots", "robots/*.parquet", "parquet:robots"])
def test_a_run_is_not_resumed_with_other_files_in_a_folder(urls: str, robots: str) -> None:
    """One more file would move all rows; a changed one, some answers."""
    run(urls, "out", robots, parts=2)
    assert run(urls, "out", robots, parts=2, resume=True).urls == 6
    os.utime("robots/r.parquet", ns=(1, 1))
    with pytest.raises(BulkError, match="robots was "):
        run(urls, "out", robots, parts=2, resume=True)
    Path("out/_summary.json").unlink()
    for part in Path("out").iterdir():
        part.unlink()
    run(urls, "out", robots, parts=2)
    parquet.write_table(pa.table({"id": [4], "url": [URLS[0]]}), "urls/a.parquet")
    with pytest.raises(BulkError, match="urls was "):
        run(urls, "out", robots, parts=2, resume=True)


def test_an_output_among_the_inputs_can_be_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run has in its work folder is not taken for its input."""
    with monkeypatch.context() as patch:
        patch.setattr("manners.bulk.parts.join", fill_disk)
        with pytest.raises(UnwritableOutput):
            run("urls", "urls/v.parquet", parts=2)
    assert len(list(Path("urls/v.parquet.work/parts").iterdir())) == 2
    assert run("urls", "urls/v.parquet", parts=2, resume=True).urls == 6


@pytest.mark.parametrize("file", ["out.work/plan.json", "out/_summary.json"])
def test_notes_that_are_damaged_are_named(file: str) -> None:
    """Whoever has written into them is told which one it is."""
    Path(file).parent.mkdir()
    Path(file).write_text("{nonsense")
    Path("out.work/counts").mkdir(parents=True, exist_ok=True)
    with pytest.raises(BulkError, match=rf"{file}: damaged"):
        run("urls", "out", resume=True)


@pytest.mark.parametrize("file", ["v.jsonl.work", "v.jsonl.work/mine.txt"])
def test_a_folder_of_somebody_else_is_not_removed(file: str) -> None:
    """It may have the name that the work folder has."""
    Path(file).parent.mkdir(exist_ok=True)
    Path(file).write_text("precious")
    with pytest.raises(BulkError, match="not of a run: move it away"):
        run("urls", "v.jsonl")
    assert Path(file).read_text() == "precious"


# Disks.


def fill_disk(*_: object, **__: object) -> None:
    """What writing to a full disk does."""
    raise OSError(errno.ENOSPC, "disk full")


def test_a_full_disk_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 3, as for what cannot be read; rows that were half sorted are removed."""
    command = ["bulk", "--urls", "urls", "--robots", "robots", "-o", "v.jsonl", "--parts", "2"]
    with monkeypatch.context() as patch:
        patch.setattr(bucketing, "append", fill_disk)
        assert main(command) == 3
    assert "v.jsonl: cannot go on: disk full; make room, and resume it" in capsys.readouterr().err
    assert not list(Path().glob("v.jsonl.work/*.tmp"))
    assert main([*command, "--resume"]) == 0
    assert answers("v.jsonl").count(False) == 2


def test_a_place_that_cannot_be_written_to_is_named() -> None:
    """With what is in the way."""
    Path("file").touch()
    with pytest.raises(UnwritableOutput, match=r"file/v\.jsonl: .*; choose another output"):
        run("urls", "file/v.jsonl")
    assert outputs.is_folder("file/v")


def test_parquet_in_a_pipe_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read from its end, which a pipe does not have."""
    with Path("urls/b.parquet").open("rb") as file:
        monkeypatch.setattr("manners.bulk.texts._standard_input", lambda: file)
        with pytest.raises(UnreadableInput, match="standard input: Parquet or Arrow"):
            run("-", "v.jsonl")

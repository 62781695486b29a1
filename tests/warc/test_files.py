"""Files of an archive: complete under their names, and recovered where a process was killed."""

import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from manners.warc.files import INDEX, OPEN, SUFFIX, WarcFile, recover
from manners.warc.records import WarcDraft, fields, written_date
from tests.warc.reading import files, index, records

DATE = written_date(1_800_000_000)
HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def name(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


def written(folder: Path, number: int = 3) -> WarcFile:
    """A file with some records, not complete."""
    file = WarcFile(folder, "a")
    info = fields([("software", "test")])
    named = (("WARC-Filename", file.name),)
    file.add(
        WarcDraft("warcinfo", name(0), "", DATE, "application/warc-fields", info, headers=named)
    )
    for page in range(1, number + 1):
        url, date = f"http://a.example/{number - page}", DATE
        request, response = (
            f"application/http; msgtype={kind}" for kind in ("request", "response")
        )
        sent = b"GET / HTTP/1.1\r\n\r\n"
        file.add(WarcDraft("request", name(2 * page), url, date, request, sent))
        block = HTML + b"page %d" % page * 50
        file.add(
            WarcDraft(
                *("response", name(2 * page + 1), url, date, response, block),
                *(b"x" * 20 if page < 0 else None, (), "text/html", "200"),
            )
        )
    file.sync()
    return file


def abandoned(folder: Path) -> bytes:
    """What a killed process leaves, of three pages; the folder is empty again."""
    file = written(folder)
    file.abandon()
    data = (folder / ("a" + SUFFIX + OPEN)).read_bytes()
    for path in folder.iterdir():
        path.unlink()
    return data


def test_a_file_has_its_name_when_it_is_complete(tmp_path: Path) -> None:
    """Until then it says that it is open; its index comes with the name."""
    file = written(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a" + INDEX + OPEN,
        "a" + SUFFIX + OPEN,
    ]
    file.complete()
    assert [entry.kind for entry in records(tmp_path)] == ["warcinfo", *["request", "response"] * 3]
    assert [line["url"][-1] for line in index(files(tmp_path)[0])] == ["0", "1", "2"]


def ends(data: bytes) -> list[int]:
    """Where the records of a file end."""
    found, rest = [], data
    while rest:
        stream = zlib.decompressobj(31)
        stream.decompress(rest)
        rest = stream.unused_data
        found.append(len(data) - len(rest))
    return found


@pytest.mark.parametrize("junk", [b"", b"\xff" + b"\0" * 4_095, b"\x1f\x8b" + b"\xff" * 99])
def test_a_file_that_ends_anywhere_is_recovered(tmp_path: Path, junk: bytes) -> None:
    """What is complete stays, to the byte, and its index is what it would have been."""
    folder = tmp_path / "archive"
    folder.mkdir()
    data = abandoned(folder)
    written(folder).complete()
    complete = records(folder)
    for path in folder.iterdir():
        path.unlink()
    whole = ends(data)
    for end in [*range(0, len(data), 211), *whole, *(end - 1 for end in whole)]:
        (folder / ("a" + SUFFIX + OPEN)).write_bytes(data[:end] + junk)
        (folder / ("a" + INDEX + OPEN)).write_text("half a li")
        assert recover(folder) == 1
        kept = max((place for place in whole if place <= end), default=0)
        if kept:
            assert (folder / ("a" + SUFFIX)).read_bytes() == data[:kept]
            assert records(folder) == complete[: whole.index(kept) + 1]
        for path in list(folder.iterdir()):
            assert kept, "nothing was left, and there is a file"
            path.unlink()


def test_a_file_that_somebody_writes_is_left_alone(tmp_path: Path) -> None:
    """Another process of a fleet may be at it."""
    file = written(tmp_path)
    assert recover(tmp_path) == 0
    file.complete()
    assert len(records(tmp_path)) == 7


def test_what_is_left_between_two_steps_of_completion_is_recovered(tmp_path: Path) -> None:
    """The index first, then the name; then the draft of the index is removed."""
    written(tmp_path).complete()
    final = tmp_path / ("a" + SUFFIX)
    final.rename(tmp_path / (final.name + OPEN))
    assert recover(tmp_path) == 1
    draft = tmp_path / ("a" + INDEX + OPEN)
    draft.write_text("")
    assert recover(tmp_path) == 0
    assert len(records(tmp_path)) == 7


def test_a_name_is_used_once(tmp_path: Path) -> None:
    """Neither an open nor a complete file is written over."""
    file = written(tmp_path)
    with pytest.raises(FileExistsError):
        WarcFile(tmp_path, "a")
    file.complete()
    with pytest.raises(FileExistsError):
        WarcFile(tmp_path, "a")


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.warc.test_files import written
written(Path(sys.argv[1]))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_file_of_a_killed_process_is_recovered(tmp_path: Path) -> None:
    """Its lock ended with it."""
    ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert ended.returncode < 0
    assert recover(tmp_path) == 1
    assert len(records(tmp_path)) == 7

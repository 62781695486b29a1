"""WARC files read by a library that did not write them, and all checked that it can check."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker


class Entry(NamedTuple):
    """A record, read."""

    kind: str
    url: str
    headers: dict[str, str]
    head: bytes
    """The HTTP headers, where it has some."""
    payload: bytes

    @property
    def status(self) -> int:
        return int(self.head.split(b" ", 2)[1])

    @property
    def body(self) -> bytes:
        """The payload without its content coding."""
        if b"content-encoding: gzip" in self.head.lower():
            return gzip.decompress(self.payload)
        return self.payload


def files(folder: Path) -> list[Path]:
    """The files of an archive, which must be complete, with an index each and nothing else."""
    found = sorted(folder.glob("*.warc.gz"))
    others = {path.name for path in folder.iterdir()} - {path.name for path in found}
    assert others == {path.name.removesuffix(".warc.gz") + ".cdxj" for path in found}
    return found


class _Quiet(NamedTuple):
    inputs: list[str]
    verbose: bool = False


def records(folder: Path) -> list[Entry]:
    """All records of an archive, valid by the checks of warcio."""
    found: list[Entry] = []
    names: set[str] = set()
    for path in files(folder):
        assert Checker(_Quiet([str(path)])).process_all() == 0, path
        entries = list(read(path))
        ids = [entry.headers["WARC-Record-ID"] for entry in entries]
        assert len(set(ids)) == len(ids)
        names.update(ids)
        assert entries[0].kind == "warcinfo"
        assert entries[0].headers["WARC-Filename"] == path.name
        found += entries
        check_index(path)
    for entry in found:
        for name in ("WARC-Concurrent-To", "WARC-Refers-To"):
            assert entry.headers.get(name) in (None, *names), "a record that is not there"
    return found


def read(path: Path) -> Iterator[Entry]:
    """The records of a file, unchecked."""
    with path.open("rb") as file:
        for record in ArchiveIterator(file, no_record_parse=True):
            headers = dict(record.rec_headers.headers)
            block, head = record.raw_stream.read(), b""
            if headers["Content-Type"].startswith("application/http"):
                head, _, block = block.partition(b"\r\n\r\n")
            yield Entry(record.rec_type, headers.get("WARC-Target-URI", ""), headers, head, block)


def index(path: Path) -> list[dict[str, Any]]:
    """The lines of the index of a file."""
    lines = path.with_name(path.name.replace(".warc.gz", ".cdxj")).read_text().splitlines()
    assert lines == sorted(lines)
    return [json.loads(line.split(" ", 2)[2]) for line in lines]


def check_index(path: Path) -> None:
    """Each line leads to the record that it names, and each record of a page has a line."""
    data = path.read_bytes()
    for line in index(path):
        begin, length = int(line["offset"]), int(line["length"])
        stream = zlib.decompressobj(31)
        record = stream.decompress(data[begin : begin + length])
        assert stream.eof
        assert stream.unused_data == b""
        assert f"WARC-Target-URI: {line['url']}\r\n".encode() in record
        assert line["digest"].encode() in record
        assert line["filename"] == path.name
    wanted = [
        entry.url
        for entry in read(path)
        if entry.kind == "resource" or entry.kind in ("response", "revisit")
    ]
    assert sorted(line["url"] for line in index(path)) == sorted(wanted)

"""Parts of an output put together to one file, without decoding them."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from manners.bulk import thrift
from manners.bulk.footers import MAGIC, Footer, copy, moved_group
from manners.bulk.records import BulkError


def join(parts: Iterable[Path], file: BinaryIO, form: str) -> None:
    """Write the rows of all parts to a file, in their order."""
    if form == "parquet":
        _join_parquet(parts, file)
        return
    for part in parts:
        with part.open("rb") as opened:
            shutil.copyfileobj(opened, file, 1 << 20)


def _join_parquet(parts: Iterable[Path], file: BinaryIO) -> None:
    file.write(MAGIC)
    first: Footer | None = None
    rows = 0
    groups: list[bytes] = []
    for part in parts:
        with part.open("rb") as opened:
            footer, end = Footer.read(opened, str(part))
            moved = file.tell() - len(MAGIC)
            copy(opened, file, len(MAGIC), end - len(MAGIC))
        first = first or footer
        rows += footer.rows
        groups += (
            thrift.encode(list(moved_group(group, moved)))
            for group in map(thrift.decode, footer.groups)
        )
    if first is None:
        raise BulkError("output", "no part to put together")
    first.write(file, rows, groups)

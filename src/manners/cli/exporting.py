"""Where `manners evidence export` writes to, and what a line of it looks like there."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from manners.cli import render, saving
from manners.evidence.spreadsheet import COLUMNS, cells, row_writer


def emitter(form: str, write: Callable[[str], object]) -> Callable[[dict[str, Any]], object]:
    """What writes one line of an export; a table has no trailer."""
    if form == "jsonl":
        return lambda values: write(render.as_json(values) + "\n")
    write_row = row_writer(write)
    write_row(COLUMNS)
    return lambda values: write_row(cells(values)) if "id" in values else None


@contextmanager
def writing(output: Path | None, force: bool, store: str) -> Iterator[Callable[[str], object]]:
    """A function that writes text, to a file or to standard output."""
    if output is None:
        yield sys.stdout.write
        return
    with saving.new_file(output, force, store) as file:
        yield lambda text: file.write(text.encode("utf-8", "backslashreplace"))

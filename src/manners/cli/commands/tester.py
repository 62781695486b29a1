"""`manners tester`: the robots.txt tester as one HTML file, which works without network."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from manners._text import count, printable
from manners.cli import inputs, saving

_FILE = "tester.html"


def command(
    pyodide: Annotated[
        str | None,
        typer.Option(
            "--pyodide",
            metavar="FILE",
            help="The npm package of Pyodide (default: in this folder, by its name).",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The file; - is standard output.")
    ] = _FILE,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> int:
    """Make the tester for robots.txt as one HTML file, to be opened from a disk.

    The page of `manners serve` with the engine inside it: it needs no server and no network, and
    nothing that is typed leaves it. Python for browsers is in the npm package of Pyodide, which
    `npm pack` downloads.
    """
    from manners.web.single import NPM_PACK, PYODIDE

    if output == "" or output.endswith(("/", os.sep)):
        raise inputs.Unusable(f"--output {output!r} is not a file name")
    if pyodide is None and not Path(PYODIDE).exists():
        raise inputs.Unusable(
            f"the page needs Pyodide, and {PYODIDE!r} is not in this folder: {NPM_PACK!r}"
            " downloads it (6 MB), --pyodide FILE names another place"
        )
    if output == "-":
        sys.stdout.buffer.write(_page(pyodide or PYODIDE))
        sys.stdout.buffer.flush()
        return 0
    with saving.new_file(Path(output), force) as file:
        page = _page(pyodide or PYODIDE)
        file.write(page)
    print(
        f"tester written to {printable(output)} ({count(len(page), 'byte')}); open it in a browser"
    )
    return 0


def _page(pyodide: str) -> bytes:
    from manners.web.single import MAX_PACKAGE, WrongPackage, single_page

    with inputs.open_input(pyodide, "the npm package of Pyodide") as file:
        package = file.read(MAX_PACKAGE + 1)
    try:
        return single_page(package).encode()
    except WrongPackage as error:
        raise inputs.Unusable(f"--pyodide {pyodide!r}: {error}") from None

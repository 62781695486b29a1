"""`manners report`: what happened in a crawl, as a picture in one file."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from manners._text import printable
from manners.cli import UNDECIDED, inputs, render, saving
from manners.errors import StoreError

_FILE = "report.html"
_ROWS = 200


def command(
    store: Annotated[
        str | None,
        typer.Argument(
            metavar="[STORE]",
            help="Where the crawl is kept: a file, or postgresql://… (default manners.db).",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            *("--output", "-o"),
            metavar="FILE",
            help="The file (default report.html); - is standard output.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    crawl: Annotated[
        int | None,
        typer.Option(
            "--crawl", metavar="N", min=1, help="Which crawl of the store (default the last)."
        ),
    ] = None,
    rows: Annotated[
        int,
        typer.Option("--rows", metavar="N", min=1, help="How long lists may be."),
    ] = _ROWS,
    redact_query: inputs.RedactQueryOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Show what happened in a crawl: one HTML file that needs no network and no scripts.

    It has totals and the budget, a time line of requests against the delays in force, statuses and
    response times, what decided line by line, what was not asked for and why, problems, and where
    the evidence ends. With --json the same is printed as data.
    """
    if json and (output is not None or force):
        raise inputs.Unusable("--json prints the data, and --output and --force are about a file")
    if store == "":
        raise inputs.Unusable("STORE is empty: a file, or postgresql://…, is needed")
    if output == "" or (output or "").endswith(("/", os.sep)):
        raise inputs.Unusable(f"--output {output!r}: the name of a file is needed")
    from manners.crawler.report import NoCrawl, report_of
    from manners.evidence.store import EvidenceStore

    settings = inputs.load_settings(store=store, redact_query=redact_query)
    place, progress = settings.store or inputs.STORE, render.Progress()
    with EvidenceStore(place, readonly=True, timeout=settings.server_timeout) as opened:
        progress.say(f"reading {printable(opened.place)}")
        try:
            report = report_of(opened, crawl, rows=rows, redact=settings.redact_query)
        except NoCrawl:
            raise
        except StoreError as error:  # it breaks off while it is read
            print(f"manners: {printable(str(error))}", file=sys.stderr)
            return UNDECIDED
        finally:
            progress.clear()
    if json:
        print(render.as_json(report.to_dict()))
        return 0
    from manners.crawler.picture.page import page

    name, made = output or _FILE, page(report).encode()
    if name == "-":
        sys.stdout.buffer.write(made)
        sys.stdout.buffer.flush()
        return 0
    with saving.new(Path(name), force, report.store) as file:
        file.write(made)
    print(
        f"crawl {report.status.crawl} is in {printable(name)} ({len(made):,} bytes):"
        " open it in a browser"
    )
    return 0

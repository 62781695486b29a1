"""`manners report`: what happened in a crawl, as one HTML file or as JSON."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manners._text import count, printable
from manners.cli import UNDECIDED, inputs, render, saving
from manners.cli.options import JsonOption, Options, takes
from manners.errors import StoreError

if TYPE_CHECKING:
    from manners.report.data import Report
    from manners.settings import Settings

_FILE = "report.html"
_ROWS = 200


@takes("redact_query")
def command(
    store: Annotated[
        str | None,
        typer.Argument(
            metavar="[STORE]",
            help="The store of the crawl: a file, or postgresql://… (default manners.db).",
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
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    crawl: Annotated[
        int | None,
        typer.Option(
            "--crawl", metavar="N", min=1, help="Which crawl of the store (default the last)."
        ),
    ] = None,
    rows: Annotated[
        int,
        typer.Option("--rows", metavar="N", min=1, help="The maximum length of a list."),
    ] = _ROWS,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Show what happened in a crawl: one HTML file that needs no network and no scripts.

    It has totals and the budget, a timeline of requests against the delays in force, statuses and
    response times, the rules that decided, blocked URLs with reasons, problems, and the head of the
    evidence. With --json the same is printed as data.
    """
    if json and (output is not None or force):
        raise inputs.Unusable("--json prints to standard output: drop --output and --force")
    if store == "":
        raise inputs.Unusable("STORE is empty: pass a file or postgresql://…")
    if output == "" or (output or "").endswith(("/", os.sep)):
        raise inputs.Unusable(f"--output {output!r} is not a file name")
    settings = options.plus(store=store).load()
    report = _read(settings, crawl, rows)
    if report is None:
        return UNDECIDED
    if json:
        print(render.as_json(report.to_dict()))
    else:
        _write(report, output or _FILE, force)
    return 0


def _read(settings: "Settings", crawl: int | None, rows: int) -> "Report | None":
    """The report; None, and a message, where the store fails while it is being read."""
    from manners.crawler.frontier.crawls import NoCrawl
    from manners.report.reader import report_of
    from manners.store.database import Store

    place, progress = settings.store or inputs.STORE, render.Progress()
    with Store(place, readonly=True, timeout=settings.server_timeout) as store:
        progress.say(f"reading {printable(store.place)}")
        try:
            return report_of(store, crawl, rows=rows, redact=settings.redact_query)
        except NoCrawl:
            raise
        except StoreError as error:
            progress.clear()
            print(f"manners: {printable(str(error))}", file=sys.stderr)
            return None
        finally:
            progress.clear()


def _write(report: "Report", name: str, force: bool) -> None:
    from manners.report.html.page import page

    html = page(report).encode()
    if name == "-":
        sys.stdout.buffer.write(html)
        sys.stdout.buffer.flush()
        return
    with saving.new_file(Path(name), force, report.store) as file:
        file.write(html)
    print(
        f"report of crawl {report.status.crawl} written to {printable(name)}"
        f" ({count(len(html), 'byte')}); open it in a browser"
    )

"""`manners format`: one layout for robots.txt files, proved to change nothing."""

import sys
from typing import Annotated, Literal

import typer

from manners._text import count, printable
from manners.cli import UNDECIDED, inputs, linting
from manners.cli.linting import LintInput, UnreadFile

Result = Literal["changed", "unchanged", "failed"]


def command(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Files; - is standard input.")
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if a file would change.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Change nothing; show what would change.")
    ] = False,
) -> int:
    """Format robots.txt files: spelling of keys, spaces, blank lines, line ends.

    Comments and the order of lines survive. A file is changed only if it is proved that no verdict
    changes. Exit code 0, 1 if --check finds a file that would change, 3 if one could not be read,
    or nothing is proved.
    """
    for name in files:
        if linting.is_url(name):
            raise inputs.Unusable(f"files are formatted, not sites: {name!r}")
    if files.count("-") > 1:
        raise inputs.Unusable("standard input can be read once only")
    results = [_format(name, check, diff) for name in files]
    _summarise(results, check or diff)
    if "failed" in results:
        return UNDECIDED
    return int(check and "changed" in results)


def _format(name: str, check: bool, diff: bool) -> Result:
    from manners.lint.formatting import format_body

    try:
        read = linting.read_file(name)
        formatted = format_body(read.body)
        is_changed = formatted != read.body
        if is_changed:
            try:
                _prove(read, formatted)
            except UnreadFile:
                if read.path is None and not (check or diff):
                    linting.write_output(read.body)  # a filter loses nothing
                raise
        if diff:
            linting.print_difference(read.name, read.body, formatted)
        if check or diff:
            if is_changed:
                print(f"would format {printable(read.name)}", file=sys.stderr)
        elif read.path is None:
            linting.write_output(formatted)
        elif is_changed:
            linting.rewrite(read.path, formatted)
            print(f"formatted {printable(read.name)}", file=sys.stderr)
    except UnreadFile as error:
        linting.complain(error)
        return "failed"
    return "changed" if is_changed else "unchanged"


def _prove(read: LintInput, formatted: bytes) -> None:
    """Raise unless it is proved that the formatted file means the same."""
    from manners.lint.proving import unchanged
    from manners.lint.source import ENGINES

    if not unchanged(read.body, formatted, ENGINES):
        raise UnreadFile(
            f"{read.name}: not formatted, because it is not proved that no verdict would change"
        )


def _summarise(results: list[Result], changes_nothing: bool) -> None:
    verb = "would change" if changes_nothing else "changed"
    parts = [
        f"{count(results.count(result), 'file')} {word}"
        for result, word in (("changed", verb), ("unchanged", "unchanged"), ("failed", "failed"))
        if result in results
    ]
    print(", ".join(parts), file=sys.stderr)

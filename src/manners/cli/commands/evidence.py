"""`manners evidence`: the records of what was decided, shown, verified, replayed and exported."""

import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from manners._text import count, printable
from manners.cli import UNDECIDED, inputs, records, render
from manners.cli.options import JsonOption, Options, takes
from manners.cli.record_filter import (
    AgentOption,
    HostOption,
    SinceOption,
    TypeOption,
    UntilOption,
    parse_filter,
    parse_head,
    parse_number,
    parse_time,
)
from manners.errors import StoreError
from manners.evidence.words import because

if TYPE_CHECKING:
    from manners.evidence.chain import AnchorHead, ChainProblem, Head
    from manners.evidence.export import LineFinding
    from manners.evidence.record import Record
    from manners.evidence.replay import Replay
    from manners.evidence.store import EvidenceStore

_LAST = 50
"""How many records `list` shows by default."""
_PROGRESS_INTERVAL = 0.2
"""Seconds between two updates of the progress line."""

command = typer.Typer(help="Show, verify, replay and export the evidence of what was decided.")


@command.command("list")
@takes("redact_query", "store")
def list_records(
    host: HostOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    kind: TypeOption = None,
    agent: AgentOption = None,
    last: Annotated[
        int | None,
        typer.Option(
            "--last", metavar="N", min=1, help=f"How many of the latest (default {_LAST})."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All records.")] = False,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """List what was decided: one line for each record, the latest at the end."""
    if everything and last is not None:
        raise inputs.Unusable("--last and --all contradict each other")
    from manners.evidence.export import as_dict

    wanted = parse_filter(host, since, until, kind, agent)
    limit = None if everything else last or _LAST
    with _open_store(options) as opened, closing(opened.records(wanted, limit)) as found:
        shown, has_strands = 0, opened.has_strands()
        for record in found:
            values = as_dict(record, "redact_query" in options.values)
            line = records.line(record, _url(values), has_strands)
            print(render.as_json(records.with_strand(values, has_strands)) if json else line)
            shown += 1
        if not json and last is None and shown == _LAST:
            total = opened.count(wanted)
            if total > shown:
                _say(f"the latest {shown} of {total:,} records; --all lists all")
    return 0


@command.command("show")
@takes("redact_query", "store")
def show(
    identity: Annotated[
        str, typer.Argument(metavar="ID", help="The number of a record, as `list` prints it.")
    ],
    robots: Annotated[
        bool,
        typer.Option("--robots", help="Print the robots.txt that decided, as received."),
    ] = False,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Show everything about one record: what decided, in which line, and whether it still would.

    Exit code 1 if there is no such record; with --robots, if no robots.txt decided.
    """
    if robots and json:
        raise inputs.Unusable("--robots prints a file, --json prints JSON: choose one")
    from manners.evidence.export import as_dict, holds

    number = parse_number(identity)
    with _open_store(options) as opened:
        record, has_strands = opened.record(number), opened.has_strands()
        if record is None:
            inputs.warn(f"there is no record {records.number(number, has_strands)}")
            return 1
        sha256 = record.metadata.get("snapshot")
        body = opened.snapshot(sha256) if isinstance(sha256, str) else None
        if robots:
            return _print_robots(record, records.number(number, has_strands), body)
        difference = _replay(opened).again(record)
    values = records.with_strand(as_dict(record, "redact_query" in options.values), has_strands)
    shown = records.Shown(record, _url(values), holds(record), difference, body, has_strands)
    print(
        render.as_json(records.as_dict(shown, values)) if json else "\n".join(records.page(shown))
    )
    return 0


def _print_robots(record: "Record", number: str, body: bytes | None) -> int:
    if body is None:
        inputs.warn(f"no robots.txt decided record {number}: {because(record)}")
        return 1
    if sys.stdout.isatty():
        print(render.printable_text(body.decode("utf-8", "backslashreplace")), end="", flush=True)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
    return 0


@command.command("head")
@takes("store")
def head(
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Print where the chain ends, as N:HASH: the number of the last record, and its hash.

    Keep it where those who can write to the store cannot change it: on paper, in a mail, in a
    repository. `verify --head N:HASH` then shows that nothing up to it was changed or removed. If
    the store has strands, an anchor ties them together first, and aN:HASH is the last anchor.
    """
    with _open_store(options) as opened:
        found, has_strands = opened.head(), opened.has_strands()
    if not has_strands:
        print(render.as_json(found._asdict()) if json else printable(str(found)))
        return 0
    found, problem = _anchored_head(options, found)
    shown = {**found._asdict(), "head": str(found), "anchored": not problem}
    print(render.as_json(shown) if json else printable(str(found)))
    if problem:
        _say(f"no anchor was added, so records after the last one are not covered: {problem}")
    return 0


def _anchored_head(options: Options, found: "Head | AnchorHead") -> tuple["Head | AnchorHead", str]:
    """The head of a store with strands, after a new anchor; and why there is none."""
    from manners.evidence.store import EvidenceStore

    place, timeout = _place(options)
    try:
        with EvidenceStore(place, create=False, timeout=timeout) as opened:
            opened.anchor(time.time(), wait=True)
            return opened.head(), ""
    except StoreError as error:
        return found, str(error)


@command.command("verify")
@takes("store")
def verify(
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE|-]", help="An exported file; default: the store."),
    ] = None,
    noted: Annotated[
        str | None,
        typer.Option("--head", metavar="N:HASH", help="What `head` printed at an earlier time."),
    ] = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Verify that no record of a store, or of an exported file, was changed, added or removed.

    Findings are printed one a line. Exit code 0 if there are none, 1 if there are some, 3 if it
    could not be read to its end.
    """
    if file is not None and "store" in options.values:
        raise inputs.Unusable("a file and --store contradict each other: give one of them")
    expected = None if noted is None else parse_head(noted)
    if file is not None:
        return _verify_file(file, expected, json)
    return _verify_store(options, expected, json)


def _verify_store(options: Options, expected: "Head | AnchorHead | None", json: bool) -> int:
    from manners.evidence.export import WITHOUT_HEAD

    progress = render.Progress()
    with _open_store(options) as opened, _cleared(progress):
        chains = records.Chains(opened.has_strands(), opened.strands(), opened.head())
        progress.say(f"verifying {count(chains.total, 'record')}")
        with closing(opened.verify(expected)) as findings:
            number = _print_findings(findings, progress, json)
    for line in chains.summary(number):
        _say(line)
    if expected is None:
        _say(WITHOUT_HEAD)
    return 1 if number else 0


def _verify_file(file: str, expected: "Head | AnchorHead | None", json: bool) -> int:
    from manners.evidence.export import Exported, NotAnExport, bounded_lines

    exported, progress = Exported(expected), render.Progress()
    with inputs.open_input(file, "an export") as opened:
        try:
            number = _print_findings(exported.findings(bounded_lines(opened)), progress, json)
        except NotAnExport as error:
            _complain(f"{file!r} is not an exported file: {inputs.store_hint(file) or error}")
            return UNDECIDED
    if not (number or exported.records or exported.trailer or expected):  # it may be emptied
        _complain(f"{file!r} is not an exported file: it is empty")
        return UNDECIDED
    _say(records.file_summary(exported, number))
    for limit in exported.limits():
        _say(limit)
    return 1 if number else 0


def _print_findings(
    findings: "Iterator[ChainProblem | LineFinding]", progress: render.Progress, json: bool
) -> int:
    number = 0
    for finding in findings:
        progress.clear()
        number += 1
        print(render.as_json(finding.to_dict()) if json else printable(str(finding)), flush=True)
    return number


@command.command("replay")
@takes("store")
def replay(
    host: HostOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    kind: TypeOption = None,
    agent: AgentOption = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Decide every record again, from what was recorded, and print the differences.

    A difference to another version of this package names that version. Exit code 0 if all decisions
    are the same, 1 if some differ, 3 if some cannot be made again.
    """
    wanted = parse_filter(host, since, until, kind, agent)
    with (
        _open_store(options) as opened,
        _cleared(render.Progress()) as progress,
        closing(opened.records(wanted)) as found,
    ):
        replaying, shown_at = _replay(opened), time.monotonic()
        has_strands = opened.has_strands()
        for record in found:
            difference = replaying.again(record)
            if time.monotonic() - shown_at > _PROGRESS_INTERVAL:
                shown_at = time.monotonic()
                progress.say(records.replay_progress(replaying.counts))
            if difference is not None:
                progress.clear()
                values = records.with_strand(difference._asdict(), has_strands)
                shown = difference.to_text(records.number(difference.id, has_strands))
                print(render.as_json(values) if json else printable(shown), flush=True)
    counts = replaying.counts
    for line in records.replay_summary(counts):
        _say(line)
    return UNDECIDED if counts.undecided else 1 if counts.different else 0


OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")
]
FormatOption = Annotated[
    Literal["jsonl", "csv"],
    typer.Option("--format", help="JSON lines, which can be verified, or CSV."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
SnapshotsOption = Annotated[
    Path | None,
    typer.Option(
        "--snapshots", metavar="DIR", help="Also write the robots.txt files, as SHA256.txt."
    ),
]


@command.command("export")
@takes("redact_query", "store")
def export(
    host: HostOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    kind: TypeOption = None,
    agent: AgentOption = None,
    output: OutputOption = None,
    form: FormatOption = "jsonl",
    force: ForceOption = False,
    snapshots: SnapshotsOption = None,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Export records: as JSON lines, which `verify FILE` reads, or as CSV for a spreadsheet.

    The last JSON line says whether this is all of the store or a part, how many records it has, and
    where the chain ends: `verify FILE` finds what was removed. CSV has no such line. Exit code 1 if
    a robots.txt for --snapshots is missing, or was changed.
    """
    if json and form == "csv":
        raise inputs.Unusable("--json and --format csv contradict each other")
    from manners.cli import exporting, saving
    from manners.evidence.export import COMPLETE, FILTERED, Exporting, export_view
    from manners.evidence.store import EVERYTHING

    wanted = parse_filter(host, since, until, kind, agent)
    with _open_store(options) as opened, exporting.writing(output, force, opened.place) as write:
        folder = None if snapshots is None else saving.make_folder(snapshots)
        files = saving.Snapshots(folder, opened.snapshot)
        kind_of_export = COMPLETE if wanted == EVERYTHING else FILTERED
        lines = Exporting(kind_of_export, "redact_query" in options.values)
        with opened.view(wanted) as view:
            trailer = export_view(view, lines, exporting.emitter(form, write), files.add)
    if output is not None:
        part = "" if trailer.kind == COMPLETE else f"{trailer.records:,} of "
        _say(f"{part}{count(trailer.total, 'record')} in {output}")
    if files.bad:
        inputs.warn(
            f"{count(files.bad, 'robots.txt file')} missing or changed:"
            " `manners evidence verify` says which"
        )
    return 1 if files.bad else 0


@command.command("prune")
@takes("store")
def prune(
    before: Annotated[
        str,
        typer.Option(
            "--before", metavar="TIME", help="Delete records from before this date or time."
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    *,
    options: Options,
    json: JsonOption = False,
) -> int:
    """Delete old records for good, and leave a checkpoint from which the chain continues.

    It prints the checkpoint, as N:HASH: keep it with the heads. Exit code 1 if you say no.
    """
    moment = parse_time("--before", before)
    with _open_store(options, readonly=False) as opened:
        from manners.evidence.store import Filter

        if not yes:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise inputs.Unusable("records would be deleted for good: confirm with --yes")
            number = opened.count(Filter(until=moment))
            question = f"Delete {count(number, 'record')} of {opened.place} for good?"
            if not typer.confirm(printable(question), err=True):
                _say("nothing was deleted")
                return 1
        removed, start = opened.prune(moment), opened.start()
        strands = opened.strands() if opened.has_strands() else []
    if json:
        print(render.as_json(records.pruned(removed, start, strands)))
    elif removed and strands:
        print(f"{count(removed, 'record')} deleted; each strand continues from its checkpoint")
        for checkpoint in records.checkpoints(strands):
            print(printable(checkpoint))
    elif removed:
        deleted = count(removed, "record")
        print(printable(f"{deleted} deleted; the chain continues from {start}"))
    else:
        print("nothing to delete")
    return 0


# Shared by the commands.


def _place(options: Options) -> tuple[str, float]:
    """Where the store is, and how long to wait for it."""
    settings = options.load()
    return settings.store or inputs.STORE, settings.server_timeout


@contextmanager
def _open_store(options: Options, *, readonly: bool = True) -> Iterator["EvidenceStore"]:
    """Open the store; an error while it is read is exit code 3, not a usage error."""
    from manners.evidence.store import EvidenceStore

    place, timeout = _place(options)
    with EvidenceStore(place, create=False, readonly=readonly, timeout=timeout) as opened:
        try:
            yield opened
        except StoreError as error:
            _complain(str(error))
            raise typer.Exit(UNDECIDED) from None


@contextmanager
def _cleared(progress: render.Progress) -> Iterator[render.Progress]:
    """Remove the progress line in the end."""
    try:
        yield progress
    finally:
        progress.clear()


def _replay(store: "EvidenceStore") -> "Replay":
    from manners.evidence.record import engine
    from manners.evidence.replay import Replay

    return Replay(store.snapshot, engine())


def _url(values: dict[str, Any]) -> str:
    return str(values["metadata"].get("url", ""))


def _say(text: str) -> None:
    """Print a note, which is not the answer itself."""
    print(printable(text), file=sys.stderr)


def _complain(text: str) -> None:
    print(f"manners: {printable(text)}", file=sys.stderr)

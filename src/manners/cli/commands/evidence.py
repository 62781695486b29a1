"""`manners evidence`: what was decided, and the proof that it was."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

import typer

from manners._text import count, printable
from manners.cli import UNDECIDED, inputs, records, render
from manners.errors import StoreError, UnknownName
from manners.urls import host

if TYPE_CHECKING:
    from manners.evidence.chain import Finding, Head
    from manners.evidence.export import LineFinding
    from manners.evidence.record import Record
    from manners.evidence.store import EvidenceStore, Filter

_LAST = 50
"""How many records are listed, unless somebody asks for more."""
_OFTEN = 0.2
"""Seconds from one word about progress to the next."""
_MOST = 2**63 - 1
"""The largest number that a record can have."""

command = typer.Typer(help="Show, verify, replay and export the evidence of what was decided.")

HostOption = Annotated[
    str | None, typer.Option("--host", metavar="NAME", help="Only records about this host.")
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Only from then on: 2026-01-31, 2026-01-31T18:00, 2026-01-31T18:00+01:00 (else UTC).",
    ),
]
UntilOption = Annotated[
    str | None,
    typer.Option("--until", metavar="TIME", help="Only before then; a date is its beginning."),
]
TypeOption = Annotated[
    str | None,
    typer.Option(
        "--type",
        metavar="TYPE",
        help="Only robots_allowed, blocked_by_robots or blocked_by_exclusion.",
    ),
]
AgentOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="TEXT", help="Only verdicts for this agent, as it was given."),
]


@command.command("list")
def list_records(
    host: HostOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    kind: TypeOption = None,
    agent: AgentOption = None,
    last: Annotated[
        int | None,
        typer.Option(
            "--last", metavar="N", min=1, help=f"So many of the latest (default {_LAST})."
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.")] = False,
    redact_query: inputs.RedactQueryOption = None,
    store: inputs.StoreOption = None,
    config: inputs.ConfigOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """List what was decided: a line for each record, the latest at the end."""
    if everything and last is not None:
        raise inputs.Unusable("--last and --all contradict each other")
    from manners.evidence.export import as_dict

    wanted = _filter(host, since, until, kind, agent)
    most = None if everything else last or _LAST
    with _reading(store, config) as opened, closing(opened.records(wanted, most)) as found:
        shown = 0
        for record in found:
            values = as_dict(record, bool(redact_query))
            print(render.as_json(values) if json else records.line(record, _url(values)))
            shown += 1
        if not json and last is None and shown == _LAST:
            total = opened.count(wanted)
            if total > shown:
                _say(f"the latest {shown} of {total:,} records; --all lists every one")
    return 0


@command.command("show")
def show(
    number: Annotated[
        int, typer.Argument(metavar="ID", min=1, max=_MOST, help="The number of a record.")
    ],
    robots: Annotated[
        bool, typer.Option("--robots", help="Print the robots.txt that it rests on, as it was.")
    ] = False,
    redact_query: inputs.RedactQueryOption = None,
    store: inputs.StoreOption = None,
    config: inputs.ConfigOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Show everything about one record: what decided, in which line, and whether it still does.

    Exit code 1 when there is no such record; with --robots, when it rests on none.
    """
    if robots and json:
        raise inputs.Unusable("--robots prints the file as it was, and --json prints JSON")
    from manners.evidence.export import as_dict, holds

    with _reading(store, config) as opened:
        record = opened.record(number)
        if record is None:
            inputs.warn(f"there is no record {number}")
            return 1
        sha256 = record.metadata.get("snapshot")
        body = opened.snapshot(sha256) if isinstance(sha256, str) else None
        if robots:
            return _print_robots(record, body)
        difference = _replay(opened).again(record)
    around = [] if body is None else records.lines_around(record, body)
    values = as_dict(record, bool(redact_query))
    shown = records.Shown(record, _url(values), holds(record), difference, body, around)
    if not json:
        print("\n".join(records.page(shown)))
        return 0
    again = None if difference is None else {**difference._asdict(), "url": shown.url}
    told = {
        "record": values,
        "hash_holds": shown.holds,
        "difference": again,
        "robots_bytes": None if body is None else len(body),
        "lines": [{"number": each.number, "text": each.text} for each in around],
    }
    print(render.as_json(told))
    return 0


def _print_robots(record: "Record", body: bytes | None) -> int:
    if body is None:
        inputs.warn(f"record {record.id} rests on no robots.txt: {records.because(record)}")
        return 1
    if sys.stdout.isatty():
        print(render.printable_text(body.decode("utf-8", "backslashreplace")), end="", flush=True)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
    return 0


@command.command("head")
def head(
    store: inputs.StoreOption = None,
    config: inputs.ConfigOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Print where the chain ends, as N:HASH: the number of the last record, and its hash.

    Keep it where nobody who can write to the store can change it: on paper, in a mail, in a
    repository. `verify --head N:HASH` then shows that nothing up to there was changed or taken out.
    """
    with _reading(store, config) as opened:
        found = opened.head()
    print(render.as_json(found._asdict()) if json else printable(str(found)))
    return 0


@command.command("verify")
def verify(
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE|-]", help="An exported file; without one, the store."),
    ] = None,
    noted: Annotated[
        str | None,
        typer.Option("--head", metavar="N:HASH", help="What `head` printed at an earlier time."),
    ] = None,
    store: inputs.StoreOption = None,
    config: inputs.ConfigOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Verify the chain of a store, or of an exported file: nothing was changed, put in, taken out.

    Findings are printed one a line. Exit code 0 when there are none, 1 when there are some, 3 when
    it could not be read to its end.
    """
    if file is not None and store is not None:
        raise inputs.Unusable("a file and --store contradict each other: one is verified")
    expected = None if noted is None else _head(noted)
    if file is not None:
        return _verify_file(file, expected, json)
    return _verify_store(store, config, expected, json)


def _verify_store(
    store: str | None, config: str | None, expected: "Head | None", json: bool
) -> int:
    progress = render.Progress()
    with _reading(store, config) as opened, _quiet_at_the_end(progress):
        start, end = opened.start(), opened.head()
        progress.say(f"verifying {count(end.number, 'record')}")
        with closing(opened.verify(expected)) as findings:
            number = _print_findings(findings, progress, json)
    records = count(end.number - start.number, "record")
    if number:
        _say(f"FAILED: {count(number, 'finding')} in {records}; head {end}")
    else:
        _say(f"OK: {records} verified, chain intact; head {end}")
    if start.number:
        _say(f"records up to {start.number} were pruned before")
    if expected is None:
        _say(
            "without --head: whether records are missing at the end, or all were written anew,"
            " cannot be known"
        )
    return 1 if number else 0


def _verify_file(file: str, expected: "Head | None", json: bool) -> int:
    from manners.evidence.export import WHOLE, Exported, NotAnExport

    exported, progress = Exported(expected), render.Progress()
    with inputs.open_input(file, "an export") as opened:
        try:
            number = _print_findings(exported.findings(_lines(opened)), progress, json)
        except NotAnExport as error:
            _complain(f"{file!r} is not an exported file: {error}")
            return UNDECIDED
    records, trailer = count(exported.records, "record"), exported.trailer
    if not (number or exported.records or trailer or expected):  # all may have been removed
        _complain(f"{file!r} is not an exported file: it is empty")
        return UNDECIDED
    if number:
        _say(f"FAILED: {count(number, 'finding')} in {records}")
    elif trailer is not None and trailer.kind == WHOLE:
        _say(f"OK: {records} verified, a whole export, chain intact; head {trailer.head}")
    else:
        _say(f"OK: {records} verified")
    for limit in exported.limits():
        _say(limit)
    return 1 if number else 0


def _print_findings(
    findings: "Iterator[Finding] | Iterator[LineFinding]", progress: render.Progress, json: bool
) -> int:
    number = 0
    for finding in findings:
        progress.clear()
        number += 1
        print(render.as_json(finding._asdict()) if json else printable(str(finding)), flush=True)
    return number


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of one without end, only its beginning."""
    from manners.evidence.export import MAX_LINE

    while line := file.readline(MAX_LINE + 1):
        yield line
        while len(line) > MAX_LINE and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE + 1)


@command.command("replay")
def replay(
    host: HostOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    kind: TypeOption = None,
    agent: AgentOption = None,
    store: inputs.StoreOption = None,
    config: inputs.ConfigOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Decide again, from what each record rests on, and print what comes out differently.

    What another version of this package decided is told as such. Exit code 0 when everything comes
    out the same, 1 when something does not, 3 when something cannot be decided again.
    """
    from collections import Counter

    wanted = _filter(host, since, until, kind, agent)
    counts: Counter[str] = Counter()
    different = undecided = others = 0
    progress, at = render.Progress(), time.monotonic()
    with (
        _reading(store, config) as opened,
        _quiet_at_the_end(progress),
        closing(opened.records(wanted)) as found,
    ):
        deciding = _replay(opened)
        for record in found:
            counts[record.type] += 1
            if time.monotonic() - at > _OFTEN:
                at = time.monotonic()
                progress.say(f"{counts.total():,} decided again, {different + undecided:,} differ")
            difference = deciding.again(record)
            if difference is None:
                continue
            undecided += not difference.replayed
            different += bool(difference.replayed)
            others += bool(difference.engine)
            progress.clear()
            told = render.as_json(difference._asdict()) if json else printable(str(difference))
            print(told, flush=True)
    _say(_counts(counts.total(), different, undecided, others))
    for name, number in sorted(counts.items()):
        _say(f"  {number:,} {name}")
    return UNDECIDED if undecided else 1 if different else 0


def _counts(total: int, different: int, undecided: int, others: int) -> str:
    parts = [f"{count(total, 'record')} decided again"]
    if different:
        parts.append(f"{different:,} different")
    if undecided:
        parts.append(f"{undecided:,} not possible")
    if others:
        parts.append(f"{others:,} of these by another version")
    return ", ".join(parts) if len(parts) > 1 else f"{parts[0]}: all the same"


@command.command("export")
def export(
    host: HostOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    kind: TypeOption = None,
    agent: AgentOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")
    ] = None,
    form: Annotated[
        Literal["jsonl", "csv"],
        typer.Option("--format", help="JSON lines, which can be verified, or a table."),
    ] = "jsonl",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    snapshots: Annotated[
        Path | None,
        typer.Option(
            "--snapshots", metavar="DIR", help="Also write the robots.txt files, as SHA256.txt."
        ),
    ] = None,
    redact_query: inputs.RedactQueryOption = None,
    store: inputs.StoreOption = None,
    config: inputs.ConfigOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Export records: as JSON lines, which `verify FILE` reads, or as CSV for a spreadsheet.

    The last JSON line says whether it is all of the store or a part, how many records it has, and
    where the chain ends: `verify FILE` finds what is removed. CSV has no such line. Exit code 1
    when a robots.txt for --snapshots is missing, or was changed.
    """
    if json and form == "csv":
        raise inputs.Unusable("--json and --format csv contradict each other")
    from manners.cli import saving
    from manners.evidence.export import COLUMNS, FILTERED, WHOLE, Exporting, cells, csv_line
    from manners.evidence.store import EVERYTHING

    wanted = _filter(host, since, until, kind, agent)
    ending = "\r\n" if form == "csv" else "\n"
    exporting = Exporting(WHOLE if wanted == EVERYTHING else FILTERED, bool(redact_query))
    with (
        _reading(store, config) as opened,
        _writing(output, force, opened.place) as write,
        opened.view(wanted) as view,
    ):
        files = saving.Snapshots(
            None if snapshots is None else saving.made(snapshots), opened.snapshot
        )
        if form == "csv":
            write(csv_line(COLUMNS) + ending)
        for record in view.records:
            values = exporting.line(record)
            write((csv_line(cells(values)) if form == "csv" else render.as_json(values)) + ending)
            files.add(record.metadata.get("snapshot"))
        trailer = exporting.trailer(view.start, view.head, view.total)
        if form == "jsonl":
            write(render.as_json(trailer.to_dict()) + ending)
    if output is not None:
        part = "" if trailer.kind == WHOLE else f"{trailer.records:,} of "
        _say(f"{part}{count(trailer.total, 'record')} in {output}")
    if files.bad:
        inputs.warn(
            f"{count(files.bad, 'robots.txt file')} missing or changed:"
            " `manners evidence verify` says which"
        )
    return 1 if files.bad else 0


@contextmanager
def _writing(output: Path | None, force: bool, store: str) -> Iterator[Callable[[str], object]]:
    """What writes text, to a file or to standard output."""
    if output is None:
        yield sys.stdout.write
        return
    from manners.cli import saving

    with saving.new(output, force, store) as file:
        yield lambda text: file.write(text.encode("utf-8", "backslashreplace"))


@command.command("prune")
def prune(
    before: Annotated[
        str,
        typer.Option(
            "--before", metavar="TIME", help="Drop records from before this date or time."
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: inputs.StoreOption = None,
    config: inputs.ConfigOption = None,
    json: inputs.JsonOption = False,
) -> int:
    """Drop old records for good, and leave a checkpoint from which the chain goes on.

    It prints the checkpoint, as N:HASH: keep it with the heads. Exit code 1 when you say no.
    """
    moment = _moment("--before", before)
    with _reading(store, config, readonly=False) as opened:
        from manners.evidence.store import Filter

        if not yes:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise inputs.Unusable(
                    "records would be dropped for good: --yes says that you mean it"
                )
            number = opened.count(Filter(until=moment))
            asked = f"Drop {count(number, 'record')} for good, of {opened.place}?"
            if not typer.confirm(printable(asked), err=True):
                _say("nothing was dropped")
                return 1
        removed, start = opened.prune(moment), opened.start()
    if json:
        print(render.as_json({"removed": removed, "checkpoint": start._asdict()}))
    elif removed:
        dropped = count(removed, "record")
        print(printable(f"{dropped} dropped; the chain goes on from {start}"))
    else:
        print("nothing to drop")
    return 0


# What they share.


@contextmanager
def _reading(
    store: str | None, config: str | None, *, readonly: bool = True
) -> Iterator["EvidenceStore"]:
    """The store; one that breaks off while it is read is exit code 3, and not a usage error."""
    from manners.evidence.store import EvidenceStore
    from manners.settings import load

    settings = load(config, options={"store": store}).settings
    place, timeout = settings.store or inputs.STORE, settings.server_timeout
    with EvidenceStore(place, create=False, readonly=readonly, timeout=timeout) as opened:
        try:
            yield opened
        except StoreError as error:
            _complain(str(error))
            raise typer.Exit(UNDECIDED) from None


@contextmanager
def _quiet_at_the_end(progress: render.Progress) -> Iterator[None]:
    try:
        yield
    finally:
        progress.clear()


def _replay(store: "EvidenceStore") -> Any:
    from manners.evidence.record import engine
    from manners.evidence.replay import Replay

    return Replay(store.snapshot, engine())


def _filter(
    name: str | None, since: str | None, until: str | None, kind: str | None, agent: str | None
) -> "Filter":
    from manners.evidence.record import TYPES
    from manners.evidence.store import Filter

    if kind is not None and kind not in TYPES:
        raise UnknownName("type", kind, TYPES)
    return Filter(
        None if name is None else host(name if "://" in name else f"http://{name}/"),
        None if since is None else _moment("--since", since),
        None if until is None else _moment("--until", until),
        kind,
        agent,
    )


def _moment(option: str, written: str) -> float:
    """Seconds since the epoch; a date alone is its beginning; UTC, unless it says otherwise."""
    try:
        found = datetime.fromisoformat(written.strip())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise inputs.Unusable(
            f"{option} is a date, or a date and a time, as in 2026-01-31 or 2026-01-31T18:00+01:00,"
            f" not {written[:100]!r}"
        ) from None


def _head(written: str) -> "Head":
    from manners.evidence.chain import Head

    try:
        return Head.parse(written)
    except ValueError as error:
        raise inputs.Unusable(f"--head: {error}") from None


def _url(values: dict[str, Any]) -> str:
    return str(values["metadata"].get("url", ""))


def _say(text: str) -> None:
    """Something besides the answer itself."""
    print(printable(text), file=sys.stderr)


def _complain(text: str) -> None:
    print(f"manners: {printable(text)}", file=sys.stderr)

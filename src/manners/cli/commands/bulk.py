"""`manners bulk`: a table of URLs and an archive of robots.txt in, verdicts out."""

import re
import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manners._text import duration, printable
from manners.cli import INTERRUPTED, UNDECIDED, inputs, render
from manners.cli.crawling import terminable
from manners.cli.options import LOGS, RETRIEVAL, Options, takes
from manners.robots.agents import WILDCARD
from manners.robots.dialects import DEFAULT
from manners.settings.fields import OUTPUT, ROBOTS, SPEED

if TYPE_CHECKING:
    from manners.bulk.stages import RunProgress

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = re.compile(r"([0-9]{1,12})\s*([KMGT]?)(?:i?B)?", re.IGNORECASE).fullmatch
_WINDOW = 15.0
"""Seconds by which the rest is estimated."""
_PAUSE = 0.2


@takes("min_delay", "concurrency", *RETRIEVAL, *LOGS)
def command(
    urls: Annotated[
        list[str],
        typer.Option(
            "--urls",
            metavar="PLACE",
            help="URLs: Parquet, CSV, text, JSON lines; a file, folder, glob or -; repeatable.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="PLACE",
            help="A folder, or a file: .parquet, .csv, .jsonl; - prints JSON lines.",
        ),
    ],
    robots: Annotated[
        list[str] | None,
        typer.Option(
            "--robots",
            metavar="PLACE",
            help="robots.txt files: Parquet, WARC, a folder, cache or store; repeatable.",
        ),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent",
            metavar="NAME",
            help="The agent to decide for (default *); repeatable.",
            rich_help_panel=ROBOTS,
        ),
    ] = None,
    column: Annotated[
        str, typer.Option("--column", metavar="NAME", help="The column with the URLs.")
    ] = "url",
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep", metavar="NAMES", help="Input columns to write, as in id,url (default: all)."
        ),
    ] = None,
    add: Annotated[
        str | None,
        typer.Option(
            "--add",
            metavar="NAMES",
            help="Of allowed,reason,line,rule,crawl_delay (default: these), usage_ai_train, …",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            "--only", metavar="ANSWER", help="Write only allowed, disallowed or undecided rows."
        ),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="parquet, csv or jsonl, if not by its name."),
    ] = None,
    fetch: Annotated[
        bool,
        typer.Option("--fetch", help="Retrieve robots.txt that the archive lacks, politely."),
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on: parts that are there are skipped.")
    ] = False,
    memory: Annotated[
        str,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="About how much to use; what is larger is sorted on disk.",
            rich_help_panel=SPEED,
        ),
    ] = "1G",
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            min=1,
            help="Parts at a time (default: cores, up to 4).",
            rich_help_panel=SPEED,
        ),
    ] = None,
    parts: Annotated[
        int | None,
        typer.Option(
            "--parts",
            metavar="N",
            min=1,
            help="Split by host into N parts.",
            rich_help_panel=SPEED,
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="K/N",
            help="Only part K of N by host, counted from 0: for many machines.",
            rich_help_panel=SPEED,
        ),
    ] = None,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare",
            help="Only sort the inputs by part (default 256), for --part.",
            rich_help_panel=SPEED,
        ),
    ] = False,
    *,
    options: Options,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print the summary as JSON.", rich_help_panel=OUTPUT),
    ] = False,
) -> int:
    """Decide about a table of URLs by an archive of robots.txt files.

    Adds allowed, reason, line, rule and crawl_delay to each row. Exit code 0 if it is done, 3 if
    nothing could be decided (unless in one --part) or an input cannot be read, 130 if interrupted:
    --resume goes on.
    """
    given: dict[str, Any] = {
        "column": column,
        "keep": None if keep is None else _names(keep),
        "only": only,
        "format": form,
        "memory": _size(memory),
        "parts": parts,
        "part": part,
        "prepare": prepare,
        "threads": threads,
        "resume": resume,
    }
    if add is not None:
        given["add"] = _names(add)
    given |= _by_settings(options, agent, fetch)
    return _run(urls, robots or [], output, given, json)


def _by_settings(options: Options, agent: list[str] | None, fetch: bool) -> dict[str, Any]:
    """The arguments of a run that settings decide about."""
    if not fetch and not options.has_settings():  # then msgspec is not needed
        inputs.say_whom(agent or [WILDCARD])
        dialect = options.values.get("dialect", DEFAULT)
        return {"agent": agent or [WILDCARD], "dialect": dialect}
    settings = options.load()
    agents = agent or [inputs.asked_agent(settings)]
    inputs.say_whom(agents)
    return {
        "agent": agents,
        "dialect": settings.dialect,
        "profile": settings.retrieval,
        "fetch": settings if fetch else None,
    }


def _run(urls: list[str], robots: list[str], output: str, given: dict[str, Any], json: bool) -> int:
    from manners.errors import Extra

    with Extra("pyarrow"):
        from manners.bulk.parts import UnwritableOutput
        from manners.bulk.running import run
        from manners.bulk.texts import UnreadableInput

    shown = Forecast()
    try:
        with terminable():
            summary = run(urls, robots, output, on_progress=shown.show, **given)
    except (UnreadableInput, UnwritableOutput) as error:
        shown.clear()
        print(f"manners: {error}", file=sys.stderr)
        return UNDECIDED
    except KeyboardInterrupt:
        shown.clear()
        print(f"manners: interrupted; {_way_on(output)}", file=sys.stderr)
        return INTERRUPTED
    finally:
        shown.clear()
    if json:
        print(render.as_json(summary.to_dict()), file=sys.stderr if output == "-" else sys.stdout)
    else:
        print(summary, file=sys.stderr if output == "-" else sys.stdout)
    # The hosts of one part may all be unknown: whoever runs the parts must not see a failed job.
    is_all = given["part"] is None
    return UNDECIDED if is_all and summary.urls and summary.agents and not summary.decided else 0


def _way_on(output: str) -> str:
    from manners.bulk.parts import Output

    if output == "-":
        return "what was printed is not all"
    done = len(Output(output).existing())
    parts = f"{done:,} complete {'part is' if done == 1 else 'parts are'} kept"
    return f"{parts}: the same command with --resume goes on"


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _size(text: str) -> int:
    found = _SIZE(text.strip())
    if found is None:
        raise inputs.Unusable(f"--memory {text!r} is no size, as in 512M or 2G")
    return int(found[1]) * _UNITS[found[2].upper()]


class Forecast:
    """The progress of a run as one line, with the time that is left by the latest rate."""

    def __init__(self) -> None:
        self._line = render.Progress()
        self._phase, self._shown = "", 0.0
        self._samples: deque[tuple[float, float]] = deque()

    def show(self, progress: "RunProgress") -> None:
        """Replace the line, a few times a second."""
        now = time.monotonic()
        if progress.phase != self._phase:
            self._phase = progress.phase
            self._samples.clear()
        if progress.fraction is not None:
            self._samples.append((now, progress.fraction))
        if now - self._shown >= _PAUSE:
            self._shown = now
            self._line.say(printable(self.text(progress, now)))

    def text(self, progress: "RunProgress", now: float) -> str:
        """What the line says."""
        text = f"{progress.phase}: {progress.done:,}"
        if progress.fraction is None:
            return text
        while len(self._samples) > 2 and self._samples[0][0] < now - _WINDOW:
            self._samples.popleft()
        text += f", {progress.fraction:.0%}"
        began, before = self._samples[0] if self._samples else (now, 0.0)
        gained = progress.fraction - before
        if now - began < 1.0 or gained <= 0:
            return text
        rest = (1.0 - progress.fraction) * (now - began) / gained
        return f"{text}, about {duration(max(round(rest), 1))} left" if rest > 0 else text

    def clear(self) -> None:
        """Remove the line."""
        self._line.clear()

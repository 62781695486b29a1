"""What a bulk run is asked to do, checked before anything is read."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manners._secrets import without_secrets
from manners.bulk.decisions import ADD, ADD_USAGE
from manners.bulk.records import BulkError
from manners.retrieval import profiles
from manners.retrieval.profiles import Profile
from manners.robots import dialects
from manners.robots.dialects import Dialect

if TYPE_CHECKING:
    from manners.settings import Settings

Places = str | Path | Iterable[str | Path]
MEMORY = 2**30
ONLY = ("allowed", "disallowed", "undecided")
PARTS, MAX_PARTS = 256, 65_536
_MIN_MEMORY = 2**26
_MAX_THREADS = 4
"""Threads without being asked: each has a part in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a bulk run is asked to do; `run` explains the fields."""

    urls: tuple[str, ...]
    robots: tuple[str, ...]
    out: str
    agents: tuple[str, ...]
    column: str = "url"
    keep: tuple[str, ...] | None = None
    add: tuple[str, ...] = ADD
    only: str | None = None
    form: str | None = None
    dialect: str | Dialect = dialects.DEFAULT
    profile: str | Profile = profiles.DEFAULT
    memory: int = MEMORY
    parts: int | None = None
    part: int | None = None
    prepare: bool = False
    threads: int = 1
    resume: bool = False
    fetch: "Settings | None" = None

    def plan(self) -> dict[str, Any]:
        """What decides about the output, for a run that is resumed."""
        return {
            "urls": [_fingerprint(place, _files_with_urls(place)) for place in self.urls],
            "robots": [
                _fingerprint(place, self._files_with_robots(place)) for place in self.robots
            ],
            "agent": list(self.agents),
            "column": self.column,
            "keep": None if self.keep is None else list(self.keep),
            "add": list(self.add),
            "only": self.only,
            "dialect": dialects.get(self.dialect).name,
            "profile": profiles.get(self.profile).name,
            "parts": self.parts,
            "fetch": self.fetch is not None,
        }

    def _files_with_robots(self, place: str) -> Iterator[str]:
        from manners.bulk.readers import files_at, is_sqlite

        # A cache may be the one that retrieved files are kept in: the run itself changes it.
        return (path for path in files_at(place) if self.fetch is None or not is_sqlite(path))


def job(urls: Places, robots: Places, out: str | Path, **given: Any) -> Job:
    """The job that the arguments of `run` ask for, checked."""
    agent, part = given.pop("agent"), given.pop("part")
    keep, add, threads = given.pop("keep"), given.pop("add"), given.pop("threads")
    keep = [keep] if isinstance(keep, str) else keep
    agents = (agent,) if isinstance(agent, str) else tuple(agent)
    if not agents or not all(isinstance(name, str) and name for name in agents):
        raise BulkError("agent", "name the agent that the verdicts are for, as in 'MyBot'")
    if len(set(agents)) < len(agents):
        raise BulkError("agent", "an agent is named twice")
    found = Job(
        urls=_places(urls),
        robots=_places(robots),
        out=str(out) + ("/" if isinstance(out, Path) and out.is_dir() else ""),
        agents=agents,
        keep=None if keep is None else tuple(dict.fromkeys(keep)),
        add=tuple(dict.fromkeys(add)),
        threads=min(os.cpu_count() or 1, _MAX_THREADS) if threads is None else threads,
        **given,
    )
    if part is not None:
        number, parts = _part(part, found.parts)
        found = replace(found, part=number, parts=parts)
    elif found.prepare and found.parts is None:
        found = replace(found, parts=PARTS)
    _check(found)
    return found


def _places(given: Places) -> tuple[str, ...]:
    places = [given] if isinstance(given, str | Path) else given
    return tuple(str(place) for place in places)


def _part(text: str, parts: int | None) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not all(
        figure.isascii() and figure.isdigit() and len(figure) < 10 for figure in (number, of)
    ):
        raise BulkError(f"part {text!r}", "as in 0/256, the first of 256 parts")
    if int(number) >= int(of) > 0:
        raise BulkError(
            f"part {text!r}", f"parts are counted from 0: the last is {int(of) - 1}/{of}"
        )
    if parts is not None and parts != int(of):
        raise BulkError(f"part {text!r}", f"but there are {parts} parts: leave out one of the two")
    return int(number), int(of)


def _check(found: Job) -> None:
    from manners.bulk import outputs

    dialects.get(found.dialect)
    profiles.get(found.profile)
    if found.only is not None and found.only not in ONLY:
        raise BulkError(f"only {found.only!r}", f"choose from: {', '.join(ONLY)}")
    for name in found.add:
        if name not in (*ADD, *ADD_USAGE):
            names = ", ".join((*ADD, *ADD_USAGE))
            raise BulkError(f"add {name!r}", f"choose from: {names}")
    if found.parts is not None and not 0 < found.parts <= MAX_PARTS:
        raise BulkError(f"{found.parts} parts", f"a run has 1 to {MAX_PARTS:,} parts")
    if found.memory < _MIN_MEMORY:
        raise BulkError(f"memory {found.memory}", f"at least {_MIN_MEMORY:,} bytes are needed")
    if found.threads < 1:
        raise BulkError(f"{found.threads} threads", "at least 1 is needed")
    if not found.robots and found.fetch is None:
        raise BulkError("robots", "no archive was given, and nothing may be retrieved")
    if (found.part is not None or found.prepare) and not outputs.is_folder(found.out):
        raise BulkError(found.out, "parts need a folder to be written to, as in -o verdicts/")
    if found.part is not None and found.prepare:
        raise BulkError("prepare", "prepare once, without a part; then run the parts")
    if (found.part is not None or found.prepare) and "-" in found.urls:
        raise BulkError("standard input", "a part needs URLs in files, which can be read again")
    if "-" in found.urls and found.resume:
        raise BulkError("standard input", "only URLs in files can be resumed: save them")
    if found.out == "-" and found.resume:
        raise BulkError("standard output", "what was written to it cannot be resumed")


# Files with their sizes and times: what a resumed run must find as it was.


def _fingerprint(place: str, files: Iterable[str]) -> list[Any]:
    shown, digest, count = without_secrets(place), sha256(), 0
    with suppress(OSError, BulkError):  # one that is not there is an error of who reads it
        for path in files:
            stat = Path(path).stat()
            found = [path, stat.st_size, stat.st_mtime_ns]
            digest.update(repr(found).encode("utf-8", "backslashreplace"))
            count += 1
    if count == 1:
        return [shown, *found[1:]]
    return [shown, f"{count} files", digest.hexdigest()] if count else [shown]


def _files_with_urls(place: str) -> Iterator[str]:
    from manners.bulk import forms
    from manners.bulk.inputs import STDIN, find

    return (file.path for file in find(place, forms.NAMES, forms.SUFFIXES) if file.path != STDIN)


def check_names(kept: Sequence[str], add: Sequence[str], agents: Sequence[str]) -> None:
    """Raise if a column of the input has the name of one that is added."""
    added = [*(["agent"] if len(agents) > 1 else []), *add]
    for name in added:
        if name in kept:
            raise BulkError(
                f"column {name!r}", "the input has one, too: keep other columns, or add fewer"
            )

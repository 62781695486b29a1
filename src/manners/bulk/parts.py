"""The files of a bulk run: parts of the output, and what the run has to remember.

A part is written to a temporary file and renamed when it is complete and on disk, so that a file
under its final name is always a complete one. Beside the output is a work folder, `OUT.work`, with
the plan of the run, the counts of each part, and data that is sorted by part.
"""

import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from manners._text import cut
from manners.bulk import outputs
from manners.bulk.joining import join
from manners.bulk.records import BulkError
from manners.bulk.summary import KEPT_HOSTS, Summary, total

SUMMARY = "_summary.json"
"""In a folder of parts: what came out, and of which settings. Other programs skip such names."""
_PART = re.compile(r"part-\d{5,}(-of-\d{5,})?\.(parquet|csv|jsonl)").fullmatch
_WORK = re.compile(
    r"lock.*|(plan|mode)\.json|counts|parts|(urls|robots)(\.tmp)?|fetched.*\.arrow|\..*"
).fullmatch
"""Names in a work folder."""
_TEMPORARY = re.compile(r"\.part-.*\.tmp").fullmatch


class Output:
    """Where a run writes: a folder of parts, or one file that is put together at the end."""

    def __init__(self, place: str, form: str | None = None) -> None:
        self.place, self.form = place, outputs.format_of(place, form)
        self.is_folder = outputs.is_folder(place)
        self._path = Path(place)
        self.work = self._path.parent / (self._path.name + ".work")
        """The work folder."""
        self.parts = self._path if self.is_folder else self.work / "parts"
        """Where parts are written."""
        self._locks: list[int] = []

    # Parts.

    def part(self, number: int, of: int | None = None) -> Path:
        """The file of a part; `of` is how many there are, where hosts decide which one."""
        name = f"part-{number:05}" + ("" if of is None else f"-of-{of:05}")
        return self.parts / f"{name}.{self.form}"

    def existing(self) -> list[Path]:
        """The parts that are there, in their order."""
        if not self.parts.is_dir():
            return []
        found = [path for path in self.parts.iterdir() if _PART(path.name)]
        return sorted(found, key=lambda path: (len(path.name), path.name))

    def is_done(self, part: Path) -> bool:
        """Whether a part is complete: it is there, and so are its counts."""
        return part.exists() and self._counts(part).exists()

    @contextmanager
    def writing(self, part: Path) -> Iterator[tuple[BinaryIO, Summary]]:
        """A file for a part, and a summary to fill; it gets its name when both are on disk."""
        summary = Summary(parts=1)
        with whole_file(part) as file:
            yield file, summary
            with whole_file(self._counts(part)) as counts:
                counts.write(json.dumps(summary.to_dict(KEPT_HOSTS)).encode())

    def summary(self, part: Path) -> Summary:
        """The counts of a part that is done."""
        return Summary.from_dict(_stored(self._counts(part)))

    def _counts(self, part: Path) -> Path:
        return self.work / "counts" / f"{part.name}.json"

    # The beginning and the end.

    def lock(self, part: str | None = None) -> None:
        """Be the only one who writes this output, or this part of it."""
        self._check_work()
        try:
            import fcntl
        except ImportError:  # Windows
            return
        self.work.mkdir(parents=True, exist_ok=True)
        kinds = [("lock", fcntl.LOCK_SH if part else fcntl.LOCK_EX)]
        kinds += [(f"lock-{part.replace('/', '-of-')}", fcntl.LOCK_EX)] if part else []
        for name, kind in kinds:
            file = os.open(self.work / name, os.O_RDWR | os.O_CREAT, 0o666)
            self._locks.append(file)
            try:
                fcntl.flock(file, kind | fcntl.LOCK_NB)
            except OSError:
                self.unlock()
                raise BulkError(self.place, "another run is writing it: wait for its end") from None

    def _check_work(self) -> None:
        """Raise if what has the name of the work folder is something else: it would be removed."""
        if not self.work.exists():
            return
        strange = [""] if not self.work.is_dir() else [path.name for path in self.work.iterdir()]
        for name in strange:
            if not _WORK(name):
                raise BulkError(
                    str(self.work / name), "not of a run: move it away, or choose another output"
                )

    def unlock(self) -> None:
        """Let others write."""
        while self._locks:
            os.close(self._locks.pop())

    def refuse_existing(self, resume: bool) -> None:
        """Raise if there is an output that would be lost or mixed up."""
        if not self.is_folder and self._path.exists():
            raise BulkError(self.place, "exists already: remove it, or choose another output")
        if not resume and self.existing():
            raise BulkError(
                self.place, "has parts of an earlier run: resume it (--resume), or remove them"
            )

    def finished(self, plan: Mapping[str, Any]) -> Summary | None:
        """The summary of a folder that is complete, and was made with the same settings.

        If parts of it are gone, what is known about the others is put back into the work folder.
        """
        file = self._path / SUMMARY
        if not self.is_folder or not file.exists():
            return None
        stored = _stored(file)
        compare(stored["plan"], plan, self.place)
        if all((self.parts / name).exists() for name in stored["parts"]):
            return Summary.from_dict(stored["summary"])
        known = {self.work / "plan.json": plan, self.work / "mode.json": stored["mode"]}
        known |= {
            self._counts(self.parts / name): counts for name, counts in stored["parts"].items()
        }
        for path, content in known.items():
            with whole_file(path) as opened:
                opened.write(json.dumps(content).encode())
        file.unlink()
        return None

    def mode(self, choose: Callable[[], int | None]) -> int | None:
        """The number of parts by host, or None if URLs stream through: chosen once."""
        file = self.work / "mode.json"
        if not file.exists():
            parts = choose()
            with whole_file(file) as opened:
                opened.write(json.dumps(parts).encode())
        found: int | None = _stored(file)
        return found

    def agree(self, plan: Mapping[str, Any]) -> None:
        """Note the plan of the run, or raise if the work folder is of another one."""
        file = self.work / "plan.json"
        if not file.exists():
            if self.existing():
                raise BulkError(
                    self.place, f"has parts, but their plan is gone ({file}): remove the parts"
                )
            with whole_file(file) as opened:
                opened.write(json.dumps(plan, indent=1).encode())
        compare(_stored(file), plan, str(self.work))

    @property
    def is_worth_keeping(self) -> bool:
        """Whether something was done that a resumed run need not do again."""
        names = ("robots", "urls", "counts")
        return bool(self.existing()) or any((self.work / name).exists() for name in names)

    def remove_temporary(self) -> None:
        """Remove what a killed run has begun to write."""
        for folder in (self.parts, self.work / "counts"):
            for path in folder.iterdir() if folder.is_dir() else ():
                if _TEMPORARY(path.name):
                    path.unlink(missing_ok=True)

    def finish(
        self,
        parts: list[Path],
        plan: Mapping[str, Any],
        sites: int | None,
        problems: Mapping[str, int],
    ) -> Summary:
        """Put the parts together, if it is one file; else note what came out."""
        counts = {part.name: self.summary(part) for part in parts}
        summary = total(counts.values())
        summary.sites = summary.sites if sites is None else sites
        summary.problems.update(problems)
        if self.is_folder:
            content = {
                "plan": plan,
                "mode": _stored(self.work / "mode.json"),
                "summary": summary.to_dict(KEPT_HOSTS),
                "parts": {name: found.to_dict(KEPT_HOSTS) for name, found in counts.items()},
            }
            with whole_file(self._path / SUMMARY) as file:
                file.write(json.dumps(content).encode())
        elif len(parts) == 1:
            parts[0].replace(self._path)
            _sync(self._path.parent)
        else:
            with whole_file(self._path) as file:
                join(parts, file, self.form)
        return summary

    def counted(self) -> Summary:
        """The counts of all parts that were done."""
        files = sorted((self.work / "counts").glob("part-*.json"))
        return total(Summary.from_dict(_stored(file)) for file in files)

    def clean(self, but_locks: bool = False) -> None:
        """Remove the work folder, or what is in it."""
        if not but_locks:
            shutil.rmtree(self.work, ignore_errors=True)
            return
        for path in self.work.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif not path.name.startswith("lock"):
                path.unlink()


class UnwritableOutput(BulkError):
    """A disk that is full, a folder that may not be written to."""

    @classmethod
    def because(cls, place: str, error: OSError) -> "UnwritableOutput":
        """The error of an output, with what to do."""
        where = "" if error.filename is None else f": {error.filename}"
        advice = _ADVICE.get(error.errno or 0, "choose another output, or look after this one")
        return cls(place, f"cannot go on: {error.strerror or error}{where}; {advice}")


_FULL = "make room, and resume it (--resume)"
_ADVICE = {errno.ENOSPC: _FULL, errno.EDQUOT: _FULL}


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file that gets its name when it is complete and on disk; never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync(path.parent)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _stored(file: Path) -> Any:
    """What a run has noted in a file."""
    try:
        return json.loads(file.read_bytes())
    except ValueError as error:
        problem = f"damaged ({error}): remove the output and its work folder, and start again"
        raise BulkError(str(file), problem) from None


def _sync(folder: Path) -> None:
    """Have the names in a folder on disk, too."""
    with suppress(OSError):  # not everywhere
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def compare(stored: Mapping[str, Any], plan: Mapping[str, Any], place: str) -> None:
    """Raise if two plans differ, and say in what.

    >>> compare({"agent": ["A"]}, {"agent": ["B"]}, "out.work")
    Traceback (most recent call last):
    manners.bulk.records.BulkError: out.work: agent was ["A"], and is now ["B"]; ...
    """
    for name in (*stored, *plan):
        before, now = stored.get(name), plan.get(name)
        if before != now:
            shown = f"{name} was {cut(json.dumps(before), 200)}, and is now"
            shown += f" {cut(json.dumps(now), 200)}"
            raise BulkError(place, f"{shown}; remove it, or choose another output")

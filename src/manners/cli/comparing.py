"""What `manners diff` compares: files, sites, revisions of a repository, and its results."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from manners._text import cut, printable
from manners.cli import inputs, linting
from manners.cli.linting import MAX_BYTES, UnreadFile
from manners.robots.dialects import Dialect
from manners.robots.policy import Robots, parse
from manners.urls import origin, robots_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from manners.cli.options import Options
    from manners.lint.difference import RobotsDifference
    from manners.robots.groups import Rule

_GIT = "git:"
_GIT_SECONDS = 30.0
_dated_name = re.compile(r"(?P<site>[^@]+)@(?P<date>\d{4}-\d\d-\d\d(?:[T ].*)?)").fullmatch
_LONGEST = 200


class ComparedFile(NamedTuple):
    """A robots.txt to be compared."""

    name: str
    """What people call it."""
    body: bytes
    url: str | None = None
    """Where it was retrieved from."""

    def parsed(self, dialect: Dialect) -> Robots:
        """The file as a dialect reads it."""
        return parse(self.body, dialect, self.url)


@dataclass(frozen=True)
class Comparison:
    """Two things that were compared: files, engines, or agents."""

    before: str
    after: str
    difference: "RobotsDifference"
    wording: "Callable[[RobotsDifference], list[str]]"
    """What is said about it, in sentences."""
    labels: tuple[str, str] = ("closed", "opened")
    """What it is called if the second does not allow what the first does, and the other way."""
    site: str = ""
    """The origin that both are of, if that is known."""

    @property
    def sentences(self) -> list[str]:
        """What differs, in words."""
        return self.wording(self.difference)

    def url(self, path: str) -> str:
        """A path as people see it: with its site, if that is known."""
        return self.site + path

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        found = {**self.difference.to_dict(), "sentences": self.sentences}
        return {"before": self.before, "after": self.after, "site": self.site or None, **found}


def describe_rule(rule: "Rule | None") -> str:
    """The rule that decides, in a few words."""
    if rule is None:
        return "no rule"
    return printable(f"line {rule.line}: {cut(rule.text.strip(), _LONGEST)}")


def common_site(*files: ComparedFile) -> str:
    """The origin of all files that have one; empty if there is none, or more than one."""
    sites = {origin(file.url) for file in files if file.url is not None}
    return sites.pop() if len(sites) == 1 else ""


def read(name: str, options: "Options") -> ComparedFile:
    """A file, `-`, the URL of a site, a site at a time (`SITE@DATE`), or `git:REV:path`."""
    if name.startswith(_GIT):
        return ComparedFile(name, _read_revision(name))
    dated = _dated(name)
    if dated is not None and not Path(name).exists():
        return _read_past(name, *dated, options)
    if linting.is_url(name):
        return _read_site(name, options)
    found = linting.read_file(name)
    return ComparedFile(found.name, found.body)


def _dated(name: str) -> tuple[str, str] | None:
    """The site and the date of `SITE@DATE`."""
    found = _dated_name(name)
    return None if found is None else (found["site"], found["date"])


def _read_site(url: str, options: "Options") -> ComparedFile:
    """The robots.txt of a site; one that has none allows everything, as an empty file does."""
    site = linting.retrieve(url, options)
    outcome = site.outcome
    if outcome.availability == "unreachable":
        advice = inputs.advice(outcome)
        raise UnreadFile(f"{outcome.url}: {outcome}" + (f"; {advice}" if advice else ""))
    body = site.entry.body if site.entry else None
    if body is None:
        inputs.warn(f"{printable(outcome.url)}: {outcome}; compared as an empty file")
    return ComparedFile(outcome.url, body or b"", outcome.url)


def _read_past(name: str, site: str, date: str, options: "Options") -> ComparedFile:
    """What a site said at a time, by the cache and the evidence store."""
    from manners.cli import history

    version = history.version_of(site, history.parse_moment(date, name), options)
    url = robots_url(version.origin)
    if version.outcome.availability == "unreachable":
        raise UnreadFile(f"{url} was not reachable then ({version.outcome})")
    if version.body is None:
        inputs.warn(f"{printable(url)} then: {version.outcome}; compared as an empty file")
    return ComparedFile(f"{url} at {date}", version.body or b"", url)


def _read_revision(name: str) -> bytes:
    """A file as it is in a revision of the repository around the working folder."""
    revision, colon, path = name.removeprefix(_GIT).partition(":")
    if not (revision and colon and path) or revision.startswith("-"):
        hint = "write git:REV:path, as in git:HEAD:robots.txt"
        raise inputs.Unusable(f"{name!r} is no revision: {hint}")
    git = shutil.which("git")
    if git is None:
        raise inputs.Unusable(f"{name!r} needs the command git, which is not installed")
    place = f"{revision}:{path}"
    size = int(_git(name, git, "-s", place))
    if size > MAX_BYTES:
        raise UnreadFile(f"cannot read {name!r}: it has more than {MAX_BYTES:,} bytes")
    return _git(name, git, "blob", place)


def _git(name: str, git: str, what: str, place: str) -> bytes:
    """What `git cat-file` prints about an object."""
    command = [git, "cat-file", what, place]
    try:
        done = subprocess.run(  # noqa: S603 (git itself, without a shell)
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        problem = f"git did not answer for {_GIT_SECONDS:.0f} s"
        raise UnreadFile(f"cannot read {name!r}: {problem}") from None
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise UnreadFile(f"cannot read {name!r}: {reason or 'git failed'}")
    return done.stdout

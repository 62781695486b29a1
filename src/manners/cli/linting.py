"""What `lint` and `format` share: files in, findings, differences, files out."""

import difflib
import os
import re
import stat
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from manners._text import cut, printable, to_text
from manners.cli import inputs, render, saving
from manners.errors import MannersError, SettingsError, UnknownName
from manners.robots import dialects
from manners.robots.lines import decode
from manners.robots.policy import parse
from manners.settings.lint_table import LintSettings
from manners.urls import with_scheme

if TYPE_CHECKING:
    from manners.cache.site import Site
    from manners.cli.options import Options
    from manners.lint.finding import Finding
    from manners.lint.impact import Impact
    from manners.lint.rule import LintRule
    from manners.robots.groups import Rule

STDIN = "<stdin>"
MAX_BYTES = 64 * 1024 * 1024
"""What is larger is no robots.txt, and is not read."""
_is_url = re.compile(r"https?://", re.IGNORECASE).match
_LINES = re.compile(rb"[^\n]*\n|[^\n]+").findall
_SENTENCE = re.compile(r".+?[.!?](?<!e\.g\.)(?<!i\.e\.)(?=\s+[A-Z`]|$)", re.DOTALL).match


class UnreadFile(MannersError):
    """A file or a site that could not be read, or a file that could not be written."""


# What to lint with.


class LintChoice(NamedTuple):
    """Which rules are used, for which engines, and what is a failure."""

    select: tuple[str, ...]
    ignore: tuple[str, ...]
    engines: tuple[str, ...]
    fail_on: str

    @classmethod
    def of(cls, given: "LintChoice", settings: LintSettings) -> "LintChoice":
        """What options say, else the settings, else the defaults; every name is checked."""
        from manners.lint.source import ENGINES

        for option, names in (("--select", given.select), ("--ignore", given.ignore)):
            _check_rules(names, f"option: {option}")
        for name in ("select", "ignore", "allow"):
            _check_rules(getattr(settings, name), f"{settings.source}: lint.{name}")
        for engine in given.engines:
            dialects.get(engine)
        try:
            for engine in settings.engines:
                dialects.get(engine)
        except UnknownName as error:
            raise SettingsError(f"{settings.source}: lint.engines", str(error)) from None
        return cls(
            given.select or settings.select,
            (given.ignore or settings.ignore) + settings.allow,
            given.engines or settings.engines or ENGINES,
            given.fail_on or settings.fail_on or "warning",
        )

    def is_failure(self, findings: "Iterable[Finding]") -> bool:
        """Whether one of these is as bad as the threshold, or worse."""
        from manners.lint.finding import Severity

        threshold = Severity(self.fail_on)
        return any(finding.severity.is_at_least(threshold) for finding in findings)


def split_names(given: list[str] | None) -> tuple[str, ...]:
    """The names in options that are repeated, or have commas.

    >>> split_names(["a, b", "c"])
    ('a', 'b', 'c')
    """
    parts = (part.strip() for text in given or () for part in text.split(","))
    return tuple(part for part in parts if part)


def _check_rules(names: tuple[str, ...], place: str) -> None:
    """Raise for the name of a rule that there is not, with the nearest that there is."""
    from manners.lint.rule import all_rules, find_rules

    for name in names:
        try:
            find_rules((name,))
        except UnknownName:
            known = {rule.name for rule in all_rules()} | {rule.code for rule in all_rules()}
            near = difflib.get_close_matches(name, sorted(known), 1)
            hint = f"did you mean {near[0]!r}?" if near else "`manners lint --explain all` has all"
            raise SettingsError(place, f"unknown rule {cut(name, 100)!r}; {hint}") from None


def find_rule_pages(name: str) -> "list[LintRule]":
    """The rules that a name, a code or the letter of a family means."""
    from manners.lint.rule import all_rules, find_rules

    _check_rules((name,), "option: --explain")
    codes = find_rules((name,))
    return [rule for rule in all_rules() if rule.code in codes]


def page_address(name: str) -> str:
    """The page of a rule."""
    from manners.identity import HOME_PAGE

    return f"{HOME_PAGE}lint/{name}.html"


def why(rule: "LintRule") -> str:
    """Why a rule's findings matter: the first sentence of its page about that."""
    paragraph = rule.page.sections.get("Why it matters", "").partition("\n\n")[0]
    text = " ".join(paragraph.split())
    found = _SENTENCE(text)
    return found[0] if found else text


# Files in and out.


class LintInput(NamedTuple):
    """A robots.txt that was read."""

    name: str
    """What people call it: the file as it was named, or the URL."""
    body: bytes
    url: str | None = None
    """Where it was retrieved from; None for a file."""
    path: Path | None = None
    """The file; None for standard input and sites."""


def is_url(name: str) -> bool:
    """Whether an argument is the URL of a site; anything else is a file, or `-`."""
    return _is_url(name) is not None


def read_file(name: str) -> LintInput:
    """A file, or standard input for `-`."""
    try:
        with inputs.open_input(name, "the robots.txt") as file:
            body = file.read(MAX_BYTES + 1)
    except inputs.Unusable as error:
        site = with_scheme(name)
        is_site = "." in name and not name.endswith(".txt") and not Path(name).exists()
        hint = f"; a site is {site}" if is_site and is_url(site) else ""
        raise UnreadFile(f"{error}{hint}") from None
    except (OSError, ValueError) as error:  # a name with a NUL in it is a ValueError
        problem = getattr(error, "strerror", None) or error
        raise UnreadFile(f"cannot read {name!r}: {problem}") from None
    if len(body) > MAX_BYTES:
        raise UnreadFile(f"cannot read {name!r}: it has more than {MAX_BYTES:,} bytes")
    return LintInput(STDIN, body) if name == "-" else LintInput(name, body, path=Path(name))


def read_site(url: str, options: "Options") -> LintInput:
    """The robots.txt of a site."""
    site = retrieve(url, options)
    body, outcome = site.entry.body if site.entry else None, site.outcome
    if body is None:
        advice = inputs.advice(outcome)
        raise UnreadFile(f"{outcome.url}: {outcome}" + (f"; {advice}" if advice else ""))
    if not outcome.complete:
        inputs.warn(f"{printable(outcome.url)}: only the first {len(body):,} bytes were read")
    return LintInput(outcome.url, body, outcome.url)


def retrieve(url: str, options: "Options") -> "Site":
    """What a site says now."""
    settings = options.load()
    from manners._portal import portal

    retrieving = inputs.open_cache(settings)
    try:
        return portal.run(retrieving.get(url))
    finally:
        portal.run(retrieving.close())


def rewrite(path: Path, body: bytes) -> None:
    """Replace what is in a file, completely or not at all; links are followed.

    Its mode stays, and its owner if that is possible. A file that may not be written is not.
    """
    try:
        path = path.resolve(strict=True)
        before = path.stat()
        if not stat.S_ISREG(before.st_mode):
            raise UnreadFile(f"cannot write {str(path)!r}: it is not a file")
        if not os.access(path, os.W_OK):
            raise UnreadFile(f"cannot write {str(path)!r}: it is read-only")
        with saving.replace_file(path) as file:
            if hasattr(os, "chown"):
                with suppress(OSError):  # only the superuser may give files away
                    os.chown(file.name, before.st_uid, before.st_gid)
            Path(file.name).chmod(stat.S_IMODE(before.st_mode))
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise UnreadFile(f"cannot write {str(path)!r}: {error.strerror}") from None


def write_output(body: bytes) -> None:
    """Write a file to standard output, as it is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(body)
    sys.stdout.buffer.flush()


def complain(error: UnreadFile) -> None:
    """Say what could not be read or written; other files are still looked at."""
    print(f"manners: {printable(str(error))}", file=sys.stderr)


# What differs.


def print_difference(name: str, before: bytes, after: bytes) -> None:
    """Print a unified diff, safe on a terminal: other line ends are shown, too."""
    old, new = ([to_text(line) for line in _LINES(body)] for body in (before, after))
    for line in difflib.unified_diff(old, new, name, name):
        shown = "\t".join(map(printable, line.removesuffix("\n").split("\t")))
        style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1])
        print(render.styled(shown, style) if style else shown)
        if not line.endswith("\n"):
            print("\\ No newline at end of file")


def changes_of(
    before: bytes, after: bytes, engines: tuple[str, ...], url: str | None
) -> Iterator[str]:
    """For whom a change of a file changes what, in each engine, with the shortest path."""
    from manners.lint.impact import compare_agents

    for engine in engines:
        for agents, impact in compare_agents(parse(before, engine, url), parse(after, engine, url)):
            names = ", ".join(agents[:5]) + (f" and {len(agents) - 5} more" if agents[5:] else "")
            for change in _changes(impact):
                yield printable(f"{engine}: {names}: {change}")


def _changes(impact: "Impact") -> Iterator[str]:
    found = (("newly allowed", impact.opened), ("newly disallowed", impact.closed))
    for change, witness in found:
        if witness is not None:
            rules = f"{_rule(witness.before)}, then {_rule(witness.after)}"
            yield f"{change}: {witness.path} ({rules})"
    if not impact.is_shortest:
        yield "not decided whether that is all"


def _rule(rule: "Rule | None") -> str:
    return "no rule" if rule is None else f"line {rule.line} `{rule.text.strip()}`"


# Findings, as the output formats need them.


@dataclass(frozen=True)
class LintedFile:
    """A robots.txt with what was found in it."""

    name: str
    body: bytes
    findings: "list[Finding]"

    @cached_property
    def data(self) -> bytes:
        """The file as UTF-8 without a byte order mark."""
        return decode(self.body, dialects.get(dialects.DEFAULT))

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the file."""
        return [to_text(line) for line in self.data.splitlines()]

    def line(self, number: int) -> str:
        """A line, counted from 1; empty if the file has fewer."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    @property
    def relative_name(self) -> str:
        """The name of the file below the working folder, if it is there, with slashes."""
        if is_url(self.name) or self.name == STDIN:
            return self.name
        path = Path(self.name)
        if path.is_absolute() and path.is_relative_to(Path.cwd()):
            path = path.relative_to(Path.cwd())
        return path.as_posix()

    def fingerprints(self) -> list[str]:
        """For each finding a name that stays when its line moves: rule, line, how many before."""
        seen: Counter[tuple[str, str]] = Counter()
        found = []
        for finding in self.findings:
            key = finding.code, self.line(finding.line).strip()
            parts = (*key, str(seen[key]))
            found.append(sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest())
            seen[key] += 1
        return found

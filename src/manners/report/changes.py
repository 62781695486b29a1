"""The robots.txt files that changed during a crawl, and what that closed and opened. Quiet."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from manners._text import cut
from manners.cache.site import parse_body
from manners.errors import MannersError
from manners.lint.impact import Impact, Witness, compare_policies
from manners.report.data import Listing, PathChange, RobotsChange
from manners.report.decisions import FileContent, FileReading, FileSighting
from manners.report.display import Display, text
from manners.retrieval import profiles
from manners.robots import dialects
from manners.robots.groups import Rule
from manners.robots.policy import Policy
from manners.urls import origin

_EXAMPLES = 3
"""Paths that are shown of what a change closed, and of what it opened."""
_STEPS, _LEAST_STEPS = 2_000_000, 10_000
"""Steps of automata for all changes, and for each at the least: about a second."""
_MAX_BYTES = 8_000_000
"""Bytes of all files that are compared."""
_LONGEST_RULE = 200
_NOT_THERE = "one of the files is not on record any more"
_TOO_LARGE = "too many bytes to compare here"
_UNREADABLE = "the record of how it was read was changed"


class _Change(NamedTuple):
    """A change, and the sites that made it."""

    url: str
    before: FileSighting
    after: FileSighting
    sites: int = 1


class _NotCompared(Exception):
    """Why two files are not compared."""


def robots_changes(
    changes: Iterable[tuple[str, FileSighting, FileSighting]],
    snapshot: Callable[[str], bytes | None],
    display: Display,
) -> Listing[RobotsChange]:
    """What each change did; sites that replaced the same file by the same one count as one.

    `snapshot` returns the body of a file by its SHA-256.
    """
    groups: dict[tuple[FileContent, FileContent, FileReading], _Change] = {}
    for url, before, after in changes:
        key = before.content, after.content, after.reading
        known = groups.get(key)
        groups[key] = (
            _Change(url, before, after) if known is None else _joined(known, before, after)
        )
    in_order = sorted(groups.values(), key=lambda change: (-change.sites, change.after.at))
    shown = in_order[: display.rows]
    comparing = _Comparing(snapshot, max(_STEPS // max(len(shown), 1), _LEAST_STEPS))
    return Listing(len(in_order), [comparing.result(change, display) for change in shown])


def _joined(known: _Change, before: FileSighting, after: FileSighting) -> _Change:
    return known._replace(
        before=min(known.before, before, key=lambda sighting: sighting.at),
        after=min(known.after, after, key=lambda sighting: sighting.at),
        sites=known.sites + 1,
    )


class _Comparing:
    """Compares files, one change after the other, up to a limit on the bytes of all."""

    def __init__(self, snapshot: Callable[[str], bytes | None], steps: int) -> None:
        self._snapshot, self._steps = snapshot, steps
        self._bytes_available = _MAX_BYTES

    def result(self, change: _Change, display: Display) -> RobotsChange:
        """A change, and what it did."""
        impact, problem = Impact(None), ""
        try:
            before, after = (
                self._policy(change.url, sighting.content, change.after.reading)
                for sighting in (change.before, change.after)
            )
            impact = compare_policies(before, after, self._steps, examples=_EXAMPLES - 1)
        except _NotCompared as error:
            problem = str(error)
        except (MannersError, ValueError):
            problem = _UNREADABLE
        closed = ([impact.closed] if impact.closed else []) + list(impact.more_closed)
        opened = ([impact.opened] if impact.opened else []) + list(impact.more_opened)
        return RobotsChange(
            url=display.url(change.url),
            sites=change.sites,
            last_before=text(change.before.at),
            first_after=text(change.after.at),
            before=change.before.content.snapshot or "",
            after=change.after.content.snapshot or "",
            agent=text(change.after.reading.agent),
            is_equal=impact.is_equal,
            closed=[_path(change.url, witness) for witness in closed],
            opened=[_path(change.url, witness) for witness in opened],
            is_exact=impact.is_shortest and impact.is_equal is not None,
            problem=problem,
        )

    def _policy(self, url: str, content: FileContent, reading: FileReading) -> Policy:
        dialect, body = dialects.get(reading.dialect), b""
        if content.snapshot is not None:
            found = self._snapshot(content.snapshot)
            if found is None:
                raise _NotCompared(_NOT_THERE)
            if len(found) > self._bytes_available:
                raise _NotCompared(_TOO_LARGE)
            self._bytes_available -= len(found)
            body = found
        profile = profiles.get(reading.profile)
        robots = parse_body(body, content.charset, dialect, url, profile)
        return robots.policy(dialect.own_name(reading.agent))


def _path(url: str, witness: Witness) -> PathChange:
    rules = (_rule(rule) for rule in (witness.before, witness.after))
    return PathChange(text(origin(url) + witness.path), *rules)


def _rule(rule: Rule | None) -> str:
    return "" if rule is None else f"line {rule.line}: {cut(rule.text.strip(), _LONGEST_RULE)}"

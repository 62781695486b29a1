"""Replay: every decision made again, from the grounds its record names. Quiet."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from manners.cache.site import Site, interpret, parse_body
from manners.errors import MannersError
from manners.evidence.record import Record, matched_rule, type_of
from manners.exclusions import Exclusions
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability, Outcome
from manners.robots import dialects
from manners.robots.lines import Line, read_lines
from manners.robots.policy import parse
from manners.robots.verdict import Reason, Verdict

_PARSED = 128
"""Parsed files to keep: the records of one site mostly follow each other."""


class Difference(NamedTuple):
    """A record whose decision comes out differently."""

    id: int
    url: str
    problem: str
    recorded: dict[str, Any]
    replayed: dict[str, Any]
    engine: str
    """The version that decided then, if it is not the one that decides now."""

    def __str__(self) -> str:
        return self.to_text(str(self.id))

    def to_text(self, number: str) -> str:
        """The difference on one line, with the number of its record as people read it."""
        text = f"record {number}: {self.url}: {self.problem}"
        return f"{text} (decided by {self.engine})" if self.engine else text


@dataclass(slots=True)
class ReplayCounts:
    """How many records were decided again, and with which result."""

    types: Counter[str] = field(default_factory=Counter)
    different: int = 0
    undecided: int = 0
    """Those that cannot be decided again."""
    other_version: int = 0
    """Differences to another version."""

    def add(self, record: Record, difference: Difference | None) -> None:
        """Count the result for a record."""
        self.types[record.type] += 1
        if difference is not None:
            self.undecided += not difference.replayed
            self.different += bool(difference.replayed)
            self.other_version += bool(difference.engine)


class Replay:
    """Decides records again; `snapshot` looks up a robots.txt by its SHA-256.

    `engine` is the version of this package: a difference to another version names that version.
    """

    def __init__(self, snapshot: Callable[[str], bytes | None], engine: str) -> None:
        self._snapshot, self._engine = snapshot, engine
        self._sites: dict[tuple[object, ...], Site] = {}
        self.counts = ReplayCounts()

    def again(self, record: Record) -> Difference | None:
        """The difference to the recorded decision; None if it is the same."""
        difference = self._compare(record)
        self.counts.add(record, difference)
        return difference

    def _compare(self, record: Record) -> Difference | None:
        try:
            _check(record)
            now = self._decide(record)
            then = {name: _as_written(record.metadata.get(name)) for name in now}
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            OverflowError,
            MannersError,
        ) as error:
            return self._difference(record, f"cannot be decided again: {error}", {})
        if then == now:
            return None
        was, allowed = bool(then["allowed"]), now["allowed"]
        if record.metadata.get("redacted"):
            return None if was == allowed else self._redacted(record)
        if was != allowed:
            problem = f"was {_word(was)}, now {_word(allowed)}"
        elif (then["reason"], then["line"]) != (now["reason"], now["line"]):
            problem = (
                f"was decided by {then['reason']}, line {then['line']}, now by {now['reason']},"
                f" line {now['line']}"
            )
        else:
            names = [name for name in now if then[name] != now[name]]
            problem = f"comes out with a different {' and '.join(names)}"
        return self._difference(record, problem, now)

    def _redacted(self, record: Record) -> Difference:
        return self._difference(record, "its query is not recorded, and may have been decisive", {})

    def _difference(self, record: Record, problem: str, now: dict[str, Any]) -> Difference:
        names = now or ("allowed", "reason", "line")
        then = {name: record.metadata.get(name) for name in names}
        engine = str(record.metadata.get("engine", ""))
        return Difference(
            record.id, record.url, problem, then, now, engine if engine != self._engine else ""
        )

    def _decide(self, record: Record) -> dict[str, Any]:
        metadata = record.metadata
        reason, url = Reason(metadata["reason"]), metadata["url"].partition("?…")[0]
        is_open = reason is Reason.USAGE and metadata["outcome"] is None
        if is_open or reason is Reason.NOT_RESPECTED:
            verdict = Verdict(True, Reason.NOT_RESPECTED)  # the user's choice, then as now
            if "usage" in metadata:
                return _usage_again(metadata, url, None, verdict)
            return _recorded(verdict)
        if reason is Reason.EXCLUDED:
            rules = metadata["exclusion"]
            exclude = [rules["exclude"]] if "exclude" in rules else []
            rule = Exclusions(exclude, rules.get("include", ())).excludes(url)
            return _recorded(Verdict(rule is None, reason, rule))
        site = self._site(metadata)
        verdict = site.check(url, metadata["agent"])
        if "usage" in metadata and verdict.allowed:
            return _usage_again(metadata, url, site, verdict)
        return _recorded(verdict)

    def _site(self, metadata: Any) -> Site:
        grounds = metadata["outcome"]
        key = (
            *(metadata["snapshot"], metadata["dialect"], metadata["profile"], grounds["url"]),
            *(grounds[name] for name in _DECISIVE),
        )
        site = self._sites.get(key)
        if site is None:
            site = self._rebuild(metadata, grounds)
            if len(self._sites) >= _PARSED:
                del self._sites[next(iter(self._sites))]
            self._sites[key] = site
        return site

    def _rebuild(self, metadata: Any, grounds: Any) -> Site:
        dialect = dialects.get(metadata["dialect"])
        profile = profiles.get(metadata["profile"]).but(unreachable=grounds["unreachable"])
        outcome = Outcome(
            Availability(grounds["availability"]),
            grounds["note"],
            url=grounds["url"],
            complete=grounds["complete"],
            copy=grounds["copy"],
        )
        nothing = parse(b"", dialect, grounds["url"])
        robots = nothing
        if metadata["snapshot"] is not None:
            body = self._snapshot(metadata["snapshot"])
            if body is None:
                raise ValueError(f"the robots.txt {metadata['snapshot']} is missing")
            robots = parse_body(body, grounds["charset"], dialect, grounds["url"], profile)
        return interpret(outcome, profile, robots, nothing, None)


def lines_of(metadata: Mapping[str, Any], body: bytes) -> Iterator[Line]:
    """The lines of a robots.txt as the engine read them, by the metadata of a record.

    Metadata that was changed and cannot be read has none.
    """
    try:
        outcome = metadata["outcome"]
        robots = parse_body(
            body,
            outcome["charset"],
            dialects.get(metadata["dialect"]),
            outcome["url"],
            profiles.get(metadata["profile"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, MannersError):
        return
    yield from read_lines(robots.body, robots.dialect, robots.url)


_DECISIVE = ("availability", "charset", "complete", "copy", "unreachable")


def _check(record: Record) -> None:
    """Compare what a record says in several places: they agree, unless one was changed."""
    content, metadata = record.content, record.metadata
    if any(content[name] != metadata[name] for name in ("allowed", "matchedRule", "crawlDelay")):
        raise ValueError("its content and its metadata disagree")
    is_fetched = "sources" in metadata.get("usage", ())
    if record.type != type_of(metadata["allowed"], metadata["reason"], is_fetched=is_fetched):
        raise ValueError("its type and its metadata disagree")


def _recorded(verdict: Verdict) -> dict[str, Any]:
    """A verdict by the names that a record has for it."""
    return {
        "allowed": verdict.allowed,
        "reason": verdict.reason.value,
        "line": verdict.line,
        "matchedRule": matched_rule(verdict),
        "crawlDelay": verdict.crawl_delay,
    }


def _usage_again(
    metadata: Mapping[str, Any], url: str, site: Site | None, verdict: Verdict
) -> dict[str, Any]:
    """A verdict and what the site says about usage, from the sources on record."""
    # Few records need it, and it takes a while to import.
    from manners.signals.decision import of_record

    recorded = metadata["usage"]
    agent = dialects.get(metadata["dialect"]).own_name(metadata["agent"])
    robots = None if site is None else site.robots_for_usage
    decision = of_record(recorded, url, agent, robots)
    is_refused = not decision.allowed if "sources" in recorded else decision.is_final
    if is_refused:
        verdict = decision.verdict(verdict)
    return _recorded(verdict) | {"usage": decision.recorded}


def _as_written(value: Any) -> Any:
    """A recorded value as it was decided: a large number is read as an integer, and was none."""
    return float(value) if type(value) is int and abs(value) >= 2**53 else value


def _word(allowed: bool) -> str:
    return "allowed" if allowed else "disallowed"

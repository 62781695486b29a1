"""Replay: every decision made again, from what its record says it rests on. Quiet."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from manners.cache.site import Site, decided, parsed
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
"""Files that are kept parsed: the records of one site mostly follow each other."""


class Difference(NamedTuple):
    """A record that does not come out as it says."""

    id: int
    url: str
    problem: str
    recorded: dict[str, Any]
    replayed: dict[str, Any]
    engine: str
    """The version that decided then, where it is not the one that decides now."""

    def __str__(self) -> str:
        said = f"record {self.id}: {self.url}: {self.problem}"
        return f"{said} (decided by {self.engine})" if self.engine else said


class Replay:
    """Decides records again; `snapshot` looks up a robots.txt by its SHA-256.

    `engine` is the version of this package: what another version decided otherwise is told as such.
    """

    def __init__(self, snapshot: Callable[[str], bytes | None], engine: str) -> None:
        self._snapshot, self._engine = snapshot, engine
        self._sites: dict[tuple[object, ...], Site] = {}

    def again(self, record: Record) -> Difference | None:
        """The difference to what was recorded; None when the same comes out."""
        try:
            _check(record)
            now = self._decide(record)
        except (KeyError, TypeError, ValueError, AttributeError, MannersError) as error:
            return self._difference(record, f"cannot be decided again: {error}", {})
        then = {name: record.metadata.get(name) for name in now}
        if then == now:
            return None
        was, allowed = bool(then["allowed"]), now["allowed"]
        if record.metadata.get("redacted"):
            return None if was == allowed else self._redacted(record)
        if was != allowed:
            problem = f"was {_word(was)}, and is {_word(allowed)}"
        elif (then["reason"], then["line"]) != (now["reason"], now["line"]):
            problem = (
                f"rested on {then['reason']}, line {then['line']}, and rests on {now['reason']},"
                f" line {now['line']}"
            )
        else:
            names = [name for name in now if then[name] != now[name]]
            problem = f"has another {' and another '.join(names)} than comes out"
        return self._difference(record, problem, now)

    def _redacted(self, record: Record) -> Difference:
        return self._difference(record, "its query is not recorded, and may have decided", {})

    def _difference(self, record: Record, problem: str, now: dict[str, Any]) -> Difference:
        names = now or ("allowed", "reason", "line")
        then = {name: record.metadata.get(name) for name in names}
        engine = str(record.metadata.get("engine", ""))
        return Difference(
            record.id, record.url, problem, then, now, engine if engine != self._engine else ""
        )

    def _decide(self, record: Record) -> dict[str, Any]:
        said = record.metadata
        reason, url = Reason(said["reason"]), said["url"].partition("?…")[0]
        if reason is Reason.NOT_RESPECTED:  # the user's choice, then as now
            return _said(Verdict(True, reason))
        if reason is Reason.EXCLUDED:
            rules = said["exclusion"]
            exclude = [rules["exclude"]] if "exclude" in rules else []
            rule = Exclusions(exclude, rules.get("include", ())).excludes(url)
            return _said(Verdict(rule is None, reason, rule))
        return _said(self._site(said).check(url, said["agent"]))

    def _site(self, said: Any) -> Site:
        grounds = said["outcome"]
        key = (
            *(said["snapshot"], said["dialect"], said["profile"], grounds["url"]),
            *(grounds[name] for name in _DECISIVE),
        )
        site = self._sites.get(key)
        if site is None:
            site = self._made(said, grounds)
            if len(self._sites) >= _PARSED:
                del self._sites[next(iter(self._sites))]
            self._sites[key] = site
        return site

    def _made(self, said: Any, grounds: Any) -> Site:
        dialect = dialects.get(said["dialect"])
        profile = profiles.get(said["profile"]).but(unreachable=grounds["unreachable"])
        outcome = Outcome(
            Availability(grounds["availability"]),
            grounds["note"],
            url=grounds["url"],
            complete=grounds["complete"],
            copy=grounds["copy"],
        )
        nothing = parse(b"", dialect, grounds["url"])
        robots = nothing
        if said["snapshot"] is not None:
            body = self._snapshot(said["snapshot"])
            if body is None:
                raise ValueError(f"the robots.txt {said['snapshot']} is missing")
            robots = parsed(body, grounds["charset"], dialect, grounds["url"], profile)
        return decided(outcome, profile, robots, nothing, None)


def lines_of(said: Mapping[str, Any], body: bytes) -> Iterator[Line]:
    """The lines of a robots.txt as they were read when it decided; `said` is the record's metadata.

    What somebody changed until it cannot be read has none.
    """
    try:
        outcome = said["outcome"]
        robots = parsed(
            body,
            outcome["charset"],
            dialects.get(said["dialect"]),
            outcome["url"],
            profiles.get(said["profile"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, MannersError):
        return
    yield from read_lines(robots.body, robots.dialect, robots.url)


_DECISIVE = ("availability", "charset", "complete", "copy", "unreachable")


def _check(record: Record) -> None:
    """The same is said in several places: whoever changes one of them is found out."""
    content, metadata = record.content, record.metadata
    if any(content[name] != metadata[name] for name in ("allowed", "matchedRule", "crawlDelay")):
        raise ValueError("its two parts contradict each other")
    if record.type != type_of(metadata["allowed"], metadata["reason"]):
        raise ValueError("its type contradicts what it says")


def _said(verdict: Verdict) -> dict[str, Any]:
    """What a record says about a verdict, by the names it has there."""
    return {
        "allowed": verdict.allowed,
        "reason": verdict.reason.value,
        "line": verdict.line,
        "matchedRule": matched_rule(verdict),
        "crawlDelay": verdict.crawl_delay,
    }


def _word(allowed: bool) -> str:
    return "allowed" if allowed else "disallowed"

"""Replay: every decision made again, from what its record says it rests on. Quiet."""

from collections.abc import Callable
from typing import Any, NamedTuple

from manners.cache.site import Site, decided, parsed
from manners.errors import MannersError
from manners.evidence.record import Record
from manners.exclusions import Exclusions
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability, Outcome
from manners.robots import dialects
from manners.robots.policy import parse
from manners.robots.verdict import Reason

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
            allowed, reason, line = self._decide(record)
        except (KeyError, TypeError, ValueError, AttributeError, MannersError) as error:
            return self._difference(record, f"cannot be decided again: {error}", {})
        said = record.metadata
        then = (bool(said.get("allowed")), said.get("reason"), said.get("line"))
        if then == (allowed, reason, line):
            return None
        if said.get("redacted"):
            return None if then[0] == allowed else self._redacted(record)
        if then[0] != allowed:
            problem = f"was {_word(then[0])}, and is {_word(allowed)}"
        else:
            problem = f"rested on {then[1]}, line {then[2]}, and rests on {reason}, line {line}"
        return self._difference(
            record, problem, {"allowed": allowed, "reason": reason, "line": line}
        )

    def _redacted(self, record: Record) -> Difference:
        return self._difference(record, "its query is not recorded, and may have decided", {})

    def _difference(self, record: Record, problem: str, now: dict[str, Any]) -> Difference:
        then = {name: record.metadata.get(name) for name in ("allowed", "reason", "line")}
        engine = str(record.metadata.get("engine", ""))
        return Difference(
            record.id, record.url, problem, then, now, engine if engine != self._engine else ""
        )

    def _decide(self, record: Record) -> tuple[bool, str, int]:
        said = record.metadata
        if record.content.get("allowed") is not said["allowed"]:
            raise ValueError("its two parts contradict each other")
        reason, url = Reason(said["reason"]), said["url"].partition("?…")[0]
        if reason is Reason.NOT_RESPECTED:  # the user's choice, then as now
            return True, reason.value, 0
        if reason is Reason.EXCLUDED:
            rules = said["exclusion"]
            exclude = [rules["exclude"]] if "exclude" in rules else []
            excluded = Exclusions(exclude, rules.get("include", ())).excludes(url)
            return excluded is None, reason.value, 0
        verdict = self._site(said).check(url, said["agent"])
        return verdict.allowed, verdict.reason.value, verdict.line

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


_DECISIVE = ("availability", "charset", "complete", "copy", "unreachable")


def _word(allowed: bool) -> str:
    return "allowed" if allowed else "disallowed"

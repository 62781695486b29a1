"""G204: an agent with more than one group."""

from collections.abc import Iterator

from manners.lint.finding import Edit, Finding, Fix, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._names import has_directive
from manners.lint.source import Source, SourceGroup, SourceLine, quoted
from manners.robots.agents import normalize_user_agent, token_key
from manners.robots.directives import TIMED


class SplitGroup(LintRule):
    """An agent that has a group already, further up in the file.

    ## Why it matters
    "If there is more than one group matching the user-agent, the matching groups' rules MUST be
    combined into one group" (RFC 9309, section 2.2.1), and Google does so. Engines that take the
    first group only, or the last, see half of the rules: 3.0 % of real files mean something else
    to an engine that takes the first.

    Groups that say the same are information, whichever of them an engine takes.

    414 of 6,000 real files (6.9 %) split a group, 207 of them that of `*`. In 26, the names differ
    but are one name after engines have cut them (`Sogou web spider`, `Sogou inst spider`); this is
    information.

    ## Example
    ```robots
    User-agent: *
    Disallow: /admin/

    User-agent: BadBot
    Disallow: /

    User-agent: *
    Disallow: /cart/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /admin/
    Disallow: /cart/

    User-agent: BadBot
    Disallow: /
    ```

    ## Fix
    Moves the rules of the later group into the first one with the same agents, with its comments
    and without its blank lines. Safe: merging the groups of 355 real files changed no verdict. Not
    offered where the two groups have different agents. Offered for every such finding in 260 of 414
    real files, and for some in 91.
    """

    code = "G204"

    def check(self, source: Source) -> Iterator[Finding]:
        """Groups with an agent of an earlier group, once for each group."""
        first_lines: dict[str, SourceLine] = {}
        first_rules: dict[int, set[tuple[str, str | None]]] = {}
        by_agents: dict[frozenset[str], SourceLine | None] = {}
        for group in source.groups:
            known: list[tuple[SourceLine, SourceLine]] = []
            new: dict[str, SourceLine] = {}
            for line in group.agents:
                key = token_key(line.value)
                if key in first_lines:
                    known.append((line, first_lines[key]))
                elif key is not None:
                    new.setdefault(key, line)
            agents = frozenset(_name(line) for line in group.agents)
            rules = {(line.kind, line.line.pattern) for line in group.rules if line.value}
            for line in new.values():
                first_rules[line.number] = rules
            if known:
                found = self._split(known, self._merge(source, group, by_agents.get(agents)))
                if all(first_rules[first.number] == rules for _, first in known):
                    found = found._replace(severity=Severity.INFO)  # whichever is read
                yield found
            if agents not in by_agents:
                # Delays belong to the User-agent lines above them, so these must be adjacent.
                by_agents[agents] = _last(group) if _is_plain(group) else None
            first_lines |= new

    def _split(self, known: list[tuple[SourceLine, SourceLine]], fix: Fix | None) -> Finding:
        same = [(line, first) for line, first in known if _name(line) == _name(first)]
        if not same:
            line, first = known[0]
            return self.about_value(
                line,
                f"{quoted(line.value)} is the same name as {quoted(first.value)} in line "
                f"{first.number}, once engines have cut both: they get the rules of both groups",
                severity=Severity.INFO,
            )
        line, first = same[0]
        more = f" and {len(same) - 1} more" if len(same) > 1 else ""
        return self.about_value(
            line,
            f"{quoted(line.value)}{more} {'have' if more else 'has'} a group already in line "
            f"{first.number}: engines that do not combine groups read one of them only",
            fix=fix,
        )

    def _merge(self, source: Source, group: SourceGroup, place: SourceLine | None) -> Fix | None:
        """Move a group below a line of the first one; None where that is not possible."""
        if place is None or not _is_plain(group):
            return None
        lines = source.lines
        start, end = group.first.number - 1, _last(group).number
        while start > place.number and lines[start - 1].kind == "comment":
            start -= 1
        text = b"".join(_moved(line, place.line_end) for line in lines[start:end])
        # Of the blank lines above and below, one run is enough.
        if lines[start - 1].kind == "blank":
            while end < len(lines) and lines[end].kind == "blank":
                end += 1
            while end == len(lines) and start > place.number and lines[start - 1].kind == "blank":
                start -= 1
        removed = Edit(lines[start].start, lines[end - 1].end, b"")
        inserted = Edit(place.end, place.end, text)
        return self.fix("move the rules into the first group", inserted, removed)


def _name(line: SourceLine) -> str:
    """The name as written, but for case and version."""
    return normalize_user_agent(line.value) or line.value


def _last(group: SourceGroup) -> SourceLine:
    lines = [*group.agents, *group.rules, *group.directives]
    return max(lines, key=lambda line: line.number)


def _is_plain(group: SourceGroup) -> bool:
    """Whether its User-agent lines are adjacent, but for comments, and nothing but that."""
    if any(has_directive(line.value) for line in group.agents):
        return False
    last_agent = group.agents[-1].number
    return not any(line.kind in TIMED and line.number < last_agent for line in group.directives)


def _moved(line: SourceLine, line_end: bytes) -> bytes:
    """What remains of a line in another group: no User-agent, no blank line, every comment."""
    if line.kind == "blank":
        return b""
    raw = line.raw[line.comment_at :] if line.kind == "user-agent" else line.raw
    return raw + (line.line_end or line_end) if raw else b""


RULE = SplitGroup()

"""A804: a Content-Signal that says one thing where the file says another."""

from collections.abc import Iterator

from manners.lint.data.ai_crawlers import TRAINERS
from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.rules._agent_names import HOME, enumerated, named_agents, rfc_reading
from manners.lint.rules._content_signals import Signal, signals_of
from manners.lint.source import Source, SourceGroup, SourceLine, quoted
from manners.robots.agents import WILDCARD, token_key

# What a ceiling rules out: with `reference` nothing is trained, with `immediate` nothing is stored.
_RULED_OUT = {"reference": ("ai-train",), "immediate": ("ai-train", "search")}


Given = dict[tuple[str, str], dict[str, int]]
"""By agent and key: the values that were given, with the first line of each."""


class ContradictingSignal(LintRule):
    """A Content-Signal that contradicts another one, or the rules of the file.

    ## Why it matters
    A reader has to guess which of the two counts, and a careful one takes the stricter. It happens
    where a provider puts a block of its own in front of the site's file (Cloudflare does): the two
    groups for `*` are one (RFC 9309, section 2.2.1). A file that grants training with
    `ai-train=yes` and shuts out crawlers for training by name says two things as well.

    The real files that were measured are older than Content-Signal: 2 of 6,000 have one, and
    neither contradicts itself.

    ## Example
    ```robots
    User-agent: *
    Content-Signal: search=yes, ai-train=no
    Allow: /

    User-agent: *
    Content-Signal: ai-train=yes
    Disallow: /search
    ```
    ```robots
    User-agent: *
    Content-Signal: ai-train=yes, use=reference
    Disallow: /search
    ```
    ```robots
    User-agent: *
    Content-Signal: ai-train=yes
    Disallow: /search

    User-agent: GPTBot
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: *
    Content-Signal: search=yes, ai-train=no, use=reference
    Disallow: /search

    User-agent: GPTBot
    Disallow: /
    ```
    """

    code = "A804"

    def check(self, source: Source) -> Iterator[Finding]:
        """Contradictions for an agent, and between `*` and crawlers that are shut out."""
        if not any(line.kind == "content-signal" for line in source.lines):
            return
        shut_out = _trainers_shut_out(source)
        given: Given = {}
        reported: set[int] = set()
        for group in source.groups:
            keys = {key for line in group.agents if (key := token_key(line.value)) is not None}
            for line, signal in _signals(group):
                message = _against_earlier(signal, line, keys, given)
                if WILDCARD in keys and (signal.key, signal.value) == ("ai-train", "yes"):
                    message = message or shut_out
                if message and line.number not in reported:
                    reported.add(line.number)
                    yield self.finding(line, message, at=signal.at, until=signal.until)


def _signals(group: SourceGroup) -> Iterator[tuple[SourceLine, Signal]]:
    """The valid signals of a group, the first of equal ones; there are nine at most."""
    seen: set[tuple[str, str]] = set()
    for line in group.directives:
        if line.kind == "content-signal":
            for signal in signals_of(line):
                if signal.is_valid and (signal.key, signal.value) not in seen:
                    seen.add((signal.key, signal.value))
                    yield line, signal


def _against_earlier(signal: Signal, line: SourceLine, keys: set[str], given: Given) -> str:
    """What an earlier signal for one of the agents has against this one, which is then noted."""
    message = ""
    for key in sorted(keys):
        for (name, value), number in _opposites(signal, key, given):
            message = message or (
                f"`{signal.key}={signal.value}` contradicts `{name}={value}` in line {number} "
                f"for {quoted(key)}: careful readers take the stricter one"
            )
        given.setdefault((key, signal.key), {}).setdefault(signal.value, line.number)
    return message


def _opposites(signal: Signal, agent: str, given: Given) -> Iterator[tuple[tuple[str, str], int]]:
    for value, number in given.get((agent, signal.key), {}).items():
        if value != signal.value:
            yield (signal.key, value), number
    for ceiling, ruled_out in _RULED_OUT.items():
        if (signal.key, signal.value) == ("use", ceiling):
            granted = [name for name in ruled_out if "yes" in given.get((agent, name), {})]
            yield from (((name, "yes"), given[agent, name]["yes"]) for name in granted)
        elif signal.value == "yes" and signal.key in ruled_out:
            ceilings = given.get((agent, "use"), {})
            if ceiling in ceilings:
                yield ("use", ceiling), ceilings[ceiling]


def _trainers_shut_out(source: Source) -> str:
    """What the rules of the file have against training; empty if nothing."""
    named = named_agents(source)
    asked = [name for name in TRAINERS if name.lower() in named]
    blocked = [name for name in asked if not rfc_reading(source).allowed(HOME, name)]
    if not blocked:
        return ""
    return f"`ai-train=yes` grants training, but this file shuts out {enumerated(blocked)} by name"


RULE = ContradictingSignal()

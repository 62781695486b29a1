"""A difference between two files in words: for people who never saw a robots.txt."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from manners._text import count, printable
from manners.lint.data.known_crawlers import PROMINENCE
from manners.lint.impact import Witness
from manners.robots.agents import WILDCARD
from manners.robots.groups import Rule
from manners.robots.policy import Robots

if TYPE_CHECKING:
    from manners.lint.difference import AgentChange, RobotsDifference

_SENTENCES = 10
_REGIONS = 3
_NAMES = 3
_KNOWN = 2
_EVERYTHING = ("/", "/*", "*")


def sentences(found: "RobotsDifference") -> list[str]:
    """What a change does, in words: what concerns most people first."""
    texts = list(_of_all(found, _about))
    if not texts:
        texts.append("No verdict changes, for any URL and any crawler.")
    return [*texts, *_of_signals(found), *_of_directives(found)]


def engine_sentences(found: "RobotsDifference", first: str, other: str) -> list[str]:
    """Where a second engine, after the first, reads one file differently."""

    def about(found: "RobotsDifference", change: "AgentChange") -> Iterator[str]:
        who = subject(found, change).removesuffix(",")
        who = who.replace("Everybody", "everybody", 1)
        for witnesses, verb in ((change.closed, "disallows"), (change.opened, "allows")):
            if witnesses:
                yield f"{other} {verb} {_paths(witnesses)} for {who}; {first} does not."
        yield from _undecided(change, f"{other} and {first}, for {who}")

    texts = list(_of_all(found, about))
    return texts or [f"{other} and {first} agree about every URL, for every agent."]


def agent_sentences(found: "RobotsDifference", one: str, other: str) -> list[str]:
    """What one of two agents may fetch, and the other may not."""
    one, other = printable(one), printable(other)

    def about(_: "RobotsDifference", change: "AgentChange") -> Iterator[str]:
        for witnesses, is_closed in ((change.closed, True), (change.opened, False)):
            if witnesses:
                who, nobody = (one, other) if is_closed else (other, one)
                number = _counted(change, is_closed)
                yield f"{who} may fetch {_paths(witnesses)}, and {nobody} may not{number}."
        yield from _undecided(change, f"{one} and {other}")

    texts = list(_of_all(found, about))
    return [*(texts or [f"{one} and {other} may fetch the same."]), *_of_directives(found)]


def _of_all(
    found: "RobotsDifference",
    about: "Callable[[RobotsDifference, AgentChange], Iterator[str]]",
) -> Iterator[str]:
    ordered = by_importance(found.changes)
    for change in ordered[:_SENTENCES]:
        yield from about(found, change)
    if len(ordered) > _SENTENCES:
        more = count(len(ordered) - _SENTENCES, "more kind")
        yield f"Verdicts differ for {more} of agents."


def _of_signals(found: "RobotsDifference") -> Iterator[str]:
    for change in found.signals[:_SENTENCES]:
        text = str(change)
        yield f"{text[0].upper()}{text[1:]}."
    if len(found.signals) > _SENTENCES:
        yield f"{count(len(found.signals) - _SENTENCES, 'more answer')} about usage changed."


def _of_directives(found: "RobotsDifference") -> Iterator[str]:
    yield from (f"{change}." for change in found.directives[:_SENTENCES])
    if len(found.directives) > _SENTENCES:
        yield f"{count(len(found.directives) - _SENTENCES, 'more directive')} changed."


def by_importance(changes: "Iterable[AgentChange]") -> "list[AgentChange]":
    """The changes for everybody first, then those for the crawlers that most people know."""

    def key(change: "AgentChange") -> tuple[bool, int]:
        places = (PROMINENCE.get(name.lower(), len(PROMINENCE)) for name in change.names)
        return not change.is_for_everybody, min(places, default=len(PROMINENCE))

    return sorted(changes, key=key)


def subject(found: "RobotsDifference", change: "AgentChange") -> str:
    """The agents of a change, as a sentence begins with them."""
    names = change.names
    if not change.is_for_everybody:
        more = f"{len(names) - _NAMES} more" if len(names) > _NAMES else ""
        return joined([*map(printable, names[:_NAMES]), *filter(None, [more])])
    is_all = all(_names_nobody(file) for file in (found.before, found.after))
    known = [name for name in names if name.lower() in PROMINENCE]
    such = f", such as {joined(known[:_KNOWN])}," if known else ""
    return f"{'Everybody' if is_all else 'Everybody else'}{such}"


def joined(parts: Sequence[str]) -> str:
    """Words as a list in a sentence.

    >>> joined(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _about(found: "RobotsDifference", change: "AgentChange") -> Iterator[str]:
    who = subject(found, change)
    is_one = change.is_for_everybody or len(change.names) == 1
    if change.closed:
        where = _regions(found, change, change.closed, is_closed=True)
        verb = "loses" if is_one else "lose"
        yield f"{who} {verb} {where}{_counted(change, is_closed=True)}."
    if change.opened:
        where = _regions(found, change, change.opened, is_closed=False)
        yield f"{who} may now fetch {where}{_counted(change, is_closed=False)}."
    yield from _undecided(change, who.removesuffix(","))


def _paths(witnesses: Sequence[Witness]) -> str:
    return joined([printable(witness.path) for witness in witnesses[:_REGIONS]])


def _undecided(change: "AgentChange", who: str) -> Iterator[str]:
    if not change.is_decided:
        what = "that is all" if change.closed or change.opened else "anything differs"
        yield f"{who}: not decided whether {what}."


def _counted(change: "AgentChange", is_closed: bool) -> str:
    urls = change.urls
    if urls is None:
        return ""
    number = urls.closed if is_closed else urls.opened
    return f"; {number:,} of your {count(urls.total, 'URL')}"


def _names_nobody(robots: Robots) -> bool:
    keys = (robots.dialect.agent_key(name) for group in robots.groups for name in group.agents)
    return all(key in (None, WILDCARD) for key in keys)


def _regions(
    found: "RobotsDifference",
    change: "AgentChange",
    witnesses: Sequence[Witness],
    *,
    is_closed: bool,
) -> str:
    """What is closed or opened, by the patterns of the rules that make the difference."""
    old, new = _contents(found.before), _contents(found.after)
    patterns = [_pattern(witness, old, new, is_closed) for witness in witnesses]
    if any(pattern in _EVERYTHING for pattern in patterns):
        rules = found.after.policy(change.asked[1]).rules
        has_exceptions = any(rule.allow == is_closed for rule in rules if rule.pattern)
        return "almost everything" if has_exceptions else "everything"
    shown = list(dict.fromkeys(printable(pattern) for pattern in patterns))
    return joined([*shown[:_REGIONS], *(["more"] if len(shown) > _REGIONS else [])])


def _pattern(
    witness: Witness, old: set[tuple[bool, str]], new: set[tuple[bool, str]], is_closed: bool
) -> str:
    """The pattern of the rule that is new or gone; else of the one that disallows."""
    ranked: list[tuple[Rule | None, set[tuple[bool, str]]]]
    ranked = [(witness.after, old), (witness.before, new)]
    if not is_closed:
        ranked.reverse()
    for rule, elsewhere in ranked:
        if rule is not None and (rule.allow, rule.pattern) not in elsewhere:
            return rule.pattern
    return next((rule.pattern for rule, _ in ranked if rule is not None), witness.path)


def _contents(robots: Robots) -> set[tuple[bool, str]]:
    return {(rule.allow, rule.pattern) for group in robots.groups for rule in group.rules}

"""A difference between two files in words: for people who never saw a robots.txt."""

from collections.abc import Iterable, Iterator, Sequence
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
    """What happens, in words: what concerns most people first."""
    ordered = by_importance(found.changes)
    told = [sentence for change in ordered[:_SENTENCES] for sentence in _about(found, change)]
    if len(ordered) > _SENTENCES:
        more = count(len(ordered) - _SENTENCES, "more kind")
        told.append(f"Verdicts change for {more} of agents.")
    if not ordered:
        told.append("No verdict changes, for any URL and any crawler.")
    told += [f"{change}." for change in found.directives[:_SENTENCES]]
    if len(found.directives) > _SENTENCES:
        told.append(f"{count(len(found.directives) - _SENTENCES, 'more directive')} changed.")
    return told


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
    urls = change.urls
    if change.closed:
        where = _regions(found, change, change.closed, is_closed=True)
        number = _counted(urls.closed, urls.total) if urls else ""
        yield f"{who} {'loses' if is_one else 'lose'} {where}{number}."
    if change.opened:
        where = _regions(found, change, change.opened, is_closed=False)
        number = _counted(urls.opened, urls.total) if urls else ""
        yield f"{who} may now fetch {where}{number}."
    if not change.is_decided:
        what = "that is all" if change.closed or change.opened else "anything changes"
        yield f"{who}: not decided whether {what}."


def _counted(number: int, total: int) -> str:
    return f"; {number:,} of your {count(total, 'URL')}"


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
        rules = found.after.policy(change.asked).rules
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

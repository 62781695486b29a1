"""For people: sentences first, then each class of agents with examples and lines."""

from collections.abc import Iterator, Sequence

from manners._text import count, cut, printable
from manners.cli import render
from manners.cli.comparing import Comparison, describe_rule
from manners.lint.difference import AgentChange
from manners.lint.sentences import by_importance

_CLASSES = 20
_NAMES = 10
_LONGEST = 300
"""Characters of a path; JSON has all of it."""


def report(found: Sequence[Comparison]) -> Iterator[str]:
    """Each comparison, one after the other."""
    for number, comparison in enumerate(found):
        if number:
            yield ""
        yield render.styled(printable(f"{comparison.before} -> {comparison.after}"), "dim")
        yield from (render.styled(sentence, "bold") for sentence in comparison.sentences)
        changes = by_importance(comparison.difference.changes)
        for change in changes[:_CLASSES]:
            yield ""
            yield from _details(comparison, change)
        if len(changes) > _CLASSES:
            yield f"\n{count(len(changes) - _CLASSES, 'more kind')} of agents; --json has them all"


def _details(comparison: Comparison, change: AgentChange) -> Iterator[str]:
    yield _names(change)
    closed, opened = comparison.labels
    width = max(len(closed), len(opened))
    rows = [(closed, witness) for witness in change.closed]
    rows += [(opened, witness) for witness in change.opened]
    for label, witness in rows:
        shown = printable(cut(comparison.url(witness.path), _LONGEST))
        yield f"  {render.styled(label.ljust(width), _STYLES[label == opened])}  {shown}"
        lines = f"{describe_rule(witness.before)} -> {describe_rule(witness.after)}"
        yield f"  {'':<{width}}  {render.styled(lines, 'dim')}"
    urls = change.urls
    if urls is not None:
        numbers = f"{urls.closed:,} {closed}, {urls.opened:,} {opened}"
        yield f"  of your {count(urls.total, 'URL')}: {numbers}"
        samples = [(closed, url) for url in urls.closed_sample]
        samples += [(opened, url) for url in urls.opened_sample]
        yield from (f"    {label}  {printable(cut(url, _LONGEST))}" for label, url in samples)


_STYLES = ("red", "green")


def _names(change: AgentChange) -> str:
    names = [printable(name) for name in change.names]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    listed = ", ".join(names[:_NAMES]) + more
    if change.is_for_everybody:
        return "everybody whom no group names" + (f": {listed}" if listed else "")
    return listed

"""For the comment of a pull request: sentences, then details that open."""

from collections.abc import Iterator, Sequence

from manners._text import count, cut
from manners.cli.comparing import Comparison, describe_rule
from manners.cli.finding_formats import github
from manners.lint.difference import AgentChange
from manners.lint.sentences import by_importance

_CLASSES = 20
_NAMES = 10
_LONGEST = 300


def report(found: Sequence[Comparison]) -> Iterator[str]:
    """Each comparison with a heading."""
    for comparison in found:
        yield f"### robots.txt: {plain(comparison.before)} → {plain(comparison.after)}"
        yield ""
        yield from (f"- {plain(sentence)}" for sentence in comparison.sentences)
        changes = by_importance(comparison.difference.changes)
        if not changes:
            continue
        yield from ("", "<details><summary>URLs and lines</summary>", "")
        for change in changes[:_CLASSES]:
            yield from _details(comparison, change)
        if len(changes) > _CLASSES:
            yield from (f"And {count(len(changes) - _CLASSES, 'more kind')} of agents.", "")
        yield "</details>"


def plain(text: str) -> str:
    """Text that Markdown shows as it is; a path such as `/@name` notifies nobody.

    GitHub looks for mentions in what is shown, so escaping the sign alone does not help.
    """
    return github.plain(text).replace("@", "@&#8203;")


def _details(comparison: Comparison, change: AgentChange) -> Iterator[str]:
    names = [plain(name) for name in change.names]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    listed = ", ".join(names[:_NAMES]) + more
    who = "Everybody whom no group names" if change.is_for_everybody else ""
    yield f"**{': '.join(filter(None, (who, listed)))}**"
    closed, opened = comparison.labels
    yield from ("", "| | URL | before | after |", "|---|---|---|---|")
    for label, witnesses in ((closed, change.closed), (opened, change.opened)):
        for witness in witnesses:
            cells = (
                label,
                cut(comparison.url(witness.path), _LONGEST),
                describe_rule(witness.before),
                describe_rule(witness.after),
            )
            yield f"| {' | '.join(map(plain, cells))} |"
    yield ""
    urls = change.urls
    if urls is not None:
        numbers = f"{urls.closed:,} {closed}, {urls.opened:,} {opened}"
        yield f"Of your {count(urls.total, 'URL')}: {plain(numbers)}."
        yield from (f"- {plain(closed)}: {plain(cut(url, _LONGEST))}" for url in urls.closed_sample)
        yield from (f"- {plain(opened)}: {plain(cut(url, _LONGEST))}" for url in urls.opened_sample)
        yield ""

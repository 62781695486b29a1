"""Events of a watch on standard output: text for people, JSON for programs."""

import json
from collections.abc import Iterator
from typing import Any

from manners._text import count, cut, printable
from manners.cli import render
from manners.watch.journal import Delivery

_CLASSES, _NAMES, _EXAMPLES = 10, 8, 5
"""Classes of agents, names in each, and paths of each that people see; JSON has all."""
_LONGEST = 300
"""Characters of a path, or of a line."""
_COLOURS = {"changed": "yellow", "unreachable": "red", "back": "green", "watching": "dim"}


class Printer:
    """Prints each event, and counts the changes."""

    name, is_retried, has_all = "output", False, True

    def __init__(self, json: bool) -> None:
        self._json = json
        self.changes = 0
        """Changes that were printed."""

    async def deliver(self, delivery: Delivery) -> str:
        """Print an event."""
        values = json.loads(delivery.text)
        self.changes += values["event"] == "changed"
        print(delivery.text if self._json else "\n".join(event_lines(values)), flush=True)
        return ""


def event_lines(values: dict[str, Any]) -> Iterator[str]:
    """An event for people: what happened in sentences, then for whom, with the lines."""
    kind, at = values["event"], values["at"].replace("T", " ").removesuffix("Z")
    yield f"{at}  {render.styled(printable(values['site']), 'bold')}  {_styled(kind)}"
    for sentence in values["sentences"]:
        yield f"  {printable(sentence)}"
    changes = (values["impact"] or {}).get("changes", [])
    for change in changes[:_CLASSES]:
        yield from _change_lines(change)
    if len(changes) > _CLASSES:
        yield f"  {count(len(changes) - _CLASSES, 'more kind')} of agents; --json has them all"


def _styled(kind: str) -> str:
    return render.styled(kind, _COLOURS.get(kind, "bold"))


def _change_lines(change: dict[str, Any]) -> Iterator[str]:
    """A class of agents as `manners diff` shows it."""
    yield f"  {_agents(change)}"
    for title, style in (("closed", "red"), ("opened", "green")):
        for witness in change[title][:_EXAMPLES]:
            path = printable(cut(witness["path"], _LONGEST))
            yield f"    {render.styled(title, style)}  {path}"
            lines = f"{_rule(witness['before'])} -> {_rule(witness['after'])}"
            yield f"            {render.styled(lines, 'dim')}"
    if not change["decided"]:
        yield "    not everything could be compared"


def _agents(change: dict[str, Any]) -> str:
    agents = [name for name in change["agents"] if name != "*"]
    names = [printable(name) for name in (*agents, *change["crawlers"])]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    listed = cut(", ".join(names[:_NAMES]), _LONGEST) + more
    if "*" in change["agents"]:
        return "everybody whom no group names" + (f": {listed}" if listed else "")
    return listed


def _rule(rule: dict[str, Any] | None) -> str:
    if rule is None:
        return "no rule"
    return f"line {rule['line']}: {printable(cut(rule['text'], _LONGEST))}"

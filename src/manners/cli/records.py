"""Records of evidence as people read them. What is in a store is shown, whoever has changed it."""

from typing import TYPE_CHECKING, Any, NamedTuple

from manners._text import count, cut, printable
from manners.cli import render

if TYPE_CHECKING:
    from manners.evidence.record import Record
    from manners.evidence.replay import Difference
    from manners.robots.lines import Line

_AROUND = 3
"""Lines of a robots.txt that are shown before and after the one that decided."""
_LONG = 200


def line(record: "Record", url: str) -> str:
    """A record on one line: its number, when, what, about which URL, and why."""
    said, colour = ("allowed", "green") if _allowed(record) else ("blocked", "red")
    return "  ".join(
        (
            f"{record.id:>6}",
            _text(record.content.get("timestamp")),
            render.styled(said, colour),
            printable(url),
            render.styled(because(record), "dim"),
        )
    )


def because(record: "Record") -> str:
    """Why it was decided so, in a few words, as `check` says it."""
    said, rule = record.metadata, record.content.get("matchedRule")
    why = _text(said.get("reason"))
    if said.get("line"):
        why = f"line {_text(said['line'])}: {_text(rule)}"
    elif rule is not None:  # the user's own
        why += f" ({_text(rule)})"
    told = _retrieval(said.get("outcome"))
    if not told or told.startswith("available"):
        return why
    return told if told.startswith(why) else f"{why}; {told}"


def _retrieval(outcome: Any) -> str:
    """How the retrieval went, as an outcome says it."""
    from manners.retrieval.outcome import Availability, Outcome

    try:
        made = Outcome(
            Availability(outcome["availability"]),
            str(outcome["note"]),
            age=outcome["age"],
            copy=outcome["copy"],
        )
        return str(made)
    except (KeyError, TypeError, ValueError):
        return ""


class Shown(NamedTuple):
    """A record with all that is known about it."""

    record: "Record"
    url: str
    """As it is to be shown."""
    holds: bool
    """Whether its hash is its own."""
    difference: "Difference | None"
    """What came of deciding it again; None when the same."""
    body: bytes | None
    """The robots.txt that it rests on, where there is one."""
    lines: list["Line"]
    """The lines of it around the one that decided."""


def lines_around(record: "Record", body: bytes) -> list["Line"]:
    """The lines of a robots.txt around the one that decided, as the dialect counts them."""
    from manners.evidence.replay import lines_of

    try:
        at = int(record.metadata["line"])
    except (KeyError, TypeError, ValueError):
        return []
    if at < 1:
        return []
    found = []
    for each in lines_of(record.metadata, body):
        if each.number > at + _AROUND:
            break
        if each.number >= at - _AROUND:
            found.append(each)
    return found


def page(shown: Shown) -> list[str]:
    """Everything about one record, for people."""
    record = shown.record
    said, content = record.metadata, record.content
    decided = ("allowed", "green") if _allowed(record) else ("blocked", "red")
    wrong = "" if shown.holds else render.styled(", which is not that of this record", "red")
    rows = [
        ("url", printable(shown.url)),
        ("decided", render.styled(*decided)),
        ("because", because(record)),
        ("at", _text(content.get("timestamp"))),
        ("type", _text(record.type)),
        ("agent", _agent(said)),
        ("sent as", _text(said.get("userAgent"))),
        ("delay", f"{_text(content.get('crawlDelay'))} s" if content.get("crawlDelay") else ""),
        ("read by", f"dialect {_text(said.get('dialect'))}, {_text(said.get('engine'))}"),
        *_grounds(said),
        *_file(shown),
        ("replay", _again(shown.difference)),
        ("previous", _text(record.previous)),
        ("hash", _text(record.hash) + wrong),
    ]
    title = render.styled(f"record {record.id}", "bold")
    return [title, *(f"  {name:<9} {text}".rstrip() for name, text in rows if name == "" or text)]


def _agent(said: Any) -> str:
    group = _text(said.get("group"))
    return _text(said.get("agent")) + (f", in the group for {group}" if group else "")


def _grounds(said: Any) -> list[tuple[str, str]]:
    outcome = said.get("outcome")
    profile = f"profile {_text(said.get('profile'))}, confidence {_text(said.get('confidence'))}"
    if not isinstance(outcome, dict):
        return [("retrieval", "none"), ("", profile)]
    return [
        ("retrieval", f"{_retrieval(outcome)}, {_text(outcome.get('url'))}"),
        ("", f"{_text(outcome.get('at'))}, {_text(outcome.get('age'))} s old"),
        ("", profile),
    ]


def _file(shown: Shown) -> list[tuple[str, str]]:
    sha256 = shown.record.metadata.get("snapshot")
    if sha256 is None:
        return []
    if shown.body is None:
        return [("robots", f"{_text(sha256)}, which is missing")]
    rows = [("robots", f"{_text(sha256)}, {count(len(shown.body), 'byte')}")]
    at = shown.record.metadata.get("line")
    width = max((len(str(each.number)) for each in shown.lines), default=0)
    for each in shown.lines:
        mark = ">" if each.number == at else " "
        rows.append(("", f"{mark} {each.number:>{width}}  {printable(cut(each.text, _LONG))}"))
    return rows


def _again(difference: "Difference | None") -> str:
    if difference is None:
        return "comes out the same"
    by = f" (decided by {_text(difference.engine)})" if difference.engine else ""
    return render.styled(_text(difference.problem) + by, "red")


def _allowed(record: "Record") -> bool:
    return record.content.get("allowed") is True


def _text(value: object) -> str:
    """A value of a record, which may be anything, on one line."""
    return "" if value is None else printable(cut(str(value), 2000))

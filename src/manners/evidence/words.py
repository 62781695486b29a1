"""Records of evidence in words; also records that were tampered with. Quiet."""

from typing import TYPE_CHECKING, Any

from manners._text import cut, printable

if TYPE_CHECKING:
    from manners.evidence.record import Record
    from manners.robots.lines import Line

_AROUND = 3
"""Lines of a robots.txt to show before and after the one that decided."""
_MAX_LENGTH = 2_000


def because(record: "Record") -> str:
    """Why, in a few words, as `check` prints it."""
    metadata, rule = record.metadata, record.content.get("matchedRule")
    why = plain(metadata.get("reason"))
    if metadata.get("line"):
        why = f"line {plain(metadata['line'])}: {plain(rule)}"
    elif rule is not None:  # an exclusion
        why += f" ({plain(rule)})"
    how = retrieval(metadata.get("outcome"))
    if not how or how.startswith("available"):
        return why
    return how if how.startswith(why) else f"{why}; {how}"


def retrieval(outcome: Any) -> str:
    """How the retrieval went, as an outcome prints itself."""
    from manners.retrieval.outcome import Availability, Outcome

    try:
        found = Outcome(
            Availability(outcome["availability"]),
            str(outcome["note"]),
            age=outcome["age"],
            copy=outcome["copy"],
        )
        return str(found)
    except (KeyError, TypeError, ValueError):
        return ""


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
    for candidate in lines_of(record.metadata, body):
        if candidate.number > at + _AROUND:
            break
        if candidate.number >= at - _AROUND:
            found.append(candidate)
    return found


def plain(value: object) -> str:
    """Any value of a record, on one line."""
    return "" if value is None else printable(cut(str(value), _MAX_LENGTH))

"""What one look at a site found, and what was reported of the site before. Quiet."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from manners._text import count, printable
from manners.cache.entry import Entry
from manners.cache.freshness import read_date
from manners.retrieval.flow import Copy
from manners.retrieval.outcome import Availability


@dataclass(frozen=True, slots=True)
class Sight:
    """What a site said at one look: a file, or that it has none.

    >>> str(Sight("200", size=120, digest="ab")), str(Sight("404"))
    ('120 bytes', 'none (404)')
    """

    note: str
    """The status, or the cause, in a few words."""
    digest: str = ""
    """The SHA-256 of the file, in hexadecimal; empty when there is none."""
    size: int = 0
    """Bytes of the file."""
    at: float = 0.0
    """When it was found."""

    @classmethod
    def of(cls, entry: Entry) -> "Sight":
        """What an entry of a site that was reached says."""
        body, note = entry.body, entry.outcome.note
        if body is None:
            return cls(note, at=entry.outcome.at)
        return cls(note, sha256(body).hexdigest(), len(body), entry.outcome.at)

    @property
    def has_file(self) -> bool:
        """Whether there is a robots.txt."""
        return bool(self.digest)

    @property
    def is_html(self) -> bool:
        """Whether the file is a web page."""
        return self.has_file and self.note.endswith("looks like HTML")

    def __str__(self) -> str:
        if not self.has_file:
            return f"none ({printable(self.note)})"
        return f"{count(self.size, 'byte')}{', a web page (HTML)' if self.is_html else ''}"

    def to_dict(self) -> dict[str, Any]:
        """The sight as plain values, ready for JSON.

        >>> Sight("404").to_dict()
        {'result': '404', 'sha256': None, 'bytes': None, 'at': '1970-01-01T00:00:00Z'}
        """
        return {
            "result": self.note,
            "sha256": self.digest or None,
            "bytes": self.size if self.has_file else None,
            "at": moment(self.at),
        }


@dataclass(frozen=True, slots=True)
class Known:
    """What was reported of a site so far, and when it was looked at last."""

    began: float
    """When it was looked at first."""
    looked_at: float
    events: int = 0
    """How many events there were."""
    sight: Sight | None = None
    """What was found last; None while the site has not been reached."""
    unreachable_since: float | None = None
    """When it was found unreachable, which was reported; None while it can be reached."""
    not_before: float = 0.0
    """When it may be asked again, by its Retry-After."""

    def to_dict(self) -> dict[str, Any]:
        """It as plain values, ready for JSON.

        >>> Known(1.0, 2.0).to_dict()["looked_at"]
        2.0
        """
        return asdict(self)


def is_unreachable(entry: Entry) -> bool:
    """Whether a site could not be reached at the last look."""
    return entry.outcome.availability is Availability.UNREACHABLE


def copy_to_confirm(entry: Entry | None) -> Copy | None:
    """The copy that a site may confirm instead of sending the file; None if it has to send it.

    Dates have seconds, and many tags are made of dates: a file that was changed right before it was
    sent may have been changed again in the same second. RFC 9110 section 8.8.2.2 asks for 60.
    """
    if entry is None or entry.copy is None:
        return None
    changed_at = read_date(entry.last_modified) if entry.last_modified else None
    sent_at = read_date(entry.outcome.header("date")) if entry.outcome.header("date") else None
    is_recent = changed_at is not None and changed_at > (sent_at or entry.fetched_at) - _RECENT
    return None if is_recent else entry.copy


_RECENT = 60.0
"""Seconds."""


def moment(at: float) -> str:
    """A time in UTC, as JSON has it.

    >>> moment(86_400.0)
    '1970-01-02T00:00:00Z'
    """
    return f"{datetime.fromtimestamp(int(at), UTC):%Y-%m-%dT%H:%M:%SZ}"

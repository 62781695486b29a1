"""How much of a crawl a report shows: rows of a list, characters of a text, queries or none. Quiet.

What comes from a site may be of any length.
"""

from typing import NamedTuple

from manners._text import cut
from manners.evidence.record import without_query

_MAX_TEXT = 2_000


class Display(NamedTuple):
    """The limits of one report.

    >>> Display(rows=200, redact=True).url("https://example.com/a?token=1")
    'https://example.com/a?…'
    """

    rows: int
    redact: bool

    def url(self, url: str) -> str:
        """A URL, without its query where queries are redacted."""
        return text(without_query(url) if self.redact else url)


def text(value: str) -> str:
    """A text, cut where it is too long."""
    return cut(value, _MAX_TEXT)

"""Sitemaps read in one go, or in the pieces that a test wants."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from manners.sitemaps import Problem, SitemapEntry, SitemapParser

URL = "https://example.com/sitemap.xml"


class Read(NamedTuple):
    """What there was in a sitemap."""

    entries: list[SitemapEntry]
    problems: list[Problem]
    form: str

    @property
    def urls(self) -> list[str]:
        return [entry.url for entry in self.entries]

    @property
    def words(self) -> list[str]:
        return [problem.problem for problem in self.problems]


def read(body: bytes | Iterable[bytes], url: str = URL, **limits: int) -> Read:
    """What a parser makes of a file, or of its pieces."""
    parser, entries = SitemapParser(url, **limits), []
    for piece in [body] if isinstance(body, bytes) else body:
        entries += parser.feed(piece)
    entries += parser.close()
    assert parser.entries == len(entries)
    assert parser.is_over
    return Read(entries, parser.problems, parser.form)


def pieces(body: bytes, cuts: Iterable[int]) -> Iterator[bytes]:
    """A file cut at these places."""
    begin = 0
    for cut in [*sorted(cuts), len(body)]:
        yield body[begin:cut]
        begin = cut


def urlset(*entries: str) -> bytes:
    """A sitemap with these entries, of which each is what stands in a `url`."""
    urls = "".join(f"<url>{entry}</url>\n" for entry in entries)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    ).encode("utf-8", "surrogatepass")


def loc(url: str) -> str:
    """Where an entry is."""
    return f"<loc>{url}</loc>"

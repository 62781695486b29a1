"""The user's own URLs, in batches: those of a list, a sitemap, or the crawls of a store."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from manners._text import count, printable
from manners.cli import inputs, linting, render
from manners.cli.inputs import UrlList
from manners.cli.linting import UnreadFile

if TYPE_CHECKING:
    from manners.cli.options import Options
    from manners.crawler.sitemaps import SitemapResult

_BATCH = 10_000
_MAX_SITEMAPS = 1_000
"""Sitemaps of an index that are read."""
_is_database = re.compile(r"(sqlite|postgresql(\+\w+)?|postgres)://", re.IGNORECASE).match


def batches(place: str, column: str | None, site: str, options: "Options") -> Iterator[list[str]]:
    """The URLs at a place, some thousand at a time; if the site is known, only those of it."""
    urls: Iterable[str]
    if linting.is_url(place):
        urls = _of_sitemap(place, options)
    elif _is_database(place) or _is_store(place):
        urls = _of_store(place, options)
    else:
        urls = UrlList([], place, column).read()
    if site:
        urls = (url for url in urls if url == site or url.startswith((f"{site}/", f"{site}?")))
    urls = iter(urls)
    while batch := list(islice(urls, _BATCH)):
        yield batch


def _is_store(place: str) -> bool:
    """Whether a file is an SQLite database; anything else is a list."""
    try:
        with Path(place).open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except (OSError, ValueError):  # then the list says what is wrong
        return False


def _of_store(place: str, options: "Options") -> Iterator[str]:
    """The pages that the crawls of a store know, each once."""
    from manners.crawler.frontier.summary import page_urls
    from manners.store.database import Store

    timeout = options.load().server_timeout
    with Store(place, readonly=True, timeout=timeout) as store, store.reading() as connection:
        yield from page_urls(connection)


def _of_sitemap(url: str, options: "Options") -> Iterator[str]:
    """The pages that a sitemap lists, or the sitemaps of an index."""
    from manners._portal import portal
    from manners.crawler.sitemaps import read_sitemap

    client, progress = inputs.open_client(options.load().but(store=None)), render.Progress()
    waiting, seen = [url], {url}
    try:
        while waiting:
            place = waiting.pop(0)
            progress.say(f"{count(len(seen) - len(waiting), 'sitemap')} read")
            result = portal.run(read_sitemap(client, place))
            _check(result, place, is_first=place == url)
            for entry in result.entries:
                if entry.kind == "page":
                    yield entry.url
                elif entry.url not in seen and len(seen) < _MAX_SITEMAPS:
                    seen.add(entry.url)
                    waiting.append(entry.url)
    finally:
        progress.clear()
        portal.run(client.close())


def _check(result: "SitemapResult", place: str, *, is_first: bool) -> None:
    """Warn about a sitemap that cannot be read, or not completely; the first has to be."""
    summary = result.summary
    if not result.page.ok or (summary.form == "unknown" and not result.entries):
        what = summary.status if not result.page.ok else "it is no sitemap"
        if is_first:
            raise UnreadFile(f"cannot read the sitemap {place}: {what}")
        inputs.warn(f"{printable(place)}: {printable(what)}; its URLs are not counted")
    elif result.is_cut:
        inputs.warn(f"{printable(place)}: only its first {len(result.entries):,} URLs are counted")

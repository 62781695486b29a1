"""How fast sitemaps and links are read: `python -m benchmarks.discovery`.

Sitemap entries a second against ultimate-sitemap-parser, whose parser is given the same bytes, and
links a second against Scrapy's link extractor on the same pages, where they are installed. Both
take turns within each repetition; what counts is the median of the ratios. What is found must be
the same, and is compared first.

    python -m benchmarks.discovery               about a minute
    python -m benchmarks.discovery --quick       some seconds
    python -m benchmarks.discovery --json FILE   writes the figures there too
"""

import argparse
import json
import logging
import random
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.engine import machine
from manners.crawler.links import extract
from manners.sitemaps import SitemapParser

SITE = "https://www.example.com"
CHUNK = 64 * 1024
"""Bytes that come from the network at a time."""
WORDS = [
    "about", "account", "article", "blog", "careers", "category", "contact", "download", "events",
    "gallery", "guide", "help", "history", "item", "legal", "news", "press", "privacy", "products",
    "review", "services", "shop", "store", "support", "team", "terms",
]  # fmt: skip
Read = Callable[[Any], list[str]]


def sitemap(draw: random.Random, entries: int, form: str) -> bytes:
    """A sitemap as sites have them: plain ones, and ones with an image for each page."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">',
    ]
    for number in range(entries):
        path = "/".join(draw.choices(WORDS, k=draw.randint(1, 4)))
        query = f"?page={number % 9}&amp;sort=asc" if number % 5 == 0 else ""
        date = f"2024-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}T10:30:00+00:00"
        image = (
            "<image:image><image:loc>/i.jpg</image:loc></image:image>" if form == "images" else ""
        )
        rest = "" if form == "short" else (
            f"\n    <lastmod>{date}</lastmod>\n    <changefreq>weekly</changefreq>"
            f"\n    <priority>0.{draw.randint(1, 9)}</priority>"
        )  # fmt: skip
        lines.append(
            f"  <url>\n    <loc>{SITE}/{path}/{number}.html{query}</loc>{rest}{image}\n  </url>"
        )
    return "\n".join([*lines, "</urlset>\n"]).encode()


def page(draw: random.Random, links: int, size: int) -> str:
    """A page as sites have them: a menu, lists, text with links in it, scripts, a footer."""
    parts = [
        "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>A page</title>"
        f'<link rel="canonical" href="{SITE}/page"><link rel=stylesheet href=/s.css>'
        '<meta name="description" content="x"><meta name="viewport" content="width=device-width">'
        "<script>window.data = {a: 1 < 2, b: '<a href=no>'};</script></head><body><header><nav><ul>"
    ]
    filler = max(size // links - 150, 10)
    for number in range(links):
        path = "/".join(draw.choices(WORDS, k=draw.randint(1, 3)))
        href = (
            *(f"/{path}/{number}", f"{path}/{number}?a=1&amp;b=2", f"{SITE}/{path}/{number}.html"),
            *(f"../{path}/{number}#top", f"https://other.example/{path}/{number}"),
        )[draw.randrange(5)]
        rel = ' rel="nofollow noopener" target="_blank"' if number % 7 == 0 else ""
        parts.append(f'<li class="item"><a class="link link-{number}" href="{href}"{rel}>')
        parts.append(
            f"<span>Link {number}</span></a><p>{'Lorem ipsum. ' * (filler // 13)}</p></li>\n"
        )
    parts.append("</ul></nav></header><footer><p>The end</p></footer></body></html>")
    return "".join(parts)


# Both ways to do each.


def own_sitemap(body: bytes) -> list[str]:
    parser = SitemapParser(f"{SITE}/sitemap.xml")
    entries = []
    for start in range(0, len(body), CHUNK):
        entries += parser.feed(body[start : start + CHUNK])
    return [entry.url for entry in (*entries, *parser.close())]


def own_links(html: str) -> list[str]:
    return [link.url for link in extract(html, f"{SITE}/dir/page").links if link.kind == "a"]


def other_sitemap() -> Read:
    parse = import_module("usp.fetch_parse").XMLSitemapParser
    client = import_module("usp.web_client.abstract_client").LocalWebClient()
    logging.getLogger("usp").setLevel(logging.CRITICAL)

    def read(body: bytes) -> list[str]:
        made = parse(
            url=f"{SITE}/sitemap.xml",
            content=body.decode(),
            recursion_level=0,
            web_client=client,
            parent_urls=set(),
        )
        return [each.url for each in made.sitemap().all_pages()]

    return read


def other_links() -> Read:
    respond = import_module("scrapy.http").HtmlResponse
    # Canonical URLs, so that what is found can be compared; each page is parsed anew.
    extractor = import_module("scrapy.linkextractors.lxmlhtml").LxmlLinkExtractor(canonicalize=True)

    def read(html: str) -> list[str]:
        response = respond(f"{SITE}/dir/page", body=html.encode(), encoding="utf-8")
        return [each.url for each in extractor.extract_links(response)]

    return read


def compare(
    title: str, work: list[Any], own: Read, other: Read | None, repetitions: int
) -> dict[str, float]:
    """Things a second of both, and the median of the ratios."""
    found = [own(each) for each in work]
    count = sum(map(len, found))
    if other is not None:
        same = sum(set(other(each)) == set(ours) for each, ours in zip(work, found, strict=True))
        assert same == len(work), f"{title}: {same} of {len(work)} are the same"
    spent: dict[str, list[float]] = {"manners": [], "other": []}
    for number in range(repetitions):
        ways = [("manners", own), *([("other", other)] if other else [])]
        for name, read in ways[:: -1 if number % 2 else 1]:
            start = time.process_time()
            for each in work:
                read(each)
            spent[name].append(time.process_time() - start)
    figures = {f"{title}, a second": count / statistics.median(spent["manners"])}
    if other is not None:
        figures[f"{title}, the other, a second"] = count / statistics.median(spent["other"])
        ratios = [b / a for a, b in zip(*spent.values(), strict=True)]
        figures[f"{title}, times as fast"] = statistics.median(ratios)
    return figures


def library(make: Callable[[], Read], name: str) -> Read | None:
    try:
        made = make()
    except ImportError as error:
        print(f"without {name}: {error}")
        return None
    print(f"{name} {version(name)}")
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    entries, repetitions = (2_000, 3) if options.quick else (20_000, 9)
    print(machine())
    usp = library(other_sitemap, "ultimate-sitemap-parser")
    scrapy = library(other_links, "scrapy")
    print()
    draw, figures = random.Random(9), dict[str, float]()
    for form in ("short", "usual", "images"):
        body = sitemap(draw, entries, form)
        title = f"sitemap entries, {form}"
        figures |= compare(title, [body], own_sitemap, usp, repetitions)
    for links, size in ((50, 10_000), (200, 50_000), (500, 100_000)):
        pages = [page(draw, links, size) for _ in range(5 if options.quick else 20)]
        title = f"links, {links} in {len(pages[0]) // 1000} KB"
        figures |= compare(title, pages, own_links, scrapy, repetitions)
    for name, figure in figures.items():
        print(f"{name:<60}{figure:>12,.{1 if 'times' in name else 0}f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()

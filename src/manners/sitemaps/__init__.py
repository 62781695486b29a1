"""Sitemaps: parsed piece by piece; nothing is fetched here.

>>> parser = SitemapParser("https://example.com/sitemap.xml")
>>> data = b"<urlset><url><loc>https://example.com/a</loc><priority>0.8</priority></url></urlset>"
>>> [(entry.url, entry.priority) for entry in (*parser.feed(data), *parser.close())]
[('https://example.com/a', 0.8)]
"""

from manners.sitemaps.entry import Problem, SitemapEntry
from manners.sitemaps.parser import SitemapParser

__all__ = ["Problem", "SitemapEntry", "SitemapParser"]

"""The page: a report as one HTML file that opens anywhere, prints, and can be passed on.

URLs that were crawled are not links: one click would request a page, often one that the site
disallows, and nobody would have decided that.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from manners._text import cut
from manners.report.data import Report
from manners.report.html import sections, words
from manners.report.html.elements import Child, Element, element, style, untrusted
from manners.report.html.header import page_header

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect width='16' height='16' rx='3' fill='%230f766e'/%3E%3Cpath d='M4 11V6m4 5V4m4 7V8'"
    " stroke='%23fff' stroke-width='2'/%3E%3C/svg%3E"
)
"""The picture in the tab of a browser."""


def page(report: Report) -> str:
    """A report as HTML."""
    return f"<!doctype html>\n{element('html', _head(report), _body(report), lang='en')}\n"


def _head(report: Report) -> Element:
    return element(
        "head",
        element("meta", charset="utf-8"),
        # Before everything that it applies to.
        element("meta", http_equiv="Content-Security-Policy", content=content_policy()),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="robots", content="noindex, nofollow"),
        element("meta", name="generator", content=f"manners {report.version}"),
        element("title", f"Crawl {report.status.crawl} of {cut(report.status.start, 100)}"),
        element("link", rel="icon", href=ICON),
        style(_style_sheet()),
    )


@cache
def content_policy() -> str:
    """The content security policy: one style sheet, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(_style_sheet().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    )


@cache
def _style_sheet() -> str:
    """What the report shares with the pages of the service, and what is its own."""
    folder = files("manners.report.html")
    return "\n".join((folder / name).read_text("utf-8") for name in ("base.css", "style.css"))


def _body(report: Report) -> Element:
    members = [(section, section.content(report)) for section in sections.ordered()]
    shown = [(section, content) for section, content in members if content is not None]
    links = [
        element("li", element("a", section.title, href=f"#{section.name}")) for section, _ in shown
    ]
    return element(
        "body",
        page_header(report),
        element("nav", element("ul", links), aria_label="Sections of the report"),
        element("main", [_section(section, content) for section, content in shown]),
        element(
            "footer",
            f"Created by manners {report.version} on {words.moment(report.created)} from ",
            untrusted(report.store),
            ". This file has no scripts, loads nothing, and links nowhere.",
        ),
    )


def _section(section: sections.Section, content: Child) -> Element:
    title = f"{section.name}-title"
    heading = element("h2", section.title, id=title)
    return element("section", heading, content, id=section.name, aria_labelledby=title)

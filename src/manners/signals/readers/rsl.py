"""RSL (rslstandard.org): licence documents, and the places that announce them.

In robots.txt, the `License` lines of the agent's group count, and those outside any group where it
has none. A page announces one in a Link header, a link element, or contains it in a script. Each
place is evaluated for itself; where they differ, the restrictive one counts (section 4.9).
"""

import re
from typing import NamedTuple
from urllib.parse import urljoin

from manners._text import possessive
from manners.errors import InvalidURL
from manners.signals.claims import Citation, Edition, SignalFindings
from manners.signals.licence_document import LicensedContent, NotConformant, read_licence
from manners.signals.licence_terms import CLASSES, ScopedContent, decide
from manners.signals.markup import LICENCE_TYPE, PageElement, media_type
from manners.signals.material import Material
from manners.urls import match_path, origin, page_url, without_credentials

EDITIONS = (Edition("RSL 1.0", "2025-12-10"),)

MAX_LICENCES = 20
"""Licences that one place may announce."""


class Announcement(NamedTuple):
    """A place that names a licence by its URL."""

    url: str
    citation: Citation


def read(material: Material, findings: SignalFindings) -> None:
    """Every place that announces a licence."""
    if material.lines is not None:
        _note(findings, _announced(material, findings, _robots(material, findings), is_site=True))
    _note(findings, _announced(material, findings, _headers(material)))
    for element in material.elements:
        scopes: list[ScopedContent] = []
        if element.name == "script":
            citation = material.cite_element(element, element.name)
            scopes = _contained(material, findings, element.content, citation)
        elif announced := _linked(material, element):
            scopes = _announced(material, findings, announced)
        _note(findings, scopes, covers_page=element.is_in_head)


def licence_urls(material: Material) -> tuple[str, ...]:
    """The licences that are announced for a page, by absolute URLs, each once.

    >>> robots_txt = "License: https://example.com/license.xml\\nUser-agent: *\\nAllow: /"
    >>> page = Material(url="https://example.com/", robots_txt=robots_txt, licences={})
    >>> licence_urls(page)
    ('https://example.com/license.xml',)
    """
    announced = [*_robots(material, SignalFindings("rsl", "")), *_headers(material)]
    for element in material.elements:
        announced += _linked(material, element)
    return tuple(dict.fromkeys(url for url, _ in announced if _is_absolute(url)))


def _headers(material: Material) -> list[Announcement]:
    return [
        Announcement(url, material.cite_header("Link", value))
        for value in material.header("link")
        for url in licence_links(value)
    ]


def _linked(material: Material, element: PageElement) -> list[Announcement]:
    """The licence that a link element names; none for other elements."""
    kind = media_type(element.attributes.get("type", ""))
    if element.name != "link" or kind != LICENCE_TYPE:
        return []
    href = element.attributes.get("href", "").strip()
    return [Announcement(href, material.cite_element(element, element.name))]


def _robots(material: Material, findings: SignalFindings) -> list[Announcement]:
    """The License lines of the agent's group, else those for everybody."""
    if material.lines is None:
        return []
    # A line at the end of a file is its last group's by RFC 9309, and usually meant for everybody.
    at_end = material.lines.at_end("license")
    for line in at_end:
        findings.problem("license-at-end", line.citation(material.robots_url))
    own = material.lines.of_group("license")
    lines = own or material.lines.outside("license") + at_end
    return [Announcement(line.value, line.citation(material.robots_url)) for line in lines]


def _announced(
    material: Material,
    findings: SignalFindings,
    announcements: list[Announcement],
    *,
    is_site: bool = False,
) -> list[ScopedContent]:
    """The contents of licences at a URL that the page belongs to."""
    scopes: list[ScopedContent] = []
    for url, place in announcements[:MAX_LICENCES]:
        document = _document(material, url) if _is_absolute(url) else None
        if document is None:
            code = "licence-not-had" if _is_absolute(url) else "not-absolute"
            findings.problem(code, place, url)
            continue
        where = f"from {place.source} line {place.line}" if place.line else f"from {place.where}"
        citation = Citation("licence", without_credentials(url), "", where=where)
        try:
            contents = read_licence(document)
        except NotConformant as error:
            findings.problem("not-conformant", citation, f"{citation.url}: {error}")
            continue
        scopes += _scopes(material, contents, citation, is_site=is_site)
    if len(announcements) > MAX_LICENCES:
        findings.problem("too-large", place, f"more than {MAX_LICENCES} licences")
    return scopes


def _contained(
    material: Material, findings: SignalFindings, content: str, citation: Citation
) -> list[ScopedContent]:
    """The content of a licence in a script that the page belongs to."""
    try:
        contents = read_licence(content)
        if len(contents) != 1:
            raise NotConformant("not exactly one <content>")
    except NotConformant as error:
        findings.problem("not-conformant", citation, str(error))
        return []
    return _scopes(material, contents, citation._replace(source="licence"))


def _note(
    findings: SignalFindings, scopes: list[ScopedContent], *, covers_page: bool = True
) -> None:
    """The claims of one place. One that covers a part of the page refuses the page, and grants
    nothing for the rest of it."""
    for purpose in CLASSES:
        answer = decide(scopes, purpose)
        if answer is None:
            continue
        if answer.value == "yes" and not covers_page:
            findings.problem("part-of-page", answer.citation)
            continue
        findings.claim(
            purpose,
            answer.value,
            answer.citation,
            implied=answer.implied,
            conditions=answer.conditions,
        )
    servers = {scope.content.server for scope in scopes if scope.content.server}
    findings.ask("crawl", [f"token from {server}" for server in sorted(servers)])


def _scopes(
    material: Material,
    contents: tuple[LicensedContent, ...],
    citation: Citation,
    *,
    is_site: bool = False,
) -> list[ScopedContent]:
    """The contents that the page belongs to."""
    return [
        ScopedContent(length, content, citation)
        for content in contents
        if (length := _length(material, content.url, is_site)) >= 0
    ]


def _length(material: Material, pattern: str, is_site: bool) -> int:
    """How narrow a content's pattern is; -1 where the page does not belong to it."""
    if not pattern:  # "the place of the association": the site, or this page
        return 0 if is_site else len(match_path(material.url))
    if "://" in pattern:
        if not _same_site(pattern, material.url):
            return -1
        pattern = match_path(pattern)
    elif not pattern.startswith(("/", "*")):
        pattern = match_path(_joined(material.url, pattern))
    return material.path.length(pattern)


def _same_site(url: str, other: str) -> bool:
    try:
        return origin(url) == origin(other)
    except InvalidURL:
        return False


def _joined(base: str, url: str) -> str:
    try:
        return urljoin(base, url)
    except ValueError:  # brackets without an IPv6 address
        return url


def _is_absolute(url: str) -> bool:
    try:
        return bool(origin(url))
    except InvalidURL:
        return False


def _document(material: Material, url: str) -> bytes | str | None:
    """The licence at a URL, however the caller wrote it."""
    if url in material.licences:
        return material.licences[url]
    wanted = _normal(url)
    return next(
        (body for known, body in material.licences.items() if _normal(known) == wanted), None
    )


def _normal(url: str) -> str:
    try:
        return page_url(url)
    except InvalidURL:
        return url


_LINK = re.compile(r"[\s,]*+<([^<>]*+)>((?:\"(?:[^\"\\]|\\.)*+\"|[^,\"])*+)", re.DOTALL)
_PARAMETER = re.compile(
    r";\s*+([!#$%&'*+.^_`|~0-9A-Za-z-]++)\s*+"
    + possessive(r"=\s*+(?:\"((?:[^\"\\]|\\.)*+)\"|([^\s;,\"]*+))", "?"),
    re.DOTALL,
)


def licence_links(value: str) -> list[str]:
    """The RSL licences that a Link header names: relation and type have to say so.

    >>> licence_links('<https://a.example/l.xml>; rel="license"; type="application/rsl+xml"')
    ['https://a.example/l.xml']
    >>> licence_links('<https://creativecommons.org/licenses/by/4.0/>; rel="license"')
    []
    """
    urls, at = [], 0
    while link := _LINK.match(value, at):
        at = link.end()
        parameters: dict[str, str] = {}
        for name, quoted, bare in _PARAMETER.findall(link[2]):
            parameters.setdefault(name.lower(), quoted or bare)
        is_licence = "license" in parameters.get("rel", "").lower().split()
        if is_licence and media_type(parameters.get("type", "")) == LICENCE_TYPE:
            urls.append(link[1].strip())
    return urls

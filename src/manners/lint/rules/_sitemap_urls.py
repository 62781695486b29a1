"""What the rules about sitemaps share: the parts of a sitemap's URL, and what is wrong with it."""

import re
from collections import Counter
from collections.abc import Iterator

from manners.lint.source import Source, SourceLine

_WEB_URL = re.compile(r"https?://([^/?#]*)", re.IGNORECASE).match
_SCHEME = re.compile(r"[a-z][a-z0-9+-]*:(?![0-9])", re.IGNORECASE).match
_FEW_SLASHES = re.compile(r"https?:/?[^/]", re.IGNORECASE).match
_AUTHORITY = re.compile(r"(?:[\w.-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?", re.IGNORECASE).fullmatch
_DEFAULT_PORT = re.compile(r":(?:80|443)?$")
_PLACEHOLDER = re.compile(r"[{}<>]|\$\(|%%").search
_SEVERAL = re.compile(r"[\s,;]https?://", re.IGNORECASE).search
_OTHER_DIRECTIVE = re.compile(r"\b(?:sitemap|(?:dis)?allow|user-agent)\s*:", re.IGNORECASE).search


def sitemap_lines(source: Source) -> Iterator[SourceLine]:
    """The Sitemap lines of a file.

    Without those that have no colon (mostly two words of a page in HTML) and those that have
    another directive in their value: other rules report both.
    """
    for line in source.lines:
        if line.kind != "sitemap" or "missing-colon" in line.line.problems:
            continue
        if not _OTHER_DIRECTIVE(line.value):
            yield line


def host_of(url: str) -> str:
    """The host of a web address in lower case, with a port that is not the default; or nothing.

    >>> host_of("https://WWW.Example.com:443/s.xml"), host_of("/s.xml")
    ('www.example.com', '')
    """
    found = _WEB_URL(url)
    if found is None:
        return ""
    return _DEFAULT_PORT.sub("", found[1].rpartition("@")[2].lower())


def host_of_file(source: Source) -> str:
    """The host a file is for: of its own URL, else the one that most of its sitemaps share."""
    if source.url is not None:
        return host_of(source.url)
    hosts = Counter(host_of(line.value) for line in sitemap_lines(source))
    del hosts[""]
    return hosts.most_common(1)[0][0] if hosts else ""


def is_web_url(url: str) -> bool:
    """Whether a URL begins with http:// or https://."""
    return _WEB_URL(url) is not None


def url_problem(url: str) -> str:
    """What is wrong with the URL of a sitemap, as the end of a sentence; a path is not wrong here.

    >>> url_problem("https:///sitemap.xml"), url_problem("/sitemap.xml")
    ('has no host', '')
    """
    if not url:
        return "has no URL"
    before_query = url.partition("?")[0]
    if _PLACEHOLDER(before_query):
        return "has a placeholder that nobody filled in"
    if _SEVERAL(before_query):
        return "has several URLs, but one line is read as one URL"
    if any(character.isspace() for character in url):
        return "has white space in its URL"
    found = _WEB_URL(url)
    return _scheme_problem(url) if found is None else _host_problem(found[1])


def _scheme_problem(url: str) -> str:
    if _FEW_SLASHES(url):
        return "has too few slashes behind its scheme"
    return "is no http or https URL" if _SCHEME(url) else ""


def _host_problem(authority: str) -> str:
    authority = authority.rpartition("@")[2]
    if not authority:
        return "has no host"
    if authority.lower().rstrip(":") in ("http", "https"):
        return "has its scheme twice"
    return "" if _AUTHORITY(authority) else "has a host that cannot exist"

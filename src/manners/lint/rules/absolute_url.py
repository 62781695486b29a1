"""P402: a URL where a path belongs."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from manners import urls
from manners._text import to_bytes
from manners.errors import InvalidURL
from manners.lint.finding import Finding, Fix, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import EVERYTHING, paths
from manners.lint.source import Source, SourceLine, quoted

_FLAGS = re.IGNORECASE | re.DOTALL
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?"
_SCHEME = re.compile(r"(?:https?:/*|[a-z][a-z0-9+.-]*://)([^/?*$\s]*)(.*)", _FLAGS).fullmatch
_BEHIND_SLASH = re.compile(rf"(?:/+https?://|//+(?={_LABEL}\.))([^/?*$\s]*)(.*)", _FLAGS).fullmatch
_BARE = re.compile(
    rf"((?:{_LABEL}\.)+([a-z]{{2,24}}|[0-9]{{1,3}})(?::[0-9]+)?)(?=[/*?]|$)(.*)", _FLAGS
).fullmatch
_IPV4 = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?::[0-9]+)?").fullmatch

# Endings of host names; any other ending is as likely that of a file.
_TOP = frozenset(
    ("com", "org", "net", "edu", "gov", "mil", "int", "info", "biz", "io", "dev", "app")
)
_FILES = frozenset(
    ("js", "pl", "py", "ps", "md", "so", "sh", "rs", "cc", "ts", "gz", "vb", "rb", "db")
)
"""Endings of files that have two letters, as country codes have."""


class _Url(NamedTuple):
    host: str
    path: str
    begins_with_slash: bool
    """It is a path as well, if an unlikely one."""


def split_url(value: str) -> "_Url | None":
    """A value that is a URL, or begins with the name of a host; else None."""
    if value[0] == "/":
        found = _BEHIND_SLASH(value) if "//" in value[:9] else None
        if found and (value.lstrip("/")[:4].lower() == "http" or _is_host(found[1])):
            return _Url(found[1], found[2], True)
        return None
    if value[0] == "*":
        return None
    if found := _SCHEME(value):
        return _Url(found[1], found[2], False)
    found = _BARE(value)
    if found and _is_host(found[1]):
        return _Url(found[1], found[3], False)
    return None


def _is_host(name: str) -> bool:
    """Whether a name with dots is one of a host, rather than one of a file."""
    labels = name.partition(":")[0].lower().split(".")
    top = labels[-1]
    if _IPV4(name) or (labels[0] == "www" and len(labels) > 2):
        return True
    if len(labels) < 2 or not top.isalpha():
        return False
    return top in _TOP or (len(top) == 2 and (len(labels) > 2 or top not in _FILES))


class AbsoluteUrl(LintRule):
    """A URL or the name of a host, where a rule has a path.

    ## Why it matters
    The value of a rule is compared with the path of a URL, which begins with a slash (RFC 9309,
    section 2.2.2). `https://example.com/private/` matches no URL of any site; nor does
    `example.com/private/`. A robots.txt is about the host that it is on, so a rule for another host
    belongs into that host's file. With a slash in front, the rule matches only a path that contains
    the URL, which may be meant and is a warning. 68 of 6,000 real files (1.1 %) have one.

    ## Example
    ```robots
    User-agent: *
    Disallow: https://example.com/private/
    ```
    ```robots
    User-agent: *
    Disallow: shop.example.com/basket
    ```
    ```robots
    User-agent: *
    Disallow: /https://example.com/private/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    Disallow: /basket
    Disallow: /index.php
    Disallow: /redirect?to=https://
    ```

    ## Fix
    Replaces the URL with its path. Unsafe: the rule then matches URLs. Not offered where the path
    would match every URL, nor where the file is known to be another host's.
    """

    code = "P402"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Values that are URLs, or begin with the name of a host."""
        own = _host_of(source.url)
        for line, value in paths(source):
            if value[0] == "*" or (value[0] == "/" and value[1:2] != "/" and "://" not in value):
                continue
            url = split_url(value)
            if url is None:
                continue
            host = url.host.partition(":")[0].lower()
            if url.begins_with_slash:
                severity = Severity.WARNING
                message = f"{quoted(value)} matches no URL but one that has this URL as its path"
            else:
                severity = Severity.ERROR
                message = f"a rule is a path, without a host: {quoted(value)} matches no URL"
            fix = None
            if own and host and host.removeprefix("www.") != own:
                message += f", and a robots.txt of {quoted(own)} cannot speak for {quoted(host)}"
            else:
                fix = self._path_fix(line, url)
            yield self.about_value(line, message, fix=fix, severity=severity)

    def _path_fix(self, line: SourceLine, url: "_Url") -> Fix | None:
        path = url.path if url.path[:1] in ("/", "*") else "/" + url.path
        # Whoever disallows another host by its URL does not want to disallow everything here.
        if EVERYTHING(path) or path == "/$" or re.search(r"\s", path):
            return None
        edit = line.with_value(to_bytes(path))
        return self.fix("replace the URL with its path", edit, safety="unsafe")


def _host_of(url: str | None) -> str:
    try:
        return urls.host(url).removeprefix("www.") if url else ""
    except InvalidURL:
        return ""


RULE = AbsoluteUrl()

"""What the value of a User-agent line may be, instead of a name."""

import re

is_header = re.compile(r"mozilla/[0-9.]*+.", re.IGNORECASE | re.DOTALL).match
"""Whether a value is a header that begins as those of browsers do, with more than a version."""

starred = re.compile(r"([A-Za-z0-9_-]++)[./]?\*").match
"""A name followed by a star."""

has_directive = re.compile(r"[\s>](?:dis)?allow\s*+:", re.IGNORECASE).search
"""Whether a rule follows on the same line: that is a finding of several-directives-on-a-line."""

_SEPARATOR = re.compile(r"[\s,;|]").search
_LIST = re.compile(r"[,;|]")
_NAME = re.compile(r"(?=[0-9_-]*+[A-Za-z])[A-Za-z0-9_-]++(?:/[0-9.]*+)?|\*").fullmatch
_CRAWLER = re.compile(r"[a-z0-9_-]+(?:bot|crawler|spider)(?:-[a-z]+)?", re.IGNORECASE).fullmatch


def names_of(value: str) -> list[str]:
    """The names of a User-agent value that is a list of them; empty if it is not.

    >>> names_of("Googlebot, Bingbot"), names_of("Googlebot Bingbot"), names_of("Sogou web spider")
    (['Googlebot', 'Bingbot'], ['Googlebot', 'Bingbot'], [])
    """
    if not _SEPARATOR(value):
        return []
    listed = [name.strip() for name in _LIST.split(value) if name.strip()]
    if len(listed) < 2:
        # Many names contain white space ("Fastbot crawler"), so each word has to look like one.
        listed = value.split()
        if not all(name == "*" or _CRAWLER(name) for name in listed):
            return []
    return listed if len(listed) > 1 and all(map(_NAME, listed)) else []

"""Whether a page has to be rendered: what a server sent has no links, or no text. Quiet."""

import re

from manners._text import possessive

_FEW = 100
"""Characters of text up to which a page shows nothing yet but "Loading …"."""
_MAX_HTML = 1_048_576
"""Characters that are looked at, as for links."""
_SCRIPT = re.compile(r"<script[\s>]", re.IGNORECASE).search
_LINK = re.compile(r"<a(?:rea)?\s[^<>]*?href", re.IGNORECASE).search
_UNSEEN = re.compile(
    r"<(script|style|noscript|template|title|svg)\b"
    + possessive(r"[^<]++|<(?!/\1\b)", "*")
    + r"|<!--"
    + possessive(r"[^-]++|-(?!->)", "*")
    + r"|<[^>]*+>?",
    re.IGNORECASE,
)


def needs_browser(html: str) -> bool:
    """Whether scripts have to run before a page shows anything.

    >>> needs_browser("<div id=app></div><script src=app.js></script>")
    True
    >>> needs_browser("<p>Hello</p>")
    False
    """
    html = html[:_MAX_HTML]
    if not _SCRIPT(html):
        return False
    if not _LINK(html):
        return True
    text = _UNSEEN.sub(" ", html)
    return len("".join(text.split())) < _FEW

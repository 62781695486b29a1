"""G206: a browser's User-Agent header instead of a name."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._names import has_directive, is_header
from manners.lint.source import Source, quoted
from manners.robots.agents import product_token

_LONGEST = 1000
"""Characters of a header in which the name is looked for."""

_BROWSERS = frozenset({"mozilla", "msie"})


class WholeUserAgentHeader(LintRule):
    """A User-agent line with a User-Agent header that begins with `Mozilla/`.

    ## Why it matters
    Engines read the product token at the beginning of the line and ignore the rest (RFC 9309,
    section 2.2.1), so the line is for a crawler called `Mozilla`. There is none, and the crawler
    that was meant gets the rules for `*`.

    60 of 6,000 real files (1.0 %) have such a line.

    ## Example
    ```robots
    User-agent: Mozilla/5.0 (compatible; BecomeBot/2.0; +http://www.become.com/webmasters.html)
    Disallow: /
    ```

    ## Better
    ```robots
    User-agent: BecomeBot
    Disallow: /
    ```

    ## Fix
    Keeps the crawler's name only, if the header has one. Unsafe: the rules are then for that
    crawler.
    """

    code = "G206"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """User-agent lines that begin with `Mozilla/` and a version."""
        for line in source.of_kind("user-agent"):
            if not is_header(line.value) or has_directive(line.value):
                continue
            name = _crawler(line.value[:_LONGEST])
            fix = None
            if name:
                edit = line.with_value(name.encode())
                fix = self.fix(f"name {quoted(name)} only", edit, safety="unsafe")
            yield self.about_value(
                line,
                "this is a User-Agent header, of which engines read `Mozilla` only: no crawler has "
                "that name",
                fix=fix,
            )


def _crawler(header: str) -> str | None:
    """The name of the crawler in a header, if that is the name with nothing behind it."""
    name = product_token("Mozilla" + header[len("Mozilla") :])
    if name.lower() in _BROWSERS or not re.search(rf"\b{re.escape(name)}(?:[/;)]|\Z)", header):
        return None
    return name


RULE = WholeUserAgentHeader()

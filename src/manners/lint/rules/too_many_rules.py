"""F009: more rules than some crawlers read."""

from collections.abc import Iterator

from manners._text import count
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import foreign_content
from manners.lint.source import Source

MAX_RULES = 2048
"""Yandex Webmaster reports an error beyond it."""


class TooManyRules(LintRule):
    """More than 2,048 Allow and Disallow lines.

    ## Why it matters
    RFC 9309 sets no limit, but engines do: Yandex calls a file with more than 2,048 rules an
    error. A list of that length is also compared with every URL of the site, and nobody can
    oversee it. 6 of 6,000 real files have more, 30 have more than 1,000. Rules that change
    nothing, and lists of single URLs that a pattern covers, are the usual reason.

    ## Example
    ```text
    User-agent: *
    Disallow: /article-1
    Disallow: /article-2
    … and 2,500 more
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /article-
    ```
    """

    code = "F009"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """The first rule beyond the limit."""
        if len(source.lines) <= MAX_RULES:
            return
        rules = [line for line in source.lines if line.is_rule and line.value]
        if len(rules) > MAX_RULES and not foreign_content(source):
            message = f"the file has {count(len(rules), 'rule')}: Yandex accepts {MAX_RULES:,}"
            yield self.finding(rules[MAX_RULES], message)


RULE = TooManyRules()

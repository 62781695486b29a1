"""S104: a key that is not in the table of directives."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import unread
from manners.lint.source import Source, quoted


class UnknownDirective(LintRule):
    """A directive that this package does not know.

    ## Why it matters
    RFC 9309, section 2.2.4: "Crawlers MAY interpret other records that are not part of the
    robots.txt protocol". So an unknown key may be somebody's extension, and is never an error; but
    no search engine is known to read it. `Nofollow`, and ACAP's keys of 2007, are the usual ones.
    4 of 6,000 real files have any. Each key is reported once.

    ## Example
    ```robots
    User-agent: *
    Disallow: /private/
    Nofollow: /links/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    ```
    """

    code = "S104"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """The first line of every unknown key."""
        seen: set[str] = set()
        for line, role in unread(source):
            key = line.line.key.lower()
            if role == "key" and key not in seen:
                seen.add(key)
                message = f"no search engine is known to read {quoted(line.line.key)}"
                yield self.finding(line, message)


RULE = UnknownDirective()

"""P403: a `#` within a path."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import EVERYTHING, paths
from manners.lint.rules.absolute_url import split_url
from manners.lint.source import Source, quoted


class HashInPath(LintRule):
    """A `#` within a path: the rest is a comment.

    ## Why it matters
    `#` begins a comment wherever it stands (RFC 9309, section 2.2.3), so the rule is shorter than
    it looks and matches more: `/*#*` is `/*`, everything. A rule cannot be about what follows `#`
    in a URL, because browsers and crawlers do not send it. 13 of 6,000 real files have one; in 2 of
    them the rule is everything.

    ## Example
    ```robots
    User-agent: *
    Disallow: /*#*
    ```
    ```robots
    User-agent: *
    Disallow: /terms#privacy
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /search/  # no results
    Disallow: /file-with-a-%23
    ```

    ## Fix
    Writes `%23`, which is how a URL has a `#` in its path. Unsafe: the rule then matches less.
    """

    code = "P403"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Values that a `#` follows without white space, unless a sentence follows that."""
        for line, value in paths(source):
            at = line.comment_at
            if at == len(line.raw) or line.raw[at - 1 : at].isspace() or b"\0" in line.raw[:at]:
                continue
            fragment, *rest = line.raw[at:].split(None, 1)
            if (rest and not rest[0].startswith(b"#")) or split_url(value):
                continue
            rule = quoted(value) + (", which is everything" if EVERYTHING(value) else "")
            edit = line.replaced(at, at + 1, b"%23")
            yield self.finding(
                line,
                f"`#` begins a comment: the path of this rule is {rule}",
                at=at,
                until=at + len(fragment),
                fix=self.fix("write `%23`", edit, safety="unsafe"),
            )


RULE = HashInPath()

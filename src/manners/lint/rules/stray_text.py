"""S105: text that is neither directive nor comment."""

from collections.abc import Iterator

from manners._text import count, to_text
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import runs
from manners.lint.source import Source, quoted


class StrayText(LintRule):
    """Lines that are neither a directive nor a comment.

    ## Why it matters
    A comment begins with `#` (RFC 9309, section 2.2); a line without it that is no directive
    either is skipped by careful engines. It is a comment that lacks its sign, a rule that was
    broken in two, or something that a program has added: a warning of PHP, the end of a template,
    spam after a break-in. Lines in a row are reported once. 26 of 6,000 real files have some.

    ## Example
    ```robots
    User-agent: *
    Disallow: /private/
    EOT
    ```
    ```robots
    All spiders are allowed to fetch images
    User-agent: *
    Disallow: /private/
    ```

    ## Better
    ```robots
    # All spiders are allowed to fetch images
    User-agent: *
    Disallow: /private/
    ```

    ## Fix
    Puts `#` in front of the lines. Unsafe: no verdict changes, but what was meant for a rule
    remains lost, and looks tidy.
    """

    code = "S105"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """Lines without another explanation."""
        for run in runs(source, "stray"):
            first = run[0]
            text = quoted(to_text(first.raw.strip()), 40)
            what = f"{text} is neither a directive nor a comment: crawlers skip it"
            if len(run) > 1:
                more = count(len(run) - 1, "more line")
                what = f"{text} and {more} are neither directives nor comments: crawlers skip them"
            edits = [line.replaced(line.key_at, line.key_at, b"# ") for line in run]
            fix = None if source.is_utf16 else self.fix("comment out", *edits, safety="unsafe")
            yield self.finding(first, what, fix=fix)


RULE = StrayText()

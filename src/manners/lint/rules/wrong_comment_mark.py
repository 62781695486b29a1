"""S106: comments of other languages."""

from collections.abc import Iterator

from manners._text import to_text
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import runs
from manners.lint.source import Source, quoted


class WrongCommentMark(LintRule):
    """A comment as other languages write it: `//`, `;`, `/* … */` or `<!-- … -->`.

    ## Why it matters
    Only `#` begins a comment (RFC 9309, section 2.2). Other lines are read for a key and a colon;
    engines skip them because no key begins so. But directives between `<!--` and `-->` stay
    in force. Caches of content management systems like to append comments of HTML. 6 of
    6,000 real files have such comments.

    ## Example
    ```robots
    // Keep out of the shop
    User-agent: *
    Disallow: /cart/
    ```
    ```robots
    User-agent: *
    Disallow: /cart/
    <!-- cached on: 2026-07-19 12:10 -->
    ```

    ## Better
    ```robots
    # Keep out of the shop
    User-agent: *
    Disallow: /cart/
    ```

    ## Fix
    Puts `#` in front of the lines. Safe: no engine reads them. Offered for every such finding in 4
    of 6 real files.
    """

    code = "S106"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """Runs of lines that are such comments."""
        for run in runs(source, "comment"):
            text = quoted(to_text(run[0].raw.strip()), 40)
            edits = [line.replaced(line.key_at, line.key_at, b"# ") for line in run]
            fix = None if source.is_utf16 else self.fix("put `#` in front", *edits)
            message = f"{text} is no comment of robots.txt, which begins with `#`"
            yield self.finding(run[0], message, fix=fix)


RULE = WrongCommentMark()

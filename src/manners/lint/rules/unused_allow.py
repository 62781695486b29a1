"""F013: a comment that allows nothing."""

from collections.abc import Iterator, Sequence

from manners.lint.allowing import Allow
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule, all_rules
from manners.lint.source import Source, quoted


class UnusedAllow(LintRule):
    """A comment `# manners: allow NAME` without a finding of that name below it.

    ## Why it matters
    It once hid a finding that is gone, or it has a name that no rule has. The next finding at this
    place would be hidden, too, and nobody would know.

    ## Example
    ```robots
    User-agent: *
    # manners: allow trailing-star
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: *
    # manners: allow trailing-star
    Disallow: /search*
    ```

    ## Fix
    Removes the comment, if it has no other name. No engine reads comments.
    """

    code = "F013"
    severity = Severity.WARNING

    def check(self, _: Source) -> Iterator[Finding]:
        """Nothing by itself: it depends on what the other rules find."""
        yield from ()

    def about(self, unused: Sequence[Allow], rules: Sequence[LintRule]) -> Iterator[Finding]:
        """Findings about allows that nothing needed, when some rules were used."""
        known = {name for rule in all_rules() for name in (rule.name, rule.code)}
        used = {name for rule in rules for name in (rule.name, rule.code)}
        for allow in unused:
            if allow.name in used:
                message = f"there is no {quoted(allow.name)} to allow here"
            elif allow.name not in known:
                message = f"there is no rule {quoted(allow.name)}"
            else:
                continue
            line, fix = allow.comment, None
            if "," not in line.comment:
                before = len(line.raw[: line.comment_at].rstrip())
                edit = line.replaced(before, len(line.raw), b"") if before else line.removed()
                fix = self.fix("remove the comment", edit)
            yield self.finding(line, message, at=line.comment_at, fix=fix)


RULE = UnusedAllow()

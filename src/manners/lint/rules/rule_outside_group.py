"""S101: rules before the first User-agent line."""

from collections.abc import Iterator

from manners._text import count
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import foreign_content, intended, unread
from manners.lint.source import Source


class RuleOutsideGroup(LintRule):
    """Allow and Disallow lines that no User-agent line introduces.

    ## Why it matters
    RFC 9309, section 2.1, knows rules only in groups, so such a rule belongs to nobody: its author
    believes a path is closed while crawlers see it open. A few engines (Perl's WWW::RobotRules)
    take it for everybody's. Plugins that put their own line in front of a file cause it. 24 of
    6,000 real files have such rules; in 37 more, a User-agent line is there but cannot be read.

    ## Example
    ```robots
    Disallow: /wp-content/uploads/wpforms/
    User-agent: *
    Disallow: /wp-admin/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /wp-content/uploads/wpforms/
    Disallow: /wp-admin/
    ```

    ## Fix
    Inserts `User-agent: *` above the first of them. Unsafe: the rules come to life.
    """

    code = "S101"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """The first of the rules before any group, if they say something."""
        rules = [line for line in source.stray_rules if line.value]
        if not rules or foreign_content(source) or _has_broken_agent(source, rules[0].number):
            return
        first = source.stray_rules[0]
        insert = first.inserted_before(b"User-agent: *")
        fix = None
        if not source.is_utf16:
            fix = self.fix("insert `User-agent: *` above", insert, safety="unsafe")
        what = f"{count(len(rules), 'rule')} without a User-agent line above"
        message = f"{what}: nobody obeys {'it' if len(rules) == 1 else 'them'}"
        yield self.finding(rules[0], message, fix=fix)


def _has_broken_agent(source: Source, before: int) -> bool:
    """Whether a User-agent line is there, but broken: another rule says so."""
    for line, role in unread(source):
        if line.number >= before:
            return False
        if role in ("mark", "invisible", "colon") and b"user-agent" in line.raw.lower():
            return True
        meant = intended(line) if role == "misspelt" else None
        if meant is not None and meant.name == "user-agent":
            return True
    return False


RULE = RuleOutsideGroup()

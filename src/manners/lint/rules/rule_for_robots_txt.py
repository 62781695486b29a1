"""P415: a rule about the robots.txt itself."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, quoted

_OWN = re.compile(r"/robots\.txt[$*]?").fullmatch


class RuleForRobotsTxt(LintRule):
    """A rule for `/robots.txt`.

    ## Why it matters
    "The /robots.txt URI is implicitly allowed" (RFC 9309, section 2.2.2): an Allow says nothing
    new, and a Disallow is ignored, because nobody could read it otherwise. 7 of 6,000 real files
    have one.

    ## Example
    ```robots
    User-agent: *
    Allow: /robots.txt
    Disallow: /private/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    ```

    ## Fix
    Removes the line, if it is proved that no verdict changes. Not offered for the only rule of a
    group: the next group would join it.
    """

    code = "P415"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """Rules of groups whose path is that of the file."""
        if b"/robots.txt" not in source.data:
            return
        for group in source.groups:
            for line in group.rules:
                if not _OWN(line.value):
                    continue
                fix = None
                if any(not _OWN(other.value) for other in group.rules):
                    fix = self.fix("remove the line", line.removed())
                message = f"{quoted(line.value)} is always allowed, whatever a rule says"
                yield self.finding(line, message, fix=fix)


RULE = RuleForRobotsTxt()

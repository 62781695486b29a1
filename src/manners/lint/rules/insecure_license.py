"""A810: a licence that is fetched without encryption."""

from collections.abc import Iterator

from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.source import Source


class InsecureLicense(LintRule):
    """A License line with an http URL.

    ## Why it matters
    A licence says what may be done with a whole site, and what it costs; RSL 1.0 has it served over
    https. Over http anybody on the way can write another one, and careful readers do not fetch it.

    The real files that were measured are older than RSL: none of 6,000 has such a line.

    ## Example
    ```robots
    License: http://www.example.com/license.xml
    User-agent: *
    Disallow: /search
    ```

    ## Better
    ```robots
    License: https://www.example.com/license.xml
    User-agent: *
    Disallow: /search
    ```

    ## Fix
    Writes https. Unsafe: no verdict changes, but whether the host answers https is not known.
    """

    code = "A810"

    def check(self, source: Source) -> Iterator[Finding]:
        """License lines that begin with http://."""
        for line in source.lines:
            if line.kind == "license" and line.value[:7].lower() == "http://":
                fix = None
                if ":" not in line.value[7:].partition("/")[0]:  # a port of its own: not https's
                    edit = line.replaced(line.value_at, line.value_at + 4, b"https")
                    fix = self.fix("use https", edit, safety="unsafe")
                message = (
                    "anybody on the way can change a licence that is fetched without encryption"
                )
                yield self.about_value(line, message, fix=fix)


RULE = InsecureLicense()

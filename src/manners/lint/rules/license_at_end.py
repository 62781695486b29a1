"""A811: a licence for the last group that seems meant for all."""

from collections.abc import Iterator

from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.rules._agent_names import rfc_reading
from manners.lint.source import Source
from manners.signals.robots_lines import signal_lines


class LicenseAtEnd(LintRule):
    """A License line at the end of the file, behind a blank line.

    ## Why it matters
    A `License` line above the first User-agent line is for everybody; one below belongs to its
    group (RSL 1.0, section 4.4). A blank line does not end a group (RFC 9309, section 2.2), so a
    line at the end is the last group's. A file with one group is not reported.

    The real files that were measured are older than RSL: none of 6,000 has a License line.

    ## Example
    ```robots
    User-agent: *
    Disallow: /search

    User-agent: GPTBot
    Disallow: /

    License: https://www.example.com/license.xml
    ```

    ## Better
    ```robots
    License: https://www.example.com/license.xml

    User-agent: *
    Disallow: /search

    User-agent: GPTBot
    Disallow: /
    ```
    """

    code = "A811"

    def check(self, source: Source) -> Iterator[Finding]:
        """License lines that the signals read as the file's although a group has them."""
        robots = rfc_reading(source)
        if len(robots.groups) < 2:
            return
        for found in signal_lines(robots).lines:
            if found.is_last and found.key == "license" and found.number <= len(source.lines):
                line = source.lines[found.number - 1]
                agents = ", ".join(robots.groups[-1].agents[:3])
                message = (
                    "this licence belongs to the group above; above all groups it is for everybody"
                )
                yield self.finding(line, f"{message} (here it is for {agents[:60]!r})")


RULE = LicenseAtEnd()

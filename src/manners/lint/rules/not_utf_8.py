"""F005: bytes that are not UTF-8."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import foreign_content
from manners.lint.source import Source, quoted


class NotUtf8(LintRule):
    r"""A line with bytes that are not UTF-8.

    ## Why it matters
    RFC 9309, section 2.3: the file "MUST be UTF-8 encoded". A path in Latin-1, such as `/caf\xe9/`,
    is compared as `/caf%E9/`, while browsers and crawlers ask for `/caf%C3%A9/`: the rule matches
    nothing. Some programs refuse to read the file at all, even if the bytes are in a comment only.
    Write paths in UTF-8, or percent-encoded. 4 of 6,000 real files have such lines.

    ## Example
    ```text
    User-agent: *
    Disallow: /caf\xe9/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /café/
    ```

    ## Fix
    None: nothing says which encoding was meant.
    """

    code = "F005"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """Directives with such bytes; or else the first comment."""
        lines = [line for line in source.lines if "not-utf8" in line.line.problems]
        if not lines or foreign_content(source):
            return
        directives = [line for line in lines if line.line.key]
        for line in directives:
            what = "a path that no URL has" if line.is_rule else "a value nobody can rely on"
            message = f"{quoted(line.value)} is not UTF-8: {what}"
            yield self.about_value(line, message)
        if not directives:
            message = "the file is not UTF-8 here: some programs refuse to read it"
            yield self.finding(lines[0], message)


RULE = NotUtf8()

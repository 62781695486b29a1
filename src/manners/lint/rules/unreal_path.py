"""P414: a path that no crawler asks for."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import byte_at, paths
from manners.lint.rules.absolute_url import split_url
from manners.lint.source import Source, quoted

_DOTS = re.compile(r"/(?:\.|%2[Ee]){1,2}(?=/|\$$)").search
# Beside a star, two slashes are looked for on purpose; behind `:` they belong to a URL.
_SLASHES = re.compile(r"(?<![:*/])//++(?![*]|$)").search


class UnrealPath(LintRule):
    """A path with a `.` or `..` between slashes, or with two slashes in a row.

    ## Why it matters
    Browsers and crawlers resolve `.` and `..` before they send a request (RFC 3986, section 5.2.4):
    no URL that is asked for has them, so the rule matches nothing. Two slashes in a row do get
    sent, but are another path than one: `/blog//feed` leaves `/blog/feed` open. That may be meant,
    and is a note; where the file has the rule with one slash, too, nothing is said. 10 of 6,000
    real files have two slashes, none has dots.

    ## Example
    ```robots
    User-agent: *
    Disallow: /shop/../admin/
    ```
    ```robots
    User-agent: *
    Disallow: /blog//feed
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /admin/
    Disallow: /blog/feed
    Disallow: /.
    Disallow: /*//
    ```
    """

    code = "P414"

    def check(self, source: Source) -> Iterator[Finding]:
        """Paths with dot segments or with an empty segment, before the query."""
        written: set[str] | None = None
        for line, value in paths(source):
            path = value.partition("?")[0]
            if found := _DOTS(path) if "/." in path or "/%2" in path else None:
                message = "crawlers resolve dots before they ask for a URL: this matches nothing"
                severity = Severity.WARNING
            elif found := _SLASHES(path) if "//" in path and not split_url(value) else None:
                if written is None:
                    written = {value for _, value in paths(source)}
                single = re.sub("//+", "/", value)
                if single in written:
                    continue
                message = f"two slashes are not one: {quoted(single)} is not matched"
                severity = Severity.INFO
            else:
                continue
            at, until = (byte_at(line, value, place) for place in found.span())
            yield self.finding(line, message, at=at, until=until, severity=severity)


RULE = UnrealPath()

"""D503: a directive whose value cannot be read."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, quoted

_EXPECTED = {
    "crawl-delay": "a number of seconds",
    "request-rate": "a rate like `1/10` or `100/15m`",
    "visit-time": "hours like `0600-0845`",
    "host": "the name of a host",
    "clean-param": "the name of a parameter",
}
_NO_NAME = re.compile(r"[=?/]").search


class BadValue(LintRule):
    """A Crawl-delay, Request-rate, Visit-time, Host or Clean-param with a value that is none.

    ## Why it matters
    A crawler that cannot read a value ignores the line: it does not slow down. A Clean-param has
    names of parameters, not values: `print=1` names a parameter that no URL has.

    6 of 6,000 real files have such a line.

    ## Example
    ```robots
    User-agent: *
    Crawl-delay: 10s
    Disallow: /search
    ```
    ```robots
    User-agent: Yandex
    Disallow: /search
    Clean-param: print=1 /news/
    ```

    ## Better
    ```robots
    User-agent: *
    Crawl-delay: 10
    Disallow: /search
    ```
    ```robots
    User-agent: Yandex
    Disallow: /search
    Clean-param: print&ref /news/
    ```
    """

    code = "D503"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Lines of directives with a value of their own kind that cannot be read."""
        for line in source.lines:
            expected = _EXPECTED.get(line.kind)
            if expected is None:
                continue
            if line.kind == "clean-param":
                bad = _bad_parameter(line.value)
            else:
                bad = line.value if "bad-value" in line.line.problems else None
            if bad is not None:
                yield self.about_value(line, _message(line.kind, bad, expected))


def _bad_parameter(value: str) -> str | None:
    """What is no name in a Clean-param: names with `&` between them, then perhaps a path.

    An empty name, as in `&ref`, is harmless, and common on a few large sites.
    """
    names, *_ = value.split(maxsplit=1) or [""]
    if not names:
        return ""
    return next((name for name in names.split("&") if _NO_NAME(name)), None)


def _message(kind: str, bad: str, expected: str) -> str:
    if kind == "clean-param":
        return f"Yandex ignores this line: {quoted(bad) if bad else 'nothing'} is not {expected}"
    return f"crawlers ignore this line: {quoted(bad) if bad else 'nothing'} is not {expected}"


RULE = BadValue()

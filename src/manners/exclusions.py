"""The user's own rules: URLs to exclude, whatever robots.txt says, and URLs to include only.

A pattern is matched against path and query. With `re:` in front it is a regular expression, which
is searched for; with `*` or `?` it is a glob, which has to match all of it; any other is a prefix.
Regular expressions and globs run on google-re2, in linear time, so that no pattern can hang.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from manners._text import cut, printable, to_bytes
from manners.errors import MannersError, MissingExtra
from manners.robots.groups import Rule
from manners.robots.verdict import Reason, Verdict
from manners.urls import host, match_path, without_credentials

Match = Callable[[str], object]

_EXPRESSION = "re:"
_GLOB = {"*": ".*", "?": "."}


class BadPattern(MannersError, ValueError):
    """An invalid pattern.

    >>> str(BadPattern("re:(", "missing closing )"))
    "invalid pattern 're:(': missing closing )"
    """

    def __init__(self, pattern: str, problem: str) -> None:
        super().__init__(pattern, problem)
        self.pattern, self.problem = pattern, problem

    def __str__(self) -> str:
        pattern, problem = cut(self.pattern, 200), printable(self.problem[:200])
        return f"invalid pattern {pattern!r}: {problem}"


class Exclusions:
    """Patterns of URLs to exclude, and to include only; an exclusion wins over an inclusion.

    >>> exclusions = Exclusions(["/admin", "*/*logout*", "re:[?&]token="], include=[])
    >>> exclusions.excludes("https://example.com/a/logout?x").pattern
    '*/*logout*'
    >>> exclusions.excludes("https://example.com/a")
    """

    def __init__(self, exclude: Sequence[str] = (), include: Sequence[str] = ()) -> None:
        self._exclude = [(pattern, _matcher(pattern)) for pattern in exclude]
        self._include = [_matcher(pattern) for pattern in include]

    def __bool__(self) -> bool:
        return bool(self._exclude or self._include)

    def excludes(self, url: str, *, is_page: bool = True) -> Rule | None:
        """The rule that excludes a URL; None when none does. Inclusions apply to pages only."""
        if not self:
            return None
        # Invalid UTF-8, which only a broken URL contains, becomes U+FFFD.
        path = to_bytes(match_path(url)).decode("utf-8", "replace")
        for pattern, matches in self._exclude:
            if matches(path):
                return Rule(False, pattern, text=f"exclude: {pattern}")
        if is_page and self._include and not any(matches(path) for matches in self._include):
            return Rule(False, "not included", text="include: no pattern matches")
        return None


class Overrides:
    """What the user's own settings decide before any robots.txt is asked.

    >>> overrides = Overrides(Exclusions(["/admin"]), lambda host: host != "intranet.example")
    >>> print(overrides.check("https://example.com/admin/x"))
    disallowed: excluded: /admin
    >>> print(overrides.check("https://intranet.example/"))
    allowed: not-respected
    """

    def __init__(self, exclusions: Exclusions, respects: Callable[[str], bool]) -> None:
        self._exclusions, self._respects = exclusions, respects

    def check(self, url: str, *, is_page: bool = True) -> Verdict | None:
        """The verdict on a URL; None when robots.txt decides."""
        excluded = self.excludes(url, is_page=is_page)
        if excluded is not None:
            return excluded
        if not self._respects(host(url)):
            return _verdict(True, Reason.NOT_RESPECTED, url, None)
        return None

    def excludes(self, url: str, *, is_page: bool = True) -> Verdict | None:
        """The verdict on an excluded URL; None when it is not excluded."""
        rule = self._exclusions.excludes(url, is_page=is_page)
        return None if rule is None else _verdict(False, Reason.EXCLUDED, url, rule)


def _verdict(allowed: bool, reason: Reason, url: str, rule: Rule | None) -> Verdict:
    return Verdict(allowed, reason, rule, url=without_credentials(url), path=match_path(url))


def refuse_useless(patterns: Sequence[str]) -> None:
    """Raise `BadPattern` for a pattern that can match no path, and say what to write instead.

    Only settings are checked: `Exclusions` also takes the patterns of older records.

    >>> refuse_useless(["/p/1", "*.pdf", "re:p"])
    """
    for pattern in patterns:
        if not pattern.startswith(("/", _EXPRESSION, *_GLOB)) and pattern:
            hint = _hint(pattern)
            raise BadPattern(pattern, f"it matches nothing, because paths begin with '/'; {hint}")


def _matcher(pattern: str) -> Match:
    if not pattern.removeprefix(_EXPRESSION):
        raise BadPattern(pattern, "it is empty, and would match everything")
    if to_bytes(pattern) != pattern.encode("utf-8", "replace"):
        raise BadPattern(pattern, "it is not UTF-8")
    if pattern.startswith(_EXPRESSION):
        search: Match = _expression(pattern, pattern.removeprefix(_EXPRESSION)).search
        return search
    if any(sign in pattern for sign in _GLOB):
        glob = "".join(_GLOB.get(sign) or re.escape(sign) for sign in pattern)
        fullmatch: Match = _expression(pattern, f"(?s){glob}").fullmatch
        return fullmatch
    return lambda path: path.startswith(pattern)


def _hint(pattern: str) -> str:
    """What to write instead of a pattern that no path begins with."""
    rest = _AUTHORITY.sub("", pattern)
    if rest != pattern:
        return f"write {rest or '/'!r}, without the host"
    anywhere = f"*{pattern.rstrip('*')}*"
    return f"write {'/' + pattern!r}, or {anywhere!r} to match anywhere"


_AUTHORITY = re.compile(r"(?:https?:)?//[^/?#]*", re.IGNORECASE)


def _expression(pattern: str, expression: str) -> Any:
    try:
        import re2
    except ModuleNotFoundError:
        raise MissingExtra("google-re2", "crawl") from None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(expression, options)
    except re2.error as error:
        problem = error.args[0] if error.args else "not a regular expression"
        reason = problem.decode("utf-8", "replace") if isinstance(problem, bytes) else str(problem)
        raise BadPattern(pattern, reason) from None

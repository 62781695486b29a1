"""The user's own rules: what is left out whatever a robots.txt says, and what alone is wanted.

A pattern is matched against path and query: one with `re:` before it is a regular expression that
is searched for, one with `*` or `?` is a glob for the whole of it, any other is how it begins.
Regular expressions and globs run on google-re2, in linear time: a pattern cannot be made to hang.
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
    """A pattern that cannot be used.

    >>> str(BadPattern("re:(", "missing closing )"))
    "the pattern 're:(' cannot be used: missing closing )"
    """

    def __init__(self, pattern: str, problem: str) -> None:
        super().__init__(pattern, problem)
        self.pattern, self.problem = pattern, problem

    def __str__(self) -> str:
        pattern, problem = cut(self.pattern, 200), printable(self.problem[:200])
        return f"the pattern {pattern!r} cannot be used: {problem}"


class Exclusions:
    """What is excluded, and what alone is included; an exclusion wins over an inclusion.

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
        """The rule that keeps a URL out; None when it may go on. Inclusions are about pages."""
        if not self:
            return None
        # Bytes that are no UTF-8, which only a broken URL has raw, are one unknown character each.
        path = to_bytes(match_path(url)).decode("utf-8", "replace")
        for pattern, matches in self._exclude:
            if matches(path):
                return Rule(False, pattern, text=f"exclude: {pattern}")
        if is_page and self._include and not any(matches(path) for matches in self._include):
            return Rule(False, "not included", text="include: no pattern matches")
        return None


class Rulings:
    """What the user's own settings decide before any robots.txt is asked.

    >>> rulings = Rulings(Exclusions(["/admin"]), lambda host: host != "intranet.example")
    >>> print(rulings.check("https://example.com/admin/x"))
    disallowed: excluded: /admin
    >>> print(rulings.check("https://intranet.example/"))
    allowed: not-respected
    """

    def __init__(self, exclusions: Exclusions, respects: Callable[[str], bool]) -> None:
        self._exclusions, self._respects = exclusions, respects

    def check(self, url: str, *, is_page: bool = True) -> Verdict | None:
        """The verdict on a URL; None when its site is to be asked."""
        excluded = self.excludes(url, is_page=is_page)
        if excluded is not None:
            return excluded
        if not self._respects(host(url)):
            return _verdict(True, Reason.NOT_RESPECTED, url, None)
        return None

    def excludes(self, url: str, *, is_page: bool = True) -> Verdict | None:
        """The verdict on a URL that is excluded, for a robots.txt that is at hand."""
        rule = self._exclusions.excludes(url, is_page=is_page)
        return None if rule is None else _verdict(False, Reason.EXCLUDED, url, rule)


def _verdict(allowed: bool, reason: Reason, url: str, rule: Rule | None) -> Verdict:
    return Verdict(allowed, reason, rule, url=without_credentials(url), path=match_path(url))


def refuse_useless(patterns: Sequence[str]) -> None:
    """Raise `BadPattern` for a pattern that can match no path at all, and say what to write.

    Only settings are checked so: an `Exclusions` takes what a record of an earlier version has.

    >>> refuse_useless(["/p/1", "*.pdf", "re:p"])
    """
    for pattern in patterns:
        if not pattern.startswith(("/", _EXPRESSION, *_GLOB)) and pattern:
            hint = _hint(pattern)
            raise BadPattern(pattern, f"it matches nothing, as every path begins with '/': {hint}")


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
    """What to write instead of a pattern that begins as no path does."""
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
        said = problem.decode("utf-8", "replace") if isinstance(problem, bytes) else str(problem)
        raise BadPattern(pattern, said) from None

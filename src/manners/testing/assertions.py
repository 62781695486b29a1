"""Assertions about a robots.txt, for the tests of the site that publishes it."""

import re
from collections.abc import Sequence
from pathlib import Path

from manners._text import cut, printable
from manners.errors import InvalidURL, MannersError
from manners.robots.dialects import DEFAULT, Dialect, get
from manners.robots.matcher import is_elsewhere
from manners.robots.policy import Policy, Robots, parse
from manners.robots.verdict import Reason, Verdict

__all__ = ["assert_allowed", "assert_disallowed"]

__unittest = True  # unittest hides frames of such modules in tracebacks

MAX_FILE = 16 * 1024 * 1024
"""Bytes; a larger file is no robots.txt. How much of it counts is up to the dialect."""

_ADDRESS = re.compile(r"/|https?://", re.IGNORECASE).match
_PLACE = re.compile(r"(?:https?://\S+|(?:[A-Za-z]:)?[^:\r\n]*)\.txt").fullmatch


def assert_allowed(
    robots: Robots | str | bytes | Path,
    url: str,
    agent: str | Sequence[str],
    dialect: str | Dialect = DEFAULT,
) -> Verdict:
    """Fail unless the agent may fetch the URL; the message shows the line that decided.

    `robots` is the content, the `Path` of a file, or a parsed `Robots`, which has its dialect.

    >>> bool(assert_allowed("User-agent: *\\nDisallow: /private/", "/", agent="GPTBot"))
    True
    """
    __tracebackhide__ = True
    parsed, file = load(robots, dialect)
    return expect(parsed, url, agent, True, file)


def assert_disallowed(
    robots: Robots | str | bytes | Path,
    url: str,
    agent: str | Sequence[str],
    dialect: str | Dialect = DEFAULT,
) -> Verdict:
    """Fail if the agent may fetch the URL; the message shows the line that decided.

    >>> assert_disallowed("User-agent: *\\nDisallow: /private/", "/private/", agent="GPTBot").line
    2
    """
    __tracebackhide__ = True
    parsed, file = load(robots, dialect)
    return expect(parsed, url, agent, False, file)


def load(robots: Robots | str | bytes | Path, dialect: str | Dialect) -> tuple[Robots, str]:
    """The parsed file, and its name for messages."""
    __tracebackhide__ = True
    if isinstance(robots, Robots):
        if dialect != DEFAULT and get(dialect) != robots.dialect:
            raise ValueError(
                f"this Robots was parsed in dialect {robots.dialect.name!r}, not "
                f"{get(dialect).name!r}; leave out dialect=, or pass the content instead"
            )
        return robots, robots.url or "robots.txt"
    if isinstance(robots, Path):
        return parse(read(robots, MAX_FILE), dialect), str(robots)
    if isinstance(robots, str) and _PLACE(robots):
        # As content it would have no rule, and allow everything.
        raise ValueError(
            f"{robots!r} is read as the content of a robots.txt; for a file pass pathlib.Path(…)"
        )
    if not isinstance(robots, str | bytes):
        raise TypeError(
            "robots is a Robots, the content as str or bytes, or a pathlib.Path, not "
            f"{type(robots).__name__}"
        )
    return parse(robots, dialect), "robots.txt"


def read(path: Path, limit: int) -> bytes:
    """The bytes of a file; raises MannersError when it is larger than the limit."""
    __tracebackhide__ = True
    with path.open("rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise MannersError(f"{printable(str(path))} has more than {limit:,} bytes")
    return data


def expect(
    robots: Robots, url: str, agent: str | Sequence[str], allowed: bool, file: str
) -> Verdict:
    """The verdict; raises AssertionError, with what decided, if it is not as expected."""
    __tracebackhide__ = True
    check_address(url)
    names = [agent] if isinstance(agent, str) else list(agent)
    policy = robots.policy(robots.dialect.own_name(names))
    verdict = policy.check(url)
    if verdict.allowed is not allowed:
        raise AssertionError(
            f"{_shown(verdict.url)} is {_word(verdict.allowed)} for {_shown(', '.join(names))}, "
            f"expected {_word(allowed)}\n  "
            + "\n  ".join(_explanation(policy, verdict, url, printable(file)))
        )
    return verdict


def check_address(url: str) -> None:
    """Raise InvalidURL for `private/`, which the engine would read as a host without a path."""
    __tracebackhide__ = True
    if not _ADDRESS(url):
        raise InvalidURL(url, "neither a URL nor a path; begin it with https:// or with /")


def _explanation(policy: Policy, verdict: Verdict, url: str, file: str) -> list[str]:
    """What decided, the group it is in, and what else is worth knowing."""
    robots, groups = policy.robots, list(policy.choice.groups)
    if verdict.rule:
        lines = [f"{file}:{verdict.line}: {_shown(verdict.line_text.strip())}"]
        groups = [group for group in groups if group.line <= verdict.line][-1:]
    else:
        lines = [f"{file}: {_in_words(verdict, url, robots)}"]
    if verdict.rule or verdict.reason is Reason.NO_RULE_MATCHED:
        lines += [
            f"in the group User-agent: {_shown(', '.join(group.agents))} (line {group.line})"
            for group in groups[:3]
        ]
    if verdict.dialect != DEFAULT:
        lines.append(f"in the dialect {verdict.dialect}")
    if verdict.truncated:
        lines.append(f"only the first {len(robots.body):,} bytes of the file count")
    return lines


def _in_words(verdict: Verdict, url: str, robots: Robots) -> str:
    if is_elsewhere(url, robots):
        return "the file is about another server, so it does not disallow this URL"
    return {
        Reason.NO_RULE_MATCHED: "no rule for this agent matches, so the URL is allowed",
        Reason.NO_GROUP: "no group names this agent and none is for *, so all URLs are allowed",
        Reason.ROBOTS_TXT_ITSELF: "/robots.txt itself is always allowed",
        Reason.TOO_MANY_RULES: "there are more rules than the dialect reads, so none counts",
    }.get(verdict.reason, str(verdict.reason))


def _word(allowed: bool) -> str:
    return "allowed" if allowed else "disallowed"


def _shown(text: str) -> str:
    """The text, safe for a terminal, and cut."""
    return printable(cut(text, 200))

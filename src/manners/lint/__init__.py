"""A linter for robots.txt that proves what it says: `run` finds, `fix` repairs.

>>> for finding in run("User-agent: *\\nDisallow: /a\\nDisallow: /a/b\\n"):
...     print(finding)
3:1 info R303 redundant-rule: no verdict changes without it: `/a` on line 2 says the same
>>> fix("User-agent: *\\nDisallow: /a\\nDisallow: /a/b\\n")
b'User-agent: *\\nDisallow: /a\\n'
"""

from collections.abc import Sequence

from manners._text import to_bytes
from manners.lint import fixing
from manners.lint.allowing import allows_of, split_allowed
from manners.lint.finding import Edit, Finding, Fix, Severity
from manners.lint.rule import LintRule, all_rules, find_rules
from manners.lint.rules.unused_allow import RULE as UNUSED_ALLOW
from manners.lint.source import ENGINES, Source

__all__ = ["ENGINES", "Edit", "Finding", "Fix", "Severity", "fix", "run"]


def run(
    body: bytes | str,
    engines: Sequence[str] = ENGINES,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    url: str | None = None,
) -> list[Finding]:
    """What is wrong with a robots.txt, in the order of its lines.

    `engines` are dialects: a safe fix is proved for each of them. `select` and `ignore` name rules
    by name, code, or the letter of their family; `all` is every rule. Without `select`, the default
    rules are used. `url` is where the file came from. A safe fix of a finding is proved: by itself
    if its `is_proved` says so, else together with all others. Never raises on content, whatever the
    bytes.

    >>> [finding.name for finding in run("User-agent: *\\nDisallow: admin/\\n")]
    ['missing-leading-slash']
    """
    source = _source(body, engines, url)
    findings = _check(source, _chosen(select, ignore))
    return fixing.with_proved_fixes(source, findings)


def fix(
    body: bytes | str,
    engines: Sequence[str] = ENGINES,
    unsafe: bool = False,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    url: str | None = None,
) -> bytes:
    """A robots.txt with all fixes applied that are proved to change no verdict, for anybody.

    Comments and the order of lines survive; fixing twice changes nothing more. With `unsafe`, fixes
    that change verdicts on purpose are applied, too. The other arguments are those of `run`.

    >>> fix("User-agent: *\\nDisallow: /search*  # slow\\n")
    b'User-agent: *\\nDisallow: /search  # slow\\n'
    """
    source = _source(body, engines, url)
    rules = _chosen(select, ignore)
    return fixing.fixed(source, lambda current: _check(current, rules), unsafe)


def _source(body: bytes | str, engines: Sequence[str], url: str | None) -> Source:
    if isinstance(engines, str):
        raise TypeError("engines are a sequence of names, such as ('rfc9309', 'google')")
    if not engines:
        raise ValueError("at least one engine is needed, such as 'rfc9309'")
    if not isinstance(body, (bytes, bytearray, memoryview, str)):
        raise TypeError(f"a robots.txt is bytes or a string, not {type(body).__name__}")
    source = Source(to_bytes(body) if isinstance(body, str) else bytes(body), tuple(engines), url)
    assert source.dialects  # noqa: S101 (an unknown engine is an error at once)
    return source


def _chosen(select: Sequence[str], ignore: Sequence[str]) -> list[LintRule]:
    if isinstance(select, str) or isinstance(ignore, str):
        raise TypeError("select and ignore are sequences of names, such as ('trailing-star', 'R')")
    wanted = find_rules(tuple(select))
    unwanted = find_rules(tuple(ignore))
    return [
        rule
        for rule in all_rules()
        if (rule.code in wanted if select else rule.is_default) and rule.code not in unwanted
    ]


def _check(source: Source, rules: list[LintRule]) -> list[Finding]:
    """The findings of some rules, less those that the file allows."""
    findings = [finding for rule in rules for finding in rule.check(source)]
    findings, unused = split_allowed(findings, allows_of(source))
    if UNUSED_ALLOW in rules:
        findings += UNUSED_ALLOW.about(unused, rules)
    findings.sort(key=lambda finding: (finding.line, finding.column, finding.code))
    return findings

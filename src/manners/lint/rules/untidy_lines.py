"""F012: spaces and capitals."""

from collections.abc import Iterator

from manners._text import to_bytes, to_text
from manners.lint.finding import Edit, Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import SPELLINGS
from manners.lint.source import MAX_LINE, Source, SourceLine

_SPACE = b" \t\v\f"


class UntidyLines(LintRule):
    """A line that is indented, ends with white space, or is not written as `Key: value`.

    ## Why it matters
    No engine cares: white space around keys and values is dropped, and keys are compared without
    regard to case (RFC 9309, section 2.2). People read and compare such files with less ease.
    Of 6,000 real files 843 have white space at the end of a line, 303 other capitals than usual,
    231 no space behind a colon. `manners format` tidies a file; so this rule is off by default.

    ## Example
    ```robots
    user-agent:*
    Disallow : /private/
      Allow: /private/open/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /private/
    Allow: /private/open/
    ```

    ## Fix
    Writes the line as `Key: value`. Safe. Offered for every such finding in 1,239 of 1,304 real
    files, and for some in 42.
    """

    code = "F012"
    severity = Severity.INFO
    is_default = False

    def check(self, source: Source) -> Iterator[Finding]:
        """Directives that could be tidier, and comments with white space around them."""
        for line in source.lines:
            if line.kind != "comment" and line.kind not in SPELLINGS:
                continue
            if len(line.raw) > MAX_LINE or b"\0" in line.raw:
                continue  # what is read of it ends early, and where must not move
            problems = list(_problems(line))
            if problems:
                fix = None if source.is_utf16 else self.fix("tidy it", _tidied(line))
                yield self.finding(line, f"the line has {' and '.join(problems)}", fix=fix)


def _problems(line: SourceLine) -> Iterator[str]:
    raw = line.raw
    if raw[0] in _SPACE:
        yield "an indent"
    if raw[-1] in _SPACE:
        yield "white space at its end"
    if line.kind == "comment" or "missing-colon" in line.line.problems:
        return
    key = line.line.key
    colon = raw.find(b":")
    if key.lower() == line.kind and key not in (SPELLINGS[line.kind], line.kind.title()):
        yield "unusual capitals"
    if raw[colon - 1] in _SPACE:
        yield "a space before the colon"
    if line.value and raw[colon + 1] not in _SPACE:
        yield "no space behind the colon"


def _tidied(line: SourceLine) -> Edit:
    """The line as `Key: value`; one without a colon is only stripped."""
    tidy = line.raw.strip(_SPACE)
    if line.kind != "comment" and "missing-colon" not in line.line.problems:
        key = to_bytes(line.line.key)
        if key.lower() == line.kind.encode() and to_text(key) != line.kind.title():
            key = SPELLINGS[line.kind].encode()
        tidy = (key + b": " + line.raw[line.value_at :].strip(_SPACE)).rstrip(_SPACE)
    return line.replaced(0, len(line.raw), tidy)


RULE = UntidyLines()

"""S107: a URL or a path without a key."""

from collections.abc import Iterator

from manners._text import to_text
from manners.lint.finding import Finding, Fix, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import SPELLINGS, Role, unread
from manners.lint.source import Source, SourceLine, quoted


class BareUrl(LintRule):
    """A URL or a path on a line of its own, without a key.

    ## Why it matters
    A line without a key says nothing: a `Sitemap:` that was forgotten or that stands on the line
    above, or a path that was meant for a rule. RFC 9309, section 2.2, wants key and value on one
    line. 21 of 6,000 real files have such lines, 2 of them paths.

    ## Example
    ```robots
    User-agent: *
    Disallow:
    /search-results

    Sitemap:
    https://example.com/sitemap.xml
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /search-results

    Sitemap: https://example.com/sitemap.xml
    ```

    ## Fix
    Writes the key that is missing: `Sitemap` for the URL of a sitemap, and for a path the key of
    the rule above; a line above with that key but without a value is taken for it. Unsafe.
    """

    code = "S107"
    severity = Severity.WARNING

    def check(self, source: Source) -> Iterator[Finding]:
        """Lines that are a URL or a path and nothing else."""
        for line, role in unread(source):
            if role not in ("url", "path"):
                continue
            text = quoted(to_text(line.raw[line.key_at : line.comment_at].rstrip()))
            above = _above(source, line)
            key = _key(line, role, above)
            hint = f", `{SPELLINGS[key]}` was probably meant" if key else ""
            fix = None if source.is_utf16 or not key else self._fix(line, key, above)
            yield self.finding(line, f"{text} has no key: nobody reads it{hint}", fix=fix)

    def _fix(self, line: SourceLine, key: str, above: SourceLine | None) -> Fix:
        name = SPELLINGS[key]
        edits = [line.replaced(0, line.key_at, name.encode() + b": ")]
        if above is not None and above.kind == key and not above.value and not above.comment:
            edits.insert(0, above.removed())
        return self.fix(f"write {name}", *edits, safety="unsafe")


def _above(source: Source, line: SourceLine) -> SourceLine | None:
    """The nearest line above that is neither blank nor a comment."""
    number = line.number - 1
    while number > 0 and source.lines[number - 1].kind in ("blank", "comment"):
        number -= 1
    return source.lines[number - 1] if number > 0 else None


def _key(line: SourceLine, role: Role, above: SourceLine | None) -> str:
    """The key that was probably meant; empty if nothing tells."""
    kind = above.kind if above is not None else ""
    if role == "url":
        return "sitemap" if b"sitemap" in line.raw.lower() or kind == "sitemap" else ""
    return kind if kind in ("allow", "disallow") else ""


RULE = BareUrl()

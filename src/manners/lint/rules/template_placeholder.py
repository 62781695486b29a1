"""P412: a placeholder that was not filled in."""

import re
from collections.abc import Iterator

from manners._text import to_bytes
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import byte_at, paths
from manners.lint.source import Source, SourceLine, quoted

_NAME = r"[A-Za-z_][A-Za-z0-9_.-]*"
_PLACEHOLDER = re.compile(
    rf"""
      \{{\{{[^{{}}*]*\}}\}}          # {{{{url}}}}
    | [#$@]?\{{{_NAME}\}}            # {{id}} and ${{id}}
    | \$\({_NAME}\)                  # $(ID)
    | <%[^*%]{{0,200}}%> | \{{%[^*%]{{0,200}}%\}}   # tags of templates
    | %%{_NAME}(?::{_NAME})?%%       # %%URL%%
    | (?<=/)<{_NAME}>(?=[/$]|$)      # /<id>/
    | (?<=/)\[{_NAME}\](?=[/$]|$)    # /[path]/
    | (?<=/):{_NAME}(?=[/$]|$)       # /:id/
    """,
    re.VERBOSE,
).search
_MAY_HAVE = re.compile(r"[{}<]|\$\(|%%|/[\[:]").search
_ENTITY = "&amp;"
_COMMENT = re.compile(rb"#\{[A-Za-z_][A-Za-z0-9_.:() -]*\}\s*").fullmatch


def find_placeholder(value: str) -> "re.Match[str] | None":
    """A placeholder, unless a star is in front of it: then it is looked for on purpose.

    A page whose template is filled in by the browser has links to `{{url}}`, and crawlers follow
    them; `Disallow: /*{{url}}` keeps them from it.
    """
    found = _PLACEHOLDER(value) if _MAY_HAVE(value) else None
    return None if found is None or "*" in value[: found.start()] else found


class TemplatePlaceholder(LintRule):
    """A placeholder of a template, or an HTML entity, that is left in a path.

    ## Why it matters
    The rule was made by a program, or copied from one, and a step was left out: `/users/:id/edit`
    matches the letters `:id` and no number. `&amp;` is how HTML writes `&`; in a robots.txt it is
    these five characters. The rule does not match what it was written for. Placeholders behind a
    star are not reported: `/*{{url}}`, in 27 real files, keeps crawlers from links of a template
    that browsers fill in. 17 of 6,000 real files have one of the others.

    ## Example
    ```robots
    User-agent: *
    Disallow: /users/:id/edit
    ```
    ```robots
    User-agent: *
    Disallow: /search?*&amp;page=
    ```
    ```robots
    User-agent: *
    Disallow: #{disallowed_path}
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /users/*/edit
    Disallow: /search?*&page=
    ```
    ```robots
    User-agent: *
    Disallow: /*{{url}}
    ```

    ## Fix
    Writes `&` for `&amp;`. Unsafe: the rule then matches what it was written for. Not offered where
    the file has the rule with `&`, too: then both are meant.
    """

    code = "P412"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Placeholders in rules, also those that begin with `#` and so are a comment."""
        written: set[str] = set()
        if _ENTITY.encode() in source.data:
            written = {value for _, value in paths(source)}
        comments = (
            self._comment(line)
            for line in source.of_kind("allow", "disallow")
            if not line.value and _COMMENT(line.raw, line.comment_at)
        )
        found = (self._path(line, value, written) for line, value in paths(source))
        yield from sorted((*comments, *filter(None, found)), key=lambda finding: finding.line)

    def _comment(self, line: SourceLine) -> Finding:
        return self.finding(
            line,
            f"the placeholder {quoted('#' + line.comment)} is a comment: the rule has no path",
            at=line.comment_at,
        )

    def _path(self, line: SourceLine, value: str, written: set[str]) -> Finding | None:
        if _ENTITY in value:
            return self._entity(line, value, written)
        found = find_placeholder(value)
        if found is None:
            return None
        # A template that browsers fill in has such links: it may be meant.
        is_link = found[0].startswith("{{") and found.start() > 0
        at, until = (byte_at(line, value, place) for place in found.span())
        return self.finding(
            line,
            f"the placeholder {quoted(found[0])} stands for nothing: it is compared as it is"
            " written",
            at=at,
            until=until,
            severity=Severity.WARNING if is_link else None,
        )

    def _entity(self, line: SourceLine, value: str, written: set[str]) -> Finding | None:
        path = value.replace(_ENTITY, "&")
        if path in written:
            return None
        at = byte_at(line, value, value.index(_ENTITY))
        edit = line.with_value(to_bytes(path))
        return self.finding(
            line,
            f"{quoted(_ENTITY)} is HTML: no URL that has `&` there is matched",
            at=at,
            until=at + len(_ENTITY),
            fix=self.fix("write `&`", edit, safety="unsafe"),
        )


RULE = TemplatePlaceholder()

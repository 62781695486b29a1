"""A807: a Content-Usage line whose path begins with a star."""

from collections.abc import Iterator

from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.rules._content_usage import usage_lines
from manners.lint.source import Source, quoted


class UsagePathWithoutSlash(LintRule):
    """A Content-Usage line whose path pattern begins with `*`.

    ## Why it matters
    In a Content-Usage line only what begins with `/` is a path; anything else is the preference
    (draft-ietf-aipref-attach, section 3). So `*.pdf train-ai=n` is a preference, which cannot be
    read, and the line says nothing, although `Disallow: *.pdf` is fine for most crawlers.

    The real files that were measured are older than Content-Usage: none of 6,000 has one.

    ## Example
    ```robots
    User-agent: *
    Content-Usage: *.pdf$ train-ai=n
    Disallow: /search
    ```

    ## Better
    ```robots
    User-agent: *
    Content-Usage: /*.pdf$ train-ai=n
    Disallow: /search
    ```

    ## Fix
    Writes a slash before the star. Unsafe: no verdict changes, but readers are told what the line
    did not say.
    """

    code = "A807"

    def check(self, source: Source) -> Iterator[Finding]:
        """Content-Usage lines whose value begins with a star."""
        for line in usage_lines(source):
            if line.value.startswith("*"):
                path = line.value.split(maxsplit=1)[0]
                edit = line.replaced(line.value_at, line.value_at, b"/")
                yield self.about_value(
                    line,
                    f"a path begins with `/`: with {quoted(path)} the line is not read",
                    fix=self.fix("write a slash before the star", edit, safety="unsafe"),
                )


RULE = UsagePathWithoutSlash()

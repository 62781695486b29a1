"""F001: a file that is something else."""

from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._unread import foreign_content
from manners.lint.source import Source


class NotARobotsTxt(LintRule):
    """A file that is something else: an HTML page, XML, JSON, an image, an error message.

    ## Why it matters
    A server that answers `/robots.txt` with a page and status 200 has told every crawler that
    there are no rules: what no line of it says is allowed (RFC 9309, section 2.2.2). Often it is
    an error page that should have had status 404, or a login page in front of the file. 304 of
    6,000 real files (5.1 %) are such: 150 HTML pages, 65 XML documents, 47 texts, 35 times JSON,
    7 times binary data.

    Lines of an HTML page that look like directives are read nevertheless.

    ## Example
    ```robots
    <!doctype html>
    <html lang="en">
    <head><title>404 Not Found</title></head>
    ```
    ```robots
    {"status": 404, "message": "Page Not Found"}
    ```
    ```robots
    The requested URL is invalid.
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow:
    ```
    """

    code = "F001"
    severity = Severity.ERROR

    def check(self, source: Source) -> Iterator[Finding]:
        """Files without directives but with other content, and pages of HTML."""
        content = foreign_content(source)
        if content:
            message = f"the file is {content}, not a robots.txt: crawlers find no rules in it"
            yield self.finding(None, message)


RULE = NotARobotsTxt()

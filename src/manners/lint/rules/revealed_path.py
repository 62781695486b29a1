"""P417: a path that tells strangers where to look."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, quoted

# Whole segments: `/internal/` tells something, `/internal-hard-drives/` does not.
_TELLING = re.compile(
    r"""(?<=/)(?:
      _?backups? | phpmyadmin | passwd | passwords | secrets? | confidential | credentials? | dumps?
    | _?private | intranet | internal | staging | databases? | db | logs | wp-config | \.env | \.git
    | \.svn | \.htaccess | \.htpasswd
    )(?=[/.*$?]|$)
    | \.(?:sql|bak|pem)(?=[/.*$?]|$)
    """,
    re.VERBOSE | re.IGNORECASE,
).search
_TOKEN = re.compile(r"(?<![A-Za-z0-9])(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])[A-Za-z0-9]{24,}+").search
_DIGITS = re.compile(r"[0-9]+")


class RevealedPath(LintRule):
    """A disallowed path that is a hint for attackers, or a secret.

    ## Why it matters
    Everybody can read a robots.txt, and rules are "not a substitute for valid content security
    measures" (RFC 9309, section 3). `Disallow: /backup/` says that there is a backup; a long random
    name that only friends should know is public once it is in the file. Protect such paths with a
    password, and leave them out here. Not in the default set: only the owner can know what is meant
    to be found. 267 of 6,000 real files (4.5 %) have such a path.

    ## Example
    ```robots
    User-agent: *
    Disallow: /backup/
    ```
    ```robots
    User-agent: *
    Disallow: /support/fe4be44a90b14d6e8a71b2c9d3f05e67
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /search
    ```
    """

    code = "P417"
    severity = Severity.INFO
    is_default = False

    def check(self, source: Source) -> Iterator[Finding]:
        """Disallowed paths with a telling word or with a token of 24 characters or more."""
        for line in source.of_kind("disallow"):
            if found := _TELLING(line.value):
                message = f"{quoted(found[0])} tells everybody who reads this file where to look"
            elif (token := _TOKEN(line.value)) and len(_DIGITS.findall(token[0])) > 2:
                message = f"{quoted(token[0], 30)} is no secret: everybody can read this file"
            else:
                continue
            yield self.about_value(line, message)


RULE = RevealedPath()

"""P406: an escape of a character that needs none."""

import re
from collections.abc import Iterator

from manners._text import to_bytes
from manners.lint.finding import Finding
from manners.lint.rule import LintRule
from manners.lint.rules._paths import byte_at, paths, rewriting_safety
from manners.lint.source import Source, quoted

# Unreserved characters (RFC 3986, section 2.3): letters, digits and -._~
_NEEDLESS = re.compile(r"%(?:2[DEde]|3[0-9]|4[1-9A-Fa-f]|5[0-9AFaf]|6[1-9A-Fa-f]|7[0-9AEae])")


class NeedlessEscape(LintRule):
    """An escape of a letter, a digit, or one of `-._~`.

    ## Why it matters
    A URL means the same with `%7E` and with `~` (RFC 3986, section 2.3), and RFC 9309, section
    2.2.2, has crawlers decode such escapes before they compare. Google decodes nothing: `/%7Ejoe`
    does not match `/~joe`, which is how nearly every link writes it. 2 of 6,000 real files
    have one.

    ## Example
    ```robots
    User-agent: *
    Disallow: /%7Ejoe/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /~joe/
    Disallow: /a%2Fb/
    ```

    ## Fix
    Decodes the escapes. Safe for RFC 9309; unsafe where Google has to agree: the rule then matches
    what it was written for.
    """

    code = "P406"

    def check(self, source: Source) -> Iterator[Finding]:
        """Paths with such an escape."""
        for line, value in paths(source):
            found = _NEEDLESS.search(value) if "%" in value else None
            if found is None:
                continue
            decoded = _NEEDLESS.sub(_decoded, value)
            safety = rewriting_safety(source, to_bytes(value), to_bytes(decoded))
            edit = line.with_value(to_bytes(decoded))
            at, until = (byte_at(line, value, place) for place in found.span())
            yield self.finding(
                line,
                f"{quoted(found[0])} is {quoted(_decoded(found))} for RFC 9309, but Google decodes"
                " nothing",
                at=at,
                until=until,
                fix=self.fix("decode it", edit, safety=safety),
            )


def _decoded(found: "re.Match[str]") -> str:
    return chr(int(found[0][1:], 16))


RULE = NeedlessEscape()

"""P404: a character that no URL contains as it is."""

import re
from collections.abc import Iterator

from manners._text import to_bytes
from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.rules._paths import byte_at, paths, rewriting_safety
from manners.lint.rules.quoted_path import is_quoted
from manners.lint.rules.regular_expression import find_sign
from manners.lint.rules.template_placeholder import find_placeholder
from manners.lint.source import Source, quoted

_ODD = re.compile(r"[\t \"<>\\^`{|}]").search
_NOT_ASCII = re.compile(r"[^\x00-\x7f]").search
_OCTETS = re.compile(rb"[^!#-;=?-\[\]_a-z~]")
_NEVER_SENT = frozenset('\t "<>')
"""Every browser and crawler encodes these; about the others they differ."""
_SEVERAL = re.compile(r"\s[/*]|<[/a-z]").search
"""Signs that the value is more than one path, which encoding would not mend."""


class UnencodedCharacter(LintRule):
    r"""A space, a character outside ASCII, or one of ``"<>\^`{|}`` in a path.

    ## Why it matters
    A URL has these characters percent-encoded. RFC 9309, section 2.2.2, has crawlers encode what is
    outside ASCII before they compare, and this package does so with every character that has no
    place in a URL. Google's parser encodes what is outside ASCII and nothing else, so that for
    Google a rule with a space matches nothing: in 81 of 203 real files, encoding changes a verdict
    of Google's. What is outside ASCII is the same for both, and only a note: older crawlers
    compare it as it is. 187 of 6,000 real files (3.1 %) have such a character, 131 of them one that
    Google does not encode.

    ## Example
    ```robots
    User-agent: *
    Disallow: /my documents/
    ```
    ```robots
    User-agent: *
    Disallow: /café/
    Disallow: /*?filter=a|b
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /my%20documents/
    Disallow: /caf%C3%A9/
    Disallow: /*?filter=a%7Cb
    ```

    ## Fix
    Encodes the characters. Safe for RFC 9309 (0 of 203 files changed). Unsafe where an engine that
    has to agree does not encode them itself, as Google does not what is in ASCII: the rule then
    matches what it was written for. Offered for every such finding in 27 of 187 real files, and for
    some in 30.
    """

    code = "P404"

    def check(self, source: Source) -> Iterator[Finding]:
        """Paths with a character to encode, unless another rule says what they are."""
        for line, value in paths(source):
            odd = _ODD(value)
            found = odd or (None if value.isascii() else _NOT_ASCII(value))
            if found is None or value[0] not in "/*" or _is_named(value):
                continue
            if "not-utf8" in line.line.problems:  # nobody knows which characters were meant
                continue
            character, octets = found[0], to_bytes(found[0])
            escape = _encoded(octets).decode()
            if odd is None:
                message = (
                    f"{quoted(character)} is read as {quoted(escape)}, but not by all crawlers"
                )
            elif character in _NEVER_SENT:
                name = "white space" if character.isspace() else quoted(character)
                message = f"URLs have {quoted(escape)} for {name}: for Google, this matches nothing"
            else:
                message = (
                    f"{quoted(character)} is {quoted(escape)} for RFC 9309, but Google compares it"
                    " as it is written"
                )
            written = to_bytes(value)
            encoded = _encoded(written)
            safety = rewriting_safety(source, written, encoded)
            edit = line.with_value(encoded)
            at = byte_at(line, value, found.start())
            yield self.finding(
                line,
                message,
                at=at,
                until=at + len(octets),
                fix=None if _SEVERAL(value) else self.fix("encode it", edit, safety=safety),
                severity=Severity.WARNING if odd else Severity.INFO,
            )


def _is_named(value: str) -> bool:
    return bool(is_quoted(value) or find_sign(value) or find_placeholder(value))


def _encoded(data: bytes) -> bytes:
    return _OCTETS.sub(lambda found: b"%%%02X" % found[0][0], data)


RULE = UnencodedCharacter()

"""P416: what a page needs to be rendered is disallowed."""

import re
from collections.abc import Iterator

from manners.lint.finding import Finding, Severity
from manners.lint.rule import LintRule
from manners.lint.source import Source, SourceLine, quoted
from manners.robots.dialects import get

_OF_A_TYPE = re.compile(r"/?\*+\.(css|js)(?:[$*?]\S*)?", re.IGNORECASE).fullmatch
# Directories whose names say that style sheets or scripts are in them. `/scripts/`, `/static/` and
# `/assets/` are left out: for every site that loads its pages from there, another has programs,
# downloads or nothing in it.
_IN_A_DIRECTORY = re.compile(
    r"/((?:(?:assets|dist|media|public|resources|skin|static)/)?(?:js|css|javascripts?|stylesheets?)"
    r"|styles|wp-includes(?:/js)?|wp-content(?:/themes)?|_next(?:/static)?)(?:/?\*?|/)",
    re.IGNORECASE,
).fullmatch
_OF_A_SYSTEM = re.compile(r"/(?:wp-|_next)", re.IGNORECASE).match
_SITE = "https://site.invalid"


class BlockedRendering(LintRule):
    """A rule that keeps Googlebot from style sheets or scripts.

    ## Why it matters
    Google renders pages as a browser does and asks for the style sheets and scripts that they load;
    robots.txt holds for these, too. Where they are disallowed, Google sees the page without its
    layout, and without what scripts add. Reported are rules about all `.css` or `.js` files, and
    about directories that pages load them from by their name (`/js/`, `/css/`, `/wp-includes/`,
    `/_next/` and the like), if Googlebot may fetch the home page and no Allow opens them again.
    210 of 6,000 real files (3.5 %) have one. A directory of WordPress or Next.js has other things
    in it, too, and is information.

    ## Example
    ```robots
    User-agent: *
    Disallow: /*.js$
    ```
    ```robots
    User-agent: *
    Disallow: /wp-includes/
    ```

    ## Better
    ```robots
    User-agent: *
    Disallow: /wp-includes/
    Allow: /wp-includes/*.js
    Allow: /wp-includes/*.css
    ```
    """

    code = "P416"

    def check(self, source: Source) -> Iterator[Finding]:
        """Rules that decide about a style sheet or script for Googlebot, and disallow it."""
        candidates = [
            (line, addresses)
            for line in source.of_kind("disallow")
            if (addresses := _addresses(line))
        ]
        if not candidates:
            return
        robots = source.robots.get("google") or source.read_as(get("google"))
        policy = robots.policy("Googlebot")
        if not policy.check(_SITE + "/").allowed:
            return
        for line, addresses in candidates:
            for address in addresses:
                verdict = policy.check(_SITE + address)
                if verdict.allowed or verdict.rule is None or verdict.rule.line != line.number:
                    continue
                has_more = _OF_A_SYSTEM(line.value)
                yield self.about_value(
                    line,
                    f"Googlebot may not fetch {quoted(address)} and the like, which it needs to"
                    " render pages",
                    severity=Severity.INFO if has_more else Severity.WARNING,
                )
                break


def _addresses(line: SourceLine) -> list[str]:
    """Files of the kind that a rule seems to be about; none for most rules."""
    value = line.value
    if found := _OF_A_TYPE(value):
        extension = found[1].lower()
        return [f"/main.{extension}", f"/assets/main.{extension}?v=1"]
    if found := _IN_A_DIRECTORY(value):
        directory = found[1]
        name = directory.lower()
        extensions = ("css",) if "css" in name or "style" in name else ("js", "css")
        if name.endswith(("js", "javascript", "javascripts")):
            extensions = ("js",)
        return [f"/{directory}/main.{extension}" for extension in extensions]
    return []


RULE = BlockedRendering()

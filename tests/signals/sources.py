"""What the tests of signals say for a site: short forms of robots.txt, licences and files."""

from typing import Any

from manners.signals import Purpose, Usage, usage

LICENCE_URL = "https://example.com/license.xml"
ANNOUNCED = f"License: {LICENCE_URL}\nUser-agent: *\nAllow: /\n"


def robots(*lines: str) -> str:
    """A robots.txt with one group, for everybody."""
    return "\n".join(["User-agent: *", "Allow: /", *lines, ""])


def content(url: str, *terms: str, **attributes: str) -> str:
    """A `content` element with one licence."""
    more = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<content url="{url}"{more}><license>{"".join(terms)}</license></content>'


def licence(*contents: str) -> str:
    """An RSL document."""
    return f'<rsl xmlns="https://rslstandard.org/rsl">{"".join(contents)}</rsl>'


def permits(words: str, kind: str = "usage") -> str:
    """A `permits` element."""
    return f'<permits type="{kind}">{words}</permits>'


def prohibits(words: str, kind: str = "usage") -> str:
    """A `prohibits` element."""
    return f'<prohibits type="{kind}">{words}</prohibits>'


def licensed(*contents: str, path: str = "/page") -> dict[Purpose, Usage]:
    """What a licence says about a page of a site that announces it in its robots.txt."""
    return usage(
        f"https://example.com{path}",
        agent="MyBot",
        robots_txt=ANNOUNCED,
        licences={LICENCE_URL: licence(*contents)},
    )


def page(path: str = "/page", agent: str = "MyBot", **sources: Any) -> dict[Purpose, Usage]:
    """What is said about a page of example.com."""
    return usage(f"https://example.com{path}", agent=agent, **sources)


def codes(found: Usage) -> set[str]:
    """The codes of its problems."""
    return {problem.code for problem in found.problems}

"""Names that operators give a meaning: policy tokens, and whose crawlers read words their own way.

A policy token stands in a User-agent line and fetches nothing: its group says what may be done with
what another crawler fetched. `draft-kelley-aipref-training-preference-signal-00` makes that
common to all; when its token is known, it is one more row, for every crawler.
"""

from typing import NamedTuple

from manners.signals.claims import Edition, Purpose

EDITIONS = (Edition("operators' pages", "2026-11-16"),)


class PolicyToken(NamedTuple):
    """A name in User-agent lines that speaks of a use, not of a crawler.

    >>> POLICY_TOKENS[0].token, POLICY_TOKENS[0].purposes
    ('Google-Extended', ('ai-train', 'ai-input'))
    """

    token: str
    purposes: tuple[Purpose, ...]
    crawlers: tuple[str, ...]
    """Whose uses it governs, as product tokens; `*` for every crawler."""
    source: str


POLICY_TOKENS = (
    # Gemini's training, and grounding in Gemini and Vertex AI; "does not affect" Search.
    PolicyToken(
        "Google-Extended", ("ai-train", "ai-input"), ("Googlebot",), "Google, common crawlers"
    ),
    PolicyToken("Applebot-Extended", ("ai-train",), ("Applebot",), "Apple, 119829"),
    PolicyToken("Webzio-Extended", ("ai-train",), ("omgili", "omgilibot"), "Webz.io, bot page"),
)

GOOGLE = frozenset(("googlebot", "googlebot-image", "googlebot-news", "googlebot-video"))
BING = frozenset(("bingbot", "msnbot"))
OPERATORS = {"Google": GOOGLE, "Bing": BING}
"""Product tokens of operators that document meanings of their own for words of robots meta."""

"""The crawlers of all tables that run, those that most people know first."""

from manners.lint.data.ai_crawlers import AI_CRAWLERS
from manners.lint.data.crawlers import DELAY_IGNORERS, SEARCH_ENGINES, STAR_IGNORERS

CRAWLERS = tuple(
    dict.fromkeys(
        (
            *SEARCH_ENGINES,
            *(crawler.name for crawler in AI_CRAWLERS if not crawler.until),
            *STAR_IGNORERS,
            *DELAY_IGNORERS,
        )
    )
)
PROMINENCE = {name.lower(): place for place, name in enumerate(CRAWLERS)}
"""Their places in that list, by name in lower case."""
SPELLING = {name.lower(): name for name in CRAWLERS}
"""Their names as their owners write them, by name in lower case."""

"""AI crawlers and tokens: whose they are, what they fetch pages for, and what replaced them.

Only what companies document, or what has been in use under a documented name. Lists that go
further exist; for a linter a name that is absent is better than one that is wrong.
"""

from typing import Literal, NamedTuple

Purpose = Literal["training", "search", "user request", "data set"]
"""What a crawler fetches pages for: to train models; to index them for answers with links; because
a user asked for that page; to sell or publish collections that others train with."""

AS_OF = "2026-11-16"
"""The day on which the table was last compared with its sources."""

SOURCE = (
    "the crawler pages of OpenAI, Anthropic, Google, Apple, Meta, Amazon, Perplexity, Mistral, "
    "Cohere, Common Crawl, Ai2, Webz.io, DuckDuckGo and Yandex; the AI Crawler Index of 2026-09-14"
)


class AiCrawler(NamedTuple):
    """An AI crawler, or a token that only says what may be done with what another crawler fetched.

    >>> BY_KEY["anthropic-ai"].successor
    'ClaudeBot'
    """

    name: str
    """The product token that a User-agent line writes."""
    company: str
    purpose: Purpose
    fetches: bool = True
    """False for a token under whose name nothing is requested."""
    since: str = ""
    """The year, or year and month, in which it was announced, where that is known."""
    until: str = ""
    """The year after which it was no longer in use; empty for one that is."""
    successor: str = ""
    """The token that has its task now."""


AI_CRAWLERS = (
    AiCrawler("GPTBot", "OpenAI", "training", since="2023-08"),
    AiCrawler("OAI-SearchBot", "OpenAI", "search", since="2024-07"),
    AiCrawler("ChatGPT-User", "OpenAI", "user request", since="2023"),
    AiCrawler("ClaudeBot", "Anthropic", "training", since="2024"),
    AiCrawler("Claude-SearchBot", "Anthropic", "search", since="2025"),
    AiCrawler("Claude-User", "Anthropic", "user request", since="2025"),
    AiCrawler("anthropic-ai", "Anthropic", "training", until="2024", successor="ClaudeBot"),
    AiCrawler("Claude-Web", "Anthropic", "training", until="2024", successor="ClaudeBot"),
    AiCrawler("Google-Extended", "Google", "training", fetches=False, since="2023-09"),
    AiCrawler("Google-CloudVertexBot", "Google", "search", since="2024"),
    AiCrawler("Applebot-Extended", "Apple", "training", fetches=False, since="2024-06"),
    AiCrawler("meta-externalagent", "Meta", "training", since="2024"),
    AiCrawler("meta-externalfetcher", "Meta", "user request", since="2024"),
    AiCrawler("Meta-WebIndexer", "Meta", "search"),
    AiCrawler("FacebookBot", "Meta", "training", successor="meta-externalagent"),
    AiCrawler("Amazonbot", "Amazon", "training"),
    AiCrawler("Amzn-SearchBot", "Amazon", "search"),
    AiCrawler("Amzn-User", "Amazon", "user request"),
    AiCrawler("bedrockbot", "Amazon", "search"),
    AiCrawler("PerplexityBot", "Perplexity", "search"),
    AiCrawler("Perplexity-User", "Perplexity", "user request"),
    AiCrawler("MistralAI-User", "Mistral AI", "user request", since="2025"),
    AiCrawler("cohere-ai", "Cohere", "user request"),
    AiCrawler("cohere-training-data-crawler", "Cohere", "training"),
    AiCrawler("DuckAssistBot", "DuckDuckGo", "search"),
    AiCrawler("YouBot", "You.com", "search"),
    AiCrawler("YandexAdditional", "Yandex", "search", fetches=False),
    AiCrawler("YandexAdditionalBot", "Yandex", "search"),
    AiCrawler("Bytespider", "ByteDance", "training"),
    AiCrawler("TikTokSpider", "ByteDance", "training"),
    AiCrawler("CCBot", "Common Crawl", "data set"),
    AiCrawler("AI2Bot", "Ai2", "training"),
    AiCrawler("Ai2Bot-Dolma", "Ai2", "training"),
    AiCrawler("Diffbot", "Diffbot", "data set"),
    AiCrawler("omgili", "Webz.io", "data set"),
    AiCrawler("omgilibot", "Webz.io", "data set"),
    AiCrawler("Webzio-Extended", "Webz.io", "training", fetches=False),
    AiCrawler("ImagesiftBot", "Hive", "data set"),
    AiCrawler("ICC-Crawler", "NICT", "training"),
    AiCrawler("Cotoyogi", "ROIS-DS", "training"),
    AiCrawler("SBIntuitionsBot", "SB Intuitions", "training"),
)

BY_KEY = {crawler.name.lower(): crawler for crawler in AI_CRAWLERS}
"""The table by name, in lower case."""

TRAINERS = (
    "GPTBot",
    "ClaudeBot",
    "Google-Extended",
    "Applebot-Extended",
    "meta-externalagent",
    "Amazonbot",
    "Bytespider",
    "CCBot",
)
"""Those that a site has to name if it wants to stay out of the training data of the large models;
CCBot because Common Crawl's collection is in most of it."""

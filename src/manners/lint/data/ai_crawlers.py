"""AI crawlers and tokens: whose they are, what they fetch pages for, and what replaced them.

Only what companies document, or what has been in use under a documented name. Lists that go
further exist; for a linter a name that is absent is better than one that is wrong.
"""

from typing import Literal, NamedTuple

from manners.signals.claims import Purpose
from manners.signals.tokens import POLICY_TOKENS

Task = Literal["training", "search", "user request", "data set"]
"""What a crawler fetches pages for: to train models; to index them for answers with links; because
a user asked for that page; to sell or publish collections that others train with."""

PURPOSES: dict[Task, tuple[Purpose, ...]] = {
    "training": ("ai-train",),
    "search": ("ai-index", "search"),
    "user request": ("ai-input",),
    "data set": ("ai-train", "tdm"),
}
"""The tasks in the words of usage signals; policy tokens have purposes of their own."""

AS_OF = "2026-11-16"
"""The day on which the table was last compared with its sources."""

DOCUMENTATION = {
    "OpenAI": "https://developers.openai.com/api/docs/bots",
    "Anthropic": "https://support.anthropic.com/en/articles/8896518",
    "Google": "https://developers.google.com/crawling/docs/crawlers-fetchers/google-common-crawlers",
    "Apple": "https://support.apple.com/119829",
    "Meta": "https://developers.facebook.com/docs/sharing/webmasters/web-crawlers",
    "Amazon": "https://developer.amazon.com/amazonbot",
    "Amazon Web Services": (
        "https://docs.aws.amazon.com/bedrock/latest/userguide/webcrawl-data-source-connector.html"
    ),
    "Perplexity": "https://docs.perplexity.ai/guides/bots",
    "Mistral AI": "https://docs.mistral.ai/robots",
    "DuckDuckGo": "https://duckduckgo.com/duckduckgo-help-pages/results/duckassistbot/",
    "You.com": "https://about.you.com/youbot/",
    "Yandex": "https://yandex.ru/support/webmaster/en/search-appearance/fast.html",
    "Common Crawl": "https://commoncrawl.org/ccbot",
    "Ai2": "https://allenai.org/crawler",
    "Webz.io": (
        "https://webz.io/blog/web-data/what-is-the-omgili-bot-and-why-is-it-crawling-your-website/"
    ),
    "Hive": "https://imagesift.com/about",
    "NICT": "https://ucri.nict.go.jp/en/icccrawler.html",
    "ROIS-DS": "https://ds.rois.ac.jp/en_center8/en_crawler/",
    "SB Intuitions": "https://www.sbintuitions.co.jp/en/bot/",
}
"""Where the companies say what their crawlers do. The others have no such page that we found; what
is said of those is from the AI Crawler Index of 2026-09-14."""


class AiCrawler(NamedTuple):
    """An AI crawler, or a token that only says what may be done with what another crawler fetched.

    >>> BY_KEY["anthropic-ai"].successor
    'ClaudeBot'
    """

    name: str
    """The product token that a User-agent line writes."""
    company: str
    task: Task
    fetches: bool = True
    """False for a token under whose name nothing is requested."""
    since: str = ""
    """The year, or year and month, in which it was announced, where that is known."""
    until: str = ""
    """The year after which it was no longer in use; empty for one that is."""
    successor: str = ""
    """The token that has its task now."""
    may_bypass: bool = False
    """Whether its company says that a request of a user need not follow robots.txt."""

    @property
    def purposes(self) -> tuple[Purpose, ...]:
        """What it does with pages, in the words of usage signals.

        >>> BY_KEY["google-extended"].purposes, BY_KEY["chatgpt-user"].purposes
        (('ai-train', 'ai-input'), ('ai-input',))
        """
        for token in POLICY_TOKENS:
            if token.token == self.name:
                return token.purposes
        return PURPOSES[self.task]

    @property
    def source(self) -> str:
        """The page on which its company documents it; empty for one that is not in use."""
        is_current = not self.until and not self.successor
        return DOCUMENTATION.get(self.company, "") if is_current else ""


AI_CRAWLERS = (
    AiCrawler("GPTBot", "OpenAI", "training", since="2023-08"),
    AiCrawler("OAI-SearchBot", "OpenAI", "search", since="2024-07"),
    AiCrawler("ChatGPT-User", "OpenAI", "user request", since="2023", may_bypass=True),
    AiCrawler("ClaudeBot", "Anthropic", "training", since="2024"),
    AiCrawler("Claude-SearchBot", "Anthropic", "search", since="2025"),
    AiCrawler("Claude-User", "Anthropic", "user request", since="2025"),
    AiCrawler("anthropic-ai", "Anthropic", "training", until="2024", successor="ClaudeBot"),
    AiCrawler("Claude-Web", "Anthropic", "training", until="2024", successor="ClaudeBot"),
    AiCrawler("Google-Extended", "Google", "training", fetches=False, since="2023-09"),
    AiCrawler("Google-CloudVertexBot", "Google", "search", since="2024"),
    AiCrawler("Applebot-Extended", "Apple", "training", fetches=False, since="2024-06"),
    AiCrawler("meta-externalagent", "Meta", "training", since="2024"),
    AiCrawler("meta-externalfetcher", "Meta", "user request", since="2024", may_bypass=True),
    AiCrawler("Meta-WebIndexer", "Meta", "search"),
    AiCrawler("FacebookBot", "Meta", "training", successor="meta-externalagent"),
    AiCrawler("Amazonbot", "Amazon", "training"),
    AiCrawler("Amzn-SearchBot", "Amazon", "search"),
    AiCrawler("Amzn-User", "Amazon", "user request"),
    AiCrawler("bedrockbot", "Amazon Web Services", "user request"),
    AiCrawler("PerplexityBot", "Perplexity", "search"),
    AiCrawler("Perplexity-User", "Perplexity", "user request", may_bypass=True),
    AiCrawler("MistralAI-User", "Mistral AI", "user request", since="2025"),
    AiCrawler("cohere-ai", "Cohere", "user request"),
    AiCrawler("cohere-training-data-crawler", "Cohere", "training"),
    AiCrawler("DuckAssistBot", "DuckDuckGo", "user request"),
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

DOCUMENTED = tuple(crawler for crawler in AI_CRAWLERS if crawler.source)
"""Those that their companies document."""

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

_NAMES_ONLY = """
aihitbot amazon-kendra amazon-qbusiness amazonbuyforme andibot anomura apifybot
azureai-searchbot bravebot brightbot chatglm-spider claude-code cloudflare-autorag
cloudvertexbot crawl4ai crawlspace deepseekbot echoboxbot exabot exasearchbot
factset_spyderbot firecrawlagent friendlycrawler gemini-deep-research google-agent
google-firebase google-notebooklm googleagent-mariner googleagent-urlcontext henkbot iaskbot
iaskspider kagi-fetcher kimi-user klaviyoaibot laion-huggingface-processor laiondownloader
linerbot linkupbot manus-user mozilla-tabstack notebooklm novaact pangubot phindbot queritbot
querit-searchbot reflectionbot shapbot shap-user tavilybot terracotta timpibot tongyibot
velenpublicwebcrawler wardbot yiyanbot
"""
OTHER_NAMES = frozenset(_NAMES_ONLY.split())
"""Further names that the list of ai.robots.txt has (MIT; compared on 2026-11-16), in lower case:
only as names, since what they are for is not documented there. Left out are names that are no
product tokens, and those that are common words or tools for any purpose."""

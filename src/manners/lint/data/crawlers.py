"""Crawlers: those that are gone, those that do not obey `*`, and the search engines' main ones.

Names are product tokens, as a User-agent line writes them; they are compared ignoring case.
"""

from typing import NamedTuple

AS_OF = "2026-11-16"
"""The day on which the tables below were last compared with their sources."""


class Retirement(NamedTuple):
    """A crawler that no longer runs."""

    name: str
    owner: str
    """Who ran it."""
    until: int | None = None
    """The year in which it ended or was replaced; None where its owner gave no date."""
    successor: str = ""
    """The token of the crawler that does its work now; empty if none does."""


RETIRED_SOURCE = (
    "announcements of the owners: Bing on msnbot (2010), Google on Googlebot-Mobile and Duplex on "
    "the Web, Ask (2010), blekko (2015), Cliqz (2020), Gigablast (2023), Microsoft on Internet "
    "Explorer (2022); the closing of the search engine for the rest"
)

# Left out on purpose: ia_archiver. Alexa, whose crawler it was, closed in 2022, but for many years
# the same name kept a site out of the Wayback Machine, so that dropping it might reveal old copies.
RETIRED = (
    Retirement("msnbot", "Microsoft", 2010, "bingbot"),
    Retirement("msnbot-media", "Microsoft", None, "bingbot"),
    Retirement("msnbot-NewsBlogs", "Microsoft", None, "bingbot"),
    Retirement("msnbot-Products", "Microsoft", None, "bingbot"),
    Retirement("msnbot-UDiscovery", "Microsoft", None, "bingbot"),
    Retirement("MSNPTC", "Microsoft", None, "adidxbot"),
    Retirement("MSIECrawler", "Microsoft", 2022),
    Retirement("Googlebot-Mobile", "Google", None, "Googlebot"),
    Retirement("DuplexWeb-Google", "Google", 2022),
    Retirement("Yahoo-MMCrawler", "Yahoo", None, "Slurp"),
    Retirement("YahooSeeker", "Yahoo", None, "Slurp"),
    Retirement("YahooFeedSeeker", "Yahoo", None, "Slurp"),
    Retirement("Yahoo-Blogs", "Yahoo", None, "Slurp"),
    Retirement("Yahoo-NewsCrawler", "Yahoo", None, "Slurp"),
    Retirement("NaverBot", "Naver", None, "Yeti"),
    Retirement("Sosospider", "Tencent", 2013, "Sogou"),
    Retirement("Sosoimagespider", "Tencent", 2013, "Sogou"),
    Retirement("UbiCrawler", "the University of Milan", None, "BUbiNG"),
    Retirement("Teoma", "Ask", 2010),
    Retirement("Twiceler", "Cuil", 2010),
    Retirement("ScoutJet", "blekko", 2015),
    Retirement("BlekkoBot", "blekko", 2015),
    Retirement("Cliqzbot", "Cliqz", 2020),
    Retirement("Gigabot", "Gigablast", 2023),
    Retirement("SputnikBot", "Rostelecom", 2020),
    Retirement("StackRambler", "Rambler", 2011),
    Retirement("Scooter", "AltaVista", 2013),
    Retirement("FAST-WebCrawler", "AlltheWeb", 2011),
    Retirement("ArchitextSpider", "Excite"),
    Retirement("Gulliver", "Northern Light"),
    Retirement("InfoSeek", "Infoseek"),
    Retirement("ZyBorg", "LookSmart"),
    Retirement("grub", "LookSmart"),
    Retirement("grub-client", "LookSmart"),
    Retirement("NPBot", "NameProtect"),
    Retirement("Openfind", "Openfind"),
    Retirement("IRLbot", "Texas A&M University"),
    Retirement("SiteSnagger", "PC Magazine"),
    Retirement("WebZIP", "Spidersoft"),
    Retirement("WebStripper", "Solent Software"),
)
"""Crawlers and offline browsers that are gone."""

STAR_IGNORERS_SOURCE = (
    "Google's list of special-case crawlers; Yandex's list of robots in server logs; both as "
    "gathered by the AI Crawler Index on 2026-09-14"
)
STAR_IGNORERS = (
    "AdsBot-Google",
    "Mediapartners-Google",
    "APIs-Google",
    "YandexDirect",
    "AdsBot-Google-Mobile",
    "AdsBot-Google-Mobile-Apps",
    "YandexAdditional",
    "YandexAdditionalBot",
    "YandexCalendar",
    "YandexComBot",
    "YandexFavicons",
    "YandexMobileBot",
    "YandexRenderResourcesBot",
    "YandexScreenshotBot",
)
"""Crawlers that obey a group with their own name, and take no notice of a group for `*`; those that
most sites know come first."""

SEARCH_ENGINES_SOURCE = "the crawler pages of the search engines"
SEARCH_ENGINES = {
    "Googlebot": "Google",
    "bingbot": "Bing",
    "YandexBot": "Yandex",
    "Baiduspider": "Baidu",
    "DuckDuckBot": "DuckDuckGo",
    "Slurp": "Yahoo",
    "Applebot": "Apple",
    "Yeti": "Naver",
    "SeznamBot": "Seznam",
    "Sogou": "Sogou",
    "PetalBot": "Petal Search",
    "Qwantbot": "Qwant",
    "MojeekBot": "Mojeek",
}
"""The crawlers that fill the index of a search engine, with its name."""

OTHER_CRAWLERS = ("adidxbot", "BUbiNG")
"""Crawlers that run and belong to no other table."""

DELAY_IGNORERS_SOURCE = (
    "Google's documentation of robots.txt (\"crawl-delay is not processed\"); Yandex's, since "
    "22 February 2018"
)
DELAY_IGNORERS = {
    "Googlebot": "Google",
    "Googlebot-Image": "Google",
    "Googlebot-News": "Google",
    "Googlebot-Video": "Google",
    "Google-InspectionTool": "Google",
    "GoogleOther": "Google",
    "Storebot-Google": "Google",
    "AdsBot-Google": "Google",
    "AdsBot-Google-Mobile": "Google",
    "Mediapartners-Google": "Google",
    "Yandex": "Yandex",
    "YandexBot": "Yandex",
    "YandexImages": "Yandex",
}
"""Crawlers that take no notice of Crawl-delay, with whose they are."""

"""A shop, its manual and its news: a crawl with something of everything, for pictures and tests."""

import random
from pathlib import Path

from tests.crawler.made import START, Made

SHOP, DOCS, NEWS = "https://shop.example", "https://docs.shop.example", "https://news.example"
AWAY = "https://old.shop.example"
AGENT = "MyBot/1.0 (+https://example.com/bot)"
ROBOTS = {
    SHOP: b"""\
# robots.txt of shop.example
User-agent: *
Disallow: /cart/
Disallow: /search
Allow: /search/help
Disalow: /drafts/
Disallow: /*.pdf$
Disallow private/

Sitemap: https://shop.example/sitemap.xml
""",
    DOCS: b"User-agent: *\nDisallow: /internal/\nCrawl-delay: 2\n",
    NEWS: b"User-agent: *\nDisallow: /archive/\nAllow: /archive/2026/\nCrawl-delay: one\n",
    AWAY: None,
}


def made(place: str | Path) -> None:
    """Write the crawl down."""
    chance = random.Random(12)
    crawl = Made(
        place, f"{SHOP}/ {DOCS}/ {NEWS}/", agent=AGENT, robots=ROBOTS, exclude=["/admin"],
        max_pages=1_000, min_delay=0.2, max_delay=0.5,
    )  # fmt: skip
    problems = [
        {"problem": "relative-url", "detail": "/products/7", "line": 12},
        {"problem": "bad-lastmod", "detail": "yesterday", "line": 40},
    ]
    crawl.ask(f"{SHOP}/sitemap.xml", kind="sitemap", form="urlset", entries=310, problems=problems)
    crawl.at += 0.3
    crawl.ask(f"{DOCS}/sitemap.xml", 404, kind="sitemap", form="unknown", delay=2.0)
    _pages(crawl, chance)
    for month in range(1, 31):
        crawl.out(
            f"{NEWS}/calendar/{2027 + month // 12}/{month % 12 + 1:02}",
            "trap: too-many-alike",
            "trap_alike = 1000",
            f"{NEWS}/calendar/2026/12",
            9,
        )
    crawl.out(f"{SHOP}/a/b/a/b/a/b", "trap: repeated-segment", "trap_repeats = 3", f"{SHOP}/a/b")
    for number in range(64):
        name = f"partner-{number % 9}.example"
        crawl.out(f"https://{name}/offer/{number}", "other-host", name, f"{SHOP}/partners")
    for number in range(21):
        crawl.out(f"{SHOP}/login?next=/products/{number}", "nofollow", "rel=nofollow", f"{SHOP}/")
    for number in range(38):
        crawl.left(f"{NEWS}/2026/story-{500 + number}")
    crawl.write("interrupted", crawl.at - START + 9)


def _pages(crawl: Made, chance: random.Random) -> None:
    """Three hosts, each at its own pace."""
    slow = 0.0
    turns = [(0.8, SHOP, 0), (2.4, DOCS, 0), (1.1, NEWS, 0), (30.0, AWAY, 0)]
    while turns:
        turns.sort()
        at, where, number = turns.pop(0)
        if at > 240.0 or (where == SHOP and number > 420) or (where == AWAY and number > 2):
            continue
        crawl.at = START + at
        if where == SHOP:
            gap, delay = chance.uniform(0.21, 0.52), 0.35
            if at > 90.0:  # it has become slow
                slow += 0.3 * (chance.uniform(0.9, 1.6) - slow)
                gap, delay = max(gap, slow) + chance.uniform(0.005, 0.05), max(0.35, slow)
            _shop(crawl, chance, number, delay, slow)
        elif where == DOCS:
            gap, delay = 2.0 + chance.expovariate(8.0), 2.0
            path = "internal/plan" if number % 17 == 5 else "guide"
            took = chance.lognormvariate(-2.2, 0.4)
            crawl.ask(
                f"{DOCS}/{path}-{number}", seconds=took, delay=delay, title="Guide, chapter 4"
            )
        elif where == NEWS:
            gap, delay = 0.5 + chance.expovariate(9.0), 0.5
            if 60 < number < 64:
                _in_vain(crawl, f"{NEWS}/story-{number}", 503, "", 0.6)
                gap = 12.0
            elif number % 50 == 30:
                _in_vain(crawl, f"{NEWS}/2026/story-{number}", None, "timeout", 3.0)
                gap = 12.0
            else:
                _news(crawl, chance, number, delay)
        else:
            gap = 20.0
            crawl.ask(f"{AWAY}/page-{number}")
        turns.append((at + gap, where, number + 1))


def _shop(crawl: Made, chance: random.Random, number: int, delay: float, slow: float) -> None:
    took = max(chance.lognormvariate(-2.6, 0.7), slow * chance.uniform(0.8, 1.1))
    path, status, title = f"products/{number}", 200, f"Product {number} – the shop"
    match number % 20:
        case 3:
            path = f"cart/add?item={number}"
        case 6:
            path = f"search?q=shoes&page={number}"
        case 9 if number % 40 == 9:
            path, title = f"search/help/{number}", "Help with searching"
        case 11:
            path = f"manuals/{number}.pdf"
        case 13 if number % 40 == 13:
            path = f"drafts/{number}"
        case 15:
            path = f"admin/{number}"
        case 17:
            path, status, title = f"gone/{number}", 404, "Not found"
    crawl.ask(
        f"{SHOP}/{path}", status, seconds=took, delay=delay, title=title,
        size=chance.randrange(4_000, 60_000),
    )  # fmt: skip


def _news(crawl: Made, chance: random.Random, number: int, delay: float) -> None:
    took, path = chance.lognormvariate(-1.7, 0.6), f"2026/story-{number}"
    if number % 12 == 4:
        path = f"archive/2019/story-{number}"
    elif number % 12 == 8:
        path = f"archive/2026/story-{number}"
    crawl.ask(f"{NEWS}/{path}", seconds=took, delay=delay, title=f"Story {number}")


def _in_vain(crawl: Made, url: str, status: int | None, cause: str, took: float) -> None:
    """Three times, four seconds apart."""
    for _ in range(2):
        crawl.again(url, status, cause=cause, seconds=took)
        crawl.at += 4.0
    crawl.ask(url, status, cause=cause, attempts=3, seconds=took)

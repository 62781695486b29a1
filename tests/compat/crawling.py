"""Crawls with Scrapy, in a process of their own: a reactor runs once in a process."""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

SCRIPT = """
import json, sys

import scrapy
from scrapy.crawler import CrawlerProcess


class Walk(scrapy.Spider):
    name = "walk"

    async def start(self):
        self.found = []
        self.crawler.stats.set_value("found", self.found)
        for number in range(len(self.urls) if self.at_once else 1):
            yield self.ask(number)

    def ask(self, number):
        return scrapy.Request(
            self.urls[number],
            callback=self.replied,
            errback=self.failed,
            cb_kwargs={"number": number},
            meta={"handle_httpstatus_list": [404, 503], **self.meta},
            headers=self.headers,
            dont_filter=True,
        )

    def replied(self, response, number):
        self.found.append(response.status)
        slot = self.crawler.engine.downloader.slots.get(response.meta["download_slot"])
        self.crawler.stats.set_value("delay", slot.delay)
        self.crawler.stats.set_value("jitter", slot.jitter)
        if "usage" in response.meta:
            answers = {name: usage.answer for name, usage in response.meta["usage"].items()}
            self.crawler.stats.set_value("usage", answers)
        return self.go_on(number)

    def failed(self, failure):
        error = failure.value
        line = error.verdict.line_text if hasattr(error, "verdict") else None
        self.found.append([type(error).__name__, str(error), line])
        return self.go_on(failure.request.cb_kwargs["number"])

    def go_on(self, number):
        if not self.at_once and number + 1 < len(self.urls):
            yield self.ask(number + 1)


OURS = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "manners.compat.scrapy.MannersMiddleware": 100,
}
COMMON = {
    "ROBOTSTXT_OBEY": True,
    "LOG_LEVEL": "CRITICAL",
    "TELNETCONSOLE_ENABLED": False,
}
process, crawlers = CrawlerProcess(COMMON), []
for crawl in json.loads(sys.argv[1]):
    crawler = process.create_crawler(Walk)
    if crawl["manners"] is not None:
        crawler.settings.set("DOWNLOADER_MIDDLEWARES", OURS)
        crawler.settings.set("MANNERS", crawl["manners"])
    crawler.settings.setdict({"USER_AGENT": "MyBot", **crawl.get("settings", {})})
    process.crawl(
        crawler,
        urls=crawl["urls"],
        at_once=crawl["at_once"],
        meta=crawl.get("meta", {}),
        headers=crawl.get("headers", {}),
    )
    crawlers.append(crawler)
process.start()
print(json.dumps([crawler.stats.get_stats() for crawler in crawlers], default=str))
"""


async def crawl(crawls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Run crawls side by side; what Scrapy has counted in each.

    Each has `urls`, one after the other or `at_once`; what is in the setting MANNERS, or None for
    Scrapy alone; and, if need be, `settings`, and the `meta` and `headers` of all requests. To what
    is counted are added `found`, a status or an error with its text and the line of its verdict,
    and `delay` and `jitter`, those of the slot at the end.
    """

    def ask() -> str:
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT, json.dumps(crawls)],
            env={**os.environ, "no_proxy": "*"},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    found: list[dict[str, Any]] = json.loads(await asyncio.to_thread(ask))
    return found

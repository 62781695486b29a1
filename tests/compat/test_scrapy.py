"""The parser for Scrapy: its cases, a crawl of a real site, and what happens without Scrapy."""

import codecs
import inspect
import json
import os
import random
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scrapy.robotstxt import ProtegoRobotParser, RobotParser, decode_robotstxt

from manners.compat.protego import Protego
from manners.compat.scrapy import MannersRobotParser
from tests.compat import test_protego
from tests.compat.test_protego import Question
from tests.shared import SHARED, body, cases, corpus, needs_shared

HERE = Path(__file__).parent
DIFFERENCES = tomllib.loads((HERE / "scrapy_differences.toml").read_text("utf-8"))["difference"]
NAMES = [each["name"] for each in DIFFERENCES]
PAGE = HERE.parents[1] / "docs" / "coming-from" / "scrapy.md"


def ours(robots: bytes) -> MannersRobotParser:
    return MannersRobotParser.from_crawler(None, robots)


def theirs(robots: bytes) -> ProtegoRobotParser:
    """What Scrapy uses unless told otherwise."""
    nobody: Any = None  # as Scrapy's own tests do
    return ProtegoRobotParser.from_crawler(nobody, robots)


# What differs.


def _is_utf16(robots: bytes) -> bool:
    return robots.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))


def _is_utf8(robots: bytes) -> bool:
    try:
        robots.decode()
    except UnicodeDecodeError:
        return False
    return True


PREDICATES: dict[str, Callable[[bytes], bool]] = {
    "utf16": _is_utf16,
    "not_utf8": lambda robots: not _is_utf16(robots) and not _is_utf8(robots),
}


def names(robots: bytes, agent: str, url: str) -> list[str]:
    """What makes the difference: the text Scrapy makes of the bytes, or how Protego reads it."""
    text = decode_robotstxt(robots, None)
    found: list[str] = []
    if ours(robots).allowed(url, agent) != Protego.parse(text).can_fetch(url, agent):
        found += [name for name, recognises in PREDICATES.items() if recognises(robots)]
    return found + test_protego.names(Question(text, agent, url))


def example(difference: dict[str, Any]) -> tuple[bytes, str, str]:
    return bytes.fromhex(difference["robots"]), "MyBot", difference["url"]


@pytest.fixture(scope="module")
def questions() -> list[tuple[bytes, str, str]]:
    """The examples, the rows, and real files, most of them in no good encoding."""
    found = [example(each) for each in DIFFERENCES]
    if SHARED.is_dir():
        found += [(body(case), case["agent"], case["url"]) for case in cases("cases-scrapy.jsonl")]
        rng = random.Random(9309)
        odd = [doc for doc, robots in corpus().items() if not _is_utf8(robots)]
        for doc in rng.sample(odd, min(60, len(odd))) + rng.sample(sorted(corpus()), 40):
            text = corpus()[doc].decode("utf-8", "replace")
            asked = [each for each in test_protego.about(text, rng) if each.ask == "can_fetch"]
            found += [(corpus()[doc], each.agent, each.url) for each in asked]
    return found


def test_every_difference_has_exactly_one_name(questions: list[tuple[bytes, str, str]]) -> None:
    """No disagreement with Scrapy's default is unexplained, none is explained twice, and every
    name is needed."""
    seen = set()
    for robots, agent, url in questions:
        if ours(robots).allowed(url, agent) != theirs(robots).allowed(url, agent):
            found = names(robots, agent, url)
            assert len(found) == 1, (robots[:200], agent, url, found)
            seen.update(found)
    assert seen - set(test_protego.STEPS) == set(PREDICATES) == set(NAMES)
    assert all("RFC 9309 2." in each["reason"] for each in DIFFERENCES)


@pytest.mark.parametrize("difference", DIFFERENCES, ids=NAMES)
def test_an_example_shows_its_difference(difference: dict[str, Any]) -> None:
    """The example in the table has the answers the table gives, because of what it is named."""
    robots, agent, url = example(difference)
    assert ours(robots).allowed(url, agent) is difference["ours"]
    assert theirs(robots).allowed(url, agent) is difference["theirs"]
    assert names(robots, agent, url) == [difference["name"]]


@needs_shared
def test_every_row_holds_or_has_exactly_one_name() -> None:
    """What Scrapy's suite asserts holds here, but for the named differences."""
    for case in cases("cases-scrapy.jsonl"):
        answer = ours(body(case)).allowed(case["url"], case["agent"])
        if answer != case["allowed"]:
            found = names(body(case), case["agent"], case["url"])
            assert len(found) == 1, (case["id"], found)


def test_every_name_is_in_the_table_of_the_page() -> None:
    """The page for users has a row for each difference, and for nothing else."""
    table = PAGE.read_text("utf-8").partition("\n## What is different\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == NAMES


# The interface.


def test_the_interface_is_the_one_scrapy_asks_for() -> None:
    """Every method Scrapy knows is here, with its parameters."""
    methods = dict(inspect.getmembers(RobotParser, callable))
    for name in ("from_crawler", "allowed", "crawl_delay"):
        wanted = inspect.signature(methods[name]).parameters
        mine = inspect.signature(getattr(MannersRobotParser, name)).parameters
        assert list(mine) == list(wanted)
        assert getattr(MannersRobotParser, name) is not methods[name]
    assert issubclass(MannersRobotParser, RobotParser)


def test_bytes_and_text_are_the_same_question() -> None:
    """Scrapy passes a User-Agent header as bytes, and a setting as text."""
    robots = ours("User-agent: mybot\nDisallow: /ä\nCrawl-delay: 2.5".encode())
    for agent in ("MyBot/1.0", b"MyBot/1.0"):
        for url in ("https://example.com/ä", "https://example.com/ä".encode()):
            assert not robots.allowed(url, agent)
        assert robots.allowed(b"https://example.com/", agent)
        assert robots.crawl_delay(agent) == 2.5
    assert robots.allowed(b"https://example.com/\xff", b"\xff")
    assert robots.crawl_delay("other") is None


def test_no_bytes_make_parsing_raise() -> None:
    """What is no robots.txt closes nothing."""
    for robots in (b"", b"GIF89a\xd3\xfe\x00\xa2", bytes(range(256))):
        assert ours(robots).allowed("https://example.com/", "mybot")


def test_the_parser_has_the_file_for_who_wants_the_reason() -> None:
    """Scrapy asks for yes or no; the verdict is one attribute away."""
    verdict = ours(b"User-agent: *\nDisallow: /a").robots.check("https://example.com/a", "mybot")
    assert str(verdict) == "disallowed: rule-matched, line 2: /a"


# A crawl.

INDEX = "".join(
    f"<a href='{path}'>{path}</a>"
    for path in ("/open", "/private/secret", "/private/shown", "/closed/page", "/robots.txt?again")
)

PLAIN = """\
User-agent: *
Disallow: /private/
Allow: /private/shown
Crawl-delay: 2.5
"""

SHARED_GROUP = """\
User-agent: ExampleBot
Crawl-delay: 2.5
User-agent: OtherBot
Disallow: /closed/
"""

MANNERS = "manners.compat.scrapy.MannersRobotParser"
DEFAULT = "scrapy.robotstxt.ProtegoRobotParser"

CRAWL = """
import json, sys

import scrapy
from scrapy import signals
from scrapy.crawler import CrawlerProcess


class Links(scrapy.Spider):
    name = "links"

    @classmethod
    def from_crawler(cls, crawler, url):
        spider = super().from_crawler(crawler, start_urls=[url])
        crawler.signals.connect(spider.parsed, signals.robots_parsed)
        return spider

    def parsed(self, robotparser):
        asked = robotparser.crawl_delay(self.settings["USER_AGENT"])
        self.crawler.stats.set_value("parser", type(robotparser).__name__)
        self.crawler.stats.set_value("crawl_delay", asked)

    def parse(self, response):
        yield from response.follow_all(css="a")


process = CrawlerProcess({
    "ROBOTSTXT_OBEY": True,
    "USER_AGENT": "ExampleBot/1.0 (+https://example.com/bot)",
    "LOG_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "RETRY_ENABLED": False,
})
crawlers = []
for parser, url in json.loads(sys.argv[1]):
    crawler = process.create_crawler(Links)
    crawler.settings.set("ROBOTSTXT_PARSER", parser)
    process.crawl(crawler, url=url)
    crawlers.append(crawler)
process.start()
print(json.dumps([crawler.stats.get_stats() for crawler in crawlers], default=str))
"""


class Site:
    """A site on this machine that knows what it was asked for."""

    def __init__(self, robots: str, status: int) -> None:
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                is_robots = self.path == "/robots.txt"
                content = (robots if is_robots else INDEX).encode()
                self.send_response(status if is_robots else 200)
                self.send_header("Content-Type", "text/plain" if is_robots else "text/html")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Crawled(NamedTuple):
    """A crawl as it is over: what the site was asked for, and what Scrapy counted."""

    pages: set[str]
    stats: dict[str, Any]


CRAWLS = {
    "plain": (MANNERS, PLAIN, 200),
    "shared group": (MANNERS, SHARED_GROUP, 200),
    "shared group, default": (DEFAULT, SHARED_GROUP, 200),
    "503": (MANNERS, "try again later", 503),
    "404": (MANNERS, "<title>not found</title>", 404),
    "rules in a 503": (MANNERS, PLAIN, 503),
}


@pytest.fixture(scope="module")
def crawls() -> dict[str, Crawled]:
    """Several sites, each crawled by its own crawler; a reactor runs once in a process."""
    sites = [Site(robots, status) for _, robots, status in CRAWLS.values()]
    asked = [
        (parser, site.url) for (parser, _, _), site in zip(CRAWLS.values(), sites, strict=True)
    ]
    try:
        ran = subprocess.run(
            [sys.executable, "-c", CRAWL, json.dumps(asked)],
            env={**os.environ, "no_proxy": "*"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        for site in sites:
            site.close()
    assert ran.returncode == 0, ran.stderr
    stats = json.loads(ran.stdout)
    return {
        name: Crawled(set(site.asked) - {"/robots.txt"}, counted)
        for name, site, counted in zip(CRAWLS, sites, stats, strict=True)
    }


def test_a_crawl_fetches_what_is_allowed_and_nothing_else(crawls: dict[str, Crawled]) -> None:
    """The log of the site has the open pages, and Scrapy counts the one it left out."""
    pages, stats = crawls["plain"]
    assert pages == {"/", "/open", "/private/shown", "/closed/page", "/robots.txt?again"}
    assert stats["parser"] == "MannersRobotParser"
    assert stats["robotstxt/forbidden"] == 1


def test_scrapy_is_told_the_crawl_delay(crawls: dict[str, Crawled]) -> None:
    """Who listens to `robots_parsed` gets seconds."""
    assert crawls["plain"].stats["crawl_delay"] == 2.5
    assert crawls["404"].stats["crawl_delay"] is None


def test_where_the_default_answers_otherwise_the_site_sees_it(crawls: dict[str, Crawled]) -> None:
    """RFC 9309 2.2.4: a Crawl-delay between two User-agent lines leaves them one group."""
    with_manners, by_default = crawls["shared group"], crawls["shared group, default"]
    assert by_default.pages - with_manners.pages == {"/closed/page"}
    assert with_manners.pages <= by_default.pages
    assert with_manners.stats["robotstxt/forbidden"] == 1
    assert "robotstxt/forbidden" not in by_default.stats
    assert by_default.stats["parser"] == "ProtegoRobotParser"


@pytest.mark.parametrize("status", ["404", "503"])
def test_scrapy_decides_what_a_status_means(crawls: dict[str, Crawled], status: str) -> None:
    """The parser gets the body of any answer; nothing in this one closes anything."""
    pages, stats = crawls[status]
    assert {"/", "/open", "/private/secret", "/closed/page"} <= pages
    assert stats[f"robotstxt/response_status_count/{status}"] == 1
    assert "robotstxt/forbidden" not in stats


def test_scrapy_has_the_rules_in_an_error_page_read(crawls: dict[str, Crawled]) -> None:
    """As the page for users says: the status is not looked at."""
    pages, stats = crawls["rules in a 503"]
    assert "/private/secret" not in pages
    assert stats["robotstxt/forbidden"] == 1


# Without Scrapy.


def run(script: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


NO_SUCH_MODULE = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def test_without_scrapy_the_error_says_what_to_install() -> None:
    """It is a MannersError and an ImportError, and carries the command."""
    script = NO_SUCH_MODULE.format(absent="scrapy")
    script += """
import manners
try:
    import manners.compat.scrapy
except manners.MissingExtra as error:
    assert isinstance(error, ImportError)
    print(error)
"""
    assert run(script) == "'scrapy' needs 'scrapy': pip install 'manners[scrapy]'\n"


def test_a_scrapy_that_is_broken_says_so_itself() -> None:
    """Installing the extra would not help where a library that Scrapy needs is missing."""
    script = NO_SUCH_MODULE.format(absent="twisted")
    script += """
try:
    import manners.compat.scrapy
except ModuleNotFoundError as error:
    print(type(error).__name__, error.name.partition(".")[0])
"""
    assert run(script) == "ModuleNotFoundError twisted\n"


def test_the_other_parts_import_neither_scrapy_nor_protego() -> None:
    """The drop-in for Protego needs no Protego."""
    script = """
import sys
import manners
from manners.compat.protego import Protego

assert not Protego.parse("User-agent: *\\nDisallow: /").can_fetch("/", "mybot")
print(sorted({"scrapy", "protego", "twisted"} & set(sys.modules)))
"""
    assert run(script) == "[]\n"

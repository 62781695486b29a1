"""A robots.txt parser for Scrapy, chosen by one setting:

ROBOTSTXT_PARSER = "manners.compat.scrapy.MannersRobotParser"
"""

from typing import Any, Self

from manners._text import to_text
from manners.errors import MissingExtra
from manners.robots.policy import parse

try:
    from scrapy.robotstxt import RobotParser
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] != "scrapy":
        raise
    raise MissingExtra("scrapy", "scrapy") from None


class MannersRobotParser(RobotParser):
    """A robots.txt as Scrapy's RobotsTxtMiddleware asks for it, with RFC 9309's answers.

    >>> robots = MannersRobotParser.from_crawler(None, b"User-agent: *\\nDisallow: /private/")
    >>> robots.allowed("https://example.com/private/x", "MyBot")
    False
    """

    def __init__(self, robotstxt_body: bytes) -> None:
        self.robots = parse(robotstxt_body)
        """The parsed file, for who wants more than yes or no."""

    @classmethod
    def from_crawler(cls, crawler: Any, robotstxt_body: bytes) -> Self:  # noqa: ARG003
        """Read the content of a robots.txt that the crawler retrieved."""
        return cls(robotstxt_body)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        """Whether the agent may fetch the URL."""
        return self.robots.policy(_text(user_agent)).allowed(_text(url))

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Seconds the site asks the agent to wait; in the interface since Scrapy 2.18."""
        return self.robots.policy(_text(user_agent)).crawl_delay


def _text(value: str | bytes) -> str:
    return to_text(value) if isinstance(value, bytes) else value

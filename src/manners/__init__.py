"""manners: know what you may fetch, how fast, and prove it.

Importing the package loads the standard library only, and little of it; each public name is
loaded when it is first used.

>>> import manners
>>> robots = manners.parse("User-agent: *\\nDisallow: /private/")
>>> robots.allowed("https://example.com/private/x", agent="MyBot")
False
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manners import errors as errors
    from manners import robots as robots
    from manners import signals as signals
    from manners import urls as urls
    from manners._compiled import KERNEL
    from manners.cache.blocking import RobotsCache, check
    from manners.cache.robots import AsyncRobotsCache
    from manners.client.async_client import AsyncClient
    from manners.client.blocking import Client, usage
    from manners.client.page import Page
    from manners.crawler.crawl import Crawl, crawl
    from manners.crawler.page import CrawledPage
    from manners.errors import (
        BudgetExceeded,
        Disallowed,
        HostDeferred,
        InvalidURL,
        MannersError,
        MissingExtra,
        PolitenessError,
        SettingsError,
        SlotTimeout,
        StoreError,
    )
    from manners.evidence.store import EvidenceStore
    from manners.politeness.budget import Budget
    from manners.robotrules import RobotRules
    from manners.robots.agents import product_token
    from manners.robots.dialects import Dialect
    from manners.robots.groups import Group, Rule
    from manners.robots.lines import lines
    from manners.robots.policy import Policy, Robots, parse
    from manners.robots.verdict import Reason, Verdict
    from manners.settings import Settings

    __version__: str

__all__ = [
    "KERNEL",
    "AsyncClient",
    "AsyncRobotsCache",
    "Budget",
    "BudgetExceeded",
    "Client",
    "Crawl",
    "CrawledPage",
    "Dialect",
    "Disallowed",
    "EvidenceStore",
    "Group",
    "HostDeferred",
    "InvalidURL",
    "MannersError",
    "MissingExtra",
    "Page",
    "Policy",
    "PolitenessError",
    "Reason",
    "RobotRules",
    "Robots",
    "RobotsCache",
    "Rule",
    "Settings",
    "SettingsError",
    "SlotTimeout",
    "StoreError",
    "Verdict",
    "check",
    "crawl",
    "lines",
    "parse",
    "product_token",
    "usage",
]

_HOME = {
    "KERNEL": "manners._compiled",
    "AsyncClient": "manners.client.async_client",
    "AsyncRobotsCache": "manners.cache.robots",
    "Budget": "manners.politeness.budget",
    "BudgetExceeded": "manners.errors",
    "Client": "manners.client.blocking",
    "Crawl": "manners.crawler.crawl",
    "CrawledPage": "manners.crawler.page",
    "Dialect": "manners.robots.dialects",
    "Disallowed": "manners.errors",
    "EvidenceStore": "manners.evidence.store",
    "Group": "manners.robots.groups",
    "HostDeferred": "manners.errors",
    "InvalidURL": "manners.errors",
    "MannersError": "manners.errors",
    "MissingExtra": "manners.errors",
    "Page": "manners.client.page",
    "Policy": "manners.robots.policy",
    "PolitenessError": "manners.errors",
    "Reason": "manners.robots.verdict",
    "RobotRules": "manners.robotrules",
    "Robots": "manners.robots.policy",
    "RobotsCache": "manners.cache.blocking",
    "Rule": "manners.robots.groups",
    "Settings": "manners.settings",
    "SettingsError": "manners.errors",
    "SlotTimeout": "manners.errors",
    "StoreError": "manners.errors",
    "Verdict": "manners.robots.verdict",
    "check": "manners.cache.blocking",
    "crawl": "manners.crawler.crawl",
    "lines": "manners.robots.lines",
    "parse": "manners.robots.policy",
    "product_token": "manners.robots.agents",
    "usage": "manners.client.blocking",
}
_MODULES = ("errors", "robots", "signals", "urls")


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"manners.{name}")
    elif name == "__version__":
        from importlib.metadata import version

        value = version("manners")
    else:
        raise AttributeError(f"module 'manners' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES, "__version__"})

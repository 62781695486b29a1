"""Verdicts for whole tables of URLs, from archives of robots.txt files.

    sites = manners.bulk.Sites.read("robots.parquet", agent="MyBot")
    sites.verdicts(batch)          # the same rows, with allowed, reason, line, rule, crawl_delay
    manners.bulk.run("urls/*.parquet", "robots.parquet", "verdicts/", agent="MyBot")

Nothing here is loaded by `import manners`: pyarrow is large.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manners.bulk.decisions import Decisions
    from manners.bulk.running import run
    from manners.bulk.sites import Sites, cached_sites
    from manners.bulk.summary import Summary

__all__ = ["Decisions", "Sites", "Summary", "cached_sites", "run"]

_HOMES = {
    "Decisions": "decisions",
    "Sites": "sites",
    "Summary": "summary",
    "cached_sites": "sites",
    "run": "running",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from manners.errors import Extra

    with Extra("pyarrow"):
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)

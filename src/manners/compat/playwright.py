"""Manners for Playwright: every request of a browser has a verdict, and each document its turn.

context = await browser.new_context(**SEALED)
async with polite(context, client):
    page = await context.new_page()
    await page.goto("https://example.com/")
"""

from manners import errors
from manners.client.async_client import AsyncClient

with errors.Extra("playwright"):
    from playwright.async_api import BrowserContext

    from manners.browser.chromium import chromium
    from manners.browser.gate import SEALED
    from manners.browser.policy import Subresources
    from manners.browser.polite import PoliteBrowser, RequestRefusal

__all__ = ["SEALED", "PoliteBrowser", "RequestRefusal", "Subresources", "chromium", "polite"]


def polite(
    context: BrowserContext, client: AsyncClient, *, subresources: Subresources = "same-host"
) -> "PoliteBrowser":
    """Let a client make all requests of a Chromium, as long as the `async with` block lasts.

    The context is created with `**SEALED`, so that Chromium has no connections of its own. The
    block is about the whole browser; after it, the browser can request nothing, as with a client
    that is closed.

        context = await browser.new_context(**SEALED)
        async with polite(context, client) as browsing:
            page = await context.new_page()
            await page.goto("https://example.com/")
    """
    return PoliteBrowser(context, client, subresources)

"""A page for a tool: fetched by the client, or a failure in words for a model.

These words are all ours, but for URLs: what a site wrote stands in results, below `untrusted`.
"""

from collections.abc import Mapping

from manners.client.page import Page
from manners.compat.mcp.tool import (
    PRIVATE,
    ToolContext,
    ToolFailure,
    advice_on,
    failure_of,
    quote,
)
from manners.errors import MannersError
from manners.net.messages import REFUSED
from manners.robots.verdict import Reason
from manners.signals import Purpose, Usage


async def fetch_page(context: ToolContext, url: str) -> Page:
    """The page of a URL, whatever its status; one that robots.txt disallows, too."""
    try:
        page = await context.client.get(url)
    except MannersError as error:
        raise failure_of(error) from None
    if page.cause:  # no reply, or a redirect that is not followed
        raise ToolFailure(f"Not fetched: {quote(page.final_url)}: {page}. {_advice(page)}")
    if page.verdict.reason is Reason.UNREACHABLE and not page.was_allowed:
        advice = advice_on(page.verdict) or "Use another source, or try again in some minutes."
        place = quote(page.final_url)
        raise ToolFailure(f"Not fetched: {place}: its robots.txt is unreachable. {advice}")
    return page


def _advice(page: Page) -> str:
    if page.cause == REFUSED:
        return PRIVATE
    if len(page.hops) > 1 or "redirect" in page.cause:
        return "The redirect cannot be followed: use another source."
    return "Check the URL, or try again later."


def refuse_disallowed(context: ToolContext, page: Page) -> None:
    """Raise for a page that may not be fetched, with what decided."""
    if page.was_allowed:
        return
    verdict, place = page.verdict, quote(page.final_url)
    if verdict.reason is Reason.EXCLUDED:
        reason = "the user's settings exclude it"
    else:
        reason = f"robots.txt disallows it for {context.agent}"
        reason += f" on line {verdict.line}" if verdict.line else ""
    detour = " after a redirect" if len(page.hops) > 1 else ""
    raise ToolFailure(
        f"Not fetched: {place}{detour}: {reason}. Do not retry, and do not fetch it in"
        " another way: use another source, or tell the user."
    )


async def answers_of(context: ToolContext, page: Page) -> Mapping[Purpose, Usage]:
    """What a page may be used for; by files, too, that the settings name."""
    if not context.client.settings.signals:
        return await context.work(lambda: page.usage)
    try:
        return await context.client.usage(page)
    except MannersError as error:
        raise failure_of(error) from None


def refuse_unwanted(context: ToolContext, page: Page, usages: Mapping[Purpose, Usage]) -> None:
    """Raise for a page whose site refuses the purpose of this server."""
    purpose = context.purpose
    if purpose is None or usages[purpose].answer != "no":
        return
    claim = next(claim for claim in usages[purpose].claims if claim.value == "no")
    line = f" line {claim.line}" if claim.line else ""
    raise ToolFailure(
        f"Not shown: {quote(page.final_url)}: the site refuses {purpose} ({claim.standard},"
        f" {claim.source}{line}). Do not retry: use another source, or tell the user."
    )

"""What a tool is: its types, from which come its schemas; what it answers, and how it fails."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from manners._text import cut, printable
from manners.client.async_client import AsyncClient
from manners.compat.mcp.texts import TextMemory
from manners.errors import (
    BudgetExceeded,
    ClientClosed,
    HostDeferred,
    InvalidURL,
    MannersError,
    PolitenessError,
    SlotTimeout,
    StoreError,
)
from manners.retrieval.outcome import Outcome
from manners.robots.agents import product_token
from manners.robots.verdict import Verdict
from manners.signals import Purpose
from manners.urls import with_scheme

MAX_QUOTE = 500
"""Characters of a text of a site that is quoted."""
_T = TypeVar("_T")

Url = Annotated[
    str, msgspec.Meta(min_length=1, max_length=8_000, description="An http or https URL.")
]


class ToolFailure(Exception):
    """A call that did not do what it was asked for; the message says why, and what to do next."""


class ToolAnswer(NamedTuple):
    """What a tool answers."""

    result: msgspec.Struct
    page: str | None = None
    """A text of a site, shown apart from everything else."""


class ToolContext:
    """What the tools of a server share."""

    def __init__(self, client: AsyncClient, purpose: Purpose | None) -> None:
        self.client, self.purpose = client, purpose
        """`purpose` is the use that a page must not refuse; None to fetch it and tell."""
        self.texts: TextMemory[Any] = TextMemory()
        self._worker = ThreadPoolExecutor(1)

    @property
    def agent(self) -> str:
        """The name that robots.txt files are read for."""
        return product_token(self.client.agent)

    async def work(self, function: Callable[[], _T]) -> _T:
        """The result of what takes long: in a thread, one at a time."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, function)

    async def close(self) -> None:
        """Close the client; what is worked on ends by itself."""
        self._worker.shutdown(wait=False, cancel_futures=True)
        await self.client.close()


class Tool(NamedTuple):
    """A tool: a model reads its title and description, a host its schemas."""

    title: str
    description: str
    arguments: type[msgspec.Struct]
    result: type[msgspec.Struct]
    call: Callable[[ToolContext, Any], Awaitable[ToolAnswer]]


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a type in one piece: some hosts do not follow references.

    >>> from manners.compat.mcp.tools.may_fetch import TOOL
    >>> schema_of(TOOL.arguments)["required"]
    ['url']
    """
    schema = msgspec.json.schema(kind)
    parts: dict[str, Any] = schema.pop("$defs")

    def inlined(value: Any) -> Any:
        if isinstance(value, list):
            return [inlined(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return inlined(parts[value["$ref"].rpartition("/")[2]])
        return {key: inlined(item) for key, item in value.items() if key != "title"}

    complete: dict[str, Any] = inlined(schema)
    return complete


def quote(text: str) -> str:
    """A text of a site in one short printable line."""
    return printable(cut(text.strip(), MAX_QUOTE))


def typed_url(text: str) -> str:
    """A URL as a model writes it; a bare domain gets a scheme."""
    return with_scheme(text.strip())


def advice_on(verdict: Verdict) -> str:
    """What can be done where a robots.txt could not be had; empty for nothing."""
    outcome = verdict.retrieval
    if not isinstance(outcome, Outcome):
        return ""
    return PRIVATE if outcome.note == "refused address" else outcome.advice


PRIVATE = (
    "This is a private or local address, which is not requested. Do not retry; the user can start"
    " `manners mcp` with --allow-private."
)


def failure_of(error: MannersError) -> ToolFailure:
    """An error in the words for a model: what happened, and what to do next."""
    for kind, advice in _ADVICE:
        if isinstance(error, kind):
            return ToolFailure(f"{quote(str(error))}. {advice}")
    return ToolFailure(f"{quote(str(error))}. Use another source, or ask the user.")


_ADVICE: tuple[tuple[type[MannersError], str], ...] = (
    (InvalidURL, "Pass a whole http or https URL."),
    (BudgetExceeded, "No more pages in this session: work with what you have."),
    (HostDeferred, "Use another source, or come back then; asking sooner changes nothing."),
    (SlotTimeout, "Other calls are using this host: wait for their answers, then try again."),
    (StoreError, "Without a record nothing is fetched. Tell the user; do not retry."),
    (PolitenessError, "Tell the user; do not retry."),
    (ClientClosed, "This server is ending."),
)

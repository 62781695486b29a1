"""Who sends requests: the name that robots.txt files are read for, and the clerk of the records."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from manners.client.headers import OwnHeaders
from manners.identity import Identity, identity
from manners.logs import Reporter
from manners.robots.dialects import Dialect
from manners.settings import Settings

if TYPE_CHECKING:
    from manners.evidence.record import Clerk

_MAX_REQUESTERS = 100
"""User-Agent headers of other libraries that are remembered; beyond that the oldest is dropped."""


class Requester(NamedTuple):
    """Who sends a request."""

    name: str | Sequence[str]
    """The agent, as the dialect reads it."""
    clerk: "Clerk | None"
    """Drafts the evidence records; None when evidence is off."""


class Requesters:
    """The requesters of a client: itself, and libraries that send a User-Agent of their own."""

    def __init__(
        self, settings: Settings, dialect: Dialect, keeps_evidence: bool, reporter: Reporter
    ) -> None:
        self._reporter = reporter
        self._settings, self._dialect, self._keeps_evidence = settings, dialect, keeps_evidence
        self._identity = settings.identity
        self.default = self._new(self._identity)
        """The client itself."""
        self.headers = OwnHeaders(settings.headers)
        """What it adds to requests for pages; other libraries add their own."""
        self._by_user_agent: dict[str, Requester] = {}

    def get(self, user_agent: str | None) -> Requester:
        """Who sends requests with a User-Agent header; None for the client itself."""
        if user_agent is None or user_agent == self._identity.user_agent:
            return self.default
        requester = self._by_user_agent.get(user_agent)
        if requester is None:
            settings = self._settings
            is_named = settings.agent is not None or settings.user_agent is not None
            agent = self._identity.agent if is_named else None
            requester = self._new(identity(agent, user_agent))
            if len(self._by_user_agent) >= _MAX_REQUESTERS:
                del self._by_user_agent[next(iter(self._by_user_agent))]
            self._by_user_agent[user_agent] = requester
        return requester

    def _new(self, who: Identity) -> Requester:
        if not who.is_one:
            self._reporter.warn(
                f"robots.txt files are read for {who.agent!r}, and requests are sent as"
                f" {who.user_agent!r}: sites cannot tell whom their rules are for. Name the agent"
                " alone to send it"
            )
        clerk = self._clerk(who) if self._keeps_evidence else None
        return Requester(self._dialect.own_name(who.agent), clerk)

    def _clerk(self, who: Identity) -> "Clerk":
        from manners.evidence.record import Clerk, engine

        settings = self._settings
        return Clerk(
            who.agent,
            settings.retrieval,
            settings.dialect,
            engine(),
            settings.include,
            settings.redact_query,
            who.user_agent,
        )

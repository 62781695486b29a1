"""Admission: the verdict on a URL, its record, a start time and a slot, before the request."""

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from manners import events, logs
from manners.cache.robots import AsyncRobotsCache
from manners.cache.site import Site
from manners.client.hosts import Clock, HostPace, HostRules, Hosts
from manners.client.page import LazyVerdict
from manners.client.redirects import RedirectChain
from manners.client.reports import RequestReport
from manners.client.requesters import Requester
from manners.client.visit import Visit, tell_wait
from manners.errors import ClientClosed, HostDeferred, LeaseOver
from manners.logs import Reporter
from manners.politeness.gate import Gate
from manners.politeness.schedule import opens_at, rate_gap
from manners.robots.policy import Policy
from manners.robots.verdict import Verdict
from manners.settings import Settings
from manners.urls import Target

if TYPE_CHECKING:
    from manners.client.purposes import PurposeGate
    from manners.evidence.store import EvidenceStore
    from manners.signals.decision import UsageDecision


def _gate_of(settings: Settings) -> "PurposeGate | None":
    if settings.purpose is None:
        return None
    from manners.client.purposes import PurposeGate  # readers of signals take a while to import

    return PurposeGate(settings.purpose, settings.unknown)


class Admission:
    """Decides whether and when a client requests a URL, and records it before the request."""

    def __init__(
        self,
        settings: Settings,
        *,
        robots: AsyncRobotsCache,
        gate: Gate,
        hosts: Hosts,
        requester: Requester,
        evidence: "EvidenceStore | None",
        on_decision: Callable[[Verdict], None] | None,
        clock: Clock,
        reporter: Reporter,
    ) -> None:
        self._reporter = reporter
        self._overrides = settings.overrides
        self._has_overrides = bool(
            settings.exclude or settings.include or settings.hosts or not settings.respect_robots
        )
        self._robots, self._gate, self._hosts = robots, gate, hosts
        self._requester, self._evidence = requester, evidence
        self._on_decision, self._clock = on_decision, clock
        self.is_closed = False
        self.purposes = _gate_of(settings)
        """Who decides for the purpose of the settings; None without one."""

    async def check(self, url: str) -> Verdict:
        """The verdict on a URL, without a record or a request for it."""
        verdict, gate = self._overrides.check(url), self.purposes
        if verdict is None:
            site = await self._site(url)
            verdict = site.check(url, self._requester.name)
            logs.matched(verdict)
            if gate is not None and verdict.allowed:
                usage = gate.by_robots(url, site, self._requester.name)
                verdict = usage.verdict(verdict) if usage.is_final else verdict
        return verdict

    async def admit(
        self,
        chain: RedirectChain,
        must_include: bool = True,
        *,
        slot: bool = True,
        tells: bool = True,
        requester: Requester | None = None,
        has_turn: bool = True,
        kind: events.Kind = "page",
        method: str = "",
    ) -> Visit | None:
        """Wait until the next URL of a chain may be requested; None when it is not allowed.

        Without a turn, as for an image of a page, only the verdict is waited for. `kind` and
        `method` are for those who want to know of requests.
        """
        host, requester = self._hosts.get(chain.target.host), requester or self._requester
        reporter, asked, wanted = self._reporter, self._clock(), self._reporter.wants_requests
        while True:
            allowed, fresh_until = await self._decide(chain, host, must_include, requester)
            if not allowed:
                return None
            if not (has_turn or self._gate.may_send()):
                raise LeaseOver
            if has_turn and wanted:
                tell_wait(reporter, self._gate, host)
            lease = None
            if has_turn and slot:
                lease = await self._gate.enter(host.name, host.gap, tells)
            elif has_turn:
                await self._gate.pass_by(host.name, host.crawl_delay)
            visit = Visit(self._gate, host, lease, reporter)
            if wanted:
                visit.report = RequestReport.of(
                    reporter, host, chain, asked=asked, kind=kind, method=method
                )
            if not has_turn or fresh_until is None or self._clock() < fresh_until:
                return visit
            # The robots.txt expired during the wait, so the verdict is made again.
            visit.report = None
            await visit.leave()

    async def close(self) -> None:
        """Turn away all that wait."""
        self.is_closed = True
        await self._gate.close()

    async def _decide(
        self, chain: RedirectChain, host: HostPace, must_include: bool, requester: Requester
    ) -> tuple[bool, float | None]:
        """Whether the next URL is allowed, and until when that holds; the verdict is recorded."""
        target, rules = chain.target, host.rules
        url, site, policy, fresh_until = target.url, None, None, None
        override = self._overrides.check(url, is_page=must_include) if self._has_overrides else None
        if override is not None:
            chain.lazy_verdict = LazyVerdict(None, url, requester.name, override)
            allowed = override.allowed
        else:
            if requester is self._requester and rules.are_for(
                target, self._robots.changes, self._clock()
            ):
                site, policy = rules.site, rules.policy
                if self._reporter.wants_uses and site.entry is not None:
                    self._robots.tell_use(site.entry)
            else:
                site, policy = await self._load_rules(target, rules, requester)
            if site.everything is None:
                allowed = policy.allowed(url)
            else:
                allowed = site.allowed(url, requester.name)
            chain.lazy_verdict = LazyVerdict(site, url, requester.name)
            fresh_until = site.entry.fresh_until if site.entry else None
        usage = self._refuse(chain, site, requester) if allowed and chain.is_page else None
        allowed = allowed and (usage is None or not usage.is_final)
        if self._reporter.wants_requests or self._on_decision is not None or logs.wants_matches():
            self._announce(chain, allowed=allowed)
        if self._evidence is not None and requester.clerk is not None:
            draft = requester.clerk.draft(
                url,
                *(chain.verdict, site, self._clock()),
                policy if usage is None or allowed else None,
                host_name=target.host,
                usage=usage,
            )
            begun = time.monotonic()
            chain.evidence_id = await self._evidence.append(draft)
            if self._reporter.wants_requests:
                now, page, seconds = self._clock(), events.PAGE.get(), time.monotonic() - begun
                self._reporter.tell(events.RecordCommit(now, page, host.name, url, seconds))
        if allowed and policy is not None and (policy.is_timed or host.has_delays):
            await self._apply_directives(policy, host, target.origin)
        return allowed, fresh_until

    def _refuse(
        self, chain: RedirectChain, site: Site | None, requester: Requester
    ) -> "UsageDecision | None":
        """What robots.txt says about the purpose, if there is one; the verdict, if it refuses."""
        if self.purposes is None:
            return None
        url, name = chain.target.url, requester.name
        usage = self.purposes.by_robots(url, site, name)
        if usage.is_final:
            chain.lazy_verdict = LazyVerdict(site, url, name, usage.verdict(chain.verdict()))
        return usage

    async def _load_rules(
        self, target: Target, rules: HostRules, requester: Requester
    ) -> tuple[Site, Policy]:
        """The site of a URL, and the policy for whoever requests it."""
        site = self._robots.known(target.origin) or await self._site(target.url)
        policy = site.robots.policy(requester.name)
        if requester is self._requester:
            rules.keep(target, site, policy, self._robots.changes, self._clock())
        return site, policy

    async def _site(self, url: str) -> Site:
        """The site of a URL; raises `ClientClosed` when the client is closed meanwhile."""
        try:
            return await self._robots.get(url)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self.is_closed and task is not None and not task.cancelling():
                raise ClientClosed from None
            raise

    def _announce(self, chain: RedirectChain, *, allowed: bool) -> None:
        if logs.wants_matches():
            logs.matched(chain.verdict())
        if self._reporter.wants_requests:
            now, page, target = self._clock(), events.PAGE.get(), chain.target
            lazy = chain.lazy_verdict
            self._reporter.tell(
                events.UrlDecision(now, page, target.host, target.url, allowed, lazy)
            )
        if self._on_decision is not None:
            self._on_decision(chain.verdict())

    async def _apply_directives(self, policy: Policy, host: HostPace, origin: str) -> None:
        """Apply Crawl-delay, Request-rate and Visit-time of a robots.txt."""
        now = self._clock()
        opening = opens_at(policy.visit_time, now)
        if opening > now:
            raise HostDeferred(host.name, opening)
        host.set_delay(origin, max(policy.crawl_delay or 0.0, rate_gap(policy.request_rate, now)))
        requested, host.robots_requested = host.robots_requested, None
        # The request for robots.txt was a request, too. A Crawl-delay longer than any wait does not
        # count from it: it would defer the first page again and again if nothing is kept between
        # runs.
        if requested is not None and 0.0 < host.crawl_delay <= host.pace.defer_beyond:
            await self._gate.penalise(host.name, requested + host.crawl_delay)

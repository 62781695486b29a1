"""The polite sender: requests for robots.txt wait for their turn like all others."""

from manners.client.hosts import Hosts
from manners.client.redirects import Attempts
from manners.client.reports import RequestReport
from manners.client.transport import Transport
from manners.client.visit import Visit, tell_wait
from manners.logs import Reporter
from manners.net.messages import Get, Response, Unreachable
from manners.politeness.gate import Gate
from manners.urls import host, target


class PoliteSender:
    """Sends requests for robots.txt with the slots and delays of all other requests."""

    def __init__(self, http: Transport, gate: Gate, hosts: Hosts, reporter: Reporter) -> None:
        self._http, self._gate, self._hosts, self._reporter = http, gate, hosts, reporter

    async def send(self, get: Get) -> Response | Unreachable:
        """Wait for a turn and send the request; again if the site has not seen it."""
        pace, attempts, reporter = self._hosts.get(host(get.url)), Attempts(), self._reporter
        while True:
            queued = pace.clock()
            if reporter.wants_requests:
                tell_wait(reporter, self._gate, pace)
            lease = await self._gate.enter(pace.name, pace.gap, tells=True)
            visit = Visit(self._gate, pace, lease, reporter)
            if reporter.wants_requests:
                waited, attempt = pace.clock() - queued, attempts.attempt
                report = RequestReport(reporter, pace, get.url, "robots", waited, attempt=attempt)
                visit.report = report
            try:
                fresh = attempts.needs_fresh_connection
                reply = await self._http.send(get._replace(fresh=fresh), visit)
                pace.robots_requested = visit.departed_at or pace.clock()
                visit.end(reply)
                if isinstance(reply, Response):
                    await visit.replied(reply.status, reply.headers, reply.seconds)
            finally:
                await visit.leave()
            if not attempts.retry(reply):
                return reply
            if reporter.wants_requests and isinstance(reply, Unreachable):
                reporter.tell_retry(target(get.url), reply.cause, attempts.attempt)

    async def close(self) -> None:
        """Nothing: the client closes its connections."""

"""The polite sender: requests for robots.txt wait for their turn like all others."""

from manners import logs
from manners.client.hosts import Hosts
from manners.client.redirects import Attempts
from manners.client.transport import Transport
from manners.client.visit import Visit, log_wait
from manners.net.messages import Get, Response, Unreachable
from manners.politeness.gate import Gate
from manners.urls import host


class PoliteSender:
    """Sends requests for robots.txt with the slots and delays of all other requests."""

    def __init__(self, http: Transport, gate: Gate, hosts: Hosts) -> None:
        self._http, self._gate, self._hosts = http, gate, hosts

    async def send(self, get: Get) -> Response | Unreachable:
        """Wait for a turn and send the request; again if the site has not seen it."""
        pace, attempts = self._hosts.get(host(get.url)), Attempts()
        while True:
            queued = pace.clock()
            if logs.wants_requests():
                log_wait(self._gate, pace)
            lease = await self._gate.enter(pace.name, pace.gap, tells=True)
            visit = Visit(self._gate, pace, lease)
            waited = pace.clock() - queued
            try:
                fresh = attempts.needs_fresh_connection
                reply = await self._http.send(get._replace(fresh=fresh), visit)
                pace.robots_requested = visit.departed_at or pace.clock()
                if isinstance(reply, Response):
                    await visit.replied(reply.status, reply.headers, reply.seconds)
            finally:
                await visit.leave()
            if logs.wants_requests():
                logs.responded(get.url, reply, waited)
            if not attempts.retry(reply):
                return reply
            if logs.wants_requests() and isinstance(reply, Unreachable):
                logs.retried(get.url, reply.cause, attempts.attempt)

    async def close(self) -> None:
        """Nothing: the client closes its connections."""

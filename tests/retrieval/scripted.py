"""A retrieval driven by a script: what is asked, and what comes of it."""

from collections.abc import Iterable

from manners.net.messages import Get, Response, Unreachable
from manners.retrieval import profiles
from manners.retrieval.flow import Copy, retrieve
from manners.retrieval.outcome import Outcome
from manners.retrieval.profiles import Profile

HOST = "https://example.com"
ROBOTS = HOST + "/robots.txt"
PROFILES = ["rfc9309", "google", "open"]

Reply = Response | Unreachable


class Played:
    """What a flow asked, and how it ended."""

    def __init__(
        self,
        replies: Iterable[Reply],
        profile: str | Profile = "rfc9309",
        copy: Copy | None = None,
    ) -> None:
        self.asked: list[Get] = []
        flow = retrieve(ROBOTS, profiles.get(profile), copy)
        script = iter(replies)
        get = next(flow)
        while True:
            self.asked.append(get)
            reply = next(script, None)
            assert reply is not None, "the script is over, and the flow asks for more"
            try:
                get = flow.send(reply)
            except StopIteration as end:
                self.outcome: Outcome = end.value[0]
                self.body: bytes = end.value[1]
                break

    @property
    def urls(self) -> list[str]:
        """The URLs that were asked for."""
        return [get.url for get in self.asked]


def moved(location: str, status: int = 301) -> Response:
    """A redirect."""
    return Response(status, {"location": location})


def redirects(number: int, start: int = 1) -> list[Response]:
    """So many redirects, each to a place of its own, all on the first host."""
    return [moved(f"/{n}") for n in range(start, start + number)]

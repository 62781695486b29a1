"""A site: what its robots.txt says now and said before, whom it names, and what that means."""

import time
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web
from yarl import URL

from manners._secrets import is_libpq
from manners._text import cut, duration
from manners.cache.backends import history, open_backend
from manners.cache.site import Site
from manners.cache.versions import Version, merged, versions_of
from manners.errors import StoreError
from manners.evidence.store import EvidenceStore
from manners.signals.claims import PURPOSES
from manners.urls import origin, with_scheme
from manners.web.pages import PageLink
from manners.web.problems import ServiceProblem
from manners.web.rendering import page
from manners.web.service import Call, Service
from manners.web.sites import site_view

LINK = PageLink(30, "Site", "/site")
FETCHES = True
_MAX_LENGTH = 2_000
_ACCESS = {"closed": "no", "partly": "no", "open": "ok", "unknown": "wait"}


async def ask(request: web.Request) -> web.Response:
    """Which site; the answer leads to its page."""
    given = request.query.get("url", "").strip()
    if not given:
        return page(request, "site_form.html")
    place = _origin(given).removeprefix("https://")
    location = str(URL.build(path=f"/site/{place}"))
    return web.Response(status=303, headers={"Location": location})


async def show(request: web.Request) -> web.Response:
    """A site."""
    call = Call.of(request)
    service = call.service
    place = _origin(request.match_info["place"])
    site = await call.site(place)
    versions, problems = await _versions(service, site, place)
    agent = service.asked_agent
    view = await service.compute(site_view, site, versions, place, agent, service.settings)
    return page(
        request,
        "site.html",
        place=place,
        view=view,
        problems=problems,
        freshness=_freshness(site),
        access=_ACCESS,
        purposes=PURPOSES,
        utc=_utc,
        cut=cut,
    )


def _origin(text: str) -> str:
    if len(text) > _MAX_LENGTH:
        raise ServiceProblem(422, "That is too long for a site.", "Send its name: example.com.")
    return origin(with_scheme(text))


async def _versions(service: Service, site: Site, place: str) -> tuple[list[Version], list[str]]:
    """What is known of the past, by the cache, the store and this retrieval; and what is not."""
    found: list[Sequence[Version]] = []
    problems: list[str] = []
    settings = service.settings
    if settings.cache is not None:
        try:
            found.append(await _cached(settings.cache, settings.server_timeout, place))
        except StoreError as error:
            problems.append(str(error))
    store = settings.store
    if store is not None and ("://" in store or is_libpq(store) or Path(store).is_file()):
        try:
            found.append(await service.crawls.store.read(EvidenceStore.history, place))
        except StoreError as error:
            problems.append(str(error))
    if site.entry is not None:
        found.append(versions_of(site.entry))
    return merged(*found), problems


async def _cached(where: str, timeout: float, place: str) -> list[Version]:
    backend = open_backend(where, timeout)
    try:
        return await history(backend, place)
    finally:
        await backend.close()


def _freshness(site: Site) -> str:
    if site.entry is None:
        return ""
    rest = max(site.entry.fresh_until - time.time(), 0.0)
    return f"used for another {duration(rest)}"


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))


ROUTES = (
    web.get("/site", ask),
    web.get("/site/{place:.+}", show),
)

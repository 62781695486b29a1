"""Blocking and async faces are alike: the same names, with the same parameters."""

import inspect
from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest

import manners

FACES: tuple[tuple[type, type], ...] = (
    (manners.Client, manners.AsyncClient),
    (manners.RobotsCache, manners.AsyncRobotsCache),
)
SEAMS = {
    "decide_usage",
    "fence",
    "fetch_file",
    "fresh",
    "hop",
    "is_asking",
    "known",
    "leave_within",
    "penalise",
    "read",
    "refresh",
    "reporter",
    "tell_use",
    "wrap",
}
"""How the client, the crawl and the blocking cache use async faces, in one loop; not for users."""


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")} - SEAMS


def shared() -> Iterator[Any]:
    for blocking, asynchronous in FACES:
        for name in ("__init__", *sorted(public(blocking) | public(asynchronous))):
            yield pytest.param(blocking, asynchronous, name, id=f"{blocking.__name__}.{name}")


def parameters(kind: type, name: str) -> list[inspect.Parameter]:
    """The parameters of a method; keywords that are typed as a group are taken one by one."""
    found: list[inspect.Parameter] = []
    for parameter in inspect.signature(getattr(kind, name)).parameters.values():
        group = getattr(parameter.annotation, "__args__", ())
        if parameter.kind is inspect.Parameter.VAR_KEYWORD and group:
            found += [
                inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, annotation=hint)
                for key, hint in get_type_hints(group[0]).items()
            ]
        else:
            found.append(parameter)
    return found


@pytest.mark.parametrize(("blocking", "asynchronous", "name"), list(shared()))
def test_both_faces_have_the_same_names_with_the_same_parameters(
    blocking: type, asynchronous: type, name: str
) -> None:
    """In the same order, with the same defaults; properties on both sides, or methods on both."""
    if isinstance(getattr(blocking, name), property):
        assert isinstance(getattr(asynchronous, name), property)
        return
    here, there = parameters(blocking, name), parameters(asynchronous, name)
    if name == "__init__" and blocking is manners.RobotsCache:  # a group has no defaults
        there = [one.replace(default=inspect.Parameter.empty) for one in there]
    assert here == there


def test_both_clients_have_the_same_attributes() -> None:
    """Settings, identity, budget, robots, evidence: whatever one has, the other has."""
    found = [
        {name for name in vars(kind("MyBot")) if not name.startswith("_")}
        for kind in (manners.Client, manners.AsyncClient)
    ]
    assert found[0] == found[1]
    assert found[0] == {"settings", "identity", "budget", "robots", "evidence"}


@pytest.mark.parametrize("name", ["check", "allowed", "get", "head", "usage", "visit", "close"])
def test_one_waits_where_the_other_blocks(name: str) -> None:
    """What is a coroutine of the async client is an ordinary method of the blocking one."""
    assert inspect.iscoroutinefunction(getattr(manners.AsyncClient, name))
    assert not inspect.iscoroutinefunction(getattr(manners.Client, name))

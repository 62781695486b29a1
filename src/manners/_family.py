"""Families: a folder in which each module is one member, found by its name.

A new member is one new file; nothing else names it.
"""

import pkgutil
from functools import cache
from importlib import import_module
from types import ModuleType

from manners.errors import UnknownName


@cache
def names(package: str) -> tuple[str, ...]:
    """The members of a family, sorted, without importing any of them.

    >>> "google" in names("manners.robots.dialects")
    True
    """
    found = pkgutil.iter_modules(import_module(package).__path__)
    return tuple(sorted(module.name for module in found if not module.name.startswith("_")))


def member(package: str, family: str, name: str) -> ModuleType:
    """The module of one member, or an error that lists the members there are."""
    if name not in names(package):
        raise UnknownName(family, name, names(package))
    return import_module(f"{package}.{name}")


def by_scheme(package: str, family: str, scheme: str) -> ModuleType:
    """The member whose `SCHEMES` has the scheme of a URL, or an error that lists the schemes."""
    modules = [member(package, family, name) for name in names(package)]
    known = {known: module for module in modules for known in getattr(module, "SCHEMES", ())}
    if scheme not in known:
        raise UnknownName(family, scheme, sorted(known))
    return known[scheme]

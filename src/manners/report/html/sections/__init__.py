"""The sections of the report, one file each.

A section is a module with `ORDER`, which says where it stands, `TITLE`, and `content(report)`; with
None it is left out. Its file name is its anchor in the page.
"""

from collections.abc import Callable
from typing import NamedTuple

from manners import _family
from manners.report.data import Report
from manners.report.html.elements import Child


class Section(NamedTuple):
    """One section of the report."""

    order: int
    name: str
    title: str
    content: Callable[[Report], Child]


def ordered() -> list[Section]:
    """All sections, in the order of the page.

    >>> [section.name for section in ordered()][:3]
    ['timeline', 'responses', 'decisions']
    """
    return sorted(map(_section, _family.names(__name__)), key=lambda section: section.order)


def _section(name: str) -> Section:
    module = _family.member(__name__, "section", name)
    return Section(module.ORDER, name, module.TITLE, module.content)

"""Readers: what a site says, one file for each standard.

A reader is a module with `EDITIONS`, the versions of its standard with the current one last, and
`read(material, findings)`, which applies the standard's own precedence and notes what counts. The
module's name is the standard's name in a claim. A new standard is one new file.
"""

from collections.abc import Callable
from typing import cast

from manners import _family
from manners.signals.claims import Edition, SignalFindings
from manners.signals.material import Material


def names() -> tuple[str, ...]:
    """The standards that are read.

    >>> "tdmrep" in names()
    True
    """
    return tuple(name.replace("_", "-") for name in _family.names(__name__))


def editions(standard: str) -> tuple[Edition, ...]:
    """The versions of a standard that a reader knows, the one it implements last.

    >>> editions("tdmrep")[-1].name
    'CG-FINAL 2024-05-10'
    """
    module = _family.member(__name__, "standard", standard.replace("-", "_"))
    return cast("tuple[Edition, ...]", module.EDITIONS)


def read(standard: str, material: Material) -> SignalFindings:
    """What one standard says about a page."""
    module = _family.member(__name__, "standard", standard.replace("-", "_"))
    reader = cast("Callable[[Material, SignalFindings], None]", module.read)
    findings = SignalFindings(standard, module.EDITIONS[-1].name)
    reader(material, findings)
    return findings

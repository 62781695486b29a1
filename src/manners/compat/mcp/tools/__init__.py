"""The tools: one file each, found by its name, with `TOOL`."""

from manners import _family
from manners.compat.mcp.tool import Tool


def tools() -> dict[str, Tool]:
    """Every tool by its name.

    >>> list(tools())
    ['fetch', 'lint_robots', 'may_fetch', 'usage']
    """
    return {name: _family.member(__name__, "tool", name).TOOL for name in _family.names(__name__)}

"""A server for AI agents: polite web access as tools of the Model Context Protocol.

The host of an agent starts `manners mcp`, and speaks the protocol with it over standard input and
output. Each file in `tools` is one tool.
"""

from manners.errors import MissingExtra

try:
    from manners.compat.mcp.server import serve
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types"):
        raise
    raise MissingExtra("mcp", "mcp") from None

__all__ = ["serve"]

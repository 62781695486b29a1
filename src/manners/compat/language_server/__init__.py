"""A language server for robots.txt: diagnostics, quick fixes, formatting, hover and completion.

An editor starts `manners lint --lsp`, and speaks the Language Server Protocol with it over standard
input and output.
"""

from manners.errors import MissingExtra

try:
    from manners.compat.language_server.server import serve
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] not in ("lsprotocol", "pygls"):
        raise
    raise MissingExtra("pygls", "lsp") from None

__all__ = ["serve"]

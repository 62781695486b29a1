"""The server: which documents are open, and what is done when an editor asks.

Documents are sent as a whole. They are linted in a thread of their own, one at a time, after a
pause in the typing; what became old meanwhile is dropped.
"""

import asyncio
import os
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from importlib.metadata import version
from typing import TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from manners import lint
from manners.compat.language_server.completion import proposals
from manners.compat.language_server.diagnostics import (
    Correction,
    all_fixes,
    corrections,
    diagnostics,
    formatted,
)
from manners.compat.language_server.document import LintOptions, OpenDocument
from manners.compat.language_server.hover import describe
from manners.identity import NAME
from manners.lint.source import ENGINES

PAUSE = 0.2
"""Seconds without a change, after which a document is linted."""

# Many editors have no language for such files, and send whatever is plain text.
_ROBOTS = re.compile("robots", re.IGNORECASE).search
_QUICK_FIX = types.CodeActionKind.QuickFix.value
_FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.{NAME}"

_Result = TypeVar("_Result")


class RobotsServer(LanguageServer):
    """The open documents, and the thread that lints them."""

    def __init__(self, options: LintOptions) -> None:
        full = types.TextDocumentSyncKind.Full
        super().__init__(NAME, version(NAME), text_document_sync_kind=full)
        self.options = options
        self.documents: dict[str, OpenDocument] = {}
        self.worker = ThreadPoolExecutor(1)
        self.is_shut_down = False

    def put(self, uri: str, number: int | None, text: str) -> OpenDocument:
        """The document that now has this text."""
        kind = types.PositionEncodingKind(self.workspace.position_encoding or "utf-16")
        document = self.documents[uri] = OpenDocument(text, number, kind.value, self.options)
        return document

    async def work(self, document: OpenDocument, ask: Callable[[OpenDocument], _Result]) -> _Result:
        """The answer to a question, found in the thread of this server."""
        return await asyncio.get_running_loop().run_in_executor(self.worker, ask, document)

    async def publish(self, uri: str, document: OpenDocument) -> None:
        """Send the diagnostics of a document, unless it has changed meanwhile."""
        if self.documents.get(uri) is not document:
            return
        found = await self.work(document, diagnostics)
        if self.documents.get(uri) is document:
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri, found, document.version)
            )

    @property
    def hover_formats(self) -> Sequence[types.MarkupKind]:
        """The kinds of text that the editor shows in a hover; any if it does not say."""
        documents = self.client_capabilities.text_document
        abilities = documents.hover if documents else None
        return (abilities.content_format if abilities else None) or list(types.MarkupKind)

    def workspace_edit(self, uri: str, edits: list[types.TextEdit]) -> types.WorkspaceEdit:
        """Edits of a document, for the version it has now if the editor can tell."""
        workspace = self.client_capabilities.workspace
        abilities = workspace.workspace_edit if workspace else None
        if not abilities or not abilities.document_changes:
            return types.WorkspaceEdit(changes={uri: edits})
        document = self.documents[uri]
        place = types.OptionalVersionedTextDocumentIdentifier(uri, document.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(place, edits)])


# What an editor sends. pygls hands the server to the parameter `ls`.


async def did_open(ls: RobotsServer, params: types.DidOpenTextDocumentParams) -> None:
    """Lint a document that was opened, if it is a robots.txt."""
    opened = params.text_document
    if not _ROBOTS(opened.language_id) and not _ROBOTS(opened.uri.rpartition("/")[2]):
        return
    await ls.publish(opened.uri, ls.put(opened.uri, opened.version, opened.text))


async def did_change(ls: RobotsServer, params: types.DidChangeTextDocumentParams) -> None:
    """Lint a document that was changed, after a pause."""
    changed = params.text_document
    if params.content_changes and changed.uri in ls.documents:
        document = ls.put(changed.uri, changed.version, params.content_changes[-1].text)
        await asyncio.sleep(PAUSE)
        await ls.publish(changed.uri, document)


def did_close(ls: RobotsServer, params: types.DidCloseTextDocumentParams) -> None:
    """Forget a document, and clear its diagnostics."""
    uri = params.text_document.uri
    if ls.documents.pop(uri, None):
        ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


async def code_action(
    ls: RobotsServer, params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    """Fixes that change no verdict: of some lines, or of everything if that is asked for."""
    uri = params.text_document.uri
    document = ls.documents.get(uri)
    if document is None:
        return None
    only = params.context.only
    actions: list[types.CodeAction] = []
    if _is_wanted(_QUICK_FIX, only):
        found = await ls.work(document, lambda it: corrections(it, params.range))
        actions += [_action(ls, uri, _QUICK_FIX, correction) for correction in found]
    if only is not None and _is_wanted(_FIX_ALL, only):
        found = await ls.work(document, all_fixes)
        actions += [_action(ls, uri, _FIX_ALL, correction) for correction in found]
    # Edits for a text that is gone would destroy the new one.
    return actions if ls.documents.get(uri) is document else None


def _is_wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    if only is None:
        return True
    asked = [item.value if isinstance(item, types.CodeActionKind) else item for item in only]
    return any(item in ("", kind) or kind.startswith(f"{item}.") for item in asked)


def _action(ls: RobotsServer, uri: str, kind: str, correction: Correction) -> types.CodeAction:
    return types.CodeAction(
        title=correction.title,
        kind=kind,
        diagnostics=[correction.diagnostic] if correction.diagnostic else None,
        is_preferred=correction.is_fix or None,
        edit=ls.workspace_edit(uri, correction.edits),
    )


async def formatting(
    ls: RobotsServer, params: types.DocumentFormattingParams
) -> list[types.TextEdit] | None:
    """The layout of `manners format`."""
    document = ls.documents.get(params.text_document.uri)
    if document is None:
        return None
    edits = await ls.work(document, formatted)
    return edits if ls.documents.get(params.text_document.uri) is document else None


async def hover(ls: RobotsServer, params: types.HoverParams) -> types.Hover | None:
    """What a line is, and who reads it how."""
    document = ls.documents.get(params.text_document.uri)
    if document is None or document.is_too_large:
        return None
    number = params.position.line + 1
    text = await ls.work(document, lambda it: describe(it.source, number))
    if text is None:
        return None
    if types.MarkupKind.Markdown in ls.hover_formats:
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))
    return types.Hover(types.MarkupContent(types.MarkupKind.PlainText, text.replace("**", "")))


def completion(ls: RobotsServer, params: types.CompletionParams) -> types.CompletionList | None:
    """Keys, crawlers, and names of lint rules."""
    document = ls.documents.get(params.text_document.uri)
    if document is None:
        return None
    found, replaced = proposals(document.before(params.position))
    end = document.offset(params.position)
    place = document.range(end - replaced, end)
    return types.CompletionList(
        is_incomplete=False,
        items=[
            types.CompletionItem(
                proposal.label,
                kind=types.CompletionItemKind.Keyword,
                detail=proposal.detail,
                # With the space that is inserted, it would not fit what is typed.
                filter_text=proposal.label,
                text_edit=types.TextEdit(place, proposal.text),
            )
            for proposal in found
        ],
    )


def shutdown(ls: RobotsServer, *_: object) -> None:
    """The editor is about to end the server."""
    ls.is_shut_down = True


def build(options: LintOptions) -> RobotsServer:
    """A server that is not started."""
    server = RobotsServer(options)
    kinds = [types.CodeActionKind.QuickFix, _FIX_ALL]
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(did_open)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(did_change)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(did_close)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(kinds))(code_action)
    server.feature(types.TEXT_DOCUMENT_FORMATTING)(formatting)
    server.feature(types.TEXT_DOCUMENT_HOVER)(hover)
    triggers = types.CompletionOptions(trigger_characters=[":", " "])
    server.feature(types.TEXT_DOCUMENT_COMPLETION, triggers)(completion)
    server.feature(types.SHUTDOWN)(shutdown)
    return server


def serve(
    engines: Sequence[str] = ENGINES, select: Sequence[str] = (), ignore: Sequence[str] = ()
) -> int:
    """Serve an editor over standard input and output until it says `exit`; the exit code.

    The parameters are those of `manners.lint.run`.
    """
    if sys.stdin.isatty():
        print("A language server: your editor starts it. Ctrl-D ends it.", file=sys.stderr)
    lint.run(b"", engines, select=select, ignore=ignore)  # an unknown name is an error at once
    server = build(LintOptions(tuple(engines), tuple(select), tuple(ignore)))
    # pygls closes what it writes to. Whatever else is printed must not get between messages.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output, redirect_stdout(sys.stderr):
        try:
            server.start_io(sys.stdin.buffer, output)
        finally:
            server.worker.shutdown(wait=False, cancel_futures=True)
    return 0 if server.is_shut_down else 1

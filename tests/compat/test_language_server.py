"""The language server: a client speaks with it over standard input, as an editor does."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from manners import lint
from manners.compat.language_server import diagnostics as reporting
from manners.compat.language_server.completion import proposals
from manners.compat.language_server.document import MAX_DOCUMENT, LintOptions, OpenDocument
from manners.compat.language_server.hover import DIRECTIVES, describe
from manners.compat.language_server.server import build
from manners.identity import HOME_PAGE
from manners.lint.finding import Edit, Finding, Severity
from manners.lint.source import Source
from manners.robots.directives import BY_NAME
from tests.compat.lsp_client import LIMIT, LspClient
from tests.sizes import examples

URI = "file:///site/robots.txt"
COMMAND = ("-m", "manners", "lint", "--lsp")
SERVE = ("-c", "import sys; from manners.compat.language_server import serve; sys.exit(serve())")
ENCODINGS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}

STAR = "User-agent: *\nDisallow: /search*\n"
SHADOWED = "User-agent: *\nDisallow: /a\nDisallow: /a/b\nAllow: /a/b\n"


@pytest.fixture
def client() -> Iterator[LspClient]:
    """A client whose server has just started."""
    client = LspClient(*COMMAND)
    yield client
    client.close()


def at(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}


def applied(text: str, edits: list[dict[str, Any]], encoding: str = "utf-16") -> str:
    """A text with edits made, as an editor makes them."""
    codec = ENCODINGS[encoding]
    unit = len("x".encode(codec))
    starts = [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]

    def offset(position: dict[str, int]) -> int:
        start = starts[position["line"]]
        before = text[start:].encode(codec)[: position["character"] * unit].decode(codec)
        return start + len(before)

    places = [(offset(e["range"]["start"]), offset(e["range"]["end"]), e["newText"]) for e in edits]
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def test_a_session_from_beginning_to_end(client: LspClient) -> None:
    """Open, change, fix, hover, format, complete, close, and an exit code of 0."""
    abilities = client.initialize()["capabilities"]
    assert abilities["positionEncoding"] == "utf-16"
    assert abilities["textDocumentSync"]["change"] == types.TextDocumentSyncKind.Full

    (star,) = client.open(URI, STAR)
    assert (star["code"], star["source"], star["severity"]) == ("P407", "manners", 3)
    assert star["range"] == {"start": at(1, 17), "end": at(1, 18)}
    assert star["codeDescription"]["href"] == f"{HOME_PAGE}lint/trailing-star.html"

    document = {"textDocument": {"uri": URI}}
    context = {"diagnostics": [star], "only": ["quickfix"]}
    fix, allow = client.request(
        "textDocument/codeAction", **document, range=star["range"], context=context
    )
    assert (fix["title"], fix["kind"], fix["isPreferred"]) == ("Drop the star", "quickfix", True)
    assert applied(STAR, fix["edit"]["changes"][URI]) == "User-agent: *\nDisallow: /search\n"
    allowed = applied(STAR, allow["edit"]["changes"][URI])
    assert allowed == "User-agent: *\n# manners: allow trailing-star\nDisallow: /search*\n"

    client.change(URI, "user-agent:*\nDisallow: /search\nDisallow: /search/x\n", 2)
    (redundant,) = client.diagnostics(URI, 2)
    assert redundant["range"]["start"]["line"] == 2
    assert redundant["tags"] == [types.DiagnosticTag.Unnecessary]
    edits = client.request(
        "textDocument/formatting", **document, options={"tabSize": 8, "insertSpaces": True}
    )
    assert edits == [{"range": {"start": at(0, 0), "end": at(1, 0)}, "newText": "User-agent: *\n"}]
    hover = client.request("textDocument/hover", **document, position=at(1, 3))
    assert hover["contents"]["kind"] == "markdown"
    assert "the shortest URL it decides is `/search`" in hover["contents"]["value"]

    client.change(URI, "User-agent: GPT", 3)
    found = client.request("textDocument/completion", **document, position=at(0, 15))
    (name,) = (item for item in found["items"] if item["label"] == "GPTBot")
    assert applied("User-agent: GPT", [name["textEdit"]]) == "User-agent: GPTBot"

    client.notify("textDocument/didClose", **document)
    assert client.diagnostics(URI, None) == []
    assert client.exit() == 0


def test_an_unannounced_exit_is_an_error() -> None:
    """The protocol asks for 1 where no `shutdown` came before; also where the editor is gone."""
    with closing(LspClient(*SERVE)) as client:
        client.initialize()
        client.notify("exit")
        assert client.process.wait(LIMIT) == 1
    with closing(LspClient(*SERVE)) as client:
        client.close_input()
        assert client.process.wait(LIMIT) == 1


def test_other_files_are_ignored(client: LspClient) -> None:
    """Editors without a language for robots.txt send every plain text."""
    client.initialize()
    notes = "file:///robots/notes.txt"
    document = {"uri": notes, "languageId": "plaintext", "version": 1, "text": STAR}
    client.notify("textDocument/didOpen", textDocument=document)
    client.change(notes, STAR, 2)
    place = {"textDocument": {"uri": notes}, "position": at(1, 0)}
    assert client.request("textDocument/hover", **place) is None
    for number, uri in enumerate(("file:///a/Robots.staging.txt", "untitled:1")):
        assert client.open(uri, STAR, version=number)
    assert client.exit() == 0


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_positions_are_in_the_encoding_that_was_negotiated(
    client: LspClient, encoding: str
) -> None:
    """Characters outside the Basic Multilingual Plane before the finding, and a mark before all."""
    assert client.initialize(encoding)["capabilities"]["positionEncoding"] == encoding
    text = "\ufeffUser-agent: *\r\nDisallow: /𝄞é/*  # 😀\r\n"
    found = client.open(URI, text)
    (star,) = (item for item in found if item["code"] == "P407")
    before = "Disallow: /𝄞é/".encode(ENCODINGS[encoding])
    start = len(before) // len("x".encode(ENCODINGS[encoding]))
    assert star["range"] == {"start": at(1, start), "end": at(1, start + 1)}
    actions = client.request(
        "textDocument/codeAction",
        textDocument={"uri": URI},
        range=star["range"],
        context={"diagnostics": []},
    )
    (fix,) = (action for action in actions if action["title"] == "Drop the star")
    edits = fix["edit"]["changes"][URI]
    assert applied(text, edits, encoding) == text.replace("/*", "/")
    assert client.exit() == 0


def test_all_fixes_at_once_are_asked_for_by_their_kind(client: LspClient) -> None:
    """As editors do on saving; a client that can gets the version that the edits are for."""
    client.initialize(workspace={"workspaceEdit": {"documentChanges": True}})
    text = f"{STAR}Disallow: /search/x\n"
    client.open(URI, text, version=7)
    (action,) = client.request(
        "textDocument/codeAction",
        textDocument={"uri": URI},
        range={"start": at(0, 0), "end": at(0, 0)},
        context={"diagnostics": [], "only": ["source.fixAll"]},
    )
    assert action["kind"] == "source.fixAll.manners"
    (change,) = action["edit"]["documentChanges"]
    assert change["textDocument"] == {"uri": URI, "version": 7}
    assert applied(text, change["edits"]).encode() == lint.fix(text)
    assert client.exit() == 0


def test_only_the_last_of_many_changes_is_reported(client: LspClient) -> None:
    """Somebody types: of a document that has changed meanwhile nothing is said."""
    client.initialize()
    client.open(URI, "")
    for version in range(2, 40):
        client.change(URI, f"User-agent: *\nDisallow: /{'a' * version}*\n", version)
    (star,) = client.diagnostics(URI, 39)
    assert star["range"]["start"] == at(1, 11 + 39)
    assert client.exit() == 0


def test_what_it_does_not_know_does_not_end_it(client: LspClient) -> None:
    """Unknown documents and methods, broken messages, lone surrogates, places beyond the end."""
    client.initialize(textDocument={"hover": {"contentFormat": ["plaintext"]}})
    nowhere = {"textDocument": {"uri": "file:///nowhere"}, "position": at(0, 0)}
    assert client.request("textDocument/hover", **nowhere) is None
    assert client.request("textDocument/completion", **nowhere) is None
    client.notify("textDocument/unheardOf", x=1)
    client.notify("textDocument/didChange", textDocument={"uri": URI})
    client.send({"id": 999, "method": "textDocument/hover", "params": {"position": "there"}})
    client.open(URI, "User-agent: *\nDisallow: /\ud800*\n")
    beyond = {"textDocument": {"uri": URI}, "position": at(70, 70)}
    assert client.request("textDocument/hover", **beyond) is None
    hover = client.request("textDocument/hover", textDocument={"uri": URI}, position=at(0, 99))
    assert hover["contents"]["kind"] == "plaintext"
    assert "**" not in hover["contents"]["value"]
    assert client.exit() == 0


def test_nothing_is_offered_for_a_text_that_is_gone() -> None:
    """Edits are dropped if the document changes while they are worked out."""
    from manners.compat.language_server import server

    async def session() -> list[types.TextEdit] | None:
        started = build(LintOptions())
        started.documents[URI] = OpenDocument("user-agent:*\n")
        params = types.DocumentFormattingParams(
            types.TextDocumentIdentifier(URI), types.FormattingOptions(8, insert_spaces=True)
        )
        asked = asyncio.ensure_future(server.formatting(started, params))
        await asyncio.sleep(0)
        started.documents[URI] = OpenDocument("Disallow: /\n")
        try:
            return await asked
        finally:
            started.worker.shutdown()

    assert asyncio.run(session()) is None


def test_without_pygls_the_error_names_the_extra() -> None:
    """And an error of another import stays what it is."""
    script = (
        "import sys; sys.modules['{}'] = None\n"
        "try:\n    import manners.compat.language_server\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    for module, expected in (
        ("pygls.lsp.server", "MissingExtra 'lsp' needs 'pygls': pip install 'manners[lsp]'"),
        ("lsprotocol", "MissingExtra 'lsp' needs 'pygls': pip install 'manners[lsp]'"),
        ("concurrent.futures", "ModuleNotFoundError import of concurrent.futures halted"),
    ):
        ran = subprocess.run(
            [sys.executable, "-c", script.format(module)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stdout.startswith(expected)


# Places.

ODD = [
    "",
    "a\vb\fc\x85d\u2028e",
    "x\ry\r\nz\n\n",
    "\ufeffé\n𝄞",
    "＊x\nb",
    "a\0b",
    "😀" * 3,
    "\ud800",
]


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(text=st.one_of(st.sampled_from(ODD), st.text("a\n\r𝄞é\ufeff＊\u2028", max_size=20)))
@settings(max_examples=examples(200), deadline=None)
def test_every_byte_has_a_position_and_every_position_a_byte(encoding: str, text: str) -> None:
    """There and back again, for each beginning of a character; ends of lines as the protocol."""
    document = OpenDocument(text, encoding=encoding)
    body = document.body.decode()
    lines = re.split(r"\r\n|\r|\n", body)
    for index in range(len(body) + 1):
        if body[index - 1 : index + 1] == "\r\n":
            continue
        offset = len(body[:index].encode())
        position = document.position(offset)
        before = re.split(r"\r\n|\r|\n", body[:index])[-1]
        units = len(before.encode(ENCODINGS[encoding])) // len("x".encode(ENCODINGS[encoding]))
        assert position.character == units
        assert lines[position.line].startswith(before)
        assert document.offset(position) == offset
    last = len(document.body)
    assert document.offset(types.Position(10**6, 10**6)) == last


def test_a_position_in_a_surrogate_pair_is_that_of_the_character() -> None:
    """Half a character is no place."""
    document = OpenDocument("𝄞x", encoding="utf-16")
    assert [document.offset(types.Position(0, n)) for n in range(4)] == [0, 0, 4, 5]


def test_a_finding_in_a_line_with_a_mark_is_behind_it() -> None:
    """The linter does not count a byte order mark; the protocol does."""
    finding = Finding("X", "x", Severity.INFO, 1, 3, "x", end_column=5)
    for text, start in (("ab𝄞d", 2), ("\ufeffab𝄞d", 3)):
        found = OpenDocument(text).range_of(finding)
        assert (found.start.character, found.end.character) == (start, start + 3)


@given(st.lists(st.sampled_from(["a\n", "b\r\n", "\n", "é\n"]), max_size=8), st.data())
def test_edits_make_one_document_another(old: list[str], data: st.DataObject) -> None:
    """Whatever was inserted, removed or changed."""
    new = "".join(data.draw(st.lists(st.sampled_from([*old, "c\n", "d"]), max_size=8)))
    text = "".join(old)
    edits = [
        {
            "range": {
                "start": at(edit.range.start.line, edit.range.start.character),
                "end": at(edit.range.end.line, edit.range.end.character),
            },
            "newText": edit.new_text,
        }
        for edit in OpenDocument(text).edits_to(new.encode())
    ]
    assert applied(text, edits) == new


# What is said.


ALL_LINES = types.Range(types.Position(0, 0), types.Position(10**6, 0))
PIECES = st.sampled_from(
    ["User-agent: *", "User-agent: AI2Bot", "Disallow: /a*", "Allow: /a/b$", "Disallow:", "\n",
     "\r", "\r\n", " ", "#", "Sitemap: x", "Crawl-delay: 5", "\ufeff", "＊", "\0", "é", "𝄞", "`",
     "\ud800", "disallow /x", "Disallowed: /x", "# manners: allow trailing-star", "%", "/*/*/*$"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
@settings(max_examples=examples(100), deadline=None)
def test_no_document_is_too_strange(text: str) -> None:
    """Every question has an answer, and every place lies in the document."""
    document = OpenDocument(text)
    end = document.position(len(document.body))
    edits = [edit for found in reporting.corrections(document, ALL_LINES)
             for edit in found.edits]  # fmt: skip
    edits += reporting.formatted(document)
    edits += [edit for found in reporting.all_fixes(document) for edit in found.edits]
    places = [found.range for found in reporting.diagnostics(document)]
    for place in places + [edit.range for edit in edits]:
        assert place.start <= place.end <= end
    for number in range(end.line + 3):
        describe(document.source, number)
        proposals(document.before(types.Position(number, 7)))


def test_only_proved_fixes_are_offered() -> None:
    """An unsafe fix is none, and a star that counts stays."""
    unsafe = OpenDocument("User-agent: *\nDisallow: admin/\n")
    assert [finding.fix is not None for finding in unsafe.findings] == [True]
    titles = [found.title for found in reporting.corrections(unsafe, ALL_LINES)]
    assert titles == ["Allow missing-leading-slash here"]
    for other, is_free in (("/x", True), ("/*c", False)):  # on /abc, the longer rule decides
        document = OpenDocument(f"User-agent: *\nDisallow: /ab*\nAllow: {other}\n")
        titles = [found.title for found in reporting.corrections(document, ALL_LINES)]
        assert ("Drop the star" in titles) is is_free


def test_a_comment_that_allows_is_offered_where_it_counts() -> None:
    """Above the line; above the first directive for what is about the file."""
    document = OpenDocument("# hello\n\nUser-agent: *\nDisallow: /a*\n")
    found = Finding("X", "x", Severity.INFO, 1, 1, "x")
    document.__dict__["findings"] = [found, found._replace(line=2), found._replace(line=4)]
    lines = [
        correction.edits[0].range.start.line
        for correction in reporting.corrections(document, ALL_LINES)
    ]
    assert lines == [2, 3]


def test_a_large_document_is_not_linted() -> None:
    """It is said why, and there is nothing to wait for."""
    document = OpenDocument("User-agent: *\nDisallow: /a*\n" + "#" * MAX_DOCUMENT)
    (found,) = reporting.diagnostics(document)
    assert "not linted" in found.message
    assert reporting.corrections(document, ALL_LINES) == []
    assert (reporting.formatted(document), reporting.all_fixes(document)) == ([], [])


def test_the_worst_of_many_findings_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """And how many are not."""
    monkeypatch.setattr(reporting, "MAX_DIAGNOSTICS", 3)
    document = OpenDocument("User-agent: *\n" + "Disallow: /b*\n" * 5 + "Disallow: admin\n")
    *shown, rest = reporting.diagnostics(document)
    assert shown[0].severity == types.DiagnosticSeverity.Error
    assert len(shown) == 3
    assert rest.message == f"{len(document.findings) - 3} more findings are not shown"


def test_formatting_keeps_line_ends_and_is_done_once() -> None:
    """CR LF is the editor's business; a formatted document has no edits."""
    document = OpenDocument("user-agent:*\r\nDisallow: /a\r\n")
    (edit,) = reporting.formatted(document)
    assert edit.new_text == "User-agent: *\r\n"
    for text in ("User-agent: *\r\nDisallow: /a\r\n", "no robots.txt\r\n at all\r\n"):
        assert reporting.formatted(OpenDocument(text)) == []


def test_a_hover_says_who_reads_a_line_how() -> None:
    """Engines that read it alike are named together."""
    text = (
        "User-agent: AI2Bot\nUser-agent: MyBot\nDisallow: /a\nDisallow: /a/b\nDisallow: /\n"
        "Allow: /\nDisallowed: /x\nCrawl-delay: 2\nNonsense: 1\nDisallow\n\n# note\nUser-agent: *\n"
        "Disallow:\nUser-agent: mybot\nAllow: /b\n"
    )
    source = Source(text.encode())
    said = [describe(source, number) for number in range(18)]
    pages = ["" if page is None else page for page in said]
    assert "- **google**: for `ai`: 5 rules" in pages[1]
    assert "- **rfc9309**: for `mybot`: 5 rules of 2 groups, which count as one" in pages[2]
    assert "`AI2Bot` (read as `ai`), `MyBot`: disallowed; the shortest URL" in pages[3]
    assert "without it nothing would change (line 3" in pages[4]
    assert "never decides, because of line 6" in pages[5]
    assert "**rfc9309**: an unknown key" in pages[7]
    assert "**google**: for" in pages[7]
    assert DIRECTIVES["crawl-delay"] in pages[8]
    assert "**rfc9309, google**: an unknown key" in pages[9]
    assert "not a directive" in pages[10]
    assert "every crawler that no other group names: 0 rules" in pages[13]
    assert "without a path" in pages[14]
    assert [number for number, page in enumerate(said) if page is None] == [0, 11, 12, 17]


def test_a_hover_in_front_of_every_group_says_for_nobody() -> None:
    """A rule without a User-agent line, and one whose User-agent lines name nobody."""
    source = Source(b"Disallow: /a\nUser-agent: ???\nDisallow: /b\n")
    assert "in no group: for nobody" in (describe(source, 1) or "")
    assert "- **rfc9309, google**: for nobody" in (describe(source, 3) or "")


def test_every_directive_has_a_sentence() -> None:
    """For hovers and completions."""
    assert DIRECTIVES.keys() == BY_NAME.keys()


@pytest.mark.parametrize(
    ("before", "label", "text", "replaced"),
    [
        ("", "Disallow", "Disallow: ", 0),
        ("  crawl-d", "Crawl-delay", "Crawl-delay: ", 7),
        ("User-agent:", "Googlebot", " Googlebot", 0),
        ("user-agent: claude", "ClaudeBot", "ClaudeBot", 6),
        ("# manners: allow trailing-star, red", "redundant-rule", "redundant-rule", 3),
    ],
)
def test_completions(before: str, label: str, text: str, replaced: int) -> None:
    """Keys at the beginning of a line, crawlers behind User-agent, rules in a comment."""
    found, length = proposals(before.encode())
    assert [proposal.text for proposal in found if proposal.label == label] == [text]
    assert length == replaced


@pytest.mark.parametrize("before", ["Disallow: /", "# note", "User-agent: a # b", "Sitemap:"])
def test_elsewhere_nothing_is_proposed(before: str) -> None:
    """Paths and comments are the author's."""
    assert proposals(before.encode()) == ([], 0)


def test_an_edit_of_nothing_removes_the_mark() -> None:
    """The linter counts behind it."""
    edit = OpenDocument("\ufeffa").text_edit(Edit(0, 0, b""))
    assert (edit.range.start.character, edit.range.end.character, edit.new_text) == (0, 1, "")

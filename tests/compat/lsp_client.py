"""A client of a language server in another process: JSON-RPC over its standard input and output."""

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

LIMIT = 120
"""Seconds for one answer, on a machine however busy."""

Message = dict[str, Any]


class LspClient:
    """An editor, as far as a server can tell."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdin
        assert self.process.stdout
        self._input, self._output = self.process.stdin, self.process.stdout
        self._received: queue.Queue[Message | None] = queue.Queue()
        self._passed_over: list[Message] = []
        self._requests = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        output = self._output
        while header := output.readline():
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                header = output.readline()
            self._received.put(json.loads(output.read(length)))
        self._received.put(None)

    def send(self, message: Message) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._input.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._input.flush()

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def request(self, method: str, **params: Any) -> Any:
        """The result of a request; fails if it is an error."""
        self._requests += 1
        number = self._requests
        self.send({"id": number, "method": method, "params": params or None})
        answer = self.wait(lambda message: message.get("id") == number and "method" not in message)
        assert "error" not in answer, answer
        return answer["result"]

    def wait(self, is_meant: Callable[[Message], bool]) -> Message:
        """The first message of a kind, among those that have come or will."""
        for message in self._passed_over:
            if is_meant(message):
                self._passed_over.remove(message)
                return message
        while True:
            received = self._received.get(timeout=LIMIT)
            assert received is not None, "the server has ended"
            if is_meant(received):
                return received
            self._passed_over.append(received)

    def initialize(self, *encodings: str, **capabilities: Any) -> Any:
        """The answer to the first request; the encodings of positions, the best first."""
        general = {"general": {"positionEncodings": encodings}} if encodings else {}
        result = self.request(
            "initialize", processId=None, rootUri=None, capabilities={**general, **capabilities}
        )
        self.notify("initialized")
        return result

    def open(self, uri: str, text: str, version: int = 1) -> list[Message]:
        """Open a document; its diagnostics."""
        document = {"uri": uri, "languageId": "robots", "version": version, "text": text}
        self.notify("textDocument/didOpen", textDocument=document)
        return self.diagnostics(uri, version)

    def change(self, uri: str, text: str, version: int) -> None:
        """Replace a document as a whole."""
        document = {"uri": uri, "version": version}
        self.notify(
            "textDocument/didChange", textDocument=document, contentChanges=[{"text": text}]
        )

    def diagnostics(self, uri: str, version: int | None) -> list[Message]:
        """The diagnostics of a version of a document."""
        found: list[Message] = self.wait(
            lambda message: (
                message.get("method") == "textDocument/publishDiagnostics"
                and message["params"]["uri"] == uri
                and message["params"].get("version") == version
            )
        )["params"]["diagnostics"]
        return found

    def exit(self) -> int:
        """End the server as an editor does; its exit code."""
        self.request("shutdown")
        self.notify("exit")
        return self.process.wait(LIMIT)

    def close_input(self) -> None:
        """Be gone, without a word."""
        self._input.close()

    def close(self) -> None:
        """End the server whatever it does."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        self._output.close()
        self._input.close()

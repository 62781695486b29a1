"""Runs commands as somebody who may not write where the store is, and says what came of each.

    python -m tests.promises.another_user FOLDER '[["evidence", "verify"], …]'

Who is root becomes another user first. Everything is loaded before that, by running the commands
once: the other user may not be able to read this checkout.
"""

import contextlib
import io
import json
import os
import sys

from manners.cli import main

NOBODY = 65534


def run(words: list[str]) -> tuple[int, str, str]:
    """One command: its exit code, and what it printed."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    texts = []
    for each in (out, err):
        each.flush()
        texts.append(each.buffer.getvalue().decode())
    return code, texts[0], texts[1]


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    commands = json.loads(sys.argv[2])
    for each in commands:
        run(each)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    print(json.dumps([run(each) for each in commands]))

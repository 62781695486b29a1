"""`python -m manners` is the `manners` command."""

import os
import signal
import sys
from pathlib import Path

from manners.cli import main


def run() -> None:
    """The command as a process of its own."""
    # When the reader goes away, as `head` does, end quietly like any other command.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # What was closed by whoever started this (`>&-`) leads nowhere; and no file takes its number.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (to the end)
    code = main()
    try:
        sys.stdout.flush()
    except OSError:
        # Said already. What could not be written would be tried, and complained about, once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


if __name__ == "__main__":
    run()

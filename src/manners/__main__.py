"""`python -m manners` is the `manners` command."""

import os
import signal
import sys
from pathlib import Path

from manners.cli import main


def run() -> None:
    """Run the command as a process."""
    # If the reader of a pipe goes away, as `head` does, end silently like other commands.
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    # A stream that was closed by the caller (`>&-`) goes to /dev/null, and no file gets its number.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (to the end)
    code = main()
    try:
        sys.stdout.flush()
    except OSError:
        # The error was printed already; without this, Python would flush and complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


if __name__ == "__main__":
    run()

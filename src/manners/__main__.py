"""`python -m manners` is the `manners` command."""

import os
import sys
from pathlib import Path

from manners.cli import UNREAD, main


def run() -> None:
    """Run the command as a process."""
    # A stream that was closed by the caller (`>&-`) goes to /dev/null, and no file gets its number.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (to the end)
    code = main()
    try:
        if code == UNREAD:
            _drop_output()
        sys.stdout.flush()
    except OSError:
        # The error was printed already; without this, Python would flush and complain again.
        _drop_output()
    sys.exit(code)


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    run()

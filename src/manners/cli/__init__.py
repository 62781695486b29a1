"""The `manners` command. Each file in `commands` is one command; nothing else names it.

Exit codes: 0 yes; 1 no, or findings; 2 usage; 3 could not decide.
"""

import io
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from manners._text import printable
from manners.errors import MannersError

USAGE = 2
UNDECIDED = 3
INTERRUPTED = 130  # what a shell reports for a command ended by Ctrl-C
UNREAD = 141  # and for one whose output nobody reads any more


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    # Characters that the encoding of the output lacks are escaped.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(sys.argv[1:] if argv is None else list(argv))
    except MannersError as error:
        return _complain(str(error).removeprefix("option: "))
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        place = "" if error.filename is None else f": {error.filename!r}"
        _complain(f"cannot go on: {error.strerror or error}{place}")
        return UNDECIDED
    except Exception:
        # A bug must not look like a verdict: exit code 1 means disallowed.
        traceback.print_exc()
        return UNDECIDED


def _run(argv: list[str]) -> int:
    try:
        import typer
        from typer import BadParameter
    except ImportError:
        return _complain(
            "the command needs more packages: pip install 'manners[crawl]';"
            " to check files only: pip install 'manners[cli]'"
        )
    from manners.cli.app import build
    from manners.cli.help import arrange

    # Typer exports one usage error only, and from 0.28 on has its own copy of click; the base class
    # of all of them formats the message.
    usage_error: Any = next(kind for kind in BadParameter.__mro__ if "ClickEx" in kind.__name__)
    # Loading one command, not all, makes the command start faster.
    command = typer.main.get_command(build(argv[0] if argv else None))
    arrange(command)
    try:
        code = command.main(argv or ["--help"], "manners", standalone_mode=False)
        sys.stdout.flush()
    except usage_error as error:
        return _complain(_with_suggestion(error))
    except typer.Abort:
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # The reader of a pipe went away, as `head` does; Typer makes an exit of it. The signal
        # SIGPIPE stays ignored: it would end the process when a server closes a connection, too.
        return UNREAD
    return code if isinstance(code, int) else 0


def _with_suggestion(error: Any) -> str:
    """The message of a usage error; of an unknown option, with the nearest that there is."""
    from difflib import get_close_matches  # few need it

    message: str = error.format_message()
    for kind, name in _KINDS.items():
        message = message.replace(f"is not a valid {kind}.", f"is not {name}.")
    path = error.ctx.command_path if error.ctx else "manners"
    if message.startswith("Missing"):
        return f"{message} See {path} -h."
    option = getattr(error, "option_name", "").lstrip("-")
    if not option:
        return message
    message = message.partition(" (")[0].removesuffix(".")
    if error.ctx and option in {parameter.name for parameter in error.ctx.command.params}:
        return f"{message}. It is an argument here: {path} {option.upper()}"
    near = {flag.lstrip("-"): flag for flag in getattr(error, "possibilities", None) or []}
    nearest = get_close_matches(option, near, 1)
    return (
        f"{message}. Did you mean {near[nearest[0]]}?" if nearest else f"{message}. See {path} -h."
    )


_KINDS = {"int range": "a whole number", "integer": "a whole number", "float": "a number"}
"""What usage errors call a kind of value, and what people do."""


def _complain(message: str) -> int:
    one_line = " ".join(message.split())
    print(f"manners: {printable(one_line)}", file=sys.stderr)
    return USAGE

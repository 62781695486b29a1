"""The help of commands: options under headings, in two columns, readable in a narrow terminal."""

from types import MethodType
from typing import Any

from manners.cli import render
from manners.settings.fields import OUTPUT, PANELS

_NAMES = 22
"""Columns for the names of options; the help of a longer one begins on the next line."""
_FEW = 10
"""Options that need no headings."""
_ARGUMENTS, _OWN = "Arguments", "Options"


def arrange(command: Any) -> None:
    """Have a command and its subcommands show their help so."""
    # Lines of a paragraph are one line: help wraps it to the terminal.
    paragraphs = (command.help or "").split("\n\n")
    command.help = "\n\n".join(" ".join(part.split()) for part in paragraphs)
    command.short_help = command.help.partition("\n\n")[0]  # whole: click would cut it
    command.format_options = MethodType(_format_options, command)
    for subcommand in getattr(command, "commands", {}).values():
        arrange(subcommand)


def _format_options(command: Any, context: Any, formatter: Any) -> None:
    """Write arguments, subcommands, and options by heading."""
    sections: dict[str, list[tuple[str, str]]]
    sections = {title: [] for title in (_ARGUMENTS, _OWN, *PANELS)}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            is_argument = parameter.param_type_name == "argument"
            panel = getattr(parameter, "rich_help_panel", None) or _OWN
            title = OUTPUT if parameter.name == "help" else panel
            sections[_ARGUMENTS if is_argument else title].append(record)
    options = [row for title, rows in sections.items() if title != _ARGUMENTS for row in rows]
    if len(options) <= _FEW:
        sections = {_ARGUMENTS: sections[_ARGUMENTS], _OWN: options}
    longest = max(len(name) for rows in sections.values() for name, _ in rows)
    width = min(longest, _NAMES)
    for title, rows in sections.items():
        if rows:
            # Of the same width everywhere, so that all help is one column.
            cells = [(name.ljust(width), text) for name, text in rows]
            with formatter.section(render.styled(title, "bold")):
                formatter.write_dl(cells, col_max=_NAMES)
        if title == _ARGUMENTS and hasattr(command, "format_commands"):
            command.format_commands(context, formatter)

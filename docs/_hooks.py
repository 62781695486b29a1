"""What the site is built with besides Markdown: generated pages, and copy buttons.

The dialects page says what each dialect does differently and why. Both come from the dialects
themselves: the values from the fields, the sources from the comments in their files. The options
page has every command with its options, from the commands themselves.

A copy button on a console copies the commands, without prompts and output; on a doctest, the code.
"""

import ast
import html
import inspect
import re
import shutil
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import typer

from manners.cli.app import build
from manners.robots.dialects import DEFAULT, Dialect, describe, get, names

_LABELS = ("name", "summary")
_DIALECTS = "manners.robots.dialects"


class Choice(NamedTuple):
    """One field of a dialect, what it is set to, and where that comes from."""

    field: str
    value: str
    source: str


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put generated parts where a page asks for them."""
    for placeholder, generate in GENERATED.items():
        if placeholder in markdown:
            markdown = markdown.replace(placeholder, generate())
    return markdown


def on_page_content(content: str, **_: Any) -> str:
    """Tell each copy button what to copy; the theme reads `data-copy`."""
    return _BLOCK.sub(with_copy, content)


_BLOCK = re.compile(r'<div class="language-(console|python|pycon)[^"]*">.*?</div>', re.DOTALL)


def with_copy(block: re.Match[str]) -> str:
    """A block of code with what is to be copied from it; one without prompts stays as it is."""
    text = html.unescape(re.sub(r"<[^>]+>", "", block[0]))
    typed = typed_lines(text, "$ " if block[1] == "console" else ">>> ")
    if not typed:
        return block[0]
    return block[0].replace("<div ", f'<div data-copy="{html.escape(typed)}" ', 1)


def typed_lines(text: str, prompt: str) -> str:
    """What somebody typed in a console or a Python prompt, without prompts and output.

    >>> typed_lines("$ manners check a \\\\\\n    b\\nallowed\\n$ echo $?\\n0", "$ ").splitlines()
    ['manners check a \\\\', '    b', 'echo $?']
    >>> typed_lines(">>> for i in a:\\n...     i\\n1", ">>> ")
    'for i in a:\\n    i'
    """
    typed: list[str] = []
    continues = False
    for line in text.splitlines():
        if line.startswith(prompt):
            typed.append(line.removeprefix(prompt))
        elif prompt == ">>> " and (line.startswith("... ") or line == "..."):
            typed.append(line[4:])
        elif continues:
            typed.append(line)
        continues = prompt == "$ " and bool(typed) and line.endswith("\\")
    return "\n".join(typed)


def options_page() -> str:
    """Every command, with what it does, its arguments and its options."""
    app: Any = typer.main.get_command(build())
    return "\n\n".join(command_section(*named) for named in all_commands("manners", app))


def all_commands(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command that does something by itself, then its subcommands."""
    if command.params or not hasattr(command, "commands"):
        yield words, command
    for name, subcommand in sorted(getattr(command, "commands", {}).items()):
        yield from all_commands(f"{words} {name}", subcommand)


def command_section(words: str, command: Any) -> str:
    """One command: a heading, its help, and a table."""
    rows = [
        [f"`{shown(parameter)}`", escaped(parameter.help or "")]
        for parameter in command.params
        if not getattr(parameter, "hidden", False)  # an old form, which works until 1.0
    ]
    summary = " ".join((command.help or "").partition("\n\n")[0].split())
    table_rows = map(row, [["option", "meaning"], ["---", "---"], *rows])
    return "\n\n".join([f"## {words}", escaped(summary), "\n".join(table_rows)])


def shown(parameter: Any) -> str:
    """An argument or an option as it is typed, with its value."""
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper())
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    value = "" if parameter.is_flag else parameter.metavar or choices(parameter.type)
    return f"{names} {value}".strip()


def choices(kind: Any) -> str:
    """The values that an option may have, where they are few."""
    return "|".join(getattr(kind, "choices", [])) or str(kind.name).upper()


def dialects_page() -> str:
    """The table of all dialects, then a section for each."""
    ordered = [DEFAULT, *(name for name in names() if name != DEFAULT)]
    return "\n\n".join([table(ordered), *(section(name) for name in ordered)])


def table(ordered: list[str]) -> str:
    """A field a row, a dialect a column; an empty cell means the same as in the first."""
    dialects = [get(name) for name in ordered]
    rows = [
        [linked_field(field), *(cell(dialect, dialects[0], field) for dialect in dialects)]
        for field in fields()
    ]
    heading = ["field", *(f"[{name}](#{name})" for name in ordered)]
    return "\n".join(map(row, [heading, ["---"] * len(heading), *rows]))


def row(cells: list[str]) -> str:
    """One row of a Markdown table.

    >>> row(["a", ""])
    '| a |  |'
    """
    return f"| {' | '.join(cells)} |"


def cell(dialect: Dialect, base: Dialect, field: str) -> str:
    """What a dialect has in a field; nothing where that is what the base has."""
    same = dialect is not base and getattr(dialect, field) == getattr(base, field)
    return "" if same else linked_value(dialect, field)


def section(name: str) -> str:
    """One dialect: what it is, and where it differs from the base; the base: what it rests on."""
    module = import_module(f"{_DIALECTS}.{name}")
    source = inspect.getsource(module)
    if name == DEFAULT:
        heading = "What it rests on:"
        choices = rests_on(get(name), source)
    else:
        heading = f"Differences from `{DEFAULT}`:"
        choices = differences(get(name), get(DEFAULT), source)
    # Fields under one comment are one point.
    points = [
        f"- {'; '.join(choice.value for choice in together)}.\n\n    {escaped(reason)}"
        for reason, together in groupby(choices, key=lambda choice: choice.source)
    ]
    docstring = inspect.cleandoc(module.__doc__ or "")
    return "\n\n".join([f"## {name}", docstring, heading, "\n\n".join(points)])


def rests_on(dialect: Dialect, source: str) -> list[Choice]:
    """The fields of the base whose value has a source of its own."""
    return [
        Choice(field, f"{linked_field(field)}: {linked_value(dialect, field)}", comment)
        for field, comment in commented(source)
        if comment
    ]


def differences(dialect: Dialect, base: Dialect, source: str) -> list[Choice]:
    """The fields in which a dialect differs from the base, each with its source."""
    why = sources(source)
    differing = [f for f in fields() if getattr(dialect, f) != getattr(base, f)]
    for field in differing:
        if not why.get(field):
            raise ValueError(
                f"dialect {dialect.name!r}: {field!r} differs from {base.name!r}, "
                "and no comment above it says why"
            )
    return [
        Choice(
            field,
            f"{linked_field(field)}: {linked_value(dialect, field)} "
            f"instead of {linked_value(base, field)}",
            why[field],
        )
        for field in sorted(differing, key=list(why).index)
    ]


def sources(source: str) -> dict[str, str]:
    """Why a dialect's file sets each field as it does: the comment above.

    A comment speaks for all fields down to the next comment; name and summary need none.

    >>> sources('DIALECT = Dialect(\\n# Section 1,\\n# or 2.\\nkeys="exact",\\nrank="first")')
    {'keys': 'Section 1, or 2.', 'rank': 'Section 1, or 2.'}
    """
    found: dict[str, str] = {}
    latest = ""
    for field, comment in commented(source):
        latest = comment or latest
        if field in _LABELS:
            latest = ""
        else:
            found[field] = latest
    return found


def commented(source: str) -> Iterator[tuple[str, str]]:
    """The fields that a dialect's file sets, each with the comment directly above it."""
    lines = source.splitlines()
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            for keyword in statement.value.keywords:
                yield keyword.arg or "", comment_above(lines, keyword.lineno)


def comment_above(lines: list[str], number: int) -> str:
    """The comment that ends on the line before this one, as one line of text.

    >>> comment_above(["# above", "# it", "x = 1"], 3)
    'above it'
    """
    comment: list[str] = []
    for line in reversed(lines[: number - 1]):
        if not line.lstrip().startswith("#"):
            break
        comment.insert(0, line.strip(" #"))
    return " ".join(comment)


def fields() -> list[str]:
    """The fields that decide how a file is read."""
    return [field for field in describe(get(DEFAULT)) if field not in _LABELS]


def linked_field(field: str) -> str:
    """A field, linked to its place in the reference."""
    return f"[`{field}`][{_DIALECTS}.Dialect.{field}]"


def linked_value(dialect: Dialect, field: str) -> str:
    """A value in words; a function is linked to its place in the reference."""
    value = getattr(dialect, field)
    shown = f"`{describe(dialect)[field]}`"
    return f"[{shown}][{value.__module__}.{value.__qualname__}]" if callable(value) else shown


def escaped(text: str) -> str:
    r"""Plain text as Markdown that shows it as it is; what stands in backticks stays code.

    >>> print(escaped("`*` in /\\s*x/"))
    `*` in /\\s\*x/
    """
    parts = text.split("`")
    parts[::2] = [
        re.sub(r"[\\*_\[\]{}]", r"\\\g<0>", html.escape(part, quote=False)) for part in parts[::2]
    ]
    return "`".join(parts)


def fenced(docstring: str) -> str:
    """A docstring whose doctests are fenced, so that Markdown does not take them for quotations.

    >>> fenced("One.\\n\\n>>> 1\\n1").splitlines()
    ['One.', '', '```pycon', '>>> 1', '1', '```']
    """
    return re.sub(r"^>>> .*(?:\n.+)*", "```pycon\n\\g<0>\n```", docstring, flags=re.MULTILINE)


TESTER = Path(__file__).parents[1] / "build" / "tester.html"
"""The tester as one file, if `make tester` has made it."""


def tester_part() -> str:
    """The tester itself, where it was made."""
    if not TESTER.exists():
        return ""
    return (
        '<p><a href="../tester.html">Open it alone</a>, or use it here;'
        " it takes some seconds to start.</p>\n"
        '<iframe src="../tester.html" title="Tester for robots.txt" loading="lazy"'
        ' class="tester"></iframe>'
    )


def on_post_build(config: Any, **_: Any) -> None:
    """Put the tester beside the pages."""
    if TESTER.exists():
        shutil.copy(TESTER, config["site_dir"])


GENERATED = {
    "<!-- dialects -->": dialects_page,
    "<!-- options -->": options_page,
    "<!-- tester -->": tester_part,
}
"""What stands on a page for a generated part, and what makes that part."""

try:
    import griffe
except ImportError:  # the tests read this file also where no site can be built
    pass
else:

    class FencedDoctests(griffe.Extension):
        """Fences the doctests of every docstring that the reference shows."""

        def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
            """Called for each module, class, function and attribute."""
            if obj.docstring:
                obj.docstring.value = fenced(obj.docstring.value)

"""`manners lint`: what is wrong with a robots.txt, and repairs that are proved harmless."""

import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import typer

from manners import _family
from manners._text import printable
from manners.cli import UNDECIDED, inputs, linting, render
from manners.cli.linting import LintChoice, LintedFile, LintInput
from manners.cli.options import Options, takes
from manners.settings.fields import OUTPUT

_FORMATS = "manners.cli.finding_formats"
_RETRIEVAL = ("profile", "allow_private", "user_agent", "cache", "total_timeout")

NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE|URL]...", help="Files, or URLs of sites; - is standard input."),
]
SelectOption = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="RULES",
        help="Use these rules only: codes, names, P for a family, all; repeatable.",
    ),
]
IgnoreOption = Annotated[
    list[str] | None,
    typer.Option("--ignore", metavar="RULES", help="Leave out these; repeatable."),
]
EnginesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--for",
        metavar="NAMES",
        help="Dialects it has to work for (default rfc9309,google).",
    ),
]
FailOption = Annotated[
    Literal["error", "warning", "info"] | None,
    typer.Option(
        "--fail-on",
        metavar="SEVERITY",
        help="Exit with 1 from here on: error, warning (default) or info.",
        rich_help_panel=OUTPUT,
    ),
]
FormatOption = Annotated[
    str,
    typer.Option(
        "--output-format",
        metavar="FORMAT",
        help="text (default), json, sarif, github or gitlab.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
FixOption = Annotated[
    bool,
    typer.Option("--fix", help="Apply fixes that change no verdict."),
]
UnsafeOption = Annotated[
    bool,
    typer.Option(
        "--unsafe-fixes",
        help="Apply all fixes, and say for whom what changes.",
    ),
]
DiffOption = Annotated[
    bool,
    typer.Option("--diff", help="Show what fixes would do; change nothing."),
]
ExplainOption = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="RULE",
        help="Print the page of a rule: a code or a name.",
    ),
]
ServerOption = Annotated[
    bool,
    typer.Option(
        "--lsp",
        help="Be a language server for editors, on standard input.",
    ),
]


@takes(*_RETRIEVAL, "log_level", "log_format")
def command(
    names: NamesArgument = None,
    select: SelectOption = None,
    ignore: IgnoreOption = None,
    engines: EnginesOption = None,
    fix: FixOption = False,
    unsafe_fixes: UnsafeOption = False,
    diff: DiffOption = False,
    output_format: FormatOption = "text",
    fail_on: FailOption = None,
    explain: ExplainOption = None,
    lsp: ServerOption = False,
    *,
    options: Options,
) -> int:
    """Find mistakes in robots.txt files, and fix them.

    A fix is applied only if it is proved that no verdict of any agent changes. Exit code 0 if
    nothing is found, 1 if there is a finding of the severity --fail-on, or worse, 3 if something
    could not be read.
    """
    if explain is not None:
        return _explain(explain)
    writes = (fix or unsafe_fixes) and not diff
    if not lsp:
        _refuse(names or [], writes)
    from manners.settings.lint_table import load_lint

    printer = _family.member(_FORMATS, "output format", output_format)
    rules = linting.split_names(select), linting.split_names(ignore)
    given = LintChoice(*rules, linting.split_names(engines), fail_on or "")
    choice = LintChoice.of(given, load_lint(options.config))
    if lsp:
        return _serve(choice)
    run = _LintRun(choice, fix, unsafe_fixes, diff, "-" in (names or []) and writes)
    files = list(run.lint_all(names or [], options))
    if not diff:
        for line in printer.report(files):
            run.say(line)
    return run.exit_code


def _refuse(names: Sequence[str], writes: bool) -> None:
    """Raise for arguments that do not go together."""
    if not names:
        raise inputs.Unusable("name a file, the URL of a site, or - for standard input")
    if names.count("-") > 1:
        raise inputs.Unusable("standard input can be read once only")
    sites = [name for name in names if linting.is_url(name)]
    if sites and writes:
        raise inputs.Unusable(f"a site cannot be fixed from here: {sites[0]!r}; --diff shows how")


class _LintRun:
    """One run of the command: what it does with each file, and how it ends."""

    def __init__(
        self, choice: LintChoice, fix: bool, unsafe: bool, diff: bool, is_filter: bool
    ) -> None:
        self._choice, self._unsafe, self._diff = choice, unsafe, diff
        self._fixes = fix or unsafe or diff
        # The fixed file is the output of a filter: everything else goes elsewhere.
        self._output = sys.stderr if is_filter else sys.stdout
        self.exit_code = 0

    def say(self, line: str) -> None:
        """Print a line of the report."""
        print(line, file=self._output)

    def lint_all(self, names: Sequence[str], options: Options) -> Iterator[LintedFile]:
        """What is found in each file, after it was fixed; what cannot be read is said now."""
        for name in names:
            try:
                is_site = linting.is_url(name)
                read = linting.read_site(name, options) if is_site else linting.read_file(name)
                yield self._lint(read)
            except linting.UnreadFile as error:
                linting.complain(error)
                self.exit_code = UNDECIDED

    def _lint(self, read: LintInput) -> LintedFile:
        from manners import lint

        select, ignore, engines, _ = self._choice
        given: dict[str, Any] = {"select": select, "ignore": ignore, "url": read.url}
        body = read.body
        if self._fixes:
            body = lint.fix(body, engines, self._unsafe, **given)
            self._tell(read, body)
        if self._diff:
            linting.print_difference(read.name, read.body, body)
            body = read.body
        elif self._fixes:
            self._write(read, body)
        findings = lint.run(body, engines, **given)
        if self._choice.is_failure(findings):
            self.exit_code = self.exit_code or 1
        return LintedFile(read.name, body, findings)

    def _tell(self, read: LintInput, fixed: bytes) -> None:
        """Say for whom unsafe fixes change what."""
        if not self._unsafe or fixed == read.body:
            return
        name = printable(read.name)
        found = list(linting.changes_of(read.body, fixed, self._choice.engines, read.url))
        for change in found:
            print(f"{name}: {change}", file=sys.stderr)
        if not found:
            print(f"{name}: no verdict changes", file=sys.stderr)

    @staticmethod
    def _write(read: LintInput, fixed: bytes) -> None:
        if read.path is None:
            linting.write_output(fixed)
        elif fixed != read.body:
            linting.rewrite(read.path, fixed)
            print(f"fixed {printable(read.name)}", file=sys.stderr)


def _explain(name: str) -> int:
    """Print the pages of rules."""
    for number, rule in enumerate(linting.find_rule_pages(name)):
        page = rule.page
        is_off = "" if rule.is_default else ", not used unless selected"
        title = f"{rule.code} {rule.name} ({rule.severity.value}{is_off})"
        sections = (f"## {heading}\n{text}" for heading, text in page.sections.items())
        print("\n" * (number > 0) + render.styled(title, "bold"))
        print(render.printable_text("\n".join(["", page.what, "", *sections])))
        print(linting.page_address(rule.name))
    return 0


def _serve(choice: LintChoice) -> int:
    from importlib import import_module

    # A command does not know the drop-ins; this one is a program of its own.
    server = import_module("manners.compat.language_server")
    return int(server.serve(choice.engines, choice.select, choice.ignore))

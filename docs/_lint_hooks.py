"""The pages of the linter: the catalogue, one page a rule, and what was counted in real files.

A rule's page is its docstring; `manners lint` prints links to these pages. The counts are those of
`benchmarks/lint_corpus.py`. No generated page is kept: a new rule is one new file.
"""

import ast
import inspect
import json
import re
from pathlib import Path
from typing import Any

from manners.cli.linting import page_address
from manners.identity import HOME_PAGE
from manners.lint import analysis, impact, proving
from manners.lint.finding import Severity
from manners.lint.rule import FAMILIES, LintRule, all_rules

_KINDS = frozenset({"safe", "unsafe"})


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the page of each rule."""
    from mkdocs.structure.files import File

    for rule in all_rules():
        files.append(File.generated(config, rule_address(rule), content=rule_page(rule)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put generated parts where a page asks for them."""
    for placeholder, generate in GENERATED.items():
        if placeholder in markdown:
            markdown = markdown.replace(placeholder, generate())
    return markdown


# Rules.


def rule_address(rule: LintRule) -> str:
    """The page of a rule, in the folder of the documentation: where the command's link leads."""
    return page_address(rule.name).removeprefix(HOME_PAGE).removesuffix(".html") + ".md"


def rule_page(rule: LintRule) -> str:
    """The page of a rule: what it is, then its docstring."""
    family = FAMILIES[rule.code[0]]
    use = "used by default" if rule.is_default else "not used unless selected"
    facts = [
        f"**{rule.code}** in [{family}](index.md#{anchor(family)})",
        f"[{rule.severity.value}](../how-to/lint.md#severities)",
        f"[fix](../how-to/lint.md#fix): {fix_kinds(rule)}",
        f"{use}, since {rule.since}",
    ]
    allowing = (
        f"To keep such a line, write `# manners: allow {rule.name}` above it. To turn the rule "
        f'off, put `allow = ["{rule.name}"]` into the table `[lint]` of '
        "[`manners.toml`](../how-to/lint.md#in-mannerstoml)."
    )
    sections = [f"## {heading}\n\n{text.strip()}" for heading, text in rule.page.sections.items()]
    parts = [f"# {rule.name}", rule.page.what, " · ".join(facts), *sections]
    return "\n\n".join([*parts, "## Allow it", allowing, "[All rules](index.md)\n"])


def catalogue() -> str:
    """Every rule in a table, by family."""
    heading = ["code", "name", "severity", "what it finds", "fix"]
    parts: list[str] = []
    for letter, title in FAMILIES.items():
        rows = [
            [
                rule.code,
                f"[`{rule.name}`]({rule.name}.md)",
                rule.severity.value + ("" if rule.is_default else ", off"),
                first_sentence(rule.page.what),
                fix_kinds(rule),
            ]
            for rule in all_rules()
            if rule.code[0] == letter
        ]
        parts += [f"## {title}", table(heading, ["---"] * len(heading), *rows)]
    return "\n\n".join(parts)


def first_sentence(text: str) -> str:
    r"""The first sentence of a docstring, on one line, for a cell of a table.

    >>> first_sentence("One,\nor two. More.")
    'One, or two.'
    """
    found = re.match(r".+?[.](?=\s|$)", text, re.DOTALL)
    return " ".join((found[0] if found else text).split())


def fix_kinds(rule: LintRule) -> str:
    """Which fixes a rule has, as its code says: safe, unsafe, either or none."""
    source = inspect.getsource(type(rule))
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "fix":
            found |= safeties(node)
    return " or ".join(sorted(found)) or "none"


def safeties(call: ast.Call) -> set[str]:
    """The kinds of fixes that a call of `fix` may make.

    >>> calls = ("fix('a')", "fix('a', safety='unsafe')", "fix('a', safety=kind)")
    >>> [sorted(safeties(ast.parse(call).body[0].value)) for call in calls]
    [['safe'], ['unsafe'], ['safe', 'unsafe']]
    """
    for keyword in call.keywords:
        if keyword.arg == "safety":
            values = {
                part.value
                for part in ast.walk(keyword.value)
                if isinstance(part, ast.Constant) and isinstance(part.value, str)
            }
            return set(values & _KINDS or _KINDS)
    return {"safe"}


def budgets() -> str:
    """How many steps of automata each question may take."""
    rows = [
        [
            "all rules of a file, in one engine",
            f"{analysis.STEPS:,}, and {analysis.RULE_STEPS:,} for one rule",
        ],
        ["a fix, for one class of crawlers, in one engine", f"{proving.STEPS:,}"],
        ["`compare`, in each direction", f"{impact.STEPS:,}, unless `steps=` is another number"],
    ]
    return table(["question", "budget in steps"], ["---", "---"], *rows)


# Real files.


def real_files_summary() -> str:
    """How many real files have something wrong, and how many rule lines change nothing."""
    counts = real_files()
    files, lines, severities = counts["files"], counts["lines"], counts["severities"]
    rows = [
        ["a rule line that changes nothing for anybody", counts["effectless_files"]],
        ["a rule that never decides, often a copy of another", counts["idle_files"]],
        *([f"a finding of severity {level.value}", severities[level.value]] for level in Severity),
        ["neither an error nor a warning", severities["neither"]],
        ["no finding", severities["clean"]],
    ]
    shares = ([text, f"{number:,}", percent(number, files)] for text, number in rows)
    heading = [f"{files:,} files on {counts['date']}", "files", "share"]
    undecided = counts["undecided_lines"]
    return (
        f"{table(heading, ['---', '---:', '---:'], *shares)}\n\n"
        f"**Of {lines:,} rule lines, {counts['effectless_lines']:,} "
        f"({percent(counts['effectless_lines'], lines)}) change nothing**: without such a line, "
        "nobody gets another verdict on any URL, neither by RFC 9309 nor by Google's parser. "
        f"About {undecided:,} lines the budget did not suffice to say so or the opposite."
    )


def real_files_rules() -> str:
    """In how many real files each rule finds something, the most frequent first."""
    counts = real_files()
    by_code: dict[str, dict[str, int]] = counts["rules"]
    known = [rule for rule in all_rules() if rule.code in by_code]
    known.sort(key=lambda rule: (-sum(by_code[rule.code].values()), rule.code))
    rows = []
    for rule in known:
        found = by_code[rule.code]
        files = sum(found.values())
        name = f"{rule.code} [`{rule.name}`](../lint/{rule.name}.md)"
        off = "" if rule.is_default else ", off"
        rows.append(
            [name, f"{files:,}", percent(files, counts["files"]), levels(rule, found) + off]
        )
    return table(["rule", "files", "share", "severity"], ["---", "---:", "---:", "---"], *rows)


def levels(rule: LintRule, found: dict[str, int]) -> str:
    """The severities of a rule's findings, with numbers of files if there are several."""
    if len(found) < 2:
        return next(iter(found), rule.severity.value)
    return ", ".join(
        f"{each.value} {found[each.value]:,}" for each in Severity if each.value in found
    )


def real_files() -> dict[str, Any]:
    """The counts, as they were measured last."""
    path = Path(__file__).with_name("_real_files.json")
    counts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return counts


# Text.


def percent(number: int, total: int) -> str:
    """A share.

    >>> percent(1, 8)
    '12.5 %'
    """
    return f"{100 * number / total:.1f} %"


def anchor(heading: str) -> str:
    """The name of a heading in a link.

    >>> anchor("Groups and agents")
    'groups-and-agents'
    """
    return heading.lower().replace(" ", "-")


def table(*rows: list[str]) -> str:
    """A Markdown table.

    >>> table(["a", "b"], ["---", "---"])
    '| a | b |\\n| --- | --- |'
    """
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


GENERATED = {
    "<!-- lint rules -->": catalogue,
    "<!-- lint budgets -->": budgets,
    "<!-- real files -->": real_files_summary,
    "<!-- real files by rule -->": real_files_rules,
}
"""What stands on a page for a generated part, and what makes that part."""

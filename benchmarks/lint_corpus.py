"""What real robots.txt files get wrong: the linter's findings in the corpus, counted.

    python -m benchmarks.lint_corpus

The corpus lies beside the checkout, as for the tests. The counts go to `docs/_real_files.json`, of
which the page `docs/explanation/real-files.md` is made, and the picture on it to
`docs/pictures/real-files.svg`. The same files and the same rules give the same counts and the same
picture. A table of all rules is printed. It takes a few minutes on two cores.
"""

import json
from argparse import ArgumentParser
from collections import Counter
from datetime import date
from multiprocessing import Pool
from pathlib import Path
from typing import Any, NamedTuple

from manners.lint.finding import Finding, Severity
from manners.lint.fixing import with_proved_fixes
from manners.lint.rule import all_rules
from manners.lint.source import Source
from tests.shared import corpus

DOCS = Path(__file__).resolve().parents[1] / "docs"
DATA = DOCS / "_real_files.json"
PICTURE = DOCS / "pictures" / "real-files.svg"
_WORST_FIRST = [severity.value for severity in Severity]
_EFFECTLESS = "a rule line without effect"


class LintedCorpusFile(NamedTuple):
    """What was found in one file of the corpus."""

    rules: dict[str, str]
    """The codes of the rules that found something, each with its worst severity."""
    fixes: dict[str, str]
    """Whether each of them has fixes that change no verdict: `safe`, `partly`, `unsafe`, `none`."""
    lines: int
    """Rule lines that belong to somebody."""
    effectless: int
    """Those without which nobody gets another verdict, each by itself."""
    idle: int
    """Those that decide no path, for anybody."""
    undecided: int
    """Those about which the budget does not say."""


def lint(body: bytes) -> LintedCorpusFile:
    """Every rule's findings in a file, and what automata say about its rule lines."""
    source = Source(body)
    findings = [finding for rule in all_rules() for finding in rule.check(source)]
    by_rule: dict[str, list[Finding]] = {}
    for finding in with_proved_fixes(source, findings):
        by_rule.setdefault(finding.code, []).append(finding)
    statuses = source.statuses.values()
    return LintedCorpusFile(
        {code: _worst(found) for code, found in by_rule.items()},
        {code: _safety(found) for code, found in by_rule.items()},
        len(statuses),
        sum(status.is_decided and not status.matters for status in statuses),
        sum(status.is_decided and not status.decides for status in statuses),
        sum(not status.is_decided for status in statuses),
    )


def _worst(findings: list[Finding]) -> str:
    severities = {finding.severity.value for finding in findings}
    return next(severity for severity in _WORST_FIRST if severity in severities)


def _safety(findings: list[Finding]) -> str:
    fixes = [finding.fix for finding in findings]
    safe = [fix for fix in fixes if fix is not None and fix.is_safe]
    if safe:
        return "safe" if len(safe) == len(fixes) else "partly"
    return "unsafe" if any(fixes) else "none"


def count(results: list[LintedCorpusFile], day: str) -> dict[str, Any]:
    """The counts of the page."""
    defaults = {rule.code for rule in all_rules() if rule.is_default}
    worst: Counter[str] = Counter()
    by_rule: dict[str, Counter[str]] = {rule.code: Counter() for rule in all_rules()}
    fixes: dict[str, Counter[str]] = {}
    for result in results:
        severities = {severity for code, severity in result.rules.items() if code in defaults}
        worst.update(severities)
        worst["clean"] += not severities
        worst["neither"] += severities <= {Severity.INFO.value}
        for code, severity in result.rules.items():
            by_rule[code][severity] += 1
        for code, safety in result.fixes.items():
            fixes.setdefault(code, Counter())[safety] += 1
    return {
        "date": day,
        "files": len(results),
        "with_rules": sum(result.lines > 0 for result in results),
        "severities": dict(sorted(worst.items())),
        "lines": sum(result.lines for result in results),
        "effectless_lines": sum(result.effectless for result in results),
        "effectless_files": sum(result.effectless > 0 for result in results),
        "idle_lines": sum(result.idle for result in results),
        "idle_files": sum(result.idle > 0 for result in results),
        "undecided_lines": sum(result.undecided for result in results),
        "undecided_files": sum(result.undecided > 0 for result in results),
        "rules": {code: dict(sorted(counts.items())) for code, counts in by_rule.items()},
        "fixes": {
            code: dict(sorted(counts.items()))
            for code, counts in sorted(fixes.items())
            if counts["safe"] or counts["partly"]
        },
    }


def table(counts: dict[str, Any]) -> str:
    """All rules with the number of files in which they find something."""
    rows = [f"{'code':5} {'name':30} {'files':>6} {'share':>7}"]
    for rule in all_rules():
        files = sum(counts["rules"][rule.code].values())
        off = "" if rule.is_default else "  (off)"
        share = f"{files / counts['files']:7.1%}"
        rows.append(f"{rule.code:5} {rule.name:30} {files:6,} {share}{off}")
    return "\n".join(rows)


# The picture.

_WIDTH, _LEFT, _ROW, _TOP = 760, 250, 24, 46
_MOST_ROWS = 22

_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #333; }
  .quiet { fill: #666; }
  .grid { stroke: #ddd; }
  .error { fill: #c62828; }
  .warning { fill: #e08a00; }
  .info { fill: #5c8fbd; }
  .proved { fill: #00796b; }
  @media (prefers-color-scheme: dark) {
    text { fill: #ddd; }
    .quiet { fill: #aaa; }
    .grid { stroke: #444; }
    .error { fill: #ef5350; }
    .warning { fill: #ffb74d; }
    .info { fill: #6fa3d0; }
    .proved { fill: #4db6ac; }
  }
"""


class Bar(NamedTuple):
    """One bar of the picture: so many files of each kind."""

    label: str
    parts: tuple[tuple[str, int], ...]
    """Class of style and number of files, from left to right."""

    @property
    def files(self) -> int:
        return sum(files for _, files in self.parts)


def bars(counts: dict[str, Any]) -> list[Bar]:
    """What is most frequent among the default rules, and misspelt keys for comparison."""
    found = [
        Bar(
            rule.name,
            tuple(
                (level, n) for level in _WORST_FIRST if (n := counts["rules"][rule.code].get(level))
            ),
        )
        for rule in all_rules()
        if rule.is_default
    ]
    found.sort(key=lambda bar: (-bar.files, bar.label))
    spelling = [bar for bar in found[_MOST_ROWS:] if bar.label == "misspelt-key"]
    first = Bar(_EFFECTLESS, (("proved", counts["effectless_files"]),))
    return [first, *found[:_MOST_ROWS], *spelling]


def picture(counts: dict[str, Any]) -> str:
    """The picture of the page: text stays text, and it is readable in the dark."""
    rows = bars(counts)
    total = counts["files"]
    height = _TOP + _ROW * len(rows) + 34
    scale = (_WIDTH - _LEFT - 90) / (max(bar.files for bar in rows) / total)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'aria-labelledby="title">',
        f'<title id="title">Share of {total:,} real robots.txt files with each finding</title>',
        f"<style>{_STYLE}</style>",
        *_legend(),
    ]
    bottom = _TOP + _ROW * len(rows)
    for percent in range(0, 100, 10):
        x = _LEFT + scale * percent / 100
        if x > _WIDTH - 60:
            break
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(
            f'<text class="quiet" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">'
            f"{percent} %</text>"
        )
    for number, bar in enumerate(rows):
        parts += _drawn(bar, _TOP + _ROW * number, scale, total)
    return "\n".join([*parts, "</svg>", ""])


def _drawn(bar: Bar, top: int, scale: float, total: int) -> list[str]:
    parts = [f'<text x="{_LEFT - 8}" y="{top + 16}" text-anchor="end">{bar.label}</text>']
    x = float(_LEFT)
    for style, files in bar.parts:
        width = scale * files / total
        parts.append(
            f'<rect class="{style}" x="{x:.1f}" y="{top + 4}" width="{width:.1f}" '
            f'height="{_ROW - 8}"/>'
        )
        x += width
    share = f"{100 * bar.files / total:.1f} %"
    parts.append(f'<text class="quiet" x="{x + 6:.1f}" y="{top + 16}">{share}</text>')
    return parts


def _legend() -> list[str]:
    parts = []
    x = _LEFT
    for style, label in (
        ("error", "error"),
        ("warning", "warning"),
        ("info", "info"),
        ("proved", "for every URL and crawler"),
    ):
        parts.append(f'<rect class="{style}" x="{x}" y="14" width="12" height="12"/>')
        parts.append(f'<text x="{x + 18}" y="25">{label}</text>')
        x += 44 + 8 * len(label)
    return parts


def main() -> None:
    """Count, print and write."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--files", type=int, help="only so many, and nothing is written")
    parser.add_argument("--date", default=str(date.today()), help="the day of the counts")
    arguments = parser.parse_args()
    bodies = list(corpus().values())[: arguments.files]
    with Pool(2) as pool:
        results = list(pool.imap(lint, bodies, 20))
    counts = count(results, arguments.date)
    print(table(counts))
    print({name: value for name, value in counts.items() if name != "rules"})
    if arguments.files is None:
        DATA.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
        PICTURE.write_text(picture(counts), encoding="utf-8")


if __name__ == "__main__":
    main()

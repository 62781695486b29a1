"""Coverage-guided fuzzing of the linter, its fixes, the formatter and the automata behind them.

    python -m tests.lint.fuzz -max_total_time=60    any option of libFuzzer
    python -m tests.lint.fuzz build/fuzz/lint/…     once more what failed

An input fails when something raises, when a finding cannot be shown, when a fix or the formatter
changes a verdict of somebody, or when doing it twice changes more than doing it once. Inputs are
kept in `build/fuzz`.
"""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

from manners.lint import fix, run
from manners.lint.formatting import format_body
from manners.lint.rule import all_rules
from manners.robots import dialects
from tests.fuzzing import command_line
from tests.lint.test_never_raises import PARTS, assert_well_formed
from tests.lint.verdicts import applied, assert_same_verdicts

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "fuzz" / "lint"
OPTIONS = ["-timeout=60", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]
FUZZ = """
import sys
import atheris
with atheris.instrument_imports(include=["manners"]):
    import manners.lint, manners.lint.formatting
    from manners.lint.rule import all_rules
    all_rules()
from tests.lint.fuzz import one_input
atheris.Setup(sys.argv, one_input)
atheris.Fuzz()
"""
ENGINES = dialects.names()
LARGEST = 2_000
"""Bytes of a file; what is behind is not looked at. Long ones are for other tests."""


def one_input(data: bytes) -> None:
    """Fails when a promise is broken; the first byte says which is tried, and for which engine."""
    chosen, body = (data[0], data[1 : LARGEST + 1]) if data else (0, b"")
    engine = ENGINES[chosen // 5 % len(ENGINES)]
    (findings, offered, fixed, unsafe, formatted)[chosen % 5](body, engine)


def findings(body: bytes, engine: str) -> None:
    """Everything that is found can be shown."""
    assert_well_formed(body, engine, "https://www.example.com/robots.txt")


def offered(body: bytes, engine: str) -> None:
    """The first safe fixes that are offered, each by itself."""
    found = run(body, (engine,), select=("all",))
    safe = [finding for finding in found if finding.fix is not None and finding.fix.is_safe]
    for finding in safe[:5]:
        assert_same_verdicts(body, applied(body, finding), (engine,), urls=20)


def fixed(body: bytes, engine: str) -> None:
    """Fixed once and twice."""
    once = fix(body, (engine,), select=("all",))
    assert_same_verdicts(body, once, (engine,), urls=20)
    assert fix(once, (engine,), select=("all",)) == once


def unsafe(body: bytes, engine: str) -> None:
    """Fixed with verdicts changed on purpose: once and twice."""
    once = fix(body, (engine,), unsafe=True)
    assert fix(once, (engine,), unsafe=True) == once


def formatted(body: bytes, engine: str) -> None:
    """Formatted once and twice."""
    once = format_body(body)
    assert_same_verdicts(body, once, (engine,), urls=20)
    assert format_body(once) == once


def main(arguments: list[str]) -> int:
    """Fuzz, or try files once more; 0 when nothing failed."""
    if importlib.util.find_spec("atheris") is None:
        sys.exit("fuzzing needs Atheris: pip install atheris==3.0.0 (Linux only)")
    words = (word.encode() for word in PARTS)
    pages = [rule.page for rule in all_rules()]
    files = [
        body for page in pages for title in ("Example", "Better") for body in page.blocks(title)
    ]
    seeds = (bytes([number % 30]) + body for number, body in enumerate(files * 2))
    with tempfile.TemporaryDirectory() as name:
        options = command_line(arguments, OPTIONS, KEPT, Path(name), words=words, seeds=seeds)
        command = [sys.executable, "-c", FUZZ, *options]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        print(f"\nFAILED with exit status {code}; once more: python -m tests.lint.fuzz FILE")
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

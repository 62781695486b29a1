"""Two versions by turns: `python -m benchmarks.versus ../before crawl --quick`.

Each checkout runs what follows with its own `.venv` and its own benchmarks: a benchmark by its
name, or a program of `.venv/bin`. Figures are medians; ratios are those of this version to the
other one, turn by turn: the median, and the range that half of them lie in. Processor time is that
of the whole run. On a busy machine only processor time and many short turns tell something.

    python -m benchmarks.versus ../before crawl --quick
    python -m benchmarks.versus --turns 20 ../before manners check --robots /tmp/robots.txt /a
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
TURNS = 7
PROCESSOR = "processor s, the whole run"

Figures = dict[str, float]


def run(checkout: Path, command: list[str], output: Path) -> Figures:
    """What a version measures; an exit code above 1 ends the comparison."""
    name, *arguments = command
    bin_folder = checkout / ".venv" / "bin"
    full = [str(bin_folder / name), *arguments]
    if (checkout / "benchmarks" / f"{name}.py").exists():
        full = [str(bin_folder / "python"), "-m", f"benchmarks.{name}", *arguments]
        full += ["--json", str(output)]
    elif not (bin_folder / name).exists():
        raise SystemExit(f"{checkout} has no benchmark and no program {name!r}; options come first")
    output.unlink(missing_ok=True)
    process = subprocess.Popen(full, cwd=checkout, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{checkout}: {' '.join(full)} ended with {process.returncode}")
    figures = json.loads(output.read_text(encoding="utf-8")) if output.exists() else {}
    return {PROCESSOR: usage.ru_utime + usage.ru_stime} | {
        name: value for name, value in figures.items() if isinstance(value, int | float)
    }


def spread(ratios: list[float]) -> tuple[float, float, float]:
    """The median, and the range that half of them lie in."""
    if len(ratios) < 2:
        return ratios[0], ratios[0], ratios[0]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return middle, low, high


def table(before: list[Figures], now: list[Figures]) -> str:
    """The figures that both versions have, and how they compare."""
    lines = [f"{'':<56}{'before':>12}{'now':>12}{'ratio':>8}{'half of them':>18}"]
    for name in before[0]:
        pairs = [(a[name], b[name]) for a, b in zip(before, now, strict=True) if name in b]
        if not pairs or not all(a for a, _ in pairs):
            continue
        first, second = (statistics.median(values) for values in zip(*pairs, strict=True))
        ratio, low, high = spread([b / a for a, b in pairs])
        between = f"{low:.3f} to {high:.3f}"
        lines.append(f"{name:<56}{first:>12,.5g}{second:>12,.5g}{ratio:>8.3f}{between:>18}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path, help="a checkout of the other version, with .venv")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a benchmark or a program")
    options = parser.parse_args()
    if not options.command:
        parser.error("name a benchmark, or a program of .venv/bin")
    checkouts = [options.before.resolve(), HERE]
    found: dict[Path, list[Figures]] = {checkout: [] for checkout in checkouts}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(options.turns):
            for checkout in checkouts if turn % 2 == 0 else reversed(checkouts):
                figures = run(checkout, options.command, Path(folder, "figures.json"))
                found[checkout].append(figures)
    print(table(*found.values()))


if __name__ == "__main__":
    main()

"""The comparison of both engines with a kernel that AddressSanitizer and UBSan watch.

    python -m tests.memory.asan [tests to run instead]

Builds the kernel with both sanitizers in a temporary folder, sees that they notice a read behind
the end of an array, then runs the differential tests, the corpus, columns in Arrow memory and
sites. Any report fails the run.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.differential.test_planted_bugs import LINKER, LOAD, ROOT, build, to_c

FLAGS = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-g"]
TESTS = [
    *("tests/differential/test_engines.py", "tests/differential/test_corpus.py"),
    *("tests/compat/test_arrow.py", "tests/bulk/test_promises_columns.py"),
    "tests/bulk/test_promises_answers.py",
]
BUDGET = {"TEST_PAIRS": "60000", "TEST_EXAMPLES": "25", "TEST_CORPUS_STEP": "6"}
"""The sanitizers make everything several times slower."""

REPORT = re.compile(r"(?:Address|UndefinedBehavior)Sanitizer|runtime error:").search

# What a sanitizer writes as the process dies must not be caught by pytest. The package is loaded
# before pytest looks for its plugins, one of which is the package's own.
RUN = """
import pytest
options = ["-q", "-x", "--capture=sys", "-p", "no:cacheprovider"]
options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
sys.exit(pytest.main([*options, *sys.argv[2:]]))
"""

BROKEN = """
int broken(int past) { int three[3] = {1, 2, 3}; return ((volatile int *)three)[past]; }
int overflowing(int most) { return most + 1; }
"""
TRY_BROKEN = """
import ctypes, sys
library, function, argument = sys.argv[1:]
getattr(ctypes.CDLL(library), function)(int(argument))
"""


def libraries() -> list[str]:
    """The sanitizers' libraries, which have to be loaded before anything else."""
    found = []
    for name in ("libasan.so", "libubsan.so"):
        command = [LINKER[0], f"-print-file-name={name}"]
        path = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        if not Path(path).is_absolute():
            sys.exit(f"{LINKER[0]} has no {name}: install the sanitizers of gcc")
        found.append(path)
    return found


def watched() -> dict[str, str]:
    """The environment of a process that the sanitizers watch."""
    return {
        **BUDGET,
        **os.environ,
        "LD_PRELOAD": " ".join(libraries()),
        "PYTHONMALLOC": "malloc",  # else the sanitizer sees arenas instead of objects
        "ARROW_DEFAULT_MEMORY_POOL": "system",  # and pools instead of columns
        "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=32",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "MANNERS_PURE": "0",
    }


def alarm_works(folder: Path, environment: dict[str, str]) -> bool:
    """Whether the sanitizers report what they are for."""
    source = folder / "broken.c"
    source.write_text(BROKEN, "ascii")
    library = build(source, "broken", FLAGS)
    for function, right, wrong in (("broken", 2, 3), ("overflowing", 2, 2**31 - 1)):
        for argument, reports in ((right, False), (wrong, True)):
            ran = subprocess.run(
                [sys.executable, "-c", TRY_BROKEN, str(library), function, str(argument)],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if reports != (ran.returncode != 0 and REPORT(ran.stderr) is not None):
                print(f"{function}({argument}): {ran.returncode}\n{ran.stderr}")
                return False
    return True


def main(tests: list[str]) -> int:
    """Build, run, and say what was found; 0 when that is nothing."""
    started = time.monotonic()
    environment = watched()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not alarm_works(folder, environment):
            print("the sanitizers do not report a mistake made for them")
            return 1
        kernel = build(to_c(folder), "watched", FLAGS)
        print(f"built in {time.monotonic() - started:.0f} s", flush=True)
        ran = subprocess.Popen(
            [sys.executable, "-c", LOAD + RUN, str(kernel), *(tests or TESTS)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        reported = False
        assert ran.stdout is not None
        for line in ran.stdout:
            reported = reported or REPORT(line) is not None
            print(line, end="", flush=True)
        code = ran.wait()
    clean = code == 0 and not reported
    seconds = time.monotonic() - started
    print(f"{'no report' if clean else 'FAILED'}, exit status {code}, {seconds:.0f} s")
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

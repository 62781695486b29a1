"""Coverage-guided fuzzing of lexer, compiler and matcher, in both engines at once.

    python -m tests.memory.fuzz -max_total_time=60      any option of libFuzzer
    python -m tests.memory.fuzz build/fuzz/crashes/…    once more what failed

Atheris guides by the branches of the plain engine, and by those of the kernel: that is compiled
with gcc's sanitizers and a call for each branch. An input fails when the engines differ, when one
of them raises, and when a sanitizer reports. Inputs are kept in `build/fuzz`.
"""

import hashlib
import importlib
import importlib.util
import mmap
import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from manners._text import to_bytes, to_text
from manners.robots.dialects import Dialect
from tests.differential.generate import Case, cases
from tests.differential.test_engines import EVERY, difference, report
from tests.differential.test_planted_bugs import LINKER, LOAD, ROOT, to_c
from tests.fuzzing import command_line

KEPT = ROOT / "build" / "fuzz"
FLAGS = [
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"),
    *("-fsanitize-coverage=trace-pc,trace-cmp", "-g", "-O1"),
    *shlex.split(os.environ.get("MANNERS_CFLAGS", "")),
]
MOST = 20_000
"""Bytes of an input: more than the longest line that is read."""
SIZE = 4
"""Bytes of the number that says how many they are."""
OPTIONS = [
    *("-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1", "-verbosity=0"),
    f"-max_len={MOST}",
]

# gcc calls a function at every branch; libFuzzer wants an array of counters. The two meet here.
COUNTERS = """
#include <stdint.h>
#define SLOTS (1 << 15)
#define HERE __attribute__((visibility("hidden"))) void
static unsigned char counters[SLOTS];
static uintptr_t places[2 * SLOTS];
void __sanitizer_cov_8bit_counters_init(unsigned char *, unsigned char *);
void __sanitizer_cov_pcs_init(const uintptr_t *, const uintptr_t *);
static __attribute__((constructor)) void set_up(void) {
    for (int i = 0; i < SLOTS; i++) places[2 * i] = (uintptr_t)&counters[i];
    __sanitizer_cov_8bit_counters_init(counters, counters + SLOTS);
    __sanitizer_cov_pcs_init(places, places + 2 * SLOTS);
}
HERE __sanitizer_cov_trace_pc(void) {
    uint32_t place = (uintptr_t)__builtin_return_address(0) - (uintptr_t)set_up;
    counters[(place * 0x9E3779B1u) >> 17]++;
}
HERE __sanitizer_cov_trace_cmpf(float a, float b) { (void)a; (void)b; }
HERE __sanitizer_cov_trace_cmpd(double a, double b) { (void)a; (void)b; }
"""

FUZZ = f"""
import atheris
with atheris.instrument_imports(include=["manners"]):
{textwrap.indent(LOAD, "    ")}
    import manners.urls, manners.robots.policy
    from manners.robots import dialects
    list(map(dialects.get, dialects.names()))
from tests.memory.fuzz import one_input
del sys.argv[1]
atheris.Setup(sys.argv, one_input)
atheris.Fuzz()
"""

WORDS = [
    *(b"User-agent: *\n", b"User-agent: bot\n", b"Disallow: /", b"Allow: /", b"Crawl-delay: 1\n"),
    *(b"Disalow", b"Request-rate: 1/2\n", b"index.html", b"%2F", b"%7e", b"\xc3\xa9", b"*", b"$"),
    *(
        b"\xef\xbb\xbf",
        b"\0",
        b"\r\n",
        b"\x0b",
        b"http://h/",
        b"//",
        b"robots.txt",
        b"aaaa",
        b"\xff",
    ),
]
FILE_URLS = [None, "http://h/robots.txt", "https://example.com/robots.txt"]


def to_case(data: bytes) -> tuple[Case, Dialect]:
    """The bytes of the fuzzer: a byte for the dialect, a line with the agent, one with the URL, and
    the file."""
    chosen = data[0] if data else 0
    agent, _, rest = data[1:].partition(b"\n")
    url, _, body = rest.partition(b"\n")
    file_url = FILE_URLS[chosen // len(EVERY) % len(FILE_URLS)]
    case = Case(body, (to_text(agent),), file_url, [to_text(url)])
    return case, EVERY[chosen % len(EVERY)]


def seeds() -> Iterator[bytes]:
    """What the generator makes, to begin with."""
    for number, case in enumerate(islice(cases("fuzz", urls=1), 300)):
        agent, url = (case.agents or ("bot",))[0], case.urls[0]
        head = b"".join(to_bytes(each).replace(b"\n", b"") + b"\n" for each in (agent, url))
        if len(case.body) < 2_000:
            yield bytes([number % (len(EVERY) * len(FILE_URLS))]) + head + case.body


@cache
def notebook() -> mmap.mmap:
    """Where an input is written down before it is tried: some failures leave no time for it. What
    is written to the memory of a file stays when the process dies."""
    with Path(os.environ["MANNERS_FUZZED"]).open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def one_input(data: bytes) -> None:
    """Fails when the engines differ."""
    notebook()[: SIZE + len(data)] = len(data).to_bytes(SIZE, "big") + data
    case, dialect = to_case(data)
    if difference(case, dialect) is not None:
        raise AssertionError(report(case, dialect, seed="none"))


def build(folder: Path) -> Path:
    """The kernel, watched. Nothing is linked to it: its sanitizers are those of Atheris."""
    counters = folder / "counters.c"
    counters.write_text(COUNTERS, "ascii")
    include = sysconfig.get_path("include")
    objects = []
    for source, flags in ((to_c(folder), FLAGS), (counters, ["-O2"])):
        made = source.with_suffix(".o")
        objects.append(str(made))
        compile_it = [LINKER[0], "-c", "-fPIC", f"-I{include}", *flags, str(source)]
        subprocess.run([*compile_it, "-o", str(made)], check=True)
    kernel = folder / f"_kernel{sysconfig.get_config_var('EXT_SUFFIX')}"
    subprocess.run([*LINKER, *objects, "-o", str(kernel)], check=True)
    return kernel


def runtime() -> Path:
    """The sanitizer that Atheris brings, which is libFuzzer's too."""
    if importlib.util.find_spec("atheris") is None:
        sys.exit("fuzzing needs Atheris: pip install atheris==3.0.0 (Linux only)")
    return Path(importlib.import_module("atheris").path()) / "asan_with_fuzzer.so"


def main(arguments: list[str]) -> int:
    """Fuzz, or try files once more; 0 when nothing failed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tried = folder / "tried"
        tried.write_bytes(bytes(SIZE + MOST))
        words = command_line(arguments, OPTIONS, KEPT, folder, words=WORDS, seeds=seeds())
        environment = {
            **os.environ,
            "LD_PRELOAD": str(runtime()),
            "PYTHONMALLOC": "malloc",
            "ASAN_OPTIONS": "detect_leaks=0:quarantine_size_mb=32",
            "MANNERS_PURE": "0",
            "MANNERS_FUZZED": str(tried),
        }
        command = [sys.executable, "-c", FUZZ, str(build(folder)), *words]
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        if code == 0:
            return 0
        noted = tried.read_bytes()
        data = noted[SIZE:][: int.from_bytes(noted[:SIZE], "big")]
    crash = KEPT / "crashes" / f"crash-{hashlib.sha1(data).hexdigest()}"  # as libFuzzer names it
    crash.write_bytes(data)
    case, dialect = to_case(data)
    print(f"\nFAILED with exit status {code}, in dialect {dialect.name}: {case}")
    print(f"once more: python -m tests.memory.fuzz {crash.relative_to(ROOT)}")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

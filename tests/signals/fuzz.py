"""Coverage-guided fuzzing of the readers of usage signals.

    python -m tests.signals.fuzz -max_total_time=60    any option of libFuzzer
    python -m tests.signals.fuzz build/fuzz/signals/…  once more what failed

An input fails when something raises, or when what was found cannot be shown. Inputs are kept in
`build/fuzz`.
"""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from manners._text import to_bytes, to_text
from tests.fuzzing import command_line
from tests.signals.sources import LICENCE_URL, content, licence, page, permits, robots
from tests.signals.test_never_raises import NAMES, WORDS, assert_well_formed

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "fuzz" / "signals"
OPTIONS = ["-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"]
FUZZ = """
import sys
import atheris
with atheris.instrument_imports(include=["manners"]):
    import manners.signals
    manners.signals.usage("/")
from tests.signals.fuzz import one_input
atheris.Setup(sys.argv, one_input)
atheris.Fuzz()
"""
SOURCES = ("robots_txt", "html", "tdmrep", "trust_txt", "ai_txt", "licence", *NAMES)
LARGEST = 4_000
"""Bytes of a source; what is behind is not looked at."""


def one_input(data: bytes) -> None:
    """Fails when a promise is broken; the first byte says which source the others are."""
    name = SOURCES[data[0] % len(SOURCES)] if data else "html"
    body = data[1 : LARGEST + 1]
    sources: dict[str, Any] = {name: body}
    if name in NAMES:
        sources = {"headers": [(name, to_text(body))]}
    elif name == "licence":
        sources = {"robots_txt": f"License: {LICENCE_URL}", "licences": {LICENCE_URL: body}}
    for agent in ("MyBot", "Googlebot"):
        assert_well_formed(page("/a/b?c", agent, now=0, **sources))


def main(arguments: list[str]) -> int:
    """Fuzz, or try files once more; 0 when nothing failed."""
    if importlib.util.find_spec("atheris") is None:
        sys.exit("fuzzing needs Atheris: pip install atheris==3.0.0 (Linux only)")
    texts = [
        robots("Content-Usage: /a/ train-ai=n", "Content-Signal: use=immediate"),
        '<head><meta name="robots" content="noai"><!-- --><title>x</title>',
        '[{"location": "/", "tdm-reservation": 1, "tdm-policy": "https://example.com/"}]',
        "datatrainingallowed=no",
        "User-Agent: *\nDisallow: *.jpg",
        licence(content("/", permits("search"), '<payment type="use"/>')),
        *(
            "train-ai=n;a=1, search=(y)",
            "search=yes, use=full",
            "bot: unavailable_after: 2010-06-25",
        ),
    ]
    seeds = (bytes([number]) + to_bytes(text) for number, text in enumerate(texts))
    with tempfile.TemporaryDirectory() as name:
        options = command_line(
            arguments, OPTIONS, KEPT, Path(name), words=map(to_bytes, WORDS), seeds=seeds
        )
        command = [sys.executable, "-c", FUZZ, *options]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code:
        print(f"\nFAILED with exit status {code}; once more: python -m tests.signals.fuzz FILE")
    return int(code != 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What every fuzzer of this project tells libFuzzer."""

from collections.abc import Iterable, Sequence
from pathlib import Path


def command_line(
    arguments: Sequence[str],
    defaults: Sequence[str],
    kept: Path,
    folder: Path,
    *,
    words: Iterable[bytes],
    seeds: Iterable[bytes],
) -> list[str]:
    """The options of libFuzzer, and the files to try.

    `words` become its dictionary; it begins with `seeds` and with what is `kept` of earlier runs,
    unless the arguments name files.
    """
    options = [word for word in arguments if word.startswith("-")]
    files = [str(Path(word).resolve()) for word in arguments if not word.startswith("-")]
    corpus, crashes, begin = kept / "corpus", kept / "crashes", folder / "seeds"
    for place in (corpus, crashes, begin):
        place.mkdir(parents=True, exist_ok=True)
    escaped = ("".join(f"\\x{octet:02x}" for octet in word) for word in words)
    dictionary = folder / "words"
    dictionary.write_text("".join(f'"{word}"\n' for word in escaped), "ascii")
    for number, data in enumerate(seeds):
        (begin / str(number)).write_bytes(data)
    own = [*defaults, f"-artifact_prefix={crashes}/", f"-dict={dictionary}"]
    return [*own, *options, *(files or [str(corpus), str(begin)])]

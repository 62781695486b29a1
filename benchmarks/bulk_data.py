"""Tables to measure bulk verdicts with: URLs of very many sites, and their robots.txt files.

The files are real ones, where `../shared` is beside the checkout, else made up; each is different,
so that no file is read for two sites. Three URLs in ten are made from the rules of their site.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import workloads

PATTERN = re.compile(r"(?im)^\s*(?:dis)?allow\s*:\s*(/[^\s#]*)")
CORPUS = Path(__file__).parents[2] / "shared" / "corpus" / "robots-real.jsonl.gz"
PATHS = 64
"""Paths that are drawn for a file; its sites take them in turn."""
ROWS = 200_000
"""URLs written at a time."""


def make(folder: Path, sites: int, per_site: int, is_shuffled: bool) -> tuple[Path, Path]:
    """The paths of two Parquet files, of URLs and of robots.txt files; made if they are missing."""
    folder.mkdir(parents=True, exist_ok=True)
    robots = folder / f"robots-{sites}.parquet"
    order = "shuffled" if is_shuffled else "sorted"
    urls = folder / f"urls-{sites}-{per_site}-{order}.parquet"
    bodies = _bodies()
    if not robots.exists():
        _write_robots(robots, sites, bodies)
    if not urls.exists():
        _write_urls(urls, sites, per_site, is_shuffled, bodies)
    return urls, robots


def origin(site: int) -> str:
    return f"https://www.site-{site:07}.example"


def _bodies() -> list[bytes]:
    if CORPUS.exists():
        return workloads.corpus(CORPUS)
    draw = random.Random(1)
    return [workloads.typical(draw).body for _ in range(2_000)]


def _write_robots(path: Path, sites: int, bodies: list[bytes]) -> None:
    schema = pa.schema([("origin", pa.string()), ("body", pa.binary())])
    partial = path.with_suffix(".partial")
    with pq.ParquetWriter(partial, schema, compression="zstd", use_dictionary=False) as writer:
        for begin in range(0, sites, 5_000):
            numbers = range(begin, min(begin + 5_000, sites))
            files = [b"%s\n# %d\n" % (bodies[number % len(bodies)], number) for number in numbers]
            columns = [pa.array(map(origin, numbers)), pa.array(files, pa.binary())]
            writer.write_batch(pa.record_batch(columns, schema=schema))
    partial.rename(path)


def _write_urls(
    path: Path, sites: int, per_site: int, is_shuffled: bool, bodies: list[bytes]
) -> None:
    paths = [_paths(random.Random(number), body) for number, body in enumerate(bodies)]
    schema = pa.schema([("id", pa.int64()), ("url", pa.string())])
    partial = path.with_suffix(".partial")
    draw = random.Random(2)
    rows: list[str] = []
    number = 0
    with pq.ParquetWriter(partial, schema, compression="zstd", use_dictionary=False) as writer:
        for site, turn in _order(sites, per_site, is_shuffled):
            own = paths[site % len(paths)]
            # No two URLs are alike: what repeats itself is copied too cheaply.
            rows.append(f"{origin(site)}{own[turn % PATHS]}{draw.getrandbits(40):x}")
            if len(rows) == ROWS:
                _write(writer, number, rows)
                number += len(rows)
                rows = []
        _write(writer, number, rows)
    partial.rename(path)


def _write(writer: pq.ParquetWriter, begin: int, urls: list[str]) -> None:
    ids = pa.array(range(begin, begin + len(urls)), pa.int64())
    writer.write_batch(pa.record_batch([ids, pa.array(urls)], schema=writer.schema))


def _order(sites: int, per_site: int, is_shuffled: bool) -> Iterator[tuple[int, int]]:
    """Sites and numbers of their URLs: site by site, or all sites again and again in any order."""
    if not is_shuffled:
        yield from ((site, turn) for site in range(sites) for turn in range(per_site))
        return
    numbers = list(range(sites))
    for turn in range(per_site):
        random.Random(turn).shuffle(numbers)
        yield from ((site, turn) for site in numbers)


def _paths(draw: random.Random, body: bytes) -> list[str]:
    patterns = PATTERN.findall(body.decode("utf-8", "replace"))[:500]
    found = []
    for _ in range(PATHS):
        if patterns and draw.random() < 0.3:
            path = draw.choice(patterns).replace("*", draw.choice(workloads.WORDS)).rstrip("$")
            found.append(path.encode("ascii", "ignore").decode()[:200])
        else:
            found.append(f"/{'/'.join(draw.choices(workloads.WORDS, k=3))}/page-")
    return found

"""What verdicts for a table of URLs cost: `python -m benchmarks.bulk`.

Parquet to Parquet, next to copying the same columns with pyarrow alone, and to what else people
use. Each turn is a process of its own; counted is the processor time of the process and of those
that it starts, and the memory of the largest. The tables are made first (`bulk_data.py`) and kept
in the folder, so that another run measures the same.

    python -m benchmarks.bulk                       10 million URLs of 100,000 sites
    python -m benchmarks.bulk --quick               200,000 URLs of 2,000 sites
    python -m benchmarks.bulk --large               100 million URLs of 1 million sites, shuffled
    python -m benchmarks.bulk --json FILE           writes the figures there too

`benchmarks/clusters.py` has the same job on Spark, Ray and Dask.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.bulk_data import make
from benchmarks.engine import machine

AGENT = "MyBot"
COLUMNS = ["id", "url"]
SAMPLE = 100
"""Sites that Protego is measured with."""


# The turns, each in a process of its own.


def copy(urls: str, robots: str, out: str) -> None:  # noqa: ARG001
    """Read the columns and write them again."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(urls)
    with pq.ParquetWriter(out, file.schema_arrow, compression="zstd") as writer:
        for batch in file.iter_batches(131_072, columns=COLUMNS, use_threads=False):
            writer.write_batch(batch)


def one_policy(urls: str, robots: str, out: str) -> None:  # noqa: ARG001
    """Decide about every URL by one policy, and write nothing."""
    import pyarrow.parquet as pq

    import manners
    from manners.compat import arrow

    body = next(pq.ParquetFile(robots).iter_batches(1, columns=["body"])).column(0)[0].as_py()
    policy = manners.parse(body).policy(AGENT)
    spent = 0.0
    for batch in pq.ParquetFile(urls).iter_batches(131_072, columns=["url"], use_threads=False):
        began = time.process_time()
        arrow.allowed(batch.column(0), policy)
        spent += time.process_time() - began
    print(json.dumps({"seconds": spent}))


def verdicts(urls: str, robots: str, out: str, **options: Any) -> None:
    """`manners bulk`, in one thread."""
    from manners import bulk

    bulk.run(urls, robots, out, agent=AGENT, threads=1, **options)


def few_columns(urls: str, robots: str, out: str) -> None:
    """`manners bulk` with allowed, reason and line."""
    verdicts(urls, robots, out, add=("allowed", "reason", "line"))


def with_usage(urls: str, robots: str, out: str) -> None:
    """`manners bulk` with allowed, reason, line, and whether a model may be trained with it."""
    verdicts(urls, robots, out, add=("allowed", "reason", "line", "usage_ai_train"))


def ids_only(urls: str, robots: str, out: str) -> None:
    """`manners bulk` without writing the URLs."""
    verdicts(urls, robots, out, keep=["id"])


def with_polars(urls: str, robots: str, out: str) -> None:
    """Sites as an expression of Polars."""
    import polars as pl

    from manners.bulk import Sites

    sites = Sites.read(robots, agent=AGENT)
    allowed = pl.col("url").map_batches(
        lambda column: pl.Series(sites.allowed(column)),
        return_dtype=pl.Boolean,
        is_elementwise=True,
    )
    pl.scan_parquet(urls).with_columns(allowed=allowed).sink_parquet(out, engine="streaming")


def with_duckdb(urls: str, robots: str, out: str) -> None:
    """Sites as a function in SQL."""
    import duckdb
    import pyarrow as pa

    from manners.bulk import Sites

    sites = Sites.read(robots, agent=AGENT)

    def may_fetch(column: pa.ChunkedArray) -> pa.Array:
        return pa.array(sites.allowed(column))

    database = duckdb.connect()
    database.execute("SET threads = 1")
    register: Any = database.create_function
    register("may_fetch", may_fetch, ["VARCHAR"], "BOOLEAN", type="arrow", null_handling="special")
    query = f"SELECT id, url, may_fetch(url) AS allowed FROM '{urls}'"
    database.execute(f"COPY ({query}) TO '{out}' (FORMAT parquet, COMPRESSION zstd)")


def with_protego(urls: str, robots: str, out: str) -> None:  # noqa: ARG001
    """A loop over the sites and their URLs with Protego; of some sites, in memory."""
    import pyarrow.parquet as pq
    from protego import Protego

    files = next(pq.ParquetFile(robots).iter_batches(SAMPLE)).to_pydict()
    rows = next(pq.ParquetFile(urls).iter_batches(200 * SAMPLE, columns=["url"])).column(0)
    by_site: dict[str, list[str]] = {}
    for url in rows.to_pylist():
        by_site.setdefault("/".join(url.split("/", 3)[:3]), []).append(url)
    known = zip(files["origin"], files["body"], strict=True)
    began, count = time.process_time(), 0
    for name, body in known:
        rules = Protego.parse(body.decode("utf-8", "replace"))
        for url in by_site.get(name, ()):
            rules.can_fetch(url, AGENT)
            count += 1
    print(json.dumps({"seconds": time.process_time() - began, "urls": count}))


TURNS: dict[str, Callable[[str, str, str], None]] = {
    turn.__name__: turn
    for turn in (
        copy, one_policy, verdicts, few_columns, with_usage, ids_only, with_polars, with_duckdb,
        with_protego,
    )
}  # fmt: skip


def peak() -> int:
    """Bytes of memory that this process had at most; of its parent, nothing counts."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


# The table.


class Measure:
    """What one turn has cost."""

    def __init__(self, name: str, urls: Path, robots: Path, folder: Path) -> None:
        out = folder / "out.parquet"
        for left_over in (out, out.with_name("out.parquet.work")):
            shutil.rmtree(left_over, ignore_errors=True)
            left_over.unlink(missing_ok=True)
        words = [sys.executable, "-m", "benchmarks.bulk", "--turn", name]
        words += [str(urls), str(robots), str(out)]
        began = time.monotonic()
        with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            told = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{name} failed")
        self.seconds = time.monotonic() - began
        self.used = used.ru_utime + used.ru_stime
        self.told: dict[str, float] = {}
        for line in told.splitlines():
            self.told |= json.loads(line)
        self.peak = self.told["peak"]
        self.size = out.stat().st_size if out.exists() else 0


def compare(folder: Path, sites: int, per_site: int) -> dict[str, float]:
    """Everybody by turns on sorted and on shuffled URLs, and a table."""
    number, figures = sites * per_site, dict[str, float]()
    in_order, robots = make(folder, sites, per_site, is_shuffled=False)
    shuffled, _ = make(folder, sites, per_site, is_shuffled=True)
    print(f"\n{number:,} URLs, {sites:,} sites, {per_site} each")
    print(f"{'':<28}{'processor s':>12}{'ns a URL':>10}{'of the copy':>12}{'peak MB':>9}")
    base = 0.0
    for order, urls, names in (
        ("sorted", in_order, TURNS),
        ("shuffled", shuffled, ("copy", "verdicts", "few_columns")),
    ):
        for name in names:
            found = Measure(name, urls, robots, folder)
            used = found.told.get("seconds", found.used)
            rows = found.told.get("urls", number)
            base = used if name == "copy" else base
            title = f"{order}, {name}"
            figures |= {f"{title}, s": used, f"{title}, MB": found.peak / 1e6}
            print(f"{title:<28}{used:>12.1f}{used / rows * 1e9:>10.0f}", end="")
            print(f"{used / rows * number / base:>12.2f}{found.peak / 1e6:>9.0f}", flush=True)
    ratio = figures["shuffled, verdicts, s"] / figures["sorted, verdicts, s"]
    figures["shuffled / sorted"] = ratio
    print(f"shuffled / sorted: {ratio:.2f}")
    return figures


def large(folder: Path, sites: int, per_site: int) -> dict[str, float]:
    """One run that does not fit into memory: time, memory and disk."""
    urls, robots = make(folder, sites, per_site, is_shuffled=True)
    number = sites * per_site
    print(f"\n{number:,} URLs, {sites:,} sites, shuffled")
    found = Measure("verdicts", urls, robots, folder)
    sizes = {"URLs": urls.stat().st_size, "robots.txt": robots.stat().st_size, "out": found.size}
    print(f"processor {found.used:,.0f} s, {found.used / number * 1e9:,.0f} ns a URL;", end=" ")
    print(f"{found.seconds:,.0f} s in all; peak {found.peak / 1e6:,.0f} MB;", end=" ")
    print(", ".join(f"{name} {size / 1e6:,.0f} MB" for name, size in sizes.items()))
    return {"large, s": found.used, "large, MB": found.peak / 1e6, "large, wall": found.seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--sites", type=int, default=0)
    parser.add_argument("--per-site", type=int, nargs="+", default=[100, 50])
    parser.add_argument("--folder", type=Path, default=Path("build/bulk"))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--turn", nargs=4, metavar=("NAME", "URLS", "ROBOTS", "OUT"))
    options = parser.parse_args()
    if options.turn:
        name, *places = options.turn
        TURNS[name](*places)
        print(json.dumps({"peak": peak()}))
        return
    print(machine(), flush=True)
    figures: dict[str, float] = {}
    if options.large:
        figures = large(options.folder, options.sites or 1_000_000, 100)
    else:
        sites = options.sites or (2_000 if options.quick else 100_000)
        for per_site in options.per_site:
            found = compare(options.folder, sites, per_site)
            figures |= {f"{per_site} a site: {name}": value for name, value in found.items()}
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()

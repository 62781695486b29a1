"""Verdicts for a Spark data frame of URLs, from an archive or from another data frame.

    manners.compat.spark.verdicts(urls, "robots.parquet", agent="MyBot").write.parquet("verdicts")
    manners.compat.spark.verdicts(urls, spark.read.parquet("robots"), agent="MyBot")

With an archive at a place, each worker process reads it once, and the URLs stream through in their
order (`mapInArrow`). With a data frame of robots.txt files, however large, both sides are brought
together by their hosts (`cogroup`), and a worker has only the files of one bucket at a time.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from manners.errors import MissingExtra

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame

    from manners.bulk.engines import TableCheck

Place = str | PathLike[str]

_BUCKET = "_manners_bucket"
_TARGET, _TARGET_BUCKET = "_manners_target", "_manners_target_bucket"
_RECORDS = {
    "origin": "string",
    "url": "string",
    "status": "short",
    "location": "string",
    "charset": "string",
    "complete": "boolean",
    "fetched_at": "timestamp",
    "body": "binary",
}
_BUCKETED = {**_RECORDS, _BUCKET: "int", _TARGET_BUCKET: "int", _TARGET: "string"}
_ADDED = {
    "allowed": "boolean",
    "reason": "string",
    "line": "int",
    "rule": "string",
    "crawl_delay": "double",
}


def verdicts(
    urls: "DataFrame",
    robots: "Place | Sequence[Place] | DataFrame",
    agent: str | Sequence[str],
    *,
    buckets: int = 1024,
    **options: Any,
) -> "DataFrame":
    """A data frame of URLs with what was decided about each: allowed, reason, line, rule.

    `robots` is an archive at a place that every worker can read, and small enough for the memory of
    each worker process; or a data frame of any size, with the columns `origin` and `body` and any
    of `status`, `location`, `url`, `charset`, `complete` and `fetched_at`. URLs and files are then
    shuffled into `buckets` by their hosts, and what is in one bucket has to fit into the memory of
    a worker process.

    Options are `column` (`"url"`), `keep` (the columns to keep; all by default), `add` (`allowed`,
    `reason`, `line`, `rule` and `crawl_delay` by default), `dialect` and `profile`.

    Nothing is computed before Spark is asked to. A task whose worker is killed is run again.
    """
    try:
        from pyspark.sql import DataFrame
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        raise MissingExtra("pyspark", "spark") from None
    from manners.bulk.engines import TableCheck

    check = TableCheck(agent, **options)
    urls = urls.select(*check.needed(urls.columns))
    if not isinstance(robots, DataFrame):
        return urls.mapInArrow(partial(_with_place, check, robots), _schema(urls, check))
    rows = urls.withColumn(_BUCKET, _bucket_of(urls[check.column], buckets))
    files = _records(robots, buckets, check)
    pairs = rows.groupBy(_BUCKET).cogroup(files.groupBy(_BUCKET))
    return pairs.applyInArrow(_function(check), _schema(urls, check))


# In the worker processes.


def _with_place(
    check: "TableCheck",
    place: Place | Sequence[Place],
    batches: "Iterator[pyarrow.RecordBatch]",
) -> "Iterator[pyarrow.RecordBatch]":
    for batch in batches:
        yield check.with_place(batch, place)


def _bucketed(
    buckets: int, batches: "Iterator[pyarrow.RecordBatch]"
) -> "Iterator[pyarrow.RecordBatch]":
    """Records with the bucket of their host; of redirects, the target and its bucket, too."""
    import pyarrow

    from manners.bulk.hosts import buckets as buckets_of
    from manners.bulk.records import normalise
    from manners.urls import redirect_target

    for batch in batches:
        records = normalise(batch)
        pairs = zip(records["url"].to_pylist(), records["location"].to_pylist(), strict=True)
        found = [redirect_target(url, to)[0] or None if to else None for url, to in pairs]
        targets = pyarrow.array(found, pyarrow.string())
        place = records.schema.get_field_index("fetched_at")
        times = records["fetched_at"].cast(pyarrow.timestamp("us", "UTC"))  # no others in Spark
        records = records.set_column(place, "fetched_at", times)
        for name, column in ((_BUCKET, records["origin"]), (_TARGET_BUCKET, targets)):
            records = records.append_column(name, pyarrow.array(buckets_of(column, buckets)))
        yield records.append_column(_TARGET, targets)


# Functions as Spark wants them, which looks at the number and the types of their parameters.


def _function(check: "TableCheck") -> Any:
    def joined(urls: "pyarrow.Table", records: "pyarrow.Table") -> "pyarrow.Table":
        return check.with_records(urls.drop_columns([_BUCKET]), records)

    return joined


def _bucket_of(column: Any, buckets: int) -> Any:
    import pyarrow
    from pyspark.sql.functions import arrow_udf

    def bucket(urls: pyarrow.Array) -> pyarrow.Array:
        from manners.bulk.hosts import buckets as buckets_of

        return pyarrow.array(buckets_of(urls, buckets))

    return arrow_udf(bucket, "int")(column)


# On the driver.


def _ddl(types: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in types.items())


def _schema(urls: "DataFrame", check: "TableCheck") -> Any:
    from pyspark.sql.types import StructType

    fields = [urls.schema[name] for name in check.kept(urls.columns)]
    added = StructType.fromDDL(_ddl({name: _ADDED[name] for name in check.add}))
    return StructType([*fields, *added])


def _records(robots: "DataFrame", buckets: int, check: "TableCheck") -> "DataFrame":
    """The records of a data frame by bucket, with what redirects to other buckets need there."""
    from pyspark.sql import functions as F  # noqa: N812

    records = robots.mapInArrow(partial(_bucketed, buckets), _ddl(_BUCKETED))
    own = records.select(*_RECORDS, _BUCKET)
    if "location" not in robots.columns:
        return own
    needed = _needed(robots, buckets, check.profile.max_redirects)
    extra = own.withColumnRenamed(_BUCKET, "home").join(needed, F.col("url") == F.col("to"))
    extra = extra.where(F.col("home") != F.col(_BUCKET))
    return own.unionByName(extra.select(*_RECORDS, _BUCKET))


def _needed(robots: "DataFrame", buckets: int, max_redirects: int) -> "DataFrame":
    """The URLs in other buckets that redirects of a bucket lead `to`, hop by hop."""
    from pyspark.sql import functions as F  # noqa: N812

    bare = robots.where(F.col("location").isNotNull())
    for name in {"body", "robots"} & set(robots.columns):  # which are large
        bare = bare.withColumn(name, F.lit(None).cast("binary"))
    moved = bare.mapInArrow(partial(_bucketed, buckets), _ddl(_BUCKETED))
    moved = moved.where(F.col(_TARGET).isNotNull())
    leaving = moved.where(F.col(_BUCKET) != F.col(_TARGET_BUCKET))
    chains = leaving.select(_BUCKET, F.col(_TARGET).alias("to0")).distinct()
    # Behind the first hop, only the latest record of a URL counts: a site cannot multiply them.
    time = F.coalesce("fetched_at", F.timestamp_seconds(F.lit(0)))
    hops = moved.groupBy("url").agg(F.max_by(_TARGET, time).alias("to"))
    for number in range(1, max_redirects):
        hop = hops.select(F.col("url").alias(f"url{number}"), F.col("to").alias(f"to{number}"))
        chains = chains.join(hop, F.col(f"to{number - 1}") == F.col(f"url{number}"), "left")
    targets = F.array(*(f"to{number}" for number in range(max_redirects)))
    return chains.select(_BUCKET, F.explode(targets).alias("to")).dropna().distinct()

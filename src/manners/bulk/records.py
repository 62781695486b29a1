"""Records of robots.txt: one reply, or failure, to one request, as a row of an Arrow table.

An archive of robots.txt is a table of such rows. A redirect is a row of its own, and what it leads
to is another. Users' own tables need fewer columns: `normalise` fills in the rest.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from manners import urls
from manners._text import cut, printable
from manners.errors import InvalidURL, MannersError, MissingExtra

try:
    import pyarrow as pa
    import pyarrow.compute as pc
except ModuleNotFoundError:
    raise MissingExtra("pyarrow", "bulk") from None

TIME = pa.timestamp("ms", tz="UTC")
RECORDS = pa.schema(
    [
        ("origin", pa.string()),  # of `url`, as `urls.origin` writes it
        ("url", pa.string()),  # what was asked for: a robots.txt, or where a redirect led
        ("status", pa.int16()),  # null: no answer
        ("location", pa.string()),  # of a redirect, as sent
        ("charset", pa.string()),  # that the reply names
        ("complete", pa.bool_()),  # false: only the beginning of the body is there
        ("fetched_at", TIME),  # null: not known
        ("body", pa.binary()),  # decompressed; null where there is none
    ]
)
"""The columns of an archive of robots.txt."""

MAX_BODY = 1_048_576
"""Bytes of a body that a record keeps: as many as a retrieval reads."""
BATCH_BYTES, BATCH_ROWS = 16 * 2**20, 65_536
"""When a batch of records is full."""

NO_ORIGIN = "rows without a usable origin"
NO_BODY = "rows with a successful status and no body"

_ALIASES = {"body": ("body", "robots"), "fetched_at": ("fetched_at", "fetched")}
_CANONICAL = "^https?://[a-z0-9._-]{1,253}$"  # what `urls.origin` returns unchanged
_MAX_SLICE = 2**30  # bytes: an Arrow array of binaries has offsets of 31 bits
_LAST_MOMENT = 253_402_300_799_999  # of the year 9999, in milliseconds


class BulkError(MannersError):
    """Data for a bulk run that cannot be used: what, where, and what to do.

    >>> str(BulkError("robots.parquet", "no column 'origin'"))
    "robots.parquet: no column 'origin'"
    """

    def __init__(self, place: str, problem: str) -> None:
        from manners._secrets import without_secrets

        place = without_secrets(place)
        super().__init__(place, problem)
        self.place, self.problem = place, problem

    def __str__(self) -> str:
        return f"{printable(self.place)}: {printable(cut(self.problem, 2000))}"


_MAX_DAMAGE = 100
_MORE_DAMAGE = "more damaged files, the rest of each was skipped"


class Problems(Counter[str]):
    """What was skipped while records were read, and how often.

    >>> problems = Problems()
    >>> problems.add_damage(BulkError("a.warc.gz", "damaged after byte 12"))
    >>> list(problems)
    ['a.warc.gz: damaged after byte 12: the rest of it was skipped']
    """

    def __init__(self) -> None:
        super().__init__()
        self.damage: list[BulkError] = []
        """The first damaged files, and what is wrong with them."""

    def add_damage(self, error: BulkError) -> None:
        """Count a damaged file."""
        if len(self.damage) < _MAX_DAMAGE:
            self.damage.append(error)
            self[f"{error}: the rest of it was skipped"] += 1
        else:
            self[_MORE_DAMAGE] += 1


class RobotsRecord(NamedTuple):
    """One reply to one request for a robots.txt, or for what it redirects to.

    >>> RobotsRecord("https://example.com/robots.txt", 404).body is None
    True
    """

    url: str
    status: int | None = None
    location: str | None = None
    charset: str | None = None
    complete: bool = True
    fetched_at: int | None = None
    """In milliseconds since the epoch."""
    body: bytes | None = None


class RecordBuffer:
    """Gathers records into batches of bounded size.

    >>> buffer = RecordBuffer()
    >>> buffer.add(RobotsRecord("https://example.com/robots.txt", 404))
    >>> [batch.num_rows for batch in buffer.rest()]
    [1]
    """

    def __init__(self, problems: Problems | None = None) -> None:
        self._problems = Problems() if problems is None else problems
        self._rows: list[tuple[Any, ...]] = []
        self._bytes = 0

    def add(self, record: RobotsRecord) -> None:
        """Add one record; one whose URL cannot be requested is counted as a problem."""
        try:
            url = urls.requestable(record.url)
            row = urls.origin(url), url, *record[1:]
        except InvalidURL:
            self._problems[NO_ORIGIN] += 1
            return
        self._rows.append(row)
        self._bytes += len(record.body or b"") + len(url) + len(record.location or "")

    def full(self) -> Iterator[pa.RecordBatch]:
        """The batch that is full; none while there is room."""
        if self._bytes >= BATCH_BYTES or len(self._rows) >= BATCH_ROWS:
            yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """What has been gathered, as a batch; none if that is nothing."""
        rows, self._rows, self._bytes = self._rows, [], 0
        if rows:
            columns = zip(*rows, strict=True)
            arrays = [
                pa.array(column, field.type) for column, field in zip(columns, RECORDS, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=RECORDS)


def record_batches(
    records: Iterable[RobotsRecord], problems: Problems | None = None
) -> Iterator[pa.RecordBatch]:
    """Records as batches of bounded size.

    >>> batches = record_batches([RobotsRecord("https://example.com/robots.txt", 404)])
    >>> next(batches).column("origin").to_pylist()
    ['https://example.com']
    """
    buffer = RecordBuffer(problems)
    for record in records:
        buffer.add(record)
        yield from buffer.full()
    yield from buffer.rest()


def location_text(raw: bytes) -> str:
    r"""A Location header as text that leads to the same target; bytes that are no text are escaped.

    >>> location_text(b"/caf\xe9")
    '/caf%E9'
    """
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "".join(chr(byte) if byte < 0x80 else f"%{byte:02X}" for byte in raw)


def milliseconds(seconds: float | None) -> int | None:
    """Seconds since the epoch as milliseconds; None for a time that no calendar has.

    >>> milliseconds(1.5), milliseconds(float("nan"))
    (1500, None)
    """
    if seconds is None or not 0 <= seconds * 1000 <= _LAST_MOMENT:
        return None
    return round(seconds * 1000)


def normalise(data: Any, problems: Problems | None = None, place: str = "records") -> Any:
    """Users' data as records: a table, a batch, or anything that exports Arrow data.

    Needed are the columns `origin` (any URL of the site) or `url` (what was asked for), and `body`
    (or `robots`), as text or binary. `status` is 200 where there is no such column; `fetched_at`
    (or `fetched`) is a timestamp or a number of seconds. Rows that say nothing are dropped, and
    counted in `problems`.

    >>> table = pa.table({"origin": ["https://a.example/x"], "robots": ["User-agent: *"]})
    >>> normalise(table)["url"].to_pylist()
    ['https://a.example/robots.txt']
    """
    problems = Problems() if problems is None else problems
    if isinstance(data, pa.RecordBatch):
        batches = list(_normal(data, problems, place))
        if len(batches) > 1:
            raise BulkError(place, "a batch of more than 1 GB; pass smaller ones, or a table")
        return batches[0]
    if not isinstance(data, pa.Table):
        data = _table(data, place)
    batches = [new for old in data.to_batches() for new in _normal(old, problems, place)]
    if not batches:  # names and types are checked, even if there are no rows
        batches = list(_normal(pa.RecordBatch.from_pylist([], schema=data.schema), problems, place))
    return pa.Table.from_batches(batches, RECORDS)


def _table(data: Any, place: str) -> pa.Table:
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        raise BulkError(place, f"{type(data).__name__} is not Arrow data; pass a table of records")
    return pa.table(data)


def _normal(batch: pa.RecordBatch, problems: Problems, place: str) -> Iterator[pa.RecordBatch]:
    """A batch as records; a very large one in slices."""
    if batch.num_rows > 1 and batch.nbytes > _MAX_SLICE:
        half = batch.num_rows // 2
        yield from _normal(batch.slice(0, half), problems, place)
        yield from _normal(batch.slice(half), problems, place)
        return
    columns = _Columns(batch, place)
    site, url = columns.addresses()
    body, complete = columns.body()
    status, location, charset = columns.status(), columns.text("location"), columns.text("charset")
    arrays = [site, url, status, location, charset, complete, columns.time(), body]
    normal = pa.RecordBatch.from_arrays(arrays, schema=RECORDS)
    success = pc.and_(pc.greater_equal(status, 200), pc.less(status, 300))
    silent = pc.and_(pc.is_null(body), pc.fill_null(success, False))
    lost = pc.is_null(site)
    silent = pc.and_(silent, pc.invert(lost))
    for name, rows in ((NO_ORIGIN, lost), (NO_BODY, silent)):
        if number := pc.sum(rows).as_py() or 0:
            problems[name] += number
    dropped = pc.or_(lost, silent)
    yield normal.filter(pc.invert(dropped)) if pc.any(dropped).as_py() else normal


def check_columns(names: Sequence[str], place: str) -> None:
    """Raise if columns of these names make no records."""
    if {"origin", "url"}.isdisjoint(names) or set(_ALIASES["body"]).isdisjoint(names):
        shown = ", ".join(cut(name, 40) for name in names[:20]) or "none"
        raise BulkError(
            place, f"needs the columns 'origin' and 'body' (or 'robots'); it has: {shown}"
        )


class _Columns:
    """The columns of a user's batch, by the names they have in records."""

    def __init__(self, batch: pa.RecordBatch, place: str) -> None:
        self.place, self.rows = place, batch.num_rows
        self._found: dict[str, pa.Array] = {}
        names = batch.schema.names
        for name in RECORDS.names:
            written = [alias for alias in _ALIASES.get(name, (name,)) if alias in names]
            if not written:
                continue
            if len(written) > 1 or names.count(written[0]) > 1:
                raise BulkError(place, f"several columns for {name!r}; keep one")
            self._found[name] = _plain(batch.column(names.index(written[0])))
        check_columns(names, place)

    def text(self, name: str) -> pa.Array:
        """A column of text; what is not UTF-8 is escaped or null."""
        column = self._found.get(name)
        if column is None:
            return pa.nulls(self.rows, pa.string())
        raw = self._binary(name)
        try:
            return raw.cast(pa.string())  # checks it, too: files may have any bytes in strings
        except pa.ArrowInvalid:
            values = (None if value is None else location_text(value) for value in raw.to_pylist())
            return pa.array(values, pa.string())

    def addresses(self) -> tuple[pa.Array, pa.Array]:
        """Origin and URL of each row in canonical form; null where there is none."""
        site, url = self.text("origin"), self.text("url")
        plain = pc.binary_join_element_wise(site, "/robots.txt", "")
        wanted = pc.fill_null(url, plain) if url.null_count else url
        is_plain = pc.and_(pc.match_substring_regex(site, _CANONICAL), pc.equal(wanted, plain))
        is_odd = pc.invert(pc.fill_null(is_plain, False))
        if not (pc.any(is_odd).as_py() or False):
            return site, wanted
        odd = zip(site.filter(is_odd).to_pylist(), url.filter(is_odd).to_pylist(), strict=True)
        pairs = [_address(given, asked) for given, asked in odd]
        sites = pa.array([pair[0] for pair in pairs], pa.string())
        targets = pa.array([pair[1] for pair in pairs], pa.string())
        return (
            pc.replace_with_mask(site, is_odd, sites),
            pc.replace_with_mask(wanted, is_odd, targets),
        )

    def body(self) -> tuple[pa.Array, pa.Array]:
        """The bodies up to the limit, and whether each is complete."""
        body, complete = self._binary("body"), self._found.get("complete")
        if complete is None:
            complete = pa.repeat(pa.scalar(True), self.rows)
        elif not pa.types.is_boolean(complete.type):
            raise BulkError(self.place, f"column 'complete': not boolean ({complete.type})")
        complete = pc.fill_null(complete, True)
        is_long = pc.fill_null(pc.greater(pc.binary_length(body), MAX_BODY), False)
        if pc.any(is_long).as_py():
            body = pc.binary_slice(body, 0, MAX_BODY)
            complete = pc.and_(complete, pc.invert(is_long))
        return body, complete

    def status(self) -> pa.Array:
        """The statuses; null for what is none."""
        status = self._found.get("status")
        if status is None:
            return pa.repeat(pa.scalar(200, pa.int16()), self.rows)
        if pa.types.is_floating(status.type):  # as pandas writes a column with nulls
            status = pc.if_else(pc.is_finite(status), pc.round(status), None)
        try:
            status = status.cast(pa.int64(), safe=not pa.types.is_floating(status.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            problem = f"column 'status': not a number ({status.type})"
            raise BulkError(self.place, problem) from None
        is_status = pc.and_(pc.greater_equal(status, 100), pc.less(status, 1000))
        return pc.if_else(is_status, status, None).cast(pa.int16())

    def time(self) -> pa.Array:
        """The times; null where they are not known."""
        time = self._found.get("fetched_at")
        if time is None or pa.types.is_null(time.type):
            return pa.nulls(self.rows, TIME)
        if pa.types.is_timestamp(time.type) or pa.types.is_date(time.type):
            # Without a time zone, UTC is meant.
            number = time.cast(pa.timestamp("ms", getattr(time.type, "tz", None)), safe=False)
            number = number.cast(pa.int64())
        elif pa.types.is_integer(time.type) or pa.types.is_floating(time.type):
            number = pc.multiply(time.cast(pa.float64(), safe=False), 1000.0)
            fits = pc.and_(pc.is_finite(number), pc.less_equal(pc.abs(number), _LAST_MOMENT))
            number = pc.round(pc.if_else(fits, number, None)).cast(pa.int64())
        else:
            problem = f"column 'fetched_at': neither a timestamp nor seconds ({time.type})"
            raise BulkError(self.place, problem)
        known = pc.and_(pc.greater_equal(number, 0), pc.less_equal(number, _LAST_MOMENT))
        return pc.if_else(known, number, None).cast(TIME)

    def _binary(self, name: str) -> pa.Array:
        column = self._found[name]
        try:
            return column.cast(pa.binary())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            problem = f"column {name!r}: neither text nor binary ({column.type})"
            raise BulkError(self.place, problem) from None


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _address(given: str | None, asked: str | None) -> tuple[str | None, str | None]:
    """Origin and URL of one row, in canonical form; twice None when there is none."""
    try:
        if asked is not None:
            url = urls.requestable(asked)
            return urls.origin(url), url
        if given is not None:
            site = urls.origin(urls.with_scheme(given))
            return site, site + "/robots.txt"
    except InvalidURL:
        pass
    return None, None

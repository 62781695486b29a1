"""Where URLs come from: Parquet, Arrow, CSV, text and JSON lines, in files, folders or a pipe.

Everything is read in batches of bounded size, in order, and columns are chosen by name. The value
of a folder named `crawl=2026-40` is a column, as Hive and Spark have it.
"""

import glob
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from manners._text import cut, printable
from manners.bulk import forms
from manners.bulk.records import BulkError
from manners.bulk.texts import UnreadableInput

ROWS = 131_072
"""Rows of a batch."""
MANY = 256
"""Files whose columns are all looked at before the first row is read."""
STDIN = "-"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_TEXT = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)


class UrlFile(NamedTuple):
    """A file with URLs."""

    path: str
    form: str | None = None
    """`parquet`, `arrow`, `csv`, `text` or `jsonl`; None is found out by looking."""
    partitions: tuple[tuple[str, str | None], ...] = ()
    """Names and values of the folders that it is in."""

    @property
    def size(self) -> int | None:
        """Bytes; None for standard input."""
        return None if self.path == STDIN else Path(self.path).stat().st_size


class Slice(NamedTuple):
    """Some row groups of a Parquet file."""

    file: UrlFile
    groups: tuple[int, ...]
    rows: int


@dataclass(slots=True)
class Reading:
    """How far a reader is."""

    rows: int = 0
    bytes: int = 0
    """Of the files as they are stored."""
    dropped: int = 0
    """Rows of CSV files that have too few or too many cells."""


class Urls:
    """Rows with a column of URLs, in their order, from any number of files.

    `keep` names the columns to pass on; None is all of them. `schema` is what a batch has: these
    columns, and the one with the URLs.
    """

    def __init__(
        self, files: Sequence[UrlFile], column: str = "url", keep: Sequence[str] | None = None
    ) -> None:
        self.files, self.column = list(files), column
        self.size = sum(file.size or 0 for file in self.files) if not self.is_pipe else None
        """Bytes of all files; None where that is not known."""
        self._types = _partition_types(self.files)
        self._opened: dict[str, forms.Form] = {}
        try:
            self._choose(self._available(), keep)
        except BaseException:
            self.close()
            raise

    def _choose(self, available: pa.Schema, keep: Sequence[str] | None) -> None:
        """Choose the columns to read and to pass on."""
        column = self.column
        self.kept = list(available.names if keep is None else keep)
        """Names of the columns to pass on."""
        wanted = [*self.kept, *([] if column in self.kept else [column])]
        for name in wanted:
            if name not in available.names:
                raise _no_column(name, available.names, self.files[0].path)
        self.types = {name: available.field(name).type for name in wanted}
        """The types of the columns as they are in the files."""
        self.schema = pa.schema([(name, _flat(kind)) for name, kind in self.types.items()])
        _check_text(self.schema.field(column))
        self._keeps_all = keep is None

    @property
    def is_pipe(self) -> bool:
        """Whether rows come from standard input, and can be read only once."""
        return any(file.path == STDIN for file in self.files)

    def batches(self, reading: Reading | None = None, skip: int = 0) -> Iterator[pa.RecordBatch]:
        """All rows but the first `skip`, in batches."""
        reading = reading or Reading()
        for file in self.files:
            before = reading.bytes
            with closing(self._form(file)) as form:
                for batch in form.batches(self._columns_of(form, file), reading):
                    if skip >= len(batch):
                        skip -= len(batch)
                        continue
                    yield self._fitted(batch.slice(skip), file, self.schema)
                    skip = 0
            reading.bytes = before + (file.size or 0)

    def slices(self, rows: int) -> list[list[Slice]] | None:
        """The rows in pieces of about so many that can be read by themselves.

        None where a file can only be read from its beginning.
        """
        pieces: list[list[Slice]] = []
        size = 0
        for file in self.files:
            form = self._form(file)
            if not isinstance(form, forms.ParquetForm):
                self._opened[file.path] = form
                return None
            for group, count in enumerate(form.group_rows()):
                if not pieces or (pieces[-1] and size + count > rows):
                    pieces.append([])
                    size = 0
                size += count
                if pieces[-1] and pieces[-1][-1].file is file:
                    last = pieces[-1].pop()
                    grown = Slice(file, (*last.groups, group), last.rows + count)
                    pieces[-1].append(grown)
                else:
                    pieces[-1].append(Slice(file, (group,), count))
            form.close()
        return pieces

    def read(self, piece: Sequence[Slice], only_urls: bool = False) -> Iterator[pa.RecordBatch]:
        """The rows of one piece, in batches; from any thread."""
        schema = pa.schema([self.schema.field(self.column)]) if only_urls else self.schema
        for part in piece:
            with closing(forms.ParquetForm(part.file.path)) as form:
                names = [self.column] if only_urls else self._columns_of(form, part.file)
                for batch in form.batches(names, Reading(), part.groups):
                    yield self._fitted(batch, part.file, schema)

    def close(self) -> None:
        """Close what was opened and not read."""
        for form in self._opened.values():
            form.close()
        self._opened.clear()

    def _form(self, file: UrlFile) -> forms.Form:
        form = self._opened.pop(file.path, None)
        return form or forms.open_form(file.path, file.form, self.column)

    def _available(self) -> pa.Schema:
        """The columns of the files, and those of their folders."""
        if not self.files:
            raise BulkError("URLs", "no file was given")
        schemas = []
        for file in self.files[:1] if len(self.files) > MANY else self.files:
            form = self._opened[file.path] = self._form(file)
            names = form.schema.names
            if len(set(names)) < len(names):
                double = next(name for name in names if names.count(name) > 1)
                raise BulkError(_name(file.path), f"two columns {_shown(double)}")
            if self.column not in (*names, *self._types):
                raise _no_column(self.column, names, file.path)
            schemas.append(_plain(form.schema))
            if file.path != STDIN and file is not self.files[0]:  # a pipe is opened once
                self._opened.pop(file.path).close()
        try:
            found = pa.unify_schemas(schemas, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise BulkError(
                _name(self.files[0].path),
                f"other files have columns of other types: {error}; keep only what you need",
            ) from None
        for name, kind in self._types.items():
            if name not in found.names:
                found = found.append(pa.field(name, kind))
        return found

    def _columns_of(self, form: forms.Form, file: UrlFile) -> list[str]:
        """The columns to read from a file; the folders have the others, or nobody."""
        names = form.schema.names
        if self.column not in (*names, *self._types):
            raise _no_column(self.column, names, file.path)
        extra = [name for name in names if name not in self.schema.names]
        if self._keeps_all and extra:
            raise BulkError(
                _name(file.path),
                f"a column {_shown(extra[0])} that other files lack: name the columns to keep",
            )
        return [name for name in self.schema.names if name in names]

    def _fitted(self, batch: pa.RecordBatch, file: UrlFile, schema: pa.Schema) -> pa.RecordBatch:
        """The batch with the columns that all batches have, each of its type."""
        if batch.schema.equals(schema):
            return batch
        values = dict(file.partitions)
        columns = []
        for field in schema:
            if field.name in batch.schema.names:
                columns.append(_cast(batch.column(field.name), field, file.path))
            elif values.get(field.name) is not None:
                value = pa.scalar(values[field.name]).cast(field.type)
                columns.append(pa.repeat(value, len(batch)))
            else:
                columns.append(pa.nulls(len(batch), field.type))
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def open_urls(
    places: str | Path | Iterable[str | Path],
    column: str = "url",
    keep: Sequence[str] | None = None,
) -> Urls:
    """The URLs in files, folders and globs; `-` is standard input.

    `parquet:`, `arrow:`, `csv:`, `text:` or `jsonl:` before a place says what it is.
    """
    places = [places] if isinstance(places, str | Path) else list(places)
    files = [file for place in places for file in find(str(place), forms.NAMES, forms.SUFFIXES)]
    if sum(file.path == STDIN for file in files) > 1:
        raise BulkError("standard input", "given twice, and can be read only once")
    return Urls(files, column, keep)


def find(place: str, names: Iterable[str], suffixes: Iterable[str]) -> list[UrlFile]:
    """The files at a place, sorted by path: a file, a folder with all below it, or a glob."""
    prefix, colon, rest = place.partition(":")
    form = prefix if colon and prefix in names else None
    path = rest if form else place
    if path == STDIN:
        return [UrlFile(STDIN, form)]
    if "://" in path:
        raise BulkError(path, "not a file here: copy it, or mount it as a folder")
    if Path(path).is_dir():
        found = _below(Path(path), form, tuple(suffixes))
        problem = f"no file in it that could hold URLs ({', '.join(forms.ENDINGS)})"
    elif Path(path).exists():
        found, problem = [path], ""
    elif glob.has_magic(path):
        matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 (Path's takes no root)
        found = [
            file
            for match in matches
            for file in (
                _below(Path(match), form, tuple(suffixes)) if Path(match).is_dir() else [match]
            )
        ]
        problem = "no file matches"
    else:
        found, problem = [], "no such file or folder"
    if not found:
        raise UnreadableInput(path, problem)
    return [UrlFile(file, form, _partitions(file)) for file in found]


def ahead(batches: Iterable[Any], depth: int = 2) -> Iterator[Any]:
    """The same batches, read in a thread, up to `depth` of them before they are needed."""
    room: queue.Queue[Any] = queue.Queue(depth)
    stopped = threading.Event()
    end = object()

    def put(item: Any) -> bool:
        while not stopped.is_set():
            with suppress(queue.Full):
                room.put(item, timeout=0.1)
                return True
        return False

    def work() -> None:
        iterator = iter(batches)
        try:
            for batch in iterator:
                if not put(batch):
                    break
            else:
                put(end)
        except BaseException as error:
            put(error)
        finally:
            close: Callable[[], None] | None = getattr(iterator, "close", None)
            if close is not None:
                close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while (item := room.get()) is not end:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        thread.join()


def _below(folder: Path, form: str | None, suffixes: tuple[str, ...]) -> list[str]:
    """The files below a folder; names with a dot or a line before them are other programs'."""
    found = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = (part[0] in "._" and "=" not in part for part in parts)
        is_of_a_run = any(part.endswith(".work") for part in parts[:-1])
        if any(hidden) or is_of_a_run or not path.is_file():
            continue
        if form is not None or path.name.lower().endswith(suffixes):
            found.append(str(path))
    return found


def _partitions(path: str) -> tuple[tuple[str, str | None], ...]:
    """Names and values of the folders, as in `crawl=2026-40/subset=warc/x.parquet`."""
    found = {}
    for part in Path(path).parent.parts:
        name, equals, value = part.partition("=")
        if equals and name:
            found[unquote(name)] = None if value == _NO_VALUE else unquote(value)
    return tuple(found.items())


def _partition_types(files: Sequence[UrlFile]) -> dict[str, pa.DataType]:
    """The type of each column that is in the names of folders: numbers, or text."""
    are_numbers: dict[str, bool] = {}
    for file in files:
        for name, value in file.partitions:
            is_number = value is None or (
                value.isascii() and value.isdigit() and len(value) < 18 and str(int(value)) == value
            )
            are_numbers[name] = are_numbers.get(name, True) and is_number
    return {
        name: pa.int64() if is_number else pa.string() for name, is_number in are_numbers.items()
    }


def _plain(schema: pa.Schema) -> pa.Schema:
    """The schema without what other programs noted in it, and without dictionaries."""
    kinds = ((field.name, field.type) for field in schema)
    return pa.schema(
        [(name, kind.value_type if pa.types.is_dictionary(kind) else kind) for name, kind in kinds]
    )


def _flat(kind: pa.DataType) -> pa.DataType:
    """The type without views, which pyarrow cannot sort or filter, also within lists."""
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_flat(kind.value_type)))
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_flat(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_flat(field.type)) for field in kind])
    views = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
    return views.get(str(kind), kind)


def _check_text(field: pa.Field) -> None:
    if not any(check(field.type) for check in _TEXT):
        raise BulkError(
            f"column {_shown(field.name)}",
            f"no text (its type is {field.type}): name the column that has the URLs",
        )


def _cast(column: pa.Array, field: pa.Field, path: str) -> pa.Array:
    if column.type == field.type:
        return column
    try:
        return pc.cast(column, field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise BulkError(
            _name(path),
            f"the column {_shown(field.name)} is no {field.type}, as it is in other files:"
            f" {cut(str(error), 200)}",
        ) from None


def _no_column(name: str, names: Sequence[str], path: str) -> BulkError:
    """The error of a column that is not there, with those that are, the nearest first."""
    near = get_close_matches(name, names, 5, 0.4)
    shown = [*near, *(other for other in names if other not in near)]
    listed = ", ".join(printable(cut(other, 50)) for other in shown[:20]) or "none"
    more = f" and {len(shown) - 20} more" if len(shown) > 20 else ""
    return BulkError(_name(path), f"no column {_shown(name)}; there are: {listed}{more}")


def _name(path: str) -> str:
    return "standard input" if path == STDIN else path


def _shown(text: str) -> str:
    return repr(cut(text, 200))

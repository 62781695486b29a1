# Columns of texts in Arrow memory, read in place. A part of the kernel.
#
# Data comes by the Arrow C data interface (arrow.apache.org/docs/format/CDataInterface), in
# PyCapsules. The memory belongs to the producer, until `release` is called.

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport int64_t, uintptr_t

cdef extern from *:
    """
    struct ArrowSchema {
        const char *format, *name, *metadata;
        int64_t flags, n_children;
        struct ArrowSchema **children, *dictionary;
        void (*release)(struct ArrowSchema *);
        void *private_data;
    };
    struct ArrowArray {
        int64_t length, null_count, offset, n_buffers, n_children;
        const void **buffers;
        struct ArrowArray **children, *dictionary;
        void (*release)(struct ArrowArray *);
        void *private_data;
    };
    struct ArrowArrayStream {
        int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
        int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
        const char *(*get_last_error)(struct ArrowArrayStream *);
        void (*release)(struct ArrowArrayStream *);
        void *private_data;
    };
    """
    struct ArrowSchema:
        const char *format
        const char *name
        const char *metadata
        int64_t flags
        int64_t n_children
        ArrowSchema **children
        ArrowSchema *dictionary
        void (*release)(ArrowSchema *) noexcept nogil
        void *private_data

    struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void **buffers
        ArrowArray **children
        ArrowArray *dictionary
        void (*release)(ArrowArray *) noexcept nogil
        void *private_data

    struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream *, ArrowSchema *) noexcept nogil
        int (*get_next)(ArrowArrayStream *, ArrowArray *) noexcept nogil
        const char *(*get_last_error)(ArrowArrayStream *) noexcept nogil
        void (*release)(ArrowArrayStream *) noexcept nogil
        void *private_data

cdef enum:  # how a column of texts is laid out
    SMALL_OFFSETS = 1, LARGE_OFFSETS, VIEWS

cdef enum:  # what becomes of a row; `manners.compat.arrow` knows the first three
    DISALLOWED, ALLOWED, NO_ANSWER, FOR_PYTHON

cdef struct Column:
    int layout
    int64_t length, offset, end, views
    const uint8_t *validity
    const uint8_t *places      # offsets, or views
    const uint8_t *data
    const void **buffers       # of views

cdef struct Text:
    const uint8_t *start       # NULL: the row has none
    int64_t size               # below 0: the column contradicts itself

cdef struct View:              # the layout of Utf8View: short texts are in it, long ones elsewhere
    int32_t size
    int32_t prefix
    int32_t buffer
    int32_t offset

BROKEN = "a column that is not as its Arrow type says"


cdef inline int64_t offset_at(Column *column, int64_t row) noexcept nogil:
    """Where the text of a row begins. Other people's memory need not be aligned: hence a copy."""
    cdef int32_t small
    cdef int64_t large
    if column.layout == LARGE_OFFSETS:
        memcpy(&large, column.places + row * 8, 8)
        return large
    memcpy(&small, column.places + row * 4, 4)
    return small


cdef inline Text text_at(Column *column, int64_t row) noexcept nogil:
    cdef Text text
    cdef View view
    cdef int64_t begin, end
    text.start, text.size = NULL, 0
    row += column.offset
    if column.validity != NULL and not column.validity[row >> 3] >> (row & 7) & 1:
        return text
    if column.layout == VIEWS:
        memcpy(&view, column.places + row * sizeof(View), sizeof(View))
        text.size = view.size
        if view.size <= 12:
            text.start = column.places + row * sizeof(View) + 4
        elif (not 0 <= view.buffer < column.views or view.offset < 0 or view.offset + text.size
                > (<const int64_t *>column.buffers[column.views + 2])[view.buffer]):
            text.size = -1
        else:
            text.start = <const uint8_t *>column.buffers[view.buffer + 2] + view.offset
    else:
        begin, end = offset_at(column, row), offset_at(column, row + 1)
        if 0 <= begin <= end <= column.end:
            text.start, text.size = column.data + begin, end - begin
        else:
            text.size = -1
    return text


cdef int text_layout(ArrowSchema *schema, name) except -1:
    """How a column of texts lies in memory; a TypeError for a column of anything else."""
    cdef bytes format
    if schema == NULL or schema.format == NULL:
        raise ValueError("an Arrow schema that was released, or is broken")
    format = schema.format
    if schema.dictionary != NULL:
        raise TypeError(f"{name}: dictionary-encoded; cast it to a string column first")
    if format in (b"u", b"z"):
        return SMALL_OFFSETS
    if format in (b"U", b"Z"):
        return LARGE_OFFSETS
    if format in (b"vu", b"vz"):
        return VIEWS
    found = format.decode("ascii", "replace")
    raise TypeError(f"{name}: not a column of strings (Arrow format {found!r})")


cdef str name_of(ArrowSchema *schema):
    if schema == NULL or schema.name == NULL:
        return ""
    return (<bytes>schema.name).decode("utf-8", "replace")


cdef int open_column(Column *column, ArrowArray *array, int layout, int64_t skip) except -1:
    cdef int64_t i
    if (array.release == NULL or array.n_buffers < 3 or array.buffers == NULL
            or array.length < skip or array.offset < 0):
        raise ValueError(BROKEN)
    column.layout, column.length = layout, array.length - skip
    column.offset = array.offset + skip
    column.validity = <const uint8_t *>array.buffers[0] if array.null_count != 0 else NULL
    column.places = <const uint8_t *>array.buffers[1]
    if column.length > 0 and column.places == NULL:
        raise ValueError(BROKEN)
    if layout == VIEWS:
        column.buffers, column.views = array.buffers, array.n_buffers - 3
        for i in range(column.views):
            if array.buffers[i + 2] == NULL or array.buffers[column.views + 2] == NULL:
                raise ValueError(BROKEN)
        return 0
    # The interface does not say how much memory there is: as much as the last offset needs, and
    # where all texts are empty there need be none.
    column.end = offset_at(column, column.offset + column.length) if column.length > 0 else 0
    column.data = <const uint8_t *>array.buffers[2]
    if column.data == NULL:
        column.data = <const uint8_t *>b""
        if column.end > 0:
            raise ValueError(BROKEN)
    return 0


cdef class Reader:
    """The columns of texts of an Arrow array, table or stream, chunk by chunk.

    With names, columns of a table; without, a column, or a table that has just one. The array, or
    the stream, is moved here from its capsule, so that nobody else can release what is read.
    """

    cdef ArrowArray array
    cdef ArrowArrayStream stream
    cdef bint is_table, begun
    cdef int count                 # of the columns
    cdef int layouts[2]
    cdef int64_t children[2]       # where a table has them
    cdef Column columns[2]
    cdef int64_t length

    def __cinit__(self, data, tuple names):
        cdef ArrowSchema own_schema
        cdef ArrowArray *array
        cdef ArrowArrayStream *stream
        cdef int error
        if hasattr(data, "__arrow_c_array__"):
            schema_capsule, capsule = data.__arrow_c_array__()
            array = <ArrowArray *>PyCapsule_GetPointer(capsule, "arrow_array")
            self._read_schema(
                <ArrowSchema *>PyCapsule_GetPointer(schema_capsule, "arrow_schema"), names)
            if array.release == NULL:
                raise ValueError("an Arrow array that was released, or consumed, before")
            self.array = array[0]
            array.release = NULL
        elif hasattr(data, "__arrow_c_stream__"):
            capsule = data.__arrow_c_stream__()
            stream = <ArrowArrayStream *>PyCapsule_GetPointer(capsule, "arrow_array_stream")
            if stream.release == NULL:
                raise ValueError("an Arrow stream that was released, or consumed, before")
            self.stream = stream[0]
            stream.release = NULL
            memset(&own_schema, 0, sizeof(ArrowSchema))
            with nogil:  # whoever makes the chunks may need the GIL for it, in a thread of its own
                error = self.stream.get_schema(&self.stream, &own_schema)
            self._done(error)
            try:
                self._read_schema(&own_schema, names)
            finally:
                if own_schema.release != NULL:
                    own_schema.release(&own_schema)
        else:
            raise TypeError(
                f"not Arrow data: {type(data).__name__} has neither __arrow_c_array__ nor "
                "__arrow_c_stream__")

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)
        if self.stream.release != NULL:
            self.stream.release(&self.stream)

    cdef int _done(self, int error) except -1:
        if error != 0:
            message = self.stream.get_last_error(&self.stream)
            reason = f"error {error}"
            if message != NULL:
                reason = (<bytes>message).decode("utf-8", "replace")
            raise OSError(error, f"the Arrow stream failed: {reason}")
        return 0

    cdef int _read_schema(self, ArrowSchema *schema, tuple names) except -1:
        """Learns which columns there are; a TypeError when they are not those that are needed."""
        cdef int64_t i
        cdef int number
        if schema.release == NULL or schema.format == NULL or (
                schema.n_children > 0 and schema.children == NULL):
            raise ValueError("an Arrow schema that was released, or is broken")
        self.is_table, self.count = <bytes>schema.format == b"+s", 1
        if not self.is_table:
            if names:
                raise TypeError(f"a column, not a table with the columns {' and '.join(names)}")
            self.layouts[0] = text_layout(schema, "the column")
            return 0
        titles = [name_of(schema.children[i]) for i in range(schema.n_children)]
        if not names and len(titles) != 1:
            raise TypeError(f"a table with {len(titles)} columns: pass the column with the URLs")
        for number, name in enumerate(names or titles):
            if titles.count(name) != 1:
                raise TypeError(
                    f"a table with one column {name!r} is needed; it has: {', '.join(titles)}")
            i = titles.index(name)
            self.children[number] = i
            self.layouts[number] = text_layout(schema.children[i], name)
            self.count = number + 1
        return 0

    cdef bint next(self) except -1:
        """Whether there is another chunk, which is then in `columns`."""
        cdef int error
        if self.stream.release != NULL:
            if self.array.release != NULL:
                self.array.release(&self.array)
            memset(&self.array, 0, sizeof(ArrowArray))
            with nogil:
                error = self.stream.get_next(&self.stream, &self.array)
            if error != 0:
                self.array.release = NULL  # there is none
            self._done(error)
        elif self.begun:
            return False
        self.begun = True
        if self.array.release == NULL:
            return False
        self._open()
        return True

    cdef int _open(self) except -1:
        cdef ArrowArray *array = &self.array
        cdef int64_t i
        cdef int number
        if array.length < 0 or array.offset < 0:
            raise ValueError(BROKEN)
        self.length = array.length
        if not self.is_table:
            open_column(&self.columns[0], array, self.layouts[0], 0)
            return 0
        if (array.n_buffers > 0 and array.buffers != NULL and array.buffers[0] != NULL
                and array.null_count != 0):
            raise TypeError("a column of structs with nulls, not a table")
        for number in range(self.count):
            i = self.children[number]
            if i >= array.n_children or array.children == NULL or array.children[i] == NULL:
                raise ValueError("a table without the columns of its schema")
            open_column(
                &self.columns[number], array.children[i], self.layouts[number], array.offset)
            if self.columns[number].length < self.length:
                raise ValueError("a column that is shorter than its table")
            self.columns[number].length = self.length
        return 0


def arrow_rows(data, str first, str second):
    """The rows of two columns of a table, as pairs of bytes; None where there is nothing."""
    cdef Reader reader = Reader(data, (first, second))
    cdef int64_t i
    rows = []
    while reader.next():
        for i in range(reader.length):
            rows.append((bytes_at(&reader.columns[0], i), bytes_at(&reader.columns[1], i)))
    return rows


cdef object bytes_at(Column *column, int64_t row):
    cdef Text text = text_at(column, row)
    if text.size < 0:
        raise ValueError(f"row {row} of {BROKEN}")
    if text.start == NULL:
        return None
    return PyBytes_FromStringAndSize(<const char *>text.start, text.size)

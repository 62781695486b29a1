# Columns of URLs in Arrow memory, read where they lie: no Python string is made of a row that can
# be decided without one, and the GIL is not held meanwhile. A part of the kernel.
#
# What producers hand over is the Arrow C data interface (arrow.apache.org/docs/format/CDataInterface)
# in PyCapsules. The memory belongs to whoever made it, until `release` is called.

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
    raise TypeError(f"{name}: not a column of strings (Arrow format {format.decode('ascii', 'replace')!r})")


cdef str name_of(ArrowSchema *schema):
    return "" if schema == NULL or schema.name == NULL else (<bytes>schema.name).decode("utf-8", "replace")


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
            said = (<bytes>message).decode("utf-8", "replace") if message != NULL else f"error {error}"
            raise OSError(error, f"the Arrow stream failed: {said}")
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
                raise TypeError(f"a table with one column {name!r} is needed; it has: {', '.join(titles)}")
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
            open_column(&self.columns[number], array.children[i], self.layouts[number], array.offset)
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
    return None if text.start == NULL else PyBytes_FromStringAndSize(<const char *>text.start, text.size)


cdef class Origins:
    """Which policy is for which origin: open addressing, by a hash that nobody can foresee."""

    cdef list keys, policies
    cdef void **matchers
    cdef const uint8_t **texts
    cdef Py_ssize_t *sizes
    cdef int32_t *places
    cdef uint64_t mask, seed

    def __cinit__(self, dict policies):
        cdef Py_ssize_t count = len(policies), room = 8, i
        cdef uint64_t place
        while room < 2 * count:
            room *= 2
        self.mask, self.seed = room - 1, <uint64_t>hash(b"manners")
        self.keys = [key.encode("ascii") for key in policies]
        self.policies = list(policies.values())
        self.matchers = <void **>malloc((count + 1) * sizeof(void *))
        self.texts = <const uint8_t **>malloc((count + 1) * sizeof(void *))
        self.sizes = <Py_ssize_t *>malloc((count + 1) * sizeof(Py_ssize_t))
        self.places = <int32_t *>calloc(room, sizeof(int32_t))
        if self.matchers == NULL or self.texts == NULL or self.sizes == NULL or self.places == NULL:
            raise MemoryError
        for i in range(count):
            policy = self.policies[i]
            if not isinstance(policy, Matcher):
                raise TypeError(f"a policy is a manners.Policy, not {type(policy).__name__}")
            self.matchers[i] = <void *>policy
            self.texts[i] = <const uint8_t *>PyBytes_AS_STRING(self.keys[i])
            self.sizes[i] = PyBytes_GET_SIZE(self.keys[i])
            place = self._hash(self.texts[i], self.sizes[i]) & self.mask
            while self.places[place] != 0:
                place = (place + 1) & self.mask
            self.places[place] = <int32_t>i + 1

    def __dealloc__(self):
        free(self.matchers)
        free(self.texts)
        free(self.sizes)
        free(self.places)

    cdef inline uint64_t _hash(self, const uint8_t *text, Py_ssize_t size) noexcept nogil:
        cdef uint64_t mixed = self.seed ^ <uint64_t>size, part
        while size > 0:
            part = 0
            memcpy(&part, text, 8 if size > 8 else size)
            mixed = (mixed ^ part) * <uint64_t>0x9E3779B97F4A7C15
            mixed ^= mixed >> 29
            text += 8
            size -= 8
        return mixed ^ (mixed >> 32)

    cdef int32_t find(self, const uint8_t *text, Py_ssize_t size) noexcept nogil:
        """The number of an origin; -1 when there is none."""
        cdef uint64_t place = self._hash(text, size) & self.mask
        cdef int32_t number
        while self.places[place] != 0:
            number = self.places[place] - 1
            if self.sizes[number] == size and memcmp(self.texts[number], text, size) == 0:
                return number
            place = (place + 1) & self.mask
        return -1

    cdef int32_t find_any(self, Text text) except? -1:
        """The same for a URL that is not written as its origin is."""
        try:
            key = plain_origin(to_text(PyBytes_FromStringAndSize(<const char *>text.start, text.size)))
        except ValueError:  # InvalidURL
            return -1
        key = key.encode("ascii")
        return self.find(<const uint8_t *>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))


cdef inline bint needs_python(Matcher matcher):
    return matcher.config.path_code == NORM_PYTHON or matcher.config.own_server_only


def arrow_allowed(urls, policy):
    """A byte for each row of a column of URLs: 0 disallowed, 1 allowed, 2 unknown.

    With a policy, for that one; with a dict of policies by origin, for the one of each URL's.
    """
    cdef Reader reader = Reader(urls, ())
    cdef Origins origins = None if isinstance(policy, Matcher) else Origins(policy)
    chunks = []
    while reader.next():
        answers = PyBytes_FromStringAndSize(NULL, reader.length)
        if origins is None:
            check_column(&reader.columns[0], <uint8_t *>PyBytes_AS_STRING(answers), policy)
        else:
            check_by_origin(&reader.columns[0], <uint8_t *>PyBytes_AS_STRING(answers), origins)
        chunks.append(answers)
    return b"".join(chunks)


cdef int check_column(Column *column, uint8_t *answers, Matcher matcher) except -1:
    cdef int64_t i
    cdef bint for_python = needs_python(matcher)
    cdef int failed = 0
    # As in `allowed_many`: arranged before the GIL is released.
    if not matcher.compiled:
        matcher._compile()
    with nogil:
        for i in range(column.length):
            failed |= check_row(column, i, matcher, for_python, answers)
    return finish(column, answers, matcher, None, NULL, failed)


cdef int check_by_origin(Column *column, uint8_t *answers, Origins origins) except -1:
    cdef int64_t i
    cdef int32_t *owners = <int32_t *>malloc(column.length * sizeof(int32_t) + 1)
    cdef int32_t owner = -1, before = -1
    cdef Py_ssize_t size
    cdef Text text
    cdef Matcher matcher
    cdef int failed = 0
    cdef uint8_t *used = <uint8_t *>calloc(len(origins.policies) + 1, 1)
    try:
        if owners == NULL or used == NULL:
            raise MemoryError
        with nogil:
            for i in range(column.length):
                text = text_at(column, i)
                owners[i] = -1
                if text.size < 0:
                    failed = 2
                    break
                if text.start == NULL:
                    continue
                size = written_origin(text.start, text.size)
                if size == 0:
                    owners[i] = -2
                    continue
                # Columns are often sorted, or nearly so.
                if before < 0 or size != origins.sizes[before] or memcmp(
                        text.start, origins.texts[before], size) != 0:
                    before = origins.find(text.start, size)
                owners[i] = before
                if before >= 0:
                    used[before] = 1
        if failed:
            raise ValueError(BROKEN)
        for i in range(column.length):
            if owners[i] == -2:
                owners[i] = owner = origins.find_any(text_at(column, i))
                if owner >= 0:
                    used[owner] = 1
        for i in range(len(origins.policies)):
            if used[i]:
                matcher = origins.policies[i]
                used[i] = 1 + needs_python(matcher)
                if not matcher.compiled:
                    matcher._compile()
        with nogil:
            for i in range(column.length):
                if owners[i] < 0:
                    answers[i] = NO_ANSWER
                else:
                    failed |= check_row(column, i, <Matcher>origins.matchers[owners[i]],
                                        used[owners[i]] == 2, answers)
        return finish(column, answers, None, origins, owners, failed)
    finally:
        free(owners)
        free(used)


cdef inline bint is_url_or_path(const uint8_t *text, int64_t size) noexcept nogil:
    """Whether a row can be answered: it is a path, or an http or https URL with a host.

    The same as `manners.compat.arrow._URL_OR_PATH`. To the engine every string has a path; a column
    with something else in it than URLs is a mistake that must not read as a permission.
    """
    cdef int64_t at = 4
    if size > 0 and text[0] == b"/":
        return True
    if size < 8 or (text[0] | 32) != b"h" or (text[1] | 32) != b"t" or (text[2] | 32) != b"t" \
            or (text[3] | 32) != b"p":
        return False
    if (text[4] | 32) == b"s":
        at = 5
    if text[at] != b":" or text[at + 1] != b"/" or text[at + 2] != b"/" or size <= at + 3:
        return False
    return text[at + 3] != b"/" and text[at + 3] != b"?" and text[at + 3] != b"#"


cdef inline int check_row(
    Column *column, int64_t row, Matcher matcher, bint for_python, uint8_t *answers
) noexcept nogil:
    """Answer one row; not 0 when that is impossible."""
    cdef Text text = text_at(column, row)
    cdef uint64_t rank = 0
    cdef int allowed
    if text.start == NULL:
        answers[row] = NO_ANSWER
        return 2 if text.size < 0 else 0
    if text.size < 0:
        return 2
    if not is_url_or_path(text.start, text.size):
        answers[row] = NO_ANSWER
        return 0
    if for_python:
        answers[row] = FOR_PYTHON
        return 0
    allowed = matcher._check(text.start, text.size, &rank)
    if allowed < 0:
        return 1
    answers[row] = ALLOWED if allowed else DISALLOWED
    return 0


cdef int finish(
    Column *column, uint8_t *answers, Matcher matcher, Origins origins, int32_t *owners, int failed
) except -1:
    """Answer the rows that need Python; raise what could not be raised without it."""
    cdef int64_t i
    cdef const void *found
    if failed & 1:
        raise MemoryError
    if failed & 2:
        raise ValueError(BROKEN)
    i = 0
    while i < column.length:
        found = memchr(answers + i, FOR_PYTHON, column.length - i)
        if found == NULL:
            break
        i = <const uint8_t *>found - answers
        policy = matcher if origins is None else origins.policies[owners[i]]
        answers[i] = ALLOWED if policy.allowed(to_text(bytes_at(column, i))) else DISALLOWED
    return 0


# Answers, as an Arrow array of booleans. It has its own memory, so that it can be released by
# anybody, in any thread, without the GIL.

cdef void release_schema(ArrowSchema *schema) noexcept nogil:
    schema.release = NULL


cdef void release_array(ArrowArray *array) noexcept nogil:
    free(array.private_data)
    array.release = NULL


cdef void drop_schema(object capsule) noexcept:
    cdef ArrowSchema *schema = <ArrowSchema *>PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


cdef void drop_array(object capsule) noexcept:
    cdef ArrowArray *array = <ArrowArray *>PyCapsule_GetPointer(capsule, "arrow_array")
    if array.release != NULL:
        array.release(array)
    free(array)


cdef struct Bits:
    const void *buffers[2]


def arrow_booleans(bytes answers):
    """Schema and array of booleans for answers; null for unknown."""
    cdef int64_t length = len(answers), i, nulls = 0
    cdef int64_t room = ((length + 511) >> 9) * 64   # the format recommends 64-byte blocks
    cdef const uint8_t *text = <const uint8_t *>PyBytes_AS_STRING(answers)
    cdef ArrowSchema *schema = <ArrowSchema *>calloc(1, sizeof(ArrowSchema))
    cdef ArrowArray *array = <ArrowArray *>calloc(1, sizeof(ArrowArray))
    cdef uint8_t *memory = <uint8_t *>calloc(1, sizeof(Bits) + 64 + 2 * room)
    cdef uint8_t *validity
    cdef uint8_t *values
    if schema == NULL or array == NULL or memory == NULL:
        free(schema)
        free(array)
        free(memory)
        raise MemoryError
    validity = memory + sizeof(Bits)
    validity += -<uintptr_t>validity & 63
    values = validity + room
    with nogil:
        for i in range(length):
            nulls += text[i] == NO_ANSWER
            validity[i >> 3] |= (text[i] != NO_ANSWER) << (i & 7)
            values[i >> 3] |= (text[i] == ALLOWED) << (i & 7)
    schema.format, schema.name, schema.flags = b"b", b"allowed", 2
    schema.release = release_schema
    (<Bits *>memory).buffers[0] = validity if nulls else NULL
    (<Bits *>memory).buffers[1] = values
    array.length, array.null_count, array.n_buffers = length, nulls, 2
    array.buffers = (<Bits *>memory).buffers
    array.private_data, array.release = memory, release_array
    return (PyCapsule_New(schema, "arrow_schema", drop_schema),
            PyCapsule_New(array, "arrow_array", drop_array))

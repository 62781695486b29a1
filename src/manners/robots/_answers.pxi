# Checking a column of URLs: no Python string is made for a row that can be decided without one, and
# the GIL is released meanwhile. A part of the kernel.

cdef class Origins:
    """Which policy is for which origin: open addressing, by a hash that nobody can foresee."""

    cdef list keys, policies
    cdef RuleSet **rulesets
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
        self.rulesets = <RuleSet **>malloc((count + 1) * sizeof(void *))
        self.texts = <const uint8_t **>malloc((count + 1) * sizeof(void *))
        self.sizes = <Py_ssize_t *>malloc((count + 1) * sizeof(Py_ssize_t))
        self.places = <int32_t *>calloc(room, sizeof(int32_t))
        if self.rulesets == NULL or self.texts == NULL or self.sizes == NULL or self.places == NULL:
            raise MemoryError
        for i in range(count):
            policy = self.policies[i]
            if not isinstance(policy, Matcher):
                raise TypeError(f"a policy is a manners.Policy, not {type(policy).__name__}")
            self.rulesets[i] = &(<Matcher>policy).ruleset
            self.texts[i] = <const uint8_t *>PyBytes_AS_STRING(self.keys[i])
            self.sizes[i] = PyBytes_GET_SIZE(self.keys[i])
            place = hash_text(self.texts[i], self.sizes[i], self.seed) & self.mask
            while self.places[place] != 0:
                place = (place + 1) & self.mask
            self.places[place] = <int32_t>i + 1

    def __dealloc__(self):
        free(self.rulesets)
        free(self.texts)
        free(self.sizes)
        free(self.places)

    cdef int32_t find(self, const uint8_t *text, Py_ssize_t size) noexcept nogil:
        """The number of an origin; -1 when there is none."""
        cdef uint64_t place = hash_text(text, size, self.seed) & self.mask
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
            url = to_text(PyBytes_FromStringAndSize(<const char *>text.start, text.size))
            key = plain_origin(url)
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
    if not matcher.ruleset.arranged:
        arrange(&matcher.ruleset)
    with nogil:
        for i in range(column.length):
            failed |= check_row(column, i, &matcher.ruleset, for_python, answers)
    return finish(column, answers, matcher, None, NULL, failed)


cdef bint find_owners(
    Column *column, Origins origins, int32_t *owners, uint8_t *used
) noexcept nogil:
    """The number of each row's origin: -1 for none, -2 where it has to be worked out in Python.

    Marks the origins that are used. False when the column contradicts itself.
    """
    cdef int64_t i
    cdef int32_t before = -1
    cdef Py_ssize_t size
    cdef Text text
    for i in range(column.length):
        text = text_at(column, i)
        owners[i] = -1
        if text.size < 0:
            return False
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
    return True


cdef int check_by_origin(Column *column, uint8_t *answers, Origins origins) except -1:
    cdef int64_t i
    cdef int32_t *owners = <int32_t *>malloc(column.length * sizeof(int32_t) + 1)
    cdef Matcher matcher
    cdef bint is_sound
    cdef int failed = 0
    cdef uint8_t *used = <uint8_t *>calloc(len(origins.policies) + 1, 1)
    try:
        if owners == NULL or used == NULL:
            raise MemoryError
        with nogil:
            is_sound = find_owners(column, origins, owners, used)
        if not is_sound:
            raise ValueError(BROKEN)
        for i in range(column.length):
            if owners[i] == -2:
                owners[i] = origins.find_any(text_at(column, i))
                if owners[i] >= 0:
                    used[owners[i]] = 1
        for i in range(len(origins.policies)):
            if used[i]:
                matcher = origins.policies[i]
                used[i] = 1 + needs_python(matcher)
                if not matcher.ruleset.arranged:
                    arrange(&matcher.ruleset)
        with nogil:
            for i in range(column.length):
                if owners[i] < 0:
                    answers[i] = NO_ANSWER
                else:
                    failed |= check_row(column, i, origins.rulesets[owners[i]],
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
    if size > 0 and text[0] == c"/":
        return True
    if size < 8 or LOWER[text[0]] != c"h" or LOWER[text[1]] != c"t" or LOWER[text[2]] != c"t" \
            or LOWER[text[3]] != c"p":
        return False
    if LOWER[text[4]] == c"s":
        at = 5
    if text[at] != c":" or text[at + 1] != c"/" or text[at + 2] != c"/" or size <= at + 3:
        return False
    return text[at + 3] != c"/" and text[at + 3] != c"?" and text[at + 3] != c"#"


cdef inline int check_row(
    Column *column, int64_t row, RuleSet *ruleset, bint for_python, uint8_t *answers
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
    allowed = check_url(ruleset, text.start, text.size, &rank)
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

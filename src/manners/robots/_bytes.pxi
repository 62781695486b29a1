# Bytes: the classes they fall into, and how each dialect normalises a path or a pattern.
# A part of the kernel.

cdef struct Norm:
    uint8_t copy[256]     # these bytes stay as they are; the rest becomes %XX
    uint8_t decode[256]   # %xx of these octets is decoded
    int percent

cdef Norm norms[NORM_COUNT]
cdef uint8_t IS_SPACE[256]
cdef uint8_t LOWER[256]
cdef uint8_t HEX[256]     # the value of a hex digit plus one; 0 for any other byte
cdef uint8_t ENDS_AUTHORITY[256]
cdef uint8_t PLAIN_HOST[256]
cdef uint8_t REQUESTABLE[256]
cdef uint64_t BYTE_CLASS[256]
cdef uint8_t COMMON[256]
cdef uint8_t IS_TOKEN[256]
cdef uint8_t IS_GOOGLE_TOKEN[256]
cdef const char *DIGITS = "0123456789ABCDEF"


cdef void fill(uint8_t *table, bytes members) noexcept:
    cdef int i
    cdef const uint8_t *text = <const uint8_t *>PyBytes_AS_STRING(members)
    for i in range(<int>len(members)):
        table[text[i]] = 1


cdef bytes LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
cdef bytes NUMERALS = b"0123456789"


cdef int set_up_tables() except -1:
    cdef int i
    cdef bytes common
    fill(IS_SPACE, b" \t\n\r\x0b\x0c")
    fill(ENDS_AUTHORITY, b"/?;#")
    fill(PLAIN_HOST, b"abcdefghijklmnopqrstuvwxyz0123456789.-_")
    fill(REQUESTABLE, LETTERS + NUMERALS + b"!$%&'()*+,-./:;=?@[]_~")
    fill(IS_TOKEN, LETTERS + NUMERALS + b"_-")
    fill(IS_GOOGLE_TOKEN, LETTERS + b"_-")
    for i in range(256):
        LOWER[i] = i - c"A" + c"a" if c"A" <= i <= c"Z" else i
        HEX[i] = 0
    for i in range(10):
        HEX[c"0" + i] = i + 1
    for i in range(6):
        HEX[c"A" + i] = HEX[c"a" + i] = i + 11
    # 64 classes: a path that lacks a class a rule needs cannot match it. Letters and digits tell
    # paths apart best, so each has a class of its own.
    for i in range(256):
        BYTE_CLASS[i] = <uint64_t>1 << (36 + i % 28)
    for i in range(26):
        BYTE_CLASS[c"a" + i] = <uint64_t>1 << i
    for i in range(10):
        BYTE_CLASS[c"0" + i] = <uint64_t>1 << (26 + i)
    # How common a byte is in paths, roughly: a rare one is quickest to look for.
    memset(COMMON, 1, 256)
    common = b"zqxjkvwyfbgupdhlmcnsriotae0123456789_.-=&?/"
    for i in range(<int>len(common)):
        COMMON[<uint8_t>common[i]] = i + 2
    return set_up_norms()


cdef int set_up_norms() except -1:
    cdef int i
    cdef bytes unreserved = LETTERS + NUMERALS + b"-._~"
    cdef bytes safe = unreserved + b"/:?#[]@!&'()+,;="
    for i in (NORM_RFC_PATH, NORM_RFC_PATTERN):
        fill(norms[i].copy, safe)
        fill(norms[i].decode, unreserved)
        norms[i].percent = PERCENT_RFC
    fill(norms[NORM_RFC_PATTERN].copy, b"*")
    fill(norms[NORM_LITERAL].copy, safe + b"*$")
    fill(norms[NORM_LITERAL].decode, unreserved + b"*$")
    norms[NORM_LITERAL].percent = PERCENT_RFC
    memset(norms[NORM_GOOGLE].copy, 1, 128)
    norms[NORM_GOOGLE].percent = PERCENT_UPPER
    memset(norms[NORM_RAW].copy, 1, 256)
    norms[NORM_RAW].percent = PERCENT_KEEP
    fill(norms[NORM_ESCAPED].copy, safe + b"*$%")
    norms[NORM_ESCAPED].percent = PERCENT_KEEP
    for i in (NORM_SCANNER_PATH, NORM_SCANNER_PATTERN):
        memset(norms[i].copy, 1, 256)
        norms[i].percent = PERCENT_UPPER
    for i in (NORM_GOOGLE, NORM_SCANNER_PATH, NORM_SCANNER_PATTERN):
        norms[i].copy[c"%"] = 0
    return 0


cdef inline bint is_plain(int kind, const uint8_t *text, Py_ssize_t size) noexcept nogil:
    """Whether normalising would change nothing."""
    cdef Norm *norm = &norms[kind]
    cdef Py_ssize_t i = 0
    cdef uint8_t plain = 1
    if kind == NORM_RAW:
        return memchr(text, c"\0", size) == NULL
    # Without a branch in it, this runs at about a byte a cycle.
    while i + 4 <= size:
        plain &= norm.copy[text[i]] & norm.copy[text[i + 1]]
        plain &= norm.copy[text[i + 2]] & norm.copy[text[i + 3]]
        i += 4
    while i < size:
        plain &= norm.copy[text[i]]
        i += 1
    if not plain:
        return False
    if kind == NORM_SCANNER_PATH:
        if memchr(text, c"?", size) != NULL:
            return False
        for i in range(size - 1):
            if text[i] == c"/" and text[i + 1] == c"/":
                return False
    return True


cdef Py_ssize_t normalise(
    int kind, const uint8_t *text, Py_ssize_t size, uint8_t *out
) noexcept nogil:
    """Write the normalised text, at most three bytes for each, and return its size."""
    cdef Norm *norm = &norms[kind]
    cdef Py_ssize_t i = 0, n = 0
    cdef uint8_t c, octet
    cdef const void *stop
    if kind == NORM_RAW or kind == NORM_SCANNER_PATH:
        stop = memchr(text, c"\0" if kind == NORM_RAW else c"?", size)
        if stop != NULL:
            size = <const uint8_t *>stop - text
    while i < size:
        c = text[i]
        i += 1
        if c == c"%" and norm.percent != PERCENT_KEEP:
            if i + 1 < size and HEX[text[i]] and HEX[text[i + 1]]:
                octet = (HEX[text[i]] - 1) * 16 + HEX[text[i + 1]] - 1
                i += 2
                if norm.decode[octet]:
                    out[n] = octet
                    n += 1
                    continue
                c = octet
            elif norm.percent == PERCENT_UPPER:
                out[n] = c"%"
                n += 1
                continue
        elif norm.copy[c]:
            if kind == NORM_SCANNER_PATH and c == c"/" and n and out[n - 1] == c"/":
                continue
            out[n] = c
            n += 1
            continue
        out[n] = c"%"
        out[n + 1] = DIGITS[c >> 4]
        out[n + 2] = DIGITS[c & 15]
        n += 3
    return n


cdef uint64_t hash_text(const uint8_t *text, Py_ssize_t size, uint64_t seed) noexcept nogil:
    """A hash that nobody can foresee who does not know the seed; equal ones may differ."""
    cdef uint64_t mixed = seed ^ <uint64_t>size, part
    while size > 0:
        part = 0
        memcpy(&part, text, 8 if size > 8 else size)
        mixed = (mixed ^ part) * <uint64_t>0x9E3779B97F4A7C15
        mixed ^= mixed >> 29
        text += 8
        size -= 8
    return mixed ^ (mixed >> 32)


cdef inline str text_from(const uint8_t *text, Py_ssize_t size):
    """`_text.to_text`"""
    return PyUnicode_DecodeUTF8(<const char *>text, size, "surrogateescape")


# Memory.

cdef int make_room(void **items, Py_ssize_t *room, Py_ssize_t count, size_t size) except -1:
    """Room for one more item behind `count`."""
    cdef Py_ssize_t wanted
    cdef void *moved
    if count < room[0]:
        return 0
    wanted = 16 if room[0] == 0 else room[0] * 2
    moved = realloc(items[0], wanted * size)
    if moved == NULL:
        raise MemoryError
    items[0] = moved
    room[0] = wanted
    return 0


cdef void *shrunk(void *items, size_t size) noexcept:
    """The same items without the room that is not used."""
    cdef void *moved
    if items == NULL or size == 0:
        return items
    moved = realloc(items, size)
    return items if moved == NULL else moved

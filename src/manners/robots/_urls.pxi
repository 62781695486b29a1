# URLs, as `manners.urls` reads them. What is rare is handed to the plain functions there.
# A part of the kernel.

cdef inline Py_ssize_t find_path(
    const uint8_t *url, Py_ssize_t size, Py_ssize_t *end
) noexcept nogil:
    """Where the path begins, as `urls.match_path` has it; -1 when there is none."""
    cdef Py_ssize_t i, start = 0
    cdef const void *mark
    if size > 8 and memcmp(url, b"http", 4) == 0 and (
        memcmp(url + 4, b"://", 3) == 0 or memcmp(url + 4, b"s://", 4) == 0
    ):
        i = 7 if url[4] == c":" else 8
    else:
        if size >= 2 and url[0] == c"/" and url[1] == c"/":
            start = 2
        i = start
        while i < size and not ENDS_AUTHORITY[url[i]]:
            i += 1
        if start < i < size - 1 and url[i] == c"/" and url[i + 1] == c"/" and url[i - 1] == c":":
            i += 2
        else:
            i = start
    while i < size and not ENDS_AUTHORITY[url[i]]:
        i += 1
    if i == size or url[i] == c"#":
        return -1
    mark = memchr(url + i, c"#", size - i)
    end[0] = size if mark == NULL else <const uint8_t *>mark - url
    return i


def match_path(url):
    """The part of a URL that rules are matched against: raw path and query."""
    cdef Py_ssize_t start, end = 0
    if not PyUnicode_Check(url):
        raise TypeError(f"a URL is a str, not {type(url).__name__}")
    if not PyUnicode_IS_COMPACT_ASCII(url):
        return plain_match_path(url)
    cdef const uint8_t *text = <const uint8_t *>PyUnicode_DATA(url)
    start = find_path(text, PyUnicode_GET_LENGTH(url), &end)
    if start < 0:
        return "/"
    path = PyUnicode_Substring(url, start, end)
    return path if text[start] == c"/" else "/" + path


cdef inline Py_ssize_t written_origin(const uint8_t *url, Py_ssize_t size) noexcept nogil:
    """How much of a URL is its origin, where it is written as `urls.origin` writes it; else 0."""
    cdef Py_ssize_t start = 0, i, digits
    cdef int port = 0
    if size > 8 and memcmp(url, b"https://", 8) == 0:
        start = 8
    elif size > 7 and memcmp(url, b"http://", 7) == 0:
        start = 7
    i = start
    while i < size and PLAIN_HOST[url[i]]:
        i += 1
    if not (start and start < i <= start + 253):
        return 0
    if i < size and url[i] == c":":  # a port: no leading zero, and not the default
        i += 1
        digits = i
        while i < size and i < digits + 5 and c"0" <= url[i] <= c"9":
            port = 10 * port + url[i] - c"0"
            i += 1
        if i == digits or url[digits] == c"0" or port > 65535:
            return 0
        if port == (443 if start == 8 else 80):
            return 0
    return i if i == size or url[i] == c"/" or url[i] == c"?" or url[i] == c"#" else 0


def origin(url):
    """The scheme, host and port a URL belongs to, written in one way only."""
    cdef Py_ssize_t size
    if PyUnicode_Check(url) and PyUnicode_IS_COMPACT_ASCII(url):
        # Most URLs are written as their origin is; the plain function takes the rest.
        size = written_origin(<const uint8_t *>PyUnicode_DATA(url), PyUnicode_GET_LENGTH(url))
        if size:
            return PyUnicode_Substring(url, 0, size)
    return plain_origin(url)


def host(url):
    """The host a URL belongs to, as `origin` writes it."""
    cdef Py_ssize_t size, start, end
    cdef const uint8_t *text
    if PyUnicode_Check(url) and PyUnicode_IS_COMPACT_ASCII(url):
        text = <const uint8_t *>PyUnicode_DATA(url)
        size = written_origin(text, PyUnicode_GET_LENGTH(url))
        if size:
            start = end = 8 if text[4] == c"s" else 7
            while end < size and text[end] != c":":
                end += 1
            return PyUnicode_Substring(url, start, end)
    return plain_host(url)


def requestable(url):
    """A URL as it goes over the wire: origin, path and query in ASCII, nothing else."""
    cdef Py_ssize_t size, i
    cdef const uint8_t *text
    if PyUnicode_Check(url) and PyUnicode_IS_COMPACT_ASCII(url):
        text, size = <const uint8_t *>PyUnicode_DATA(url), PyUnicode_GET_LENGTH(url)
        i = written_origin(text, size)
        if i and i < size and text[i] == c"/":
            while i < size and REQUESTABLE[text[i]]:
                i += 1
            if i == size:
                return url
    return plain_requestable(url)


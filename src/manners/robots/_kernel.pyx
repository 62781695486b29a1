# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""The kernel: lexing, rule sets and checks at C speed, with the answers of the plain engine.

What is right is said by the plain engine (`lines`, `groups`, `agents`, `patterns`); this file says
the same to a C compiler. A file is scanned once for each policy, into arrays that live no longer
than that; what stays is one block of memory with the rules that count for the agent.

    Scan      the User-agent, rule and timed lines of a file, as offsets into its bytes
    Matcher   the rules for one agent: literals sorted for binary search, each with the best rank
              that holds once a path begins with it, and rules with `*` hanging on literals

Offsets: a text is a slice of the file where normalising changed nothing, and a slice of `pool`
otherwise. An offset of the pool is stored as its complement, so the sign tells which it is.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy, memset

cdef extern from *:
    """
    #include <string.h>
    #if defined(__linux__) || defined(__APPLE__) || defined(__FreeBSD__)
      #ifdef __linux__
      extern void *memmem(const void *, size_t, const void *, size_t);
      #endif
      #define kernel_find_long(h, n, needle, m) memmem(h, n, needle, m)
    #else
      /* No memmem: the plain search, whose worst case is the product of both lengths. */
      static const void *kernel_find_long(const void *h, size_t n, const void *needle, size_t m) {
          const unsigned char *at = (const unsigned char *)h, *end = at + n;
          while ((size_t)(end - at) >= m) {
              at = (const unsigned char *)memchr(at, *(const unsigned char *)needle, end - at - m + 1);
              if (!at) return 0;
              if (!memcmp(at, needle, m)) return at;
              ++at;
          }
          return 0;
      }
    #endif
    /* Bugs that a test plants one at a time, to see that the comparison of the engines finds them;
       0 in every build that anybody installs. */
    #ifndef MANNERS_PLANTED
    #define MANNERS_PLANTED 0
    #endif
    """
    const void *kernel_find_long(const void *, size_t, const void *, size_t) nogil
    const int MANNERS_PLANTED

cdef extern from "Python.h":
    bint PyUnicode_Check(object)
    bint PyUnicode_IS_COMPACT_ASCII(object)
    void *PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    object PyUnicode_FromKindAndData(int, const void *, Py_ssize_t)
    object PyUnicode_Substring(object, Py_ssize_t, Py_ssize_t)
    char *PyBytes_AS_STRING(object)
    Py_ssize_t PyBytes_GET_SIZE(object)
    object PyBytes_FromStringAndSize(const char *, Py_ssize_t)

cdef enum:
    MAX_LINE = 2083 * 8 - 1
    STACK = 1024        # bytes of a normalised path that need no allocation
    MANY = 16           # rules with `*` on one literal from which an index pays
    GRAM = 4
    FEW_CHECKS = 32     # made without arranging the rules first
    RUN = 12            # what insertion sort is quick enough for
    LONG_PIECE = 32     # from here on a piece is looked for in linear time

cdef enum:  # the lines that count
    UNKNOWN, USER_AGENT, ALLOW, DISALLOW, CRAWL_DELAY, REQUEST_RATE, VISIT_TIME

cdef enum:  # Dialect.record_end
    END_RULE, END_BLANK, END_AGENT

cdef enum:  # Dialect.rank
    LONGEST, ALLOW_FIRST, FIRST

cpdef enum:  # Dialect.agent_key, where the kernel knows it
    KEY_PYTHON, KEY_TOKEN, KEY_GOOGLE, KEY_WHOLE

cdef enum:  # what becomes of a percent sign
    PERCENT_KEEP, PERCENT_UPPER, PERCENT_RFC

cpdef enum:  # normalisers, by the functions of `patterns`
    NORM_PYTHON, NORM_RFC_PATH, NORM_RFC_PATTERN, NORM_LITERAL, NORM_GOOGLE, NORM_RAW, NORM_ESCAPED
    NORM_SCANNER_PATH, NORM_SCANNER_PATTERN, NORM_COUNT

KINDS = {
    "user-agent": USER_AGENT, "allow": ALLOW, "disallow": DISALLOW,
    "crawl-delay": CRAWL_DELAY, "request-rate": REQUEST_RATE, "visit-time": VISIT_TIME,
}
TIMED = {CRAWL_DELAY: "crawl-delay", REQUEST_RATE: "request-rate", VISIT_TIME: "visit-time"}


# Bytes.

cdef struct Norm:
    uint8_t copy[256]     # these bytes stay as they are; others become %XX
    uint8_t decode[256]   # %xx of these octets is decoded
    int percent

cdef Norm norms[NORM_COUNT]
cdef uint8_t IS_SPACE[256]
cdef uint8_t LOWER[256]
cdef uint8_t HEX[256]     # the value of a hex digit plus one
cdef uint8_t ENDS_AUTHORITY[256]
cdef uint8_t PLAIN_HOST[256]
cdef uint8_t SENT_AS_IT_IS[256]
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


cdef int set_up_tables() except -1:
    cdef int i
    cdef bytes letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    cdef bytes digits = b"0123456789"
    cdef bytes unreserved = letters + digits + b"-._~"
    cdef bytes common, safe = unreserved + b"/:?#[]@!&'()+,;="
    fill(IS_SPACE, b" \t\n\r\x0b\x0c")
    fill(ENDS_AUTHORITY, b"/?;#")
    fill(PLAIN_HOST, b"abcdefghijklmnopqrstuvwxyz0123456789.-_")
    fill(SENT_AS_IT_IS, letters + digits + b"!$%&'()*+,-./:;=?@[]_~")
    fill(IS_TOKEN, letters + digits + b"_-")
    fill(IS_GOOGLE_TOKEN, letters + b"_-")
    for i in range(256):
        LOWER[i] = i + 32 if 65 <= i <= 90 else i
        HEX[i] = 0
    for i in range(10):
        HEX[48 + i] = i + 1
    for i in range(6):
        HEX[65 + i] = HEX[97 + i] = i + 11
    # 64 classes: a path that lacks a class a rule needs cannot match it. Letters and digits, which
    # tell most, have classes of their own.
    for i in range(256):
        BYTE_CLASS[i] = <uint64_t>1 << (36 + i % 28)
    for i in range(26):
        BYTE_CLASS[97 + i] = <uint64_t>1 << i
    for i in range(10):
        BYTE_CLASS[48 + i] = <uint64_t>1 << (26 + i)
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
        norms[i].copy[37] = 0
    # How common a byte is in paths, roughly; what is rare is quickest to look for.
    memset(COMMON, 1, 256)
    common = b"zqxjkvwyfbgupdhlmcnsriotae0123456789_.-=&?/"
    for i in range(<int>len(common)):
        COMMON[<uint8_t>common[i]] = i + 2
    return 0


cdef inline bint is_plain(int kind, const uint8_t *text, Py_ssize_t size) noexcept nogil:
    """Whether normalising would change nothing."""
    cdef Norm *norm = &norms[kind]
    cdef Py_ssize_t i = 0
    cdef uint8_t plain = 1
    if kind == NORM_RAW:
        return memchr(text, 0, size) == NULL
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
        if memchr(text, 63, size) != NULL:
            return False
        for i in range(size - 1):
            if text[i] == 47 and text[i + 1] == 47:
                return False
    return True


cdef Py_ssize_t normalise(
    int kind, const uint8_t *text, Py_ssize_t size, uint8_t *out
) noexcept nogil:
    """Writes the normalised text, at most three bytes for each, and returns its size."""
    cdef Norm *norm = &norms[kind]
    cdef Py_ssize_t i = 0, n = 0
    cdef uint8_t c, octet
    cdef const void *stop
    if kind == NORM_RAW or kind == NORM_SCANNER_PATH:
        stop = memchr(text, 0 if kind == NORM_RAW else 63, size)
        if stop != NULL:
            size = <const uint8_t *>stop - text
    while i < size:
        c = text[i]
        if c == 37 and norm.percent != PERCENT_KEEP:
            if i + 2 < size and HEX[text[i + 1]] and HEX[text[i + 2]]:
                octet = (HEX[text[i + 1]] - 1) * 16 + HEX[text[i + 2]] - 1
                i += 3
                if norm.decode[octet]:
                    out[n] = octet
                    n += 1
                    continue
                c = octet
            elif norm.percent == PERCENT_UPPER:
                out[n] = 37
                n += 1
                i += 1
                continue
            else:
                i += 1
            out[n] = 37
            out[n + 1] = DIGITS[c >> 4]
            out[n + 2] = DIGITS[c & 15]
            n += 3
            continue
        i += 1
        if norm.copy[c]:
            if kind == NORM_SCANNER_PATH and c == 47 and n and out[n - 1] == 47:
                continue
            out[n] = c
            n += 1
        else:
            out[n] = 37
            out[n + 1] = DIGITS[c >> 4]
            out[n + 2] = DIGITS[c & 15]
            n += 3
    return n


# URLs.

cdef inline Py_ssize_t find_path(
    const uint8_t *url, Py_ssize_t size, Py_ssize_t *end
) noexcept nogil:
    """Where the path begins, as `urls.match_path` has it; -1 when there is none."""
    cdef Py_ssize_t i, start = 0
    cdef const void *mark
    if size > 8 and memcmp(url, b"http", 4) == 0 and (
        memcmp(url + 4, b"://", 3) == 0 or memcmp(url + 4, b"s://", 4) == 0
    ):
        i = 7 if url[4] == 58 else 8
    else:
        if size >= 2 and url[0] == 47 and url[1] == 47:
            start = 2
        i = start
        while i < size and not ENDS_AUTHORITY[url[i]]:
            i += 1
        if start < i < size - 1 and url[i] == 47 and url[i + 1] == 47 and url[i - 1] == 58:
            i += 2
        else:
            i = start
    while i < size and not ENDS_AUTHORITY[url[i]]:
        i += 1
    if i == size or url[i] == 35:
        return -1
    mark = memchr(url + i, 35, size - i)
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
    return path if text[start] == 47 else "/" + path


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
    if i < size and url[i] == 58:  # a port: no leading zero, and not the default
        i += 1
        digits = i
        while i < size and i < digits + 5 and 48 <= url[i] <= 57:
            port = 10 * port + url[i] - 48
            i += 1
        if i == digits or url[digits] == 48 or port > 65535 or port == (443 if start == 8 else 80):
            return 0
    return i if i == size or url[i] == 47 or url[i] == 63 or url[i] == 35 else 0


def origin(url):
    """The scheme, host and port a URL belongs to, written in one way only."""
    cdef Py_ssize_t size
    if PyUnicode_Check(url) and PyUnicode_IS_COMPACT_ASCII(url):
        # Most URLs are written as their origin is; the others are for the plain function.
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
            start = end = 8 if text[4] == 115 else 7
            while end < size and text[end] != 58:
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
        if i and i < size and text[i] == 47:
            while i < size and SENT_AS_IT_IS[text[i]]:
                i += 1
            if i == size:
                return url
    return plain_requestable(url)


# How a dialect reads, told in numbers.

cdef struct Spelling:
    const uint8_t *text
    Py_ssize_t size
    int kind

cdef class Config:
    """A dialect as the kernel reads it: its data as numbers, and its functions to call where they
    are not among those that the kernel knows."""

    cdef object dialect, select, agent_key, own_key, normalise_path, normalise_pattern
    cdef object make_group
    cdef dict own_keys
    cdef bint prefix_keys, colon_optional, rules_for_everybody, falls_back, empty_allows, wildcards
    cdef bint index_html, robots_txt_allowed, own_server_only, selects_by_name, needs_url, needs_groups
    cdef int record_end, rank, key_code, path_code, pattern_code
    cdef Py_ssize_t max_rules
    cdef list keep
    cdef Spelling spellings[32]
    cdef uint8_t by_letter[257]   # where the spellings with a first letter begin

    def __init__(self, dialect, *, known, prefixes, selects_by_name, needs_groups, key_code,
                 path_code, pattern_code, make_group):
        self.dialect = dialect
        self.select = dialect.select
        self.agent_key = dialect.agent_key
        self.own_key = dialect.own_key
        self.normalise_path = dialect.normalise_path
        self.normalise_pattern = dialect.normalise_pattern
        self.make_group = make_group
        self.prefix_keys = bool(prefixes)
        self.colon_optional = dialect.colon_optional
        self.rules_for_everybody = dialect.rules_without_agent == "everybody"
        self.falls_back = dialect.empty_section_falls_back
        self.empty_allows = dialect.empty_rule == "allows"
        self.wildcards = dialect.wildcards
        self.index_html = dialect.index_html
        self.robots_txt_allowed = dialect.robots_txt_allowed
        self.own_server_only = dialect.own_server_only
        self.record_end = {"rule": END_RULE, "blank": END_BLANK, "agent": END_AGENT}[
            dialect.record_end]
        self.rank = {"longest": LONGEST, "allow-first": ALLOW_FIRST, "first": FIRST}[dialect.rank]
        self.max_rules = -1 if dialect.max_rules is None else dialect.max_rules
        self.selects_by_name = selects_by_name and key_code != KEY_PYTHON
        self.needs_groups = needs_groups
        self.key_code = key_code
        self.path_code = path_code
        self.pattern_code = pattern_code
        self.needs_url = pattern_code == NORM_PYTHON or pattern_code == NORM_ESCAPED
        self.own_keys = {}
        self.keep = sorted(text for text, name in known.items() if name in KINDS)
        if len(self.keep) > 32:
            raise ValueError("more spellings of the known keys than the kernel holds")
        for i, text in enumerate(self.keep):
            self.spellings[i].text = <const uint8_t *>PyBytes_AS_STRING(text)
            self.spellings[i].size = PyBytes_GET_SIZE(text)
            self.spellings[i].kind = KINDS[known[text]]
        for i in range(257):
            self.by_letter[i] = sum(text[0] < i for text in self.keep)

    cdef list own(self, tuple agents):
        """What the names of an agent are compared by."""
        found = self.own_keys.get(agents)
        if found is None:
            keys = [self.own_key(agent) for agent in agents]
            found = [to_bytes(key) for key in keys if key is not None and key != "*"]
            if len(self.own_keys) >= 64:
                self.own_keys.clear()
            self.own_keys[agents] = found
        return found


# Scanning a file.

cdef struct AgentLine:
    int32_t start, size, group   # start -1: a `*` that the file does not have
    bint matched

cdef struct RuleLine:
    int32_t start, size, line, group
    bint allow

cdef struct TimedLine:
    int32_t start, size, group, first, last   # the User-agent lines it belongs to
    int kind

cdef struct GroupLines:
    int32_t line
    bint chosen

cdef struct Scan:
    AgentLine *agents
    RuleLine *rules
    TimedLine *timed
    GroupLines *groups
    Py_ssize_t agent_count, rule_count, timed_count, group_count
    Py_ssize_t agent_room, rule_room, timed_room, group_room
    Py_ssize_t rules_with_value


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


cdef void free_scan(Scan *scan) noexcept:
    free(scan.agents)
    free(scan.rules)
    free(scan.timed)
    free(scan.groups)


cdef inline int key_kind(Config config, const uint8_t *key, Py_ssize_t size) noexcept:
    cdef Spelling *spelling
    cdef int i
    cdef Py_ssize_t j
    cdef uint8_t first = LOWER[key[0]]
    for i in range(config.by_letter[first], config.by_letter[first + 1]):
        spelling = &config.spellings[i]
        if spelling.size > size:
            continue
        if spelling.size != size and (not config.prefix_keys or spelling.kind > DISALLOW):
            continue
        j = 1
        while j < spelling.size and LOWER[key[j]] == spelling.text[j]:
            j += 1
        if j == spelling.size:
            return spelling.kind
    return UNKNOWN


cdef int add_group(Scan *scan, int32_t line) except -1:
    make_room(<void **>&scan.groups, &scan.group_room, scan.group_count, sizeof(GroupLines))
    scan.groups[scan.group_count] = GroupLines(line=line, chosen=False)
    scan.group_count += 1
    return 0


cdef int add_agent(Scan *scan, int32_t start, int32_t size) except -1:
    make_room(<void **>&scan.agents, &scan.agent_room, scan.agent_count, sizeof(AgentLine))
    scan.agents[scan.agent_count] = AgentLine(
        start=start, size=size, group=<int32_t>(scan.group_count - 1), matched=False)
    scan.agent_count += 1
    return 0


cdef int scan_file(Scan *scan, Config config, const uint8_t *body, Py_ssize_t size) except -1:
    """`lines.read_lines` and `groups.gather` in one, for the lines that count."""
    cdef Py_ssize_t position = 0, end, next_lf = -1, next_cr = -1, start, stop, colon, value
    cdef Py_ssize_t run_start = 0
    cdef int32_t number = 0
    cdef int kind
    cdef bint has_comment, in_group = False, agent_seen = False, run_ended = False
    cdef bint rule_seen = False, has_nul = memchr(body, 0, size) != NULL
    cdef const void *found
    while position < size:
        # The next LF and the next CR are looked for only when the last ones are behind us, so a
        # file without one of them is searched for it once.
        if next_lf < position:
            found = memchr(body + position, 10, size - position)
            next_lf = size if found == NULL else <const uint8_t *>found - body
        if next_cr < position:
            found = memchr(body + position, 13, size - position)
            next_cr = size if found == NULL else <const uint8_t *>found - body
        end = next_lf if next_lf < next_cr else next_cr
        start = position
        stop = end if end - start <= MAX_LINE else start + MAX_LINE
        position = end + 1
        if end == next_cr and end + 1 == next_lf:
            position = end + 2
        number += 1

        if has_nul:
            found = memchr(body + start, 0, stop - start)
            if found != NULL:
                stop = <const uint8_t *>found - body
        while start < stop and IS_SPACE[body[start]]:
            start += 1
        has_comment = start < stop and body[start] == 35
        if start == stop or has_comment:
            if not has_comment and config.record_end != END_RULE:
                in_group = False
            continue
        found = memchr(body + start, 35, stop - start)
        if found != NULL:
            stop = <const uint8_t *>found - body
        while IS_SPACE[body[stop - 1]]:
            stop -= 1

        found = memchr(body + start, 58, stop - start)
        if found != NULL:
            colon = <const uint8_t *>found - body
            value = colon + 1
        elif config.colon_optional:
            colon = start
            while colon < stop and body[colon] != 32 and body[colon] != 9:
                colon += 1
            value = colon
            while value < stop and (body[value] == 32 or body[value] == 9):
                value += 1
            if value == stop:
                continue
            if (memchr(body + value, 32, stop - value) != NULL
                    or memchr(body + value, 9, stop - value) != NULL):
                continue
        else:
            continue
        while colon > start and IS_SPACE[body[colon - 1]]:
            colon -= 1
        if colon == start:
            continue
        kind = key_kind(config, body + start, colon - start)
        if kind == UNKNOWN:
            continue
        while value < stop and IS_SPACE[body[value]]:
            value += 1

        if kind == USER_AGENT:
            agent_seen = True
            if not in_group or rule_seen or config.record_end == END_AGENT:
                add_group(scan, number)
                in_group = True
                rule_seen = False
                run_start = scan.agent_count
            elif run_ended:
                run_start = scan.agent_count
            run_ended = False
            add_agent(scan, <int32_t>value, <int32_t>(stop - value))
        elif kind == ALLOW or kind == DISALLOW:
            if value < stop:
                scan.rules_with_value += 1
            if not in_group:
                if agent_seen or not config.rules_for_everybody:
                    continue
                add_group(scan, number)
                in_group = True
                run_start = scan.agent_count
                add_agent(scan, -1, 1)
            rule_seen = run_ended = True
            make_room(<void **>&scan.rules, &scan.rule_room, scan.rule_count, sizeof(RuleLine))
            scan.rules[scan.rule_count] = RuleLine(
                start=<int32_t>value, size=<int32_t>(stop - value), line=number,
                group=<int32_t>(scan.group_count - 1), allow=kind == ALLOW)
            scan.rule_count += 1
        elif in_group:
            run_ended = True
            make_room(<void **>&scan.timed, &scan.timed_room, scan.timed_count, sizeof(TimedLine))
            scan.timed[scan.timed_count] = TimedLine(
                start=<int32_t>value, size=<int32_t>(stop - value),
                group=<int32_t>(scan.group_count - 1), first=<int32_t>run_start,
                last=<int32_t>scan.agent_count, kind=kind)
            scan.timed_count += 1
    return 0


# A rule set.

cdef struct Node:            # a beginning that at least one rule has
    uint64_t first, second   # its first 16 bytes, as numbers that order as they do
    int32_t start, size
    int32_t outer            # the longest other node that this one begins with, or -1
    int32_t wilds            # the list to try first, its own or an outer node's, or -1
    uint64_t prefix          # best rank once a path begins so, outer nodes included
    uint64_t exact           # best rank when nothing follows

cdef struct Piece:
    int32_t start, size
    int32_t rare             # where its rarest byte stands

cdef struct Wild:            # a rule with `*`
    uint64_t classes         # of the bytes it needs
    uint64_t rank
    int32_t piece, pieces    # what stands between the stars; the last ends the path if anchored
    int32_t length           # the fewest bytes all pieces need
    bint anchored

cdef struct Grams:           # wild rules by a gram that a path must have
    uint32_t *gram           # sorted
    int32_t *first           # where its rules begin; one more at the end
    int32_t count
    uint8_t *bits            # a filter in front, for what is left of a hash after `shift`
    int shift

cdef struct Wilds:           # the wild rules on one node, best first
    int32_t first, count     # tried one by one
    int32_t node_size
    int32_t outer            # the next list outwards, or -1
    int32_t grams            # its index, or -1
    uint64_t top             # the best rank here and further out


cdef inline uint32_t gram_at(const uint8_t *text) noexcept nogil:
    cdef uint32_t gram
    memcpy(&gram, text, GRAM)
    return gram


cdef inline uint32_t gram_hash(uint32_t gram) noexcept nogil:
    return gram * <uint32_t>2654435761


cdef struct Rule:            # in file order; small, because every policy has all of its rules
    int32_t start, size      # of the pattern
    int32_t value            # where its value stands
    uint32_t line            # its line, and below that two bits: allow, derived

cdef enum:
    DERIVED = 1              # an index page made it
    ALLOWS = 2

cdef struct Head:            # the literal a rule begins with, while a rule set is made
    uint64_t first, second   # as in Node
    uint64_t rank
    int32_t start, size
    int32_t wild             # or -1
    bint anchored


cdef class Matcher:
    """The rules for one agent, and the verdicts that follow."""

    cdef readonly object robots
    cdef readonly tuple agents
    cdef readonly str agent
    cdef readonly int specificity
    cdef readonly bint _has_group, too_many_rules
    cdef readonly tuple _timed_lines
    cdef public dict _kept        # what a policy has worked out once
    cdef Py_ssize_t rule_count
    cdef Config config
    cdef bytes file
    cdef const uint8_t *body
    cdef uint8_t *pool
    cdef Py_ssize_t pool_size, pool_room
    cdef Node *nodes
    cdef Rule *rules
    cdef Piece *pieces
    cdef Wild *wilds
    cdef Wilds *lists
    cdef Grams *grams
    cdef Py_ssize_t node_count, piece_count, wild_count, list_count, gram_count
    cdef Py_ssize_t rule_room, node_room, piece_room, wild_room, list_room, gram_room
    cdef Py_ssize_t checks
    cdef bint compiled

    def __cinit__(self, robots, tuple agents not None):
        cdef Scan scan
        cdef Config config = configs.get(robots.dialect)
        cdef bytes body = robots.body
        if len(body) > 0x3fffffff:
            raise OverflowError("a robots.txt of 1 GiB or more")
        if config is None:
            if len(configs) >= 32:  # a program may make dialects of its own, without end
                configs.clear()
            config = configs[robots.dialect] = make_config(robots.dialect)
        self.config = config
        self.robots = robots
        self.agents = agents
        url = robots.url if self.config.needs_url else None
        self.file = body
        self.body = <const uint8_t *>PyBytes_AS_STRING(body)
        self.agent = ""
        self._timed_lines = ()
        memset(&scan, 0, sizeof(Scan))
        try:
            scan_file(&scan, self.config, self.body, len(body))
            self.too_many_rules = (
                0 <= self.config.max_rules < scan.rules_with_value)
            self._choose(&scan)
            self._gather_timed(&scan)
            self._gather_rules(&scan, url)
            if self.config.falls_back and self.config.selects_by_name \
                    and self.rule_count == 0 and self.specificity > 1:
                # An own section without rules counts as absent.
                self._choose_by_name(&scan, [])
                self._gather_timed(&scan)
                self._gather_rules(&scan, url)
            if self.too_many_rules:
                self.rule_count = 0
        finally:
            free_scan(&scan)

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.gram_count):
            free(self.grams[i].gram)
            free(self.grams[i].first)
            free(self.grams[i].bits)
        free(self.grams)
        free(self.pool)
        free(self.nodes)
        free(self.rules)
        free(self.pieces)
        free(self.wilds)
        free(self.lists)

    # Whose groups.

    cdef bytes _agent_bytes(self, AgentLine *line):
        if line.start < 0:
            return b"*"
        return PyBytes_FromStringAndSize(<const char *>self.body + line.start, line.size)

    cdef int _choose(self, Scan *scan) except -1:
        cdef Py_ssize_t i
        if self.config.selects_by_name:
            return self._choose_by_name(scan, self.config.own(self.agents))
        if self.config.needs_groups:
            # The choice may depend on rules, so it gets the groups as they are read.
            groups = self.robots.groups
        else:
            names = [[] for _ in range(scan.group_count)]
            for i in range(scan.agent_count):
                names[scan.agents[i].group].append(to_text(self._agent_bytes(&scan.agents[i])))
            groups = [self.config.make_group(tuple(names[i]), line=scan.groups[i].line)
                      for i in range(scan.group_count)]
        choice = self.config.select(groups, self.agents, self.config.dialect)
        self.agent, self.specificity = choice.agent, choice.specificity
        self._has_group = bool(choice.groups)
        chosen = {group.line for group in choice.groups}
        for i in range(scan.group_count):
            scan.groups[i].chosen = scan.groups[i].line in chosen
        for i in range(scan.agent_count):
            name = to_text(self._agent_bytes(&scan.agents[i]))
            scan.agents[i].matched = (
                scan.groups[scan.agents[i].group].chosen
                and self.config.agent_key(name) in choice.keys)
        return 0

    cdef int _choose_by_name(self, Scan *scan, list own) except -1:
        """`agents.by_name`: the groups that name the agent, else those for `*`."""
        cdef Py_ssize_t i, first_own = -1, first_all = -1
        cdef int named
        for i in range(scan.group_count):
            scan.groups[i].chosen = False
        for i in range(scan.agent_count):
            named = self._named(&scan.agents[i], own)
            scan.agents[i].matched = named == 2
            if named == 2 and first_own < 0:
                first_own = i
            elif named == 1 and first_all < 0:
                first_all = i
        if first_own < 0 and first_all >= 0:
            for i in range(scan.agent_count):
                scan.agents[i].matched = self._named(&scan.agents[i], own) == 1
            first_own = first_all
            self.specificity = 1
        else:
            self.specificity = 3 if first_own >= 0 else 0
        self._has_group = first_own >= 0
        self.agent = ""
        if self._has_group:
            self.agent = to_text(self._agent_bytes(&scan.agents[first_own]))
            for i in range(scan.agent_count):
                if scan.agents[i].matched:
                    scan.groups[scan.agents[i].group].chosen = True
        return 0

    cdef int _named(self, AgentLine *line, list own) except -1:
        """2 when the line names the agent, 1 when it is for everybody, else 0."""
        cdef const uint8_t *text = <const uint8_t *>b"*"
        cdef const uint8_t *other
        cdef Py_ssize_t size = line.size, i
        if line.start >= 0:
            text = self.body + line.start
        if self.config.key_code == KEY_WHOLE:
            if size == 0:
                return 0
            if size == 1 and text[0] == 42:
                return 1
        else:
            if size and text[0] == 42 and (size == 1 or IS_SPACE[text[1]]):
                return 1
            i = 0
            while i < size and (IS_TOKEN[text[i]] if self.config.key_code == KEY_TOKEN
                                else IS_GOOGLE_TOKEN[text[i]]):
                i += 1
            size = i
            if size == 0 and self.config.key_code == KEY_TOKEN:
                return 0
        for name in own:
            if PyBytes_GET_SIZE(name) == size:
                other = <const uint8_t *>PyBytes_AS_STRING(name)
                i = 0
                while i < size and LOWER[text[i]] == other[i]:
                    i += 1
                if i == size:
                    return 2
        return 0

    cdef int _gather_timed(self, Scan *scan) except -1:
        cdef Py_ssize_t i, j
        cdef int32_t last = -1
        cdef bint matched = False
        cdef TimedLine *line
        found = {}
        for i in range(scan.timed_count):
            line = &scan.timed[i]
            if not scan.groups[line.group].chosen:
                continue
            if line.last != last:  # lines below the same agents are asked about once
                last = line.last
                matched = False
                for j in range(line.first, line.last):
                    if scan.agents[j].matched:
                        matched = True
                        break
            if matched:
                text = PyBytes_FromStringAndSize(<const char *>self.body + line.start, line.size)
                found[TIMED[line.kind], to_text(text)] = None
        self._timed_lines = tuple(found)
        return 0

    # The rules that count.

    cdef inline const uint8_t *_text(self, int32_t start) noexcept nogil:
        return self.body + start if start >= 0 else self.pool + ~start

    cdef int32_t _pool(self, const uint8_t *text, Py_ssize_t size) except? 0:
        """A place in the pool with room for `size` bytes; `text`, if any, is copied there."""
        cdef Py_ssize_t wanted = self.pool_size + size, room = self.pool_room
        cdef int32_t start = <int32_t>self.pool_size
        cdef uint8_t *moved
        if wanted > 0x7fffffff:
            raise OverflowError("rules that need 2 GiB or more")
        if wanted > room or self.pool == NULL:
            room = max(wanted, room * 2, 1)
            moved = <uint8_t *>realloc(self.pool, room)
            if moved == NULL:
                raise MemoryError
            self.pool = moved
            self.pool_room = room
        if text != NULL:
            memcpy(self.pool + start, text, size)
        self.pool_size = wanted
        return ~start

    cdef bint _normalised(self, RuleLine *line, url, Rule *rule) except -1:
        """Fills in the pattern of a rule; False when the dialect drops it."""
        cdef const uint8_t *value = self.body + line.start
        cdef Py_ssize_t size = line.size, written
        cdef int code = self.config.pattern_code
        cdef bint anchored = False
        cdef int32_t start
        cdef Py_ssize_t i
        rule.start, rule.size = line.start, line.size
        if size == 0 and code != NORM_PYTHON:
            return self.config.empty_allows
        if code == NORM_SCANNER_PATTERN:
            for i in range(size):
                if IS_SPACE[value[i]] or value[i] == 92:
                    return False
        if code == NORM_RFC_PATTERN and value[size - 1] == 36:
            anchored = True
            size -= 1
        if code == NORM_PYTHON or (code == NORM_ESCAPED and (
                value[0] != 47 or (size > 1 and value[1] == 47))):
            # Not one of the kernel's, or a URL to be resolved: rare, and for the plain function.
            text = self.config.normalise_pattern(
                PyBytes_FromStringAndSize(<const char *>value, size), url)
            if text is None:
                return False
            rule.start = self._pool(<const uint8_t *>PyBytes_AS_STRING(text), len(text))
            rule.size = <int32_t>len(text)
            return rule.size > 0 or self.config.empty_allows
        if is_plain(code, value, size):
            return True
        start = self._pool(NULL, 3 * size + 1)
        written = normalise(code, value, size, self.pool + ~start)
        if anchored:
            self.pool[~start + written] = 36
            written += 1
        self.pool_size = ~start + written
        rule.start, rule.size = start, <int32_t>written
        return True

    cdef int _gather_rules(self, Scan *scan, url) except -1:
        """The rules of the chosen groups, with their patterns and ranks."""
        cdef Py_ssize_t i
        cdef RuleLine *line
        cdef Rule *rule
        for i in range(scan.rule_count):
            line = &scan.rules[i]
            if not scan.groups[line.group].chosen:
                continue
            # Room for two: an index page makes another.
            make_room(<void **>&self.rules, &self.rule_room, self.rule_count + 1, sizeof(Rule))
            rule = &self.rules[self.rule_count]
            rule.value = line.start
            rule.line = <uint32_t>line.line << 2 | (ALLOWS if line.allow else 0)
            if self._normalised(line, url, rule):
                self.rule_count += 1
                if self.config.index_html and line.allow:
                    self._index_html(rule)
        self.rules = <Rule *>shrunk(self.rules, self.rule_count * sizeof(Rule))
        self.rule_room = self.rule_count
        return 0

    cdef inline uint64_t _rank(self, Rule *rule) noexcept nogil:
        """The rank of a rule in the dialect's order: the highest that matches decides. Where all
        else is equal, the earlier line is the better one; the low half is its place, counted
        down."""
        cdef uint64_t size = rule.size, allow = (rule.line & ALLOWS) >> 1
        cdef uint64_t rank = 0x7fffffff - <uint64_t>(rule - self.rules)
        if self.config.rank == LONGEST:
            rank |= size << 33
            if MANNERS_PLANTED != 1:
                rank |= allow << 32
        elif self.config.rank == ALLOW_FIRST:
            rank |= allow << 63 | size << 32
        return rank

    cdef inline Rule *_ranked(self, uint64_t rank) noexcept nogil:
        return &self.rules[0x7fffffff - (rank & 0x7fffffff)]

    cdef int _index_html(self, Rule *rule) except -1:
        """Google: `Allow: /dir/index.html` is also `Allow: /dir/$`."""
        cdef const uint8_t *text = self._text(rule.start)
        cdef Py_ssize_t slash = rule.size - 1
        cdef Rule *derived = rule + 1
        while slash >= 0 and text[slash] != 47:
            slash -= 1
        if slash < 0 or rule.size - slash < 10 or memcmp(text + slash, b"/index.htm", 10) != 0:
            return 0
        derived[0] = rule[0]
        derived.line |= DERIVED
        derived.start = self._pool(NULL, slash + 2)
        derived.size = <int32_t>(slash + 2)
        memcpy(self.pool + ~derived.start, self._text(rule.start), slash + 1)
        self.pool[~derived.start + slash + 1] = 36
        self.rule_count += 1
        return 0

    cdef int _compile(self) except -1:
        """Arrange the rules for many checks."""
        cdef Head *heads = NULL
        cdef Py_ssize_t i
        if self.rule_count == 0:
            self.compiled = True
            return 0
        try:
            # Twice the room, for sorting.
            heads = <Head *>malloc(2 * self.rule_count * sizeof(Head))
            if heads == NULL:
                raise MemoryError
            for i in range(self.rule_count):
                self._split(&self.rules[i], &heads[i])
            self._sort_heads(heads, self.rule_count)
            self._make_nodes(heads, self.rule_count)
            self._shrink()
            self.compiled = True
        finally:
            free(heads)
        return 0

    cdef int _split(self, Rule *rule, Head *head) except -1:
        """`patterns._split`: the literal before the first `*`, and the pieces behind it."""
        cdef const uint8_t *text = self._text(rule.start)
        cdef int32_t size = rule.size, i, begin
        cdef bint anchored = False
        cdef Wild *wild
        head.start, head.size, head.rank, head.wild = rule.start, size, self._rank(rule), -1
        head.anchored = False
        head.first, head.second = eight_bytes(text, size, 0), eight_bytes(text, size, 8)
        if not self.config.wildcards:
            return 0
        if size and text[size - 1] == 36:
            anchored = True
            size -= 1
        if size and text[size - 1] == 42:
            if MANNERS_PLANTED != 2:
                anchored = False
            while size and text[size - 1] == 42:
                size -= 1
        i = 0
        while i < size and text[i] != 42:
            i += 1
        head.size, head.anchored = i, anchored
        head.first, head.second = eight_bytes(text, i, 0), eight_bytes(text, i, 8)
        if i == size:
            return 0
        make_room(<void **>&self.wilds, &self.wild_room, self.wild_count, sizeof(Wild))
        head.wild = <int32_t>self.wild_count
        wild = &self.wilds[self.wild_count]
        self.wild_count += 1
        wild[0] = Wild(classes=0, rank=head.rank, piece=<int32_t>self.piece_count, pieces=0, length=0,
                       anchored=anchored)
        while i < size:
            while i < size and text[i] == 42:
                i += 1
            begin = i
            while i < size and text[i] != 42:
                wild.classes |= BYTE_CLASS[text[i]]
                i += 1
            if i == begin:
                continue
            make_room(<void **>&self.pieces, &self.piece_room, self.piece_count, sizeof(Piece))
            # An offset of the pool counts downwards.
            self.pieces[self.piece_count] = Piece(
                start=rule.start + begin if rule.start >= 0 else rule.start - begin,
                size=i - begin, rare=rarest_byte(text + begin, i - begin))
            self.piece_count += 1
            wild.pieces += 1
            wild.length += i - begin
        return 0

    cdef inline bint _sorted(self, Head *a, Head *b) noexcept:
        """Whether `a` stands before `b`: by text, and with one text the best first."""
        cdef int order
        if a.first != b.first:
            return a.first < b.first
        if a.second != b.second:
            return a.second < b.second
        order = memcmp(
            self._text(a.start), self._text(b.start), a.size if a.size < b.size else b.size)
        if order:
            return order < 0
        return a.size < b.size if a.size != b.size else a.rank > b.rank

    cdef void _sort_heads(self, Head *heads, Py_ssize_t count) noexcept:
        """Merge sort, from short runs: no order of the rules makes it slow."""
        cdef Py_ssize_t width = RUN, low, middle, high, left, right, k
        cdef Head *source = heads
        cdef Head *target = heads + count
        cdef Head *swap
        cdef Head held
        for low in range(0, count, RUN):
            for right in range(low + 1, min(low + RUN, count)):
                held = heads[right]
                left = right
                while left > low and self._sorted(&held, &heads[left - 1]):
                    heads[left] = heads[left - 1]
                    left -= 1
                heads[left] = held
        while width < count:
            low = 0
            while low < count:
                middle = min(low + width, count)
                high = min(low + 2 * width, count)
                left, right = low, middle
                for k in range(low, high):
                    if left < middle and (
                        right >= high or not self._sorted(&source[right], &source[left])
                    ):
                        target[k] = source[left]
                        left += 1
                    else:
                        target[k] = source[right]
                        right += 1
                low = high
            swap = source
            source = target
            target = swap
            width *= 2
        if source != heads:
            memcpy(heads, source, count * sizeof(Head))

    cdef int _make_nodes(self, Head *heads, Py_ssize_t count) except -1:
        cdef Py_ssize_t i, j
        cdef Head *head
        cdef Node *node
        cdef int32_t outer = -1
        cdef Wild *sorted_wilds = NULL
        cdef Py_ssize_t sorted_count = 0, first
        if self.wild_count:
            sorted_wilds = <Wild *>malloc(self.wild_count * sizeof(Wild))
            if sorted_wilds == NULL:
                raise MemoryError
        try:
            i = 0
            while i < count:
                head = &heads[i]
                while outer >= 0 and not self._begins_with(head, &self.nodes[outer]):
                    outer = self.nodes[outer].outer
                make_room(<void **>&self.nodes, &self.node_room, self.node_count, sizeof(Node))
                node = &self.nodes[self.node_count]
                node[0] = Node(first=head.first, second=head.second, start=head.start,
                               size=head.size, outer=outer, prefix=0, exact=0, wilds=-1)
                if outer >= 0:
                    if MANNERS_PLANTED != 3:
                        node.prefix = self.nodes[outer].prefix
                    node.wilds = self.nodes[outer].wilds
                first = sorted_count
                j = i
                while j < count and heads[j].size == node.size and memcmp(
                        self._text(heads[j].start), self._text(node.start), node.size) == 0:
                    head = &heads[j]
                    if head.wild >= 0:
                        sorted_wilds[sorted_count] = self.wilds[head.wild]
                        sorted_count += 1
                    elif head.anchored:
                        node.exact = max(node.exact, head.rank)
                    else:
                        node.prefix = max(node.prefix, head.rank)
                    j += 1
                if sorted_count > first:
                    node.wilds = self._add_list(node, sorted_wilds, first, sorted_count - first)
                outer = <int32_t>self.node_count
                self.node_count += 1
                i = j
        finally:
            if sorted_wilds != NULL:
                free(self.wilds)
                self.wilds = sorted_wilds
                self.wild_room = self.wild_count
        for i in range(self.list_count):
            if self.lists[i].count >= MANY:
                self._index(&self.lists[i])
        return 0

    cdef inline bint _begins_with(self, Head *head, Node *node) noexcept:
        return node.size <= head.size and memcmp(
            self._text(head.start), self._text(node.start), node.size) == 0

    cdef int32_t _add_list(
        self, Node *node, Wild *wilds, Py_ssize_t first, Py_ssize_t count
    ) except -2:
        cdef uint64_t top = wilds[first].rank
        make_room(<void **>&self.lists, &self.list_room, self.list_count, sizeof(Wilds))
        if node.wilds >= 0:
            top = max(top, self.lists[node.wilds].top)
        self.lists[self.list_count] = Wilds(
            first=<int32_t>first, count=<int32_t>count, node_size=node.size, outer=node.wilds,
            top=top, grams=-1)
        self.list_count += 1
        return <int32_t>(self.list_count - 1)

    cdef int _index(self, Wilds *rules) except -1:
        """File each rule with a long enough piece under the rarest of its grams.

        Sorted, not hashed: no choice of grams makes building or searching it slow.
        """
        cdef Py_ssize_t i, k, total = 0, distinct = 0, filed = 0, others = 0
        cdef int32_t j
        cdef uint64_t gram, fewest, rarest
        cdef Wild *moved = NULL
        cdef Wild *first = &self.wilds[rules.first]
        cdef Piece *piece
        cdef uint64_t *all = NULL      # every gram; then each once, with how often behind it
        cdef uint64_t *chosen = NULL
        cdef Grams grams
        for i in range(rules.count):
            for j in range(first[i].pieces):
                piece = &self.pieces[first[i].piece + j]
                if piece.size >= GRAM:
                    total += piece.size - GRAM + 1
        if total == 0:
            return 0
        memset(&grams, 0, sizeof(Grams))
        try:
            all = <uint64_t *>malloc(2 * total * sizeof(uint64_t))
            chosen = <uint64_t *>malloc(2 * rules.count * sizeof(uint64_t))
            moved = <Wild *>malloc(rules.count * sizeof(Wild))
            if all == NULL or chosen == NULL or moved == NULL:
                raise MemoryError
            total = 0
            for i in range(rules.count):
                for j in range(first[i].pieces):
                    piece = &self.pieces[first[i].piece + j]
                    for k in range(piece.size - GRAM + 1):
                        all[total] = gram_at(self._text(piece.start) + k)
                        total += 1
            sort_numbers(all, total)
            for i in range(total):
                if distinct == 0 or all[distinct - 1] >> 32 != all[i]:
                    all[distinct] = all[i] << 32
                    distinct += 1
                all[distinct - 1] += 1
            # Rules without a gram stay in front, to be tried one by one.
            for i in range(rules.count):
                fewest = total + 1
                rarest = 0
                for j in range(first[i].pieces):
                    piece = &self.pieces[first[i].piece + j]
                    for k in range(piece.size - GRAM + 1):
                        gram = gram_at(self._text(piece.start) + k)
                        gram = all[place_of(all, distinct, gram << 32)]
                        if gram & 0xffffffff < fewest:
                            fewest = gram & 0xffffffff
                            rarest = gram >> 32
                if fewest > <uint64_t>total:
                    moved[others] = first[i]
                    others += 1
                else:
                    chosen[filed] = rarest << 32 | <uint64_t>i
                    filed += 1
            # Rules of one gram become neighbours, and stay best first.
            sort_numbers(chosen, filed)
            grams.shift = 32 - 9
            while grams.shift > 3 and (<Py_ssize_t>1 << (32 - grams.shift)) < 16 * filed:
                grams.shift -= 1
            grams.gram = <uint32_t *>malloc(filed * sizeof(uint32_t))
            grams.first = <int32_t *>malloc((filed + 1) * sizeof(int32_t))
            grams.bits = <uint8_t *>calloc(<size_t>1 << (29 - grams.shift), 1)
            if grams.gram == NULL or grams.first == NULL or grams.bits == NULL:
                raise MemoryError
            for i in range(filed):
                gram = chosen[i] >> 32
                moved[others + i] = first[chosen[i] & 0xffffffff]
                if i == 0 or gram != chosen[i - 1] >> 32:
                    grams.gram[grams.count] = <uint32_t>gram
                    grams.first[grams.count] = rules.first + <int32_t>(others + i)
                    grams.count += 1
                    k = gram_hash(<uint32_t>gram) >> grams.shift
                    grams.bits[k >> 3] |= 1 << (k & 7)
            grams.first[grams.count] = rules.first + <int32_t>(others + filed)
            memcpy(first, moved, rules.count * sizeof(Wild))
            make_room(<void **>&self.grams, &self.gram_room, self.gram_count, sizeof(Grams))
            self.grams[self.gram_count] = grams
            memset(&grams, 0, sizeof(Grams))
            rules.grams = <int32_t>self.gram_count
            rules.count = <int32_t>others
            self.gram_count += 1
        finally:
            free(all)
            free(chosen)
            free(moved)
            free(grams.gram)
            free(grams.first)
            free(grams.bits)
        return 0

    cdef int _shrink(self) except -1:
        """Gives back what growing took too much."""
        self.nodes = <Node *>shrunk(self.nodes, self.node_count * sizeof(Node))
        self.pieces = <Piece *>shrunk(self.pieces, self.piece_count * sizeof(Piece))
        self.lists = <Wilds *>shrunk(self.lists, self.list_count * sizeof(Wilds))
        self.pool = <uint8_t *>shrunk(self.pool, self.pool_size)
        self.grams = <Grams *>shrunk(self.grams, self.gram_count * sizeof(Grams))
        return 0

    # Checking.

    cdef inline int _count_check(self) except -1:
        """Arranging the rules costs as much as a few checks without, so that is when it pays."""
        if not self.compiled:
            self.checks += 1
            if self.checks > FEW_CHECKS:
                self._compile()
        return 0

    cdef uint64_t _best(self, const uint8_t *path, Py_ssize_t size) noexcept nogil:
        """The highest rank that matches a path; 0 when no rule does."""
        cdef uint64_t best = 0, rank
        cdef Rule *rule
        cdef Py_ssize_t i
        if self.compiled:
            return self._best_compiled(path, size)
        for i in range(self.rule_count):
            rule = &self.rules[i]
            rank = self._rank(rule)
            if rank > best and pattern_matches(
                    self._text(rule.start), rule.size, path, size, self.config.wildcards):
                best = rank
        return best

    cdef uint64_t _best_compiled(self, const uint8_t *path, Py_ssize_t size) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.node_count, middle
        cdef Node *node
        cdef int order
        cdef bint before
        cdef int32_t place, rules
        cdef uint64_t best, classes = 0, first, second
        # Of all nodes up to the path in sorted order, the last is the one to start from: any node
        # that the path begins with is also a beginning of everything between the two.
        first, second = eight_bytes(path, size, 0), eight_bytes(path, size, 8)
        while low < high:
            middle = (low + high) >> 1
            node = &self.nodes[middle]
            if node.first != first:
                before = node.first < first
            elif node.second != second:
                before = node.second < second
            else:
                order = memcmp(
                    self._text(node.start), path, node.size if node.size < size else size)
                before = order < 0 or (order == 0 and node.size <= size)
            if before:
                low = middle + 1
            else:
                high = middle
        place = <int32_t>low - 1
        while place >= 0:
            node = &self.nodes[place]
            if node.size <= size and memcmp(self._text(node.start), path, node.size) == 0:
                break
            place = node.outer
        if place < 0:
            return 0
        best = node.prefix
        if node.exact > best and node.size == size:
            best = node.exact
        rules = node.wilds
        while rules >= 0 and self.lists[rules].top > best:
            if classes == 0:
                classes = byte_classes(path, size)
            best = self._best_wild(&self.lists[rules], path, size, classes, best)
            rules = self.lists[rules].outer
        return best

    cdef uint64_t _best_wild(
        self, Wilds *rules, const uint8_t *path, Py_ssize_t size, uint64_t classes, uint64_t best
    ) noexcept nogil:
        cdef Grams *grams
        cdef Py_ssize_t i
        cdef uint32_t gram, bit
        cdef int32_t place
        cdef uint8_t few[128]
        cdef uint8_t *seen = NULL
        best = self._first_match(
            &self.wilds[rules.first], rules.count, path + rules.node_size, path + size, classes,
            best)
        if rules.grams < 0:
            return best
        grams = &self.grams[rules.grams]
        for i in range(rules.node_size, size - GRAM + 1):
            gram = gram_at(path + i)
            bit = gram_hash(gram) >> grams.shift
            if not grams.bits[bit >> 3] & (1 << (bit & 7)):
                continue
            place = gram_place(grams, gram)
            if place < 0:
                continue
            # A gram that occurs many times in the path is still looked up once.
            if seen == NULL:
                if <size_t>grams.count <= 8 * sizeof(few):
                    seen = few
                    memset(few, 0, sizeof(few))
                else:
                    seen = <uint8_t *>calloc((grams.count >> 3) + 1, 1)
            if seen != NULL and MANNERS_PLANTED != 4:
                if seen[place >> 3] & (1 << (place & 7)):
                    continue
                seen[place >> 3] |= 1 << (place & 7)
            best = self._first_match(
                &self.wilds[grams.first[place]], grams.first[place + 1] - grams.first[place],
                path + rules.node_size, path + size, classes, best)
        if seen != NULL and seen != few:
            free(seen)
        return best

    cdef uint64_t _first_match(
        self, Wild *wild, int32_t count, const uint8_t *start, const uint8_t *end,
        uint64_t classes, uint64_t best
    ) noexcept nogil:
        """The rank of the first of these rules that matches, if it is better than `best`."""
        cdef int32_t i
        for i in range(count):
            if wild[i].rank <= best:
                break
            if wild[i].classes & ~classes or end - start < wild[i].length:
                continue
            count_trial()
            if self._matches(&wild[i], start, end):
                return wild[i].rank
        return best

    cdef bint _matches(self, Wild *wild, const uint8_t *at, const uint8_t *end) noexcept nogil:
        """Whether all pieces follow one another. Taking each at its first place leaves the most
        room for the next, so there is never a reason to go back."""
        cdef Piece *piece = &self.pieces[wild.piece]
        cdef int32_t pieces = wild.pieces, i
        cdef const uint8_t *text
        if wild.anchored:
            pieces -= 1
            text = self._text(piece[pieces].start)
            end -= piece[pieces].size
            if memcmp(end, text, piece[pieces].size) != 0:
                return False
        for i in range(pieces):
            at = find_piece(at, end, self._text(piece[i].start), piece[i].size, piece[i].rare)
            if at == NULL:
                return False
            at += piece[i].size
        return True

    cdef int _check(
        self, const uint8_t *url, Py_ssize_t size, uint64_t *rank
    ) noexcept nogil:
        """1 allowed, 0 disallowed, -1 no memory; the dialect's normaliser is the kernel's."""
        cdef Py_ssize_t end = 0, start = find_path(url, size, &end), written
        cdef uint8_t few[STACK]
        cdef uint8_t *buffer = NULL
        cdef uint8_t *out = &few[0]
        cdef const uint8_t *path = <const uint8_t *>b"/"
        cdef int allowed
        size = 1
        if start >= 0:
            path = url + start
            size = end - start
            if path[0] != 47 or not is_plain(self.config.path_code, path, size):
                if 3 * size + 1 > STACK:
                    out = buffer = <uint8_t *>malloc(3 * size + 1)
                    if buffer == NULL:
                        return -1
                # `match_path`: a path that begins with ? or ; gets a slash in front.
                written = path[0] != 47
                out[0] = 47
                size = written + normalise(self.config.path_code, path, size, out + written)
                path = out
        rank[0] = self._best(path, size)
        allowed = rank[0] == 0 or self._allows(rank[0])
        if not allowed and self.config.robots_txt_allowed:
            allowed = is_robots_txt(path, size)
        free(buffer)
        return allowed

    cdef inline bint _allows(self, uint64_t rank) noexcept nogil:
        """An empty pattern, where the dialect keeps it, never disallows."""
        return self._ranked(rank).line & ALLOWS or self._ranked(rank).size == 0

    cdef int _check_any(self, url, uint64_t *rank) except -1:
        """As `_check`, for any string and any normaliser."""
        cdef int allowed
        if not PyUnicode_Check(url):
            raise TypeError(f"a URL is a str, not {type(url).__name__}")
        self._count_check()
        if self.config.path_code == NORM_PYTHON:
            path = self.config.normalise_path(match_path(url)).encode("latin-1")
            rank[0] = self._best(<const uint8_t *>PyBytes_AS_STRING(path), len(path))
            allowed = rank[0] == 0 or self._allows(rank[0])
            if not allowed and self.config.robots_txt_allowed:
                allowed = is_robots_txt(<const uint8_t *>PyBytes_AS_STRING(path), len(path))
            return allowed
        if PyUnicode_IS_COMPACT_ASCII(url):
            allowed = self._check(
                <const uint8_t *>PyUnicode_DATA(url), PyUnicode_GET_LENGTH(url), rank)
        else:
            data = to_bytes(url)
            allowed = self._check(
                <const uint8_t *>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), rank)
        if allowed < 0:
            raise MemoryError
        return allowed

    def allowed(self, url):
        """Whether the agent may fetch the URL."""
        cdef uint64_t rank = 0
        cdef int allowed = self._check_any(url, &rank)
        if not allowed and self.config.own_server_only:
            return is_elsewhere(url, self.robots)
        return allowed == 1

    def allowed_many(self, urls):
        """Whether the agent may fetch each of many URLs; other threads run meanwhile."""
        cdef tuple kept = tuple(urls)
        cdef Py_ssize_t count = len(kept), i
        cdef const uint8_t **texts
        cdef Py_ssize_t *sizes
        cdef uint8_t *found
        cdef uint64_t rank = 0
        cdef int allowed = 0
        if (self.config.path_code == NORM_PYTHON or self.config.own_server_only
                or count <= FEW_CHECKS):
            return [self.allowed(url) for url in kept]
        # Arranged before the GIL is released: nothing of a matcher changes while a thread without
        # the GIL reads it.
        if not self.compiled:
            self._compile()
        holding = []
        texts = <const uint8_t **>malloc(count * sizeof(void *))
        sizes = <Py_ssize_t *>malloc(count * sizeof(Py_ssize_t))
        found = <uint8_t *>malloc(count)
        try:
            if texts == NULL or sizes == NULL or found == NULL:
                raise MemoryError
            for i in range(count):
                url = kept[i]
                if not PyUnicode_Check(url):
                    raise TypeError(f"a URL is a str, not {type(url).__name__}")
                if PyUnicode_IS_COMPACT_ASCII(url):
                    texts[i] = <const uint8_t *>PyUnicode_DATA(url)
                    sizes[i] = PyUnicode_GET_LENGTH(url)
                else:
                    data = to_bytes(url)
                    holding.append(data)
                    texts[i] = <const uint8_t *>PyBytes_AS_STRING(data)
                    sizes[i] = PyBytes_GET_SIZE(data)
            with nogil:
                for i in range(count):
                    allowed = self._check(texts[i], sizes[i], &rank)
                    if allowed < 0:
                        break
                    found[i] = allowed
            if allowed < 0:
                raise MemoryError
            return [found[i] == 1 for i in range(count)]
        finally:
            free(texts)
            free(sizes)
            free(found)

    def _decide(self, url):
        """What the rules alone say, and the number of the deciding rule; 0 when there is none."""
        cdef uint64_t rank = 0
        self._check_any(url, &rank)
        if rank == 0:
            return True, 0
        return self._allows(rank), self._ranked(rank) - self.rules + 1

    def _rule_line(self, Py_ssize_t number):
        """Number and bytes of the line of a rule, and whether an index page made the rule."""
        cdef Py_ssize_t start, end, size = len(self.file)
        if not 0 < number <= self.rule_count:
            raise IndexError("no such rule")
        start = end = self.rules[number - 1].value
        while start > 0 and self.body[start - 1] != 10 and self.body[start - 1] != 13:
            start -= 1
        while end < size and self.body[end] != 10 and self.body[end] != 13:
            end += 1
        raw = PyBytes_FromStringAndSize(<const char *>self.body + start, end - start)
        line = self.rules[number - 1].line
        return line >> 2, raw, bool(line & DERIVED)


cdef bint pattern_matches(
    const uint8_t *pattern, Py_ssize_t size, const uint8_t *path, Py_ssize_t path_size,
    bint wildcards
) noexcept nogil:
    """Whether one pattern matches, without any preparation."""
    cdef const uint8_t *end = path + path_size
    cdef const uint8_t *stop = pattern + size
    cdef const void *star
    cdef Py_ssize_t piece
    cdef bint anchored = wildcards and size and (stop - 1)[0] == 36
    if anchored:
        stop -= 1
    star = memchr(pattern, 42, stop - pattern) if wildcards else NULL
    piece = (stop if star == NULL else <const uint8_t *>star) - pattern
    if piece > path_size or memcmp(pattern, path, piece) != 0:
        return False
    path += piece
    pattern += piece
    if star == NULL:
        return not anchored or path == end
    while True:
        while pattern < stop and pattern[0] == 42:
            pattern += 1
        if pattern == stop:
            return True
        star = memchr(pattern, 42, stop - pattern)
        piece = (stop if star == NULL else <const uint8_t *>star) - pattern
        if star == NULL and anchored:
            return end - path >= piece and memcmp(end - piece, pattern, piece) == 0
        path = find_piece(path, end, pattern, piece, 0)
        if path == NULL:
            return False
        path += piece
        pattern += piece


cdef inline uint64_t eight_bytes(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t start
) noexcept nogil:
    """Eight bytes of a text as a number, zeros behind its end."""
    cdef uint64_t number = 0
    cdef Py_ssize_t i
    if start + 8 <= size:
        for i in range(start, start + 8):
            number = number << 8 | text[i]
        return number
    for i in range(start, start + 8):
        number = number << 8 | (text[i] if i < size else 0)
    return number


cdef inline int32_t gram_place(Grams *grams, uint32_t gram) noexcept nogil:
    """Where a gram stands, or -1."""
    cdef int32_t low = 0, high = grams.count, middle
    while low < high:
        middle = (low + high) >> 1
        if grams.gram[middle] < gram:
            low = middle + 1
        else:
            high = middle
    return low if low < grams.count and grams.gram[low] == gram else -1


cdef Py_ssize_t place_of(uint64_t *numbers, Py_ssize_t count, uint64_t least) noexcept:
    """The place of the first number that is not less, among sorted ones."""
    cdef Py_ssize_t low = 0, high = count, middle
    while low < high:
        middle = (low + high) >> 1
        if numbers[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


cdef void sort_numbers(uint64_t *numbers, Py_ssize_t count) noexcept:
    """Merge sort, with as much room again behind the numbers."""
    cdef Py_ssize_t width = 1, low, middle, high, left, right, k
    cdef uint64_t *source = numbers
    cdef uint64_t *target = numbers + count
    cdef uint64_t *swap
    while width < count:
        low = 0
        while low < count:
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            left, right = low, middle
            for k in range(low, high):
                if left < middle and (right >= high or source[left] <= source[right]):
                    target[k] = source[left]
                    left += 1
                else:
                    target[k] = source[right]
                    right += 1
            low = high
        swap = source
        source = target
        target = swap
        width *= 2
    if source != numbers:
        memcpy(numbers, source, count * sizeof(uint64_t))


cdef inline uint64_t byte_classes(const uint8_t *text, Py_ssize_t size) noexcept nogil:
    cdef uint64_t classes = 0, others = 0
    cdef Py_ssize_t i = 0
    while i + 4 <= size:
        classes |= BYTE_CLASS[text[i]] | BYTE_CLASS[text[i + 1]]
        others |= BYTE_CLASS[text[i + 2]] | BYTE_CLASS[text[i + 3]]
        i += 4
    while i < size:
        classes |= BYTE_CLASS[text[i]]
        i += 1
    return classes | others


cdef int32_t rarest_byte(const uint8_t *text, int32_t size) noexcept nogil:
    cdef int32_t i, best = 0
    for i in range(1, size):
        if COMMON[text[i]] < COMMON[text[best]]:
            best = i
    return best


cdef inline const uint8_t *find_piece(
    const uint8_t *at, const uint8_t *end, const uint8_t *piece, Py_ssize_t size, Py_ssize_t rare
) noexcept nogil:
    """The first place of a piece, or NULL."""
    if size > LONG_PIECE:
        return <const uint8_t *>kernel_find_long(at, end - at, piece, size)
    while end - at >= size:
        at = <const uint8_t *>memchr(at + rare, piece[rare], end - at - size + 1)
        if at == NULL:
            return NULL
        at -= rare
        if memcmp(at, piece, size) == 0:
            return at
        at += 1
    return NULL


cdef inline bint is_robots_txt(const uint8_t *path, Py_ssize_t size) noexcept nogil:
    return size >= 11 and memcmp(path, b"/robots.txt", 11) == 0 and (size == 11 or path[11] == 63)


cdef void *shrunk(void *items, size_t size) noexcept:
    cdef void *moved
    if items == NULL or size == 0:
        return items
    moved = realloc(items, size)
    return items if moved == NULL else moved


cdef Py_ssize_t trials = 0

cdef inline void count_trial() noexcept nogil:
    """Counts how often a rule with `*` was tried, in builds with a planted bug (or -1: none)."""
    global trials
    if MANNERS_PLANTED != 0:
        trials += 1


def planted():
    """The bug planted in this build, and how often a rule with `*` was tried."""
    return MANNERS_PLANTED, trials


include "_arrow.pxi"


def connect(**functions):
    """Hand over the plain functions that the kernel leaves rare work to."""
    global plain_match_path, plain_origin, plain_host, plain_requestable
    global to_bytes, to_text, make_config, is_elsewhere
    plain_match_path = functions.get("match_path", plain_match_path)
    plain_origin = functions.get("origin", plain_origin)
    plain_host = functions.get("host", plain_host)
    plain_requestable = functions.get("requestable", plain_requestable)
    to_bytes = functions.get("to_bytes", to_bytes)
    to_text = functions.get("to_text", to_text)
    make_config = functions.get("make_config", make_config)
    is_elsewhere = functions.get("is_elsewhere", is_elsewhere)


cdef object plain_match_path = None
cdef object plain_origin = None
cdef object plain_host = None
cdef object plain_requestable = None
cdef object to_bytes = None
cdef object to_text = None
cdef object make_config = None
cdef object is_elsewhere = None
cdef dict configs = {}
set_up_tables()

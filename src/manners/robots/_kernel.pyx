# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""The kernel: lexing, rule sets and checks at C speed, with the answers of the plain engine.

The plain engine (`lines`, `groups`, `agents`, `patterns`) says what is right; the kernel says the
same to a C compiler. A file is scanned once for each policy, into arrays that are freed at once;
one block of memory stays, with the rules that count for the agent. The parts, one file each:

    _bytes.pxi     tables of bytes, normalising, memory
    _urls.pxi      path, origin, host and requestable form of a URL
    _config.pxi    Config: a dialect in numbers
    _scan.pxi      Scan: the User-agent, rule and timed lines of a file, as offsets into its bytes
    _rules.pxi     RuleSet: the rules for one agent, as offsets too
    _choose.pxi    which groups are for an agent
    _arrange.pxi   the same rules, sorted and indexed for many checks
    _match.pxi     the best rule for a path
    _matcher.pxi   Matcher: what Python sees of all this
    _file.pxi      File: what is parsed, and the policies it keeps
    _arrow.pxi     columns of texts in Arrow memory
    _answers.pxi   checking a column of URLs
    _sites.pxi     the rules of many sites, and what they say about columns
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.math cimport NAN
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
              at = memchr(at, *(const unsigned char *)needle, end - at - m + 1);
              if (!at) return 0;
              if (!memcmp(at, needle, m)) return at;
              ++at;
          }
          return 0;
      }
    #endif
    /* An object of a class whose `__cinit__` does all there is to do: `type(*arguments)`, without
       looking for an `__init__`. */
    static PyObject *kernel_make(PyObject *type, PyObject *arguments) {
        return ((PyTypeObject *)type)->tp_new((PyTypeObject *)type, arguments, NULL);
    }
    /* Bugs that a test plants one at a time, to see that the comparison of the engines finds them;
       0 in every build that is installed. */
    #ifndef MANNERS_PLANTED
    #define MANNERS_PLANTED 0
    #endif
    """
    const void *kernel_find_long(const void *, size_t, const void *, size_t) nogil
    object kernel_make(object, object)
    const int MANNERS_PLANTED

cdef extern from "Python.h":
    bint PyUnicode_Check(object)
    bint PyUnicode_IS_COMPACT_ASCII(object)
    void *PyUnicode_DATA(object)
    Py_ssize_t PyUnicode_GET_LENGTH(object)
    object PyUnicode_FromKindAndData(int, const void *, Py_ssize_t)
    str PyUnicode_DecodeUTF8(const char *, Py_ssize_t, const char *)
    object PyUnicode_Substring(object, Py_ssize_t, Py_ssize_t)
    char *PyBytes_AS_STRING(object)
    Py_ssize_t PyBytes_GET_SIZE(object)
    object PyBytes_FromStringAndSize(const char *, Py_ssize_t)
    object PyWeakref_NewRef(object, object)

cdef enum:
    MAX_LINE = 2083 * 8 - 1
    MAX_BODY = 0x3fffffff
    MAX_SPELLINGS = 32  # of the keys that count, in a dialect
    MAX_CONFIGS = 32    # dialects that are kept
    MAX_OWN_KEYS = 64   # names of agents that a dialect keeps
    POLICIES_KEPT = 64  # in a parsed file
    STACK = 1024        # bytes of a normalised path that need no allocation
    MANY = 16           # rules with `*` on one literal from which an index pays
    GRAM = 4
    FEW_CHECKS = 32     # made without arranging the rules first
    RUN = 12            # items that insertion sort is quick enough for
    LONG_PIECE = 32     # a longer piece is looked for in linear time

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


include "_bytes.pxi"
include "_urls.pxi"
include "_config.pxi"
include "_scan.pxi"
include "_rules.pxi"
include "_choose.pxi"
include "_arrange.pxi"
include "_match.pxi"
include "_matcher.pxi"
include "_file.pxi"
include "_arrow.pxi"
include "_answers.pxi"
include "_sites.pxi"


def connect(**functions):
    """Take the plain functions, to which the kernel leaves what is rare."""
    global plain_match_path, plain_origin, plain_host, plain_requestable
    global to_bytes, to_text, make_config, is_elsewhere, agent_names, robots_class, policy_class
    plain_match_path = functions.get("match_path", plain_match_path)
    plain_origin = functions.get("origin", plain_origin)
    plain_host = functions.get("host", plain_host)
    plain_requestable = functions.get("requestable", plain_requestable)
    to_bytes = functions.get("to_bytes", to_bytes)
    to_text = functions.get("to_text", to_text)
    make_config = functions.get("make_config", make_config)
    is_elsewhere = functions.get("is_elsewhere", is_elsewhere)
    agent_names = functions.get("agent_names", agent_names)
    robots_class = functions.get("robots_class", robots_class)
    policy_class = functions.get("policy_class", policy_class)


cdef object plain_match_path = None
cdef object plain_origin = None
cdef object plain_host = None
cdef object plain_requestable = None
cdef object to_bytes = None
cdef object to_text = None
cdef object make_config = None
cdef object is_elsewhere = None
cdef object agent_names = None
cdef object robots_class = None
cdef object policy_class = None
cdef dict configs = {}
set_up_tables()

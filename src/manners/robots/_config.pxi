# How a dialect reads, in numbers. A part of the kernel.

cdef struct Spelling:
    const uint8_t *text
    Py_ssize_t size
    int kind
    # Of a spelling of 8 bytes or more, the first and the last eight, and in which of them a letter
    # is: there, bit 5 is its case.
    uint64_t first, first_case, last, last_case

cdef class Config:
    """A dialect in numbers, with its Python functions where the kernel has none of its own."""

    cdef object dialect, select, agent_key, own_key, normalise_path, normalise_pattern
    cdef object make_group
    cdef dict own_keys
    cdef bint prefix_keys, colon_optional, rules_for_everybody, falls_back, empty_allows, wildcards
    cdef bint index_html, robots_txt_allowed, own_server_only
    cdef bint selects_by_name, needs_url, needs_groups
    cdef int record_end, rank, key_code, path_code, pattern_code
    cdef Py_ssize_t max_rules
    cdef list keep                # the bytes that `spellings` points into
    cdef Spelling spellings[MAX_SPELLINGS]
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
        if len(self.keep) > MAX_SPELLINGS:
            raise ValueError(f"more than {MAX_SPELLINGS} spellings of the known keys")
        for i, text in enumerate(self.keep):
            self.spellings[i].text = <const uint8_t *>PyBytes_AS_STRING(text)
            self.spellings[i].size = PyBytes_GET_SIZE(text)
            self.spellings[i].kind = KINDS[known[text]]
            set_up_eights(&self.spellings[i])
        for i in range(257):
            self.by_letter[i] = sum(text[0] < i for text in self.keep)

    cdef list own(self, tuple agents):
        """What the names of an agent are compared by."""
        found = self.own_keys.get(agents)
        if found is None:
            keys = [self.own_key(agent) for agent in agents]
            found = [to_bytes(key) for key in keys if key is not None and key != "*"]
            if len(self.own_keys) >= MAX_OWN_KEYS:
                self.own_keys.clear()
            self.own_keys[agents] = found
        return found


cdef void set_up_eights(Spelling *spelling) noexcept:
    cdef uint8_t cases[8]
    cdef const uint8_t *last = spelling.text + spelling.size - 8
    cdef Py_ssize_t i
    if spelling.size < 8:
        return
    spelling.first, spelling.last = bytes_at_once(spelling.text), bytes_at_once(last)
    for i in range(8):
        cases[i] = 0x20 if c"a" <= spelling.text[i] <= c"z" else 0
    spelling.first_case = bytes_at_once(cases)
    for i in range(8):
        cases[i] = 0x20 if c"a" <= last[i] <= c"z" else 0
    spelling.last_case = bytes_at_once(cases)


cdef inline uint64_t bytes_at_once(const uint8_t *text) noexcept nogil:
    cdef uint64_t number
    memcpy(&number, text, 8)
    return number


cdef inline bint begins_key(Spelling *spelling, const uint8_t *key) noexcept nogil:
    """Whether a key that is no shorter begins with a spelling, whatever its case."""
    cdef Py_ssize_t i = 0
    if spelling.size >= 8 and spelling.size <= 16:
        # Eight bytes at once: the lines of a file are mostly such keys.
        return ((bytes_at_once(key) | spelling.first_case) == spelling.first and
                (bytes_at_once(key + spelling.size - 8) | spelling.last_case) == spelling.last)
    while i < spelling.size and LOWER[key[i]] == spelling.text[i]:
        i += 1
    return i == spelling.size

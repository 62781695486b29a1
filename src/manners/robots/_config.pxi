# How a dialect reads, in numbers. A part of the kernel.

cdef struct Spelling:
    const uint8_t *text
    Py_ssize_t size
    int kind

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


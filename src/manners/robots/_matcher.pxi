# The rules for one agent, and the answers that follow. A part of the kernel.

cdef class Matcher:
    """The rules for one agent, and the verdicts that follow."""

    cdef readonly tuple agents
    cdef readonly str agent
    cdef readonly int specificity
    cdef readonly bint _has_group, too_many_rules
    cdef readonly tuple _timed_lines
    cdef public dict _kept        # what a policy has worked out once
    cdef Config config
    cdef RuleSet ruleset
    cdef bytes file               # what the rule set points into
    cdef object url
    cdef bint truncated
    cdef object parsed            # a weak reference to the file, or an equal file
    cdef Py_ssize_t checks

    def __cinit__(self, File robots not None, tuple agents not None):
        cdef Scan scan
        cdef FewLines few
        cdef Config config = config_of(robots.dialect)
        cdef bytes body = robots.body
        if len(body) > MAX_BODY:
            raise OverflowError("a robots.txt of 1 GiB or more")
        self.config, self.agents, self.file = config, agents, body
        self.url, self.truncated = robots.url, robots.truncated
        self.parsed = PyWeakref_NewRef(robots, None)
        set_up_rules(&self.ruleset, config, <const uint8_t *>PyBytes_AS_STRING(body))
        self.agent = ""
        self._timed_lines = ()
        start_scan(&scan, &few)
        try:
            scan_file(&scan, config, self.ruleset.body, len(body))
            self.too_many_rules = 0 <= config.max_rules < scan.rules_with_value
            self._read(&scan, robots)
            if self.too_many_rules:
                self.ruleset.rule_count = 0
        finally:
            free_scan(&scan)

    def __dealloc__(self):
        free_rules(&self.ruleset)

    @property
    def robots(self):
        """The parsed file; an equal one where that is gone.

        A file keeps its policies. If they kept it too, neither would be freed before the garbage
        collector comes by.
        """
        robots = self.parsed
        if isinstance(robots, File):
            return robots
        robots = robots()
        if robots is None:
            robots = robots_class(self.file, self.config.dialect, self.url, self.truncated)
            self.parsed = robots
        return robots

    cdef int _read(self, Scan *scan, File robots) except -1:
        """Take what counts for the agent from the lines of the file."""
        cdef Config config = self.config
        cdef Choice choice
        url = self.url if config.needs_url else None
        if config.selects_by_name:
            rules_by_name(&self.ruleset, config, scan, config.own(self.agents), url, &choice)
            self.specificity, self._has_group = choice.specificity, choice.first >= 0
            if choice.first >= 0:
                self.agent = self._agent_text(&scan.agents[choice.first])
        else:
            self._select(scan, robots)
            gather_rules(&self.ruleset, config, scan, url)
        self._timed_lines = timed_lines(self.ruleset.body, scan)
        return 0

    cdef int _select(self, Scan *scan, File robots) except -1:
        """Choose groups by the dialect's own function."""
        cdef Py_ssize_t i
        if self.config.needs_groups:
            # The choice may depend on rules, so it gets the groups as they are read.
            groups = robots.groups
        else:
            names = [[] for _ in range(scan.group_count)]
            for i in range(scan.agent_count):
                names[scan.agents[i].group].append(self._agent_text(&scan.agents[i]))
            groups = [self.config.make_group(tuple(names[i]), line=scan.groups[i].line)
                      for i in range(scan.group_count)]
        choice = self.config.select(groups, self.agents, self.config.dialect)
        self.agent, self.specificity = choice.agent, choice.specificity
        self._has_group = bool(choice.groups)
        chosen = {group.line for group in choice.groups}
        for i in range(scan.group_count):
            scan.groups[i].chosen = scan.groups[i].line in chosen
        for i in range(scan.agent_count):
            scan.agents[i].matched = (
                scan.groups[scan.agents[i].group].chosen
                and self.config.agent_key(self._agent_text(&scan.agents[i])) in choice.keys)
        return 0

    cdef str _agent_text(self, AgentLine *line):
        return agent_text(self.ruleset.body, line)

    cdef int _check(self, url, uint64_t *rank) except -1:
        """Whether the rules allow a URL, and the rank of the one that decides; 0 for none."""
        cdef int allowed
        if not PyUnicode_Check(url):
            raise TypeError(f"a URL is a str, not {type(url).__name__}")
        if not self.ruleset.arranged:
            # Arranging costs as much as a few checks without it; after these, it pays.
            self.checks += 1
            if self.checks > FEW_CHECKS:
                arrange(&self.ruleset)
        if self.config.path_code == NORM_PYTHON:
            path = self.config.normalise_path(match_path(url)).encode("latin-1")
            return check_path(
                &self.ruleset, <const uint8_t *>PyBytes_AS_STRING(path), len(path), rank)
        if PyUnicode_IS_COMPACT_ASCII(url):
            allowed = check_url(&self.ruleset, <const uint8_t *>PyUnicode_DATA(url),
                                PyUnicode_GET_LENGTH(url), rank)
        else:
            data = to_bytes(url)
            allowed = check_url(&self.ruleset, <const uint8_t *>PyBytes_AS_STRING(data),
                                PyBytes_GET_SIZE(data), rank)
        if allowed < 0:
            raise MemoryError
        return allowed

    def allowed(self, url):
        """Whether the agent may fetch the URL."""
        cdef uint64_t rank = 0
        cdef int allowed = self._check(url, &rank)
        if not allowed and self.config.own_server_only:
            return is_elsewhere(url, self.robots)
        return allowed == 1

    def allowed_many(self, urls):
        """Whether the agent may fetch each of many URLs; other threads run meanwhile."""
        cdef tuple kept = tuple(urls)
        cdef Py_ssize_t count = len(kept), i
        cdef Span *spans
        cdef uint8_t *answers
        cdef bint is_done
        if (self.config.path_code == NORM_PYTHON or self.config.own_server_only
                or count <= FEW_CHECKS):
            return [self.allowed(url) for url in kept]
        # Arranged before the GIL is released: nothing of a matcher changes while a thread without
        # the GIL reads it.
        if not self.ruleset.arranged:
            arrange(&self.ruleset)
        spans = <Span *>malloc(count * sizeof(Span))
        answers = <uint8_t *>malloc(count)
        try:
            if spans == NULL or answers == NULL:
                raise MemoryError
            encoded = fill_spans(spans, kept)  # kept until the end: spans point into it
            with nogil:
                is_done = check_spans(&self.ruleset, spans, count, answers)
            if not is_done:
                raise MemoryError
            return [answers[i] == 1 for i in range(count)]
        finally:
            free(spans)
            free(answers)

    def _decide(self, url):
        """What the rules alone say, and the number of the deciding rule; 0 when there is none."""
        cdef uint64_t rank = 0
        self._check(url, &rank)
        if rank == 0:
            return True, 0
        place = ranked_rule(&self.ruleset, rank) - self.ruleset.rules
        return allows(&self.ruleset, rank), place + 1

    def _rule_line(self, Py_ssize_t number):
        """Number and bytes of the line of a rule, and whether an index page made the rule."""
        cdef Py_ssize_t start, end, size = len(self.file)
        cdef const uint8_t *body = self.ruleset.body
        if not 0 < number <= self.ruleset.rule_count:
            raise IndexError("no such rule")
        start = end = self.ruleset.rules[number - 1].value
        while start > 0 and body[start - 1] != c"\n" and body[start - 1] != c"\r":
            start -= 1
        while end < size and body[end] != c"\n" and body[end] != c"\r":
            end += 1
        raw = PyBytes_FromStringAndSize(<const char *>body + start, end - start)
        line = self.ruleset.rules[number - 1].line
        return line >> 2, raw, bool(line & DERIVED)


cdef Config latest_config = None

cdef Config config_of(dialect):
    global latest_config
    cdef Config config = latest_config
    # Hashing a dialect calls Python; most programs have one.
    if config is not None and config.dialect is dialect:
        return config
    config = configs.get(dialect)
    if config is None:
        if len(configs) >= MAX_CONFIGS:  # a program may make dialects of its own, without end
            configs.clear()
        config = configs[dialect] = make_config(dialect)
    latest_config = config
    return config


cdef struct Span:      # a URL as bytes
    const uint8_t *text
    Py_ssize_t size


cdef list fill_spans(Span *spans, tuple urls):
    """Point to the bytes of each URL; the list has those that had to be encoded."""
    cdef Py_ssize_t i
    encoded = []
    for i in range(len(urls)):
        url = urls[i]
        if not PyUnicode_Check(url):
            raise TypeError(f"a URL is a str, not {type(url).__name__}")
        if PyUnicode_IS_COMPACT_ASCII(url):
            spans[i] = Span(<const uint8_t *>PyUnicode_DATA(url), PyUnicode_GET_LENGTH(url))
        else:
            data = to_bytes(url)
            encoded.append(data)
            spans[i] = Span(<const uint8_t *>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
    return encoded


cdef bint check_spans(
    RuleSet *ruleset, Span *spans, Py_ssize_t count, uint8_t *answers
) noexcept nogil:
    """Answer for each URL; False when there is no memory."""
    cdef Py_ssize_t i
    cdef uint64_t rank = 0
    cdef int allowed
    for i in range(count):
        allowed = check_url(ruleset, spans[i].text, spans[i].size, &rank)
        if allowed < 0:
            return False
        answers[i] = allowed
    return True

# The rules for one agent, and the answers that follow. A part of the kernel.

cdef class Matcher:
    """The rules for one agent, and the verdicts that follow."""

    cdef readonly object robots
    cdef readonly tuple agents
    cdef readonly str agent
    cdef readonly int specificity
    cdef readonly bint _has_group, too_many_rules
    cdef readonly tuple _timed_lines
    cdef public dict _kept        # what a policy has worked out once
    cdef Config config
    cdef RuleSet ruleset
    cdef bytes file               # what the rule set points into
    cdef Py_ssize_t checks

    def __cinit__(self, robots, tuple agents not None):
        cdef Scan scan
        cdef Config config = config_of(robots.dialect)
        cdef bytes body = robots.body
        if len(body) > MAX_BODY:
            raise OverflowError("a robots.txt of 1 GiB or more")
        self.config, self.robots, self.agents, self.file = config, robots, agents, body
        self.ruleset.body = <const uint8_t *>PyBytes_AS_STRING(body)
        self.ruleset.rank, self.ruleset.path_code = config.rank, config.path_code
        self.ruleset.wildcards = config.wildcards
        self.ruleset.robots_txt_allowed = config.robots_txt_allowed
        self.agent = ""
        self._timed_lines = ()
        memset(&scan, 0, sizeof(Scan))
        try:
            scan_file(&scan, config, self.ruleset.body, len(body))
            self.too_many_rules = 0 <= config.max_rules < scan.rules_with_value
            self._choose(&scan)
            self._gather(&scan)
            if (config.falls_back and config.selects_by_name
                    and self.ruleset.rule_count == 0 and self.specificity > 1):
                # An own section without rules counts as absent.
                self._choose_by_name(&scan, [])
                self._gather(&scan)
            if self.too_many_rules:
                self.ruleset.rule_count = 0
        finally:
            free_scan(&scan)

    def __dealloc__(self):
        free_rules(&self.ruleset)

    cdef int _gather(self, Scan *scan) except -1:
        """Take what counts from the chosen groups."""
        self._gather_timed(scan)
        url = self.robots.url if self.config.needs_url else None
        return gather_rules(&self.ruleset, self.config, scan, url)

    cdef bytes _agent_bytes(self, AgentLine *line):
        if line.start < 0:
            return b"*"
        return PyBytes_FromStringAndSize(<const char *>self.ruleset.body + line.start, line.size)

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
            text = self.ruleset.body + line.start
        if self.config.key_code == KEY_WHOLE:
            if size == 0:
                return 0
            if size == 1 and text[0] == c"*":
                return 1
        else:
            if size and text[0] == c"*" and (size == 1 or IS_SPACE[text[1]]):
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
                text = PyBytes_FromStringAndSize(
                    <const char *>self.ruleset.body + line.start, line.size)
                found[TIMED[line.kind], to_text(text)] = None
        self._timed_lines = tuple(found)
        return 0

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


cdef Config config_of(dialect):
    cdef Config config = configs.get(dialect)
    if config is None:
        if len(configs) >= MAX_CONFIGS:  # a program may make dialects of its own, without end
            configs.clear()
        config = configs[dialect] = make_config(dialect)
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

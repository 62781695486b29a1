# Which groups are for an agent, and what they say: functions of a scan, a dialect and the agent's
# keys (`Config.own`), without a Python object for any line. A part of the kernel.

cdef enum:  # whom a User-agent line names; the most that any line does counts
    NOBODY, EVERYBODY, AGENT

cdef struct Choice:
    Py_ssize_t first         # the first User-agent line that counts, or -1
    int specificity          # as `agents.Choice` has it


cdef int rules_by_name(
    RuleSet *ruleset, Config config, Scan *scan, list own, url, Choice *choice
) except -1:
    """The rules for an agent, where its dialect chooses by name; the scan remembers the choice."""
    choice[0] = choose_by_name(scan, config, ruleset.body, own)
    gather_rules(ruleset, config, scan, url)
    if config.falls_back and ruleset.rule_count == 0 and choice.specificity > 1:
        # An own section without rules counts as absent.
        choice[0] = choose_by_name(scan, config, ruleset.body, [])
        gather_rules(ruleset, config, scan, url)
    return 0


cdef Choice choose_by_name(Scan *scan, Config config, const uint8_t *body, list own) noexcept:
    """`agents.by_name`: mark the groups that name the agent, else those for `*`."""
    cdef Py_ssize_t i
    cdef Choice choice
    cdef AgentLine *line
    cdef int best = NOBODY
    choice.first = -1
    for i in range(scan.group_count):
        scan.groups[i].chosen = False
    for i in range(scan.agent_count):
        line = &scan.agents[i]
        line.named = names_whom(line, config, body, own)
        if line.named > best:
            best, choice.first = line.named, i
    for i in range(scan.agent_count):
        line = &scan.agents[i]
        line.matched = best != NOBODY and line.named == best
        if line.matched:
            scan.groups[line.group].chosen = True
    choice.specificity = 3 if best == AGENT else 1 if best == EVERYBODY else 0
    return choice


cdef int names_whom(AgentLine *line, Config config, const uint8_t *body, list own) noexcept:
    """Whether a line names the agent whose keys are `own`, everybody, or neither."""
    cdef const uint8_t *text = <const uint8_t *>b"*"
    cdef const uint8_t *other
    cdef Py_ssize_t size = line.size, i
    if line.start >= 0:
        text = body + line.start
    if config.key_code == KEY_WHOLE:
        if size == 0:
            return NOBODY
        if size == 1 and text[0] == c"*":
            return EVERYBODY
    else:
        if size and text[0] == c"*" and (size == 1 or IS_SPACE[text[1]]):
            return EVERYBODY
        i = 0
        while i < size and (IS_TOKEN[text[i]] if config.key_code == KEY_TOKEN
                            else IS_GOOGLE_TOKEN[text[i]]):
            i += 1
        size = i
        if size == 0 and config.key_code == KEY_TOKEN:
            return NOBODY
    for name in own:
        if PyBytes_GET_SIZE(name) == size:
            other = <const uint8_t *>PyBytes_AS_STRING(name)
            i = 0
            while i < size and LOWER[text[i]] == other[i]:
                i += 1
            if i == size:
                return AGENT
    return NOBODY


cdef str agent_text(const uint8_t *body, AgentLine *line):
    """The name in a User-agent line, as written."""
    if line.start < 0 or (line.size == 1 and body[line.start] == c"*"):
        return "*"
    return text_from(body + line.start, line.size)


cdef tuple timed_lines(const uint8_t *body, Scan *scan):
    """Names and texts of the timed lines for the agent, each pair once."""
    cdef Py_ssize_t i, j
    cdef int32_t last = -1
    cdef bint matched = False
    cdef TimedLine *line
    if scan.timed_count == 0:
        return ()
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
            found[TIMED[line.kind], text_from(body + line.start, line.size)] = None
    return tuple(found)

# Scanning a file: `lines.read_lines` and `groups.gather` in one, for the lines that count.
# A part of the kernel.

cdef struct AgentLine:
    int32_t start, size, group   # start -1: a `*` that the file does not have
    int named                    # see `names_whom`
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

cdef enum:  # lines that need no allocation; more than most files have
    FEW_AGENTS = 12, FEW_RULES = 48, FEW_TIMED = 4, FEW_GROUPS = 12

cdef struct FewLines:
    AgentLine agents[FEW_AGENTS]
    RuleLine rules[FEW_RULES]
    TimedLine timed[FEW_TIMED]
    GroupLines groups[FEW_GROUPS]

cdef struct Scan:
    FewLines *few        # where the arrays begin; the caller has it on its stack
    AgentLine *agents
    RuleLine *rules
    TimedLine *timed
    GroupLines *groups
    Py_ssize_t agent_count, rule_count, timed_count, group_count
    Py_ssize_t agent_room, rule_room, timed_room, group_room
    Py_ssize_t rules_with_value
    # Where the scan stands:
    Py_ssize_t run_start   # the first of the User-agent lines that follow one another
    bint in_group, agent_seen, rule_seen, run_ended

cdef struct Cursor:        # the line that is read
    const uint8_t *body
    Py_ssize_t size, position, next_lf, next_cr
    Py_ssize_t start, stop
    bint has_nul


cdef void start_scan(Scan *scan, FewLines *few) noexcept nogil:
    """An empty scan. It is used as long as `few` is there, and freed by `free_scan`."""
    memset(scan, 0, sizeof(Scan))
    scan.few = few
    scan.agents, scan.agent_room = few.agents, FEW_AGENTS
    scan.rules, scan.rule_room = few.rules, FEW_RULES
    scan.timed, scan.timed_room = few.timed, FEW_TIMED
    scan.groups, scan.group_room = few.groups, FEW_GROUPS


cdef int scan_file(Scan *scan, Config config, const uint8_t *body, Py_ssize_t size) except -1:
    """Find the User-agent, rule and timed lines of a file."""
    cdef Cursor at
    cdef int32_t number = 0
    cdef Py_ssize_t value
    cdef int kind
    # Field by field, not by memset(): so the compiler can keep them in registers.
    at.body, at.size, at.position, at.next_lf, at.next_cr = body, size, 0, -1, -1
    at.start = at.stop = 0
    at.has_nul = memchr(body, c"\0", size) != NULL
    while at.position < size:
        next_line(&at)
        number += 1
        if at.start == at.stop:
            if config.record_end != END_RULE:
                scan.in_group = False
            continue
        if body[at.start] == c"#":
            continue
        kind = read_line(&at, config, &value)
        if kind == USER_AGENT:
            add_agent_line(scan, config, number, value, at.stop)
        elif kind == ALLOW or kind == DISALLOW:
            add_rule(scan, config, kind, number, value, at.stop)
        elif kind != UNKNOWN and scan.in_group:
            add_timed(scan, kind, value, at.stop)
    return 0


cdef inline void next_line(Cursor *at) noexcept nogil:
    """Go to the next line: cut at the length limit and at a NUL, without spaces in front."""
    cdef const void *found
    cdef Py_ssize_t end
    # The next LF and the next CR are looked for only when the last ones are behind us, so a file
    # without one of them is searched for it once.
    if at.next_lf < at.position:
        at.next_lf = next_byte(at, c"\n", at.position)
    if at.next_cr < at.position:
        at.next_cr = next_byte(at, c"\r", at.position)
    end = at.next_lf if at.next_lf < at.next_cr else at.next_cr
    at.start = at.position
    at.stop = end if end - at.start <= MAX_LINE else at.start + MAX_LINE
    at.position = end + 1
    if end == at.next_cr and end + 1 == at.next_lf:
        at.position = end + 2
    if at.has_nul:
        found = memchr(at.body + at.start, c"\0", at.stop - at.start)
        if found != NULL:
            at.stop = <const uint8_t *>found - at.body
    while at.start < at.stop and IS_SPACE[at.body[at.start]]:
        at.start += 1


cdef inline Py_ssize_t next_byte(Cursor *at, int byte, Py_ssize_t start) noexcept nogil:
    """Where a byte stands next; the end of the file where it does not."""
    cdef const void *found = memchr(at.body + start, byte, at.size - start)
    return at.size if found == NULL else <const uint8_t *>found - at.body


cdef inline int read_line(Cursor *at, Config config, Py_ssize_t *value) noexcept:
    """The kind of a line, where its value begins and, in `at.stop`, where it ends."""
    cdef const uint8_t *body = at.body
    cdef Py_ssize_t start = at.start, stop = at.stop, colon
    cdef const void *found = memchr(body + start, c"#", stop - start)
    cdef int kind
    if found != NULL:
        stop = <const uint8_t *>found - body
    while IS_SPACE[body[stop - 1]]:
        stop -= 1
    at.stop = stop
    found = memchr(body + start, c":", stop - start)
    if found != NULL:
        colon = <const uint8_t *>found - body
        value[0] = colon + 1
    elif config.colon_optional:
        colon = start
        while colon < stop and body[colon] != c" " and body[colon] != c"\t":
            colon += 1
        value[0] = colon
        while value[0] < stop and (body[value[0]] == c" " or body[value[0]] == c"\t"):
            value[0] += 1
        if value[0] == stop:
            return UNKNOWN
        if (memchr(body + value[0], c" ", stop - value[0]) != NULL
                or memchr(body + value[0], c"\t", stop - value[0]) != NULL):
            return UNKNOWN
    else:
        return UNKNOWN
    while colon > start and IS_SPACE[body[colon - 1]]:
        colon -= 1
    if colon == start:
        return UNKNOWN
    kind = key_kind(config, body + start, colon - start)
    if kind != UNKNOWN:
        while value[0] < stop and IS_SPACE[body[value[0]]]:
            value[0] += 1
    return kind


cdef inline int key_kind(Config config, const uint8_t *key, Py_ssize_t size) noexcept:
    cdef Spelling *spelling
    cdef int i
    cdef uint8_t first = LOWER[key[0]]
    for i in range(config.by_letter[first], config.by_letter[first + 1]):
        spelling = &config.spellings[i]
        if spelling.size > size:
            continue
        if spelling.size != size and (not config.prefix_keys or spelling.kind > DISALLOW):
            continue
        if begins_key(spelling, key):
            return spelling.kind
    return UNKNOWN


cdef inline int add_agent_line(
    Scan *scan, Config config, int32_t number, Py_ssize_t value, Py_ssize_t stop
) except -1:
    scan.agent_seen = True
    if not scan.in_group or scan.rule_seen or config.record_end == END_AGENT:
        add_group(scan, number)
        scan.rule_seen = False
    elif scan.run_ended:
        scan.run_start = scan.agent_count
    scan.run_ended = False
    return add_agent(scan, <int32_t>value, <int32_t>(stop - value))


cdef inline int add_rule(
    Scan *scan, Config config, int kind, int32_t number, Py_ssize_t value, Py_ssize_t stop
) except -1:
    if value < stop:
        scan.rules_with_value += 1
    if not scan.in_group:
        if scan.agent_seen or not config.rules_for_everybody:
            return 0
        add_group(scan, number)
        add_agent(scan, -1, 1)
    scan.rule_seen = scan.run_ended = True
    if scan.rule_count == scan.rule_room:
        more_room(<void **>&scan.rules, &scan.rule_room, scan.few.rules, sizeof(RuleLine))
    scan.rules[scan.rule_count] = RuleLine(
        start=<int32_t>value, size=<int32_t>(stop - value), line=number,
        group=<int32_t>(scan.group_count - 1), allow=kind == ALLOW)
    scan.rule_count += 1
    return 0


cdef inline int add_timed(Scan *scan, int kind, Py_ssize_t value, Py_ssize_t stop) except -1:
    scan.run_ended = True
    if scan.timed_count == scan.timed_room:
        more_room(<void **>&scan.timed, &scan.timed_room, scan.few.timed, sizeof(TimedLine))
    scan.timed[scan.timed_count] = TimedLine(
        start=<int32_t>value, size=<int32_t>(stop - value),
        group=<int32_t>(scan.group_count - 1), first=<int32_t>scan.run_start,
        last=<int32_t>scan.agent_count, kind=kind)
    scan.timed_count += 1
    return 0


cdef int add_group(Scan *scan, int32_t line) except -1:
    if scan.group_count == scan.group_room:
        more_room(<void **>&scan.groups, &scan.group_room, scan.few.groups, sizeof(GroupLines))
    scan.groups[scan.group_count] = GroupLines(line=line, chosen=False)
    scan.group_count += 1
    scan.in_group = True
    scan.run_start = scan.agent_count
    return 0


cdef int add_agent(Scan *scan, int32_t start, int32_t size) except -1:
    if scan.agent_count == scan.agent_room:
        more_room(<void **>&scan.agents, &scan.agent_room, scan.few.agents, sizeof(AgentLine))
    scan.agents[scan.agent_count] = AgentLine(
        start=start, size=size, group=<int32_t>(scan.group_count - 1), named=0, matched=False)
    scan.agent_count += 1
    return 0


cdef int more_room(void **items, Py_ssize_t *room, void *few, size_t size) except -1:
    """Twice the room, for items that begin in `few`."""
    cdef void *moved = realloc(NULL if items[0] == few else items[0], 2 * room[0] * size)
    if moved == NULL:
        raise MemoryError
    if items[0] == few:
        memcpy(moved, few, room[0] * size)
    items[0] = moved
    room[0] *= 2
    return 0


cdef void free_scan(Scan *scan) noexcept:
    cdef FewLines *few = scan.few
    if scan.agents != few.agents:
        free(scan.agents)
    if scan.rules != few.rules:
        free(scan.rules)
    if scan.timed != few.timed:
        free(scan.timed)
    if scan.groups != few.groups:
        free(scan.groups)

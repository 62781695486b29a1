# The rules for one agent, and the block of memory they live in. A part of the kernel.
#
# A text is a slice of the file where normalising changed nothing, and a slice of `pool` otherwise.
# An offset into the pool is stored as its complement, so the sign tells which it is.

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
    uint8_t *bits            # a filter in front: the hash of a gram, shifted by `shift`
    int shift

cdef struct Wilds:           # the wild rules on one node, best first
    int32_t first, count     # tried one by one
    int32_t node_size
    int32_t outer            # the next list outwards, or -1
    int32_t grams            # its index, or -1
    uint64_t top             # the best rank here and further out

cdef struct Rule:            # in file order; small, because every policy has all of its rules
    int32_t start, size      # of the pattern
    int32_t value            # where its value stands
    uint32_t line            # its line, and below that two bits: allow, derived

cdef enum:
    DERIVED = 1              # an index page made it
    ALLOWS = 2

cdef struct RuleSet:
    const uint8_t *body      # the file
    uint8_t *pool
    Rule *rules
    Node *nodes
    Piece *pieces
    Wild *wilds
    Wilds *lists
    Grams *grams
    Py_ssize_t pool_size, rule_count, node_count, piece_count, wild_count, list_count, gram_count
    Py_ssize_t pool_room, rule_room, node_room, piece_room, wild_room, list_room, gram_room
    int rank, path_code      # as the dialect has them
    bint wildcards, robots_txt_allowed
    bint arranged            # whether nodes are made of the rules


cdef void set_up_rules(RuleSet *ruleset, Config config, const uint8_t *body) noexcept:
    """An empty rule set of a dialect, for rules of a file; its memory is zero before."""
    ruleset.body = body
    ruleset.rank, ruleset.path_code = config.rank, config.path_code
    ruleset.wildcards = config.wildcards
    ruleset.robots_txt_allowed = config.robots_txt_allowed


cdef void free_rules(RuleSet *ruleset) noexcept:
    free_arranged(ruleset)
    free(ruleset.pool)
    free(ruleset.rules)


cdef void free_arranged(RuleSet *ruleset) noexcept:
    """Free what `arrange` has made."""
    cdef Py_ssize_t i
    for i in range(ruleset.gram_count):
        free(ruleset.grams[i].gram)
        free(ruleset.grams[i].first)
        free(ruleset.grams[i].bits)
    free(ruleset.grams)
    free(ruleset.nodes)
    free(ruleset.pieces)
    free(ruleset.wilds)
    free(ruleset.lists)


cdef inline const uint8_t *text_of(RuleSet *ruleset, int32_t start) noexcept nogil:
    return ruleset.body + start if start >= 0 else ruleset.pool + ~start


cdef int32_t into_pool(RuleSet *ruleset, const uint8_t *text, Py_ssize_t size) except? 0:
    """A place in the pool with room for `size` bytes; `text`, if any, is copied there."""
    cdef Py_ssize_t wanted = ruleset.pool_size + size, room = ruleset.pool_room
    cdef int32_t start = <int32_t>ruleset.pool_size
    cdef uint8_t *moved
    if wanted > 0x7fffffff:
        raise OverflowError("rules that need 2 GiB or more")
    if wanted > room or ruleset.pool == NULL:
        room = max(wanted, room * 2, 1)
        moved = <uint8_t *>realloc(ruleset.pool, room)
        if moved == NULL:
            raise MemoryError
        ruleset.pool = moved
        ruleset.pool_room = room
    if text != NULL:
        memcpy(ruleset.pool + start, text, size)
    ruleset.pool_size = wanted
    return ~start


cdef bint normalise_rule(
    RuleSet *ruleset, Config config, RuleLine *line, url, Rule *rule
) except -1:
    """Fill in the pattern of a rule; False when the dialect drops it."""
    cdef const uint8_t *value = ruleset.body + line.start
    cdef Py_ssize_t size = line.size, written
    cdef int code = config.pattern_code
    cdef bint anchored = False
    cdef int32_t start
    cdef Py_ssize_t i
    rule.start, rule.size = line.start, line.size
    if size == 0 and code != NORM_PYTHON:
        return config.empty_allows
    if code == NORM_SCANNER_PATTERN:
        for i in range(size):
            if IS_SPACE[value[i]] or value[i] == c"\\":
                return False
    if code == NORM_RFC_PATTERN and value[size - 1] == c"$":
        anchored = True
        size -= 1
    if code == NORM_PYTHON or (code == NORM_ESCAPED and (
            value[0] != c"/" or (size > 1 and value[1] == c"/"))):
        # Not one of the kernel's, or a URL to be resolved: rare, and for the plain function.
        text = config.normalise_pattern(
            PyBytes_FromStringAndSize(<const char *>value, size), url)
        if text is None:
            return False
        rule.start = into_pool(ruleset, <const uint8_t *>PyBytes_AS_STRING(text), len(text))
        rule.size = <int32_t>len(text)
        return rule.size > 0 or config.empty_allows
    if is_plain(code, value, size):
        return True
    start = into_pool(ruleset, NULL, 3 * size + 1)
    written = normalise(code, value, size, ruleset.pool + ~start)
    if anchored:
        ruleset.pool[~start + written] = c"$"
        written += 1
    ruleset.pool_size = ~start + written
    rule.start, rule.size = start, <int32_t>written
    return True


cdef int gather_rules(RuleSet *ruleset, Config config, Scan *scan, url) except -1:
    """The rules of the chosen groups, with their patterns and ranks."""
    cdef Py_ssize_t i, count = 0
    cdef RuleLine *line
    cdef Rule *rule
    for i in range(scan.rule_count):
        count += scan.groups[scan.rules[i].group].chosen
    if count == 0:
        return 0
    # An index page makes another rule of one.
    reserve_rules(ruleset, 2 * count if config.index_html else count)
    for i in range(scan.rule_count):
        line = &scan.rules[i]
        if not scan.groups[line.group].chosen:
            continue
        rule = &ruleset.rules[ruleset.rule_count]
        rule.value = line.start
        rule.line = <uint32_t>line.line << 2 | (ALLOWS if line.allow else 0)
        if normalise_rule(ruleset, config, line, url, rule):
            ruleset.rule_count += 1
            if config.index_html and line.allow:
                add_index_page(ruleset, rule)
    if ruleset.rule_count < ruleset.rule_room:
        ruleset.rules = <Rule *>shrunk(ruleset.rules, ruleset.rule_count * sizeof(Rule))
        ruleset.rule_room = ruleset.rule_count
    if ruleset.pool_size < ruleset.pool_room:
        ruleset.pool = <uint8_t *>shrunk(ruleset.pool, ruleset.pool_size)
        ruleset.pool_room = ruleset.pool_size
    return 0


cdef int reserve_rules(RuleSet *ruleset, Py_ssize_t count) except -1:
    """Room for so many more rules."""
    cdef Py_ssize_t wanted = ruleset.rule_count + count
    cdef Rule *moved = <Rule *>realloc(ruleset.rules, wanted * sizeof(Rule))
    if moved == NULL:
        raise MemoryError
    ruleset.rules, ruleset.rule_room = moved, wanted
    return 0


cdef inline uint64_t rank_of(RuleSet *ruleset, Rule *rule) noexcept nogil:
    """The rank of a rule in the dialect's order: the highest that matches decides. Where all
    else is equal, the earlier line is the better one; the low half is its place, counted
    down."""
    cdef uint64_t size = rule.size, allow = (rule.line & ALLOWS) >> 1
    cdef uint64_t rank = 0x7fffffff - <uint64_t>(rule - ruleset.rules)
    if ruleset.rank == LONGEST:
        rank |= size << 33
        if MANNERS_PLANTED != 1:
            rank |= allow << 32
    elif ruleset.rank == ALLOW_FIRST:
        rank |= allow << 63 | size << 32
    return rank


cdef inline Rule *ranked_rule(RuleSet *ruleset, uint64_t rank) noexcept nogil:
    return &ruleset.rules[0x7fffffff - (rank & 0x7fffffff)]


cdef int add_index_page(RuleSet *ruleset, Rule *rule) except -1:
    """Google: `Allow: /dir/index.html` is also `Allow: /dir/$`."""
    cdef const uint8_t *text = text_of(ruleset, rule.start)
    cdef Py_ssize_t slash = rule.size - 1
    cdef Rule *derived = rule + 1
    while slash >= 0 and text[slash] != c"/":
        slash -= 1
    if slash < 0 or rule.size - slash < 10 or memcmp(text + slash, b"/index.htm", 10) != 0:
        return 0
    derived[0] = rule[0]
    derived.line |= DERIVED
    derived.start = into_pool(ruleset, NULL, slash + 2)
    derived.size = <int32_t>(slash + 2)
    memcpy(ruleset.pool + ~derived.start, text_of(ruleset, rule.start), slash + 1)
    ruleset.pool[~derived.start + slash + 1] = c"$"
    ruleset.rule_count += 1
    return 0

# Matching a path: the highest rank among the rules that match. A part of the kernel.

cdef inline uint32_t gram_at(const uint8_t *text) noexcept nogil:
    cdef uint32_t gram
    memcpy(&gram, text, GRAM)
    return gram


cdef inline uint32_t gram_hash(uint32_t gram) noexcept nogil:
    return gram * <uint32_t>2654435761


cdef uint64_t best_rank(RuleSet *ruleset, const uint8_t *path, Py_ssize_t size) noexcept nogil:
    """The highest rank that matches a path; 0 when no rule does."""
    cdef uint64_t best = 0, rank
    cdef Rule *rule
    cdef Py_ssize_t i
    if ruleset.arranged:
        return best_arranged(ruleset, path, size)
    for i in range(ruleset.rule_count):
        rule = &ruleset.rules[i]
        rank = rank_of(ruleset, rule)
        if rank > best and pattern_matches(
                text_of(ruleset, rule.start), rule.size, path, size, ruleset.wildcards):
            best = rank
    return best


cdef uint64_t best_arranged(RuleSet *ruleset, const uint8_t *path, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t low = 0, high = ruleset.node_count, middle
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
        node = &ruleset.nodes[middle]
        if node.first != first:
            before = node.first < first
        elif node.second != second:
            before = node.second < second
        else:
            order = memcmp(
                text_of(ruleset, node.start), path, node.size if node.size < size else size)
            before = order < 0 or (order == 0 and node.size <= size)
        if before:
            low = middle + 1
        else:
            high = middle
    place = <int32_t>low - 1
    while place >= 0:
        node = &ruleset.nodes[place]
        if node.size <= size and memcmp(text_of(ruleset, node.start), path, node.size) == 0:
            break
        place = node.outer
    if place < 0:
        return 0
    best = node.prefix
    if node.exact > best and node.size == size:
        best = node.exact
    rules = node.wilds
    while rules >= 0 and ruleset.lists[rules].top > best:
        if classes == 0:
            classes = byte_classes(path, size)
        best = best_wild(ruleset, &ruleset.lists[rules], path, size, classes, best)
        rules = ruleset.lists[rules].outer
    return best


cdef uint64_t best_wild(
    RuleSet *ruleset, Wilds *rules, const uint8_t *path, Py_ssize_t size, uint64_t classes,
    uint64_t best
) noexcept nogil:
    cdef Grams *grams
    cdef Py_ssize_t i
    cdef uint32_t gram, bit
    cdef int32_t place
    cdef uint8_t few[128]
    cdef uint8_t *seen = NULL
    best = first_match(
        ruleset, &ruleset.wilds[rules.first], rules.count, path + rules.node_size, path + size,
        classes, best)
    if rules.grams < 0:
        return best
    grams = &ruleset.grams[rules.grams]
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
        best = first_match(
            ruleset, &ruleset.wilds[grams.first[place]],
            grams.first[place + 1] - grams.first[place], path + rules.node_size, path + size,
            classes, best)
    if seen != NULL and seen != few:
        free(seen)
    return best


cdef uint64_t first_match(
    RuleSet *ruleset, Wild *wild, int32_t count, const uint8_t *start, const uint8_t *end,
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
        if pieces_match(ruleset, &wild[i], start, end):
            return wild[i].rank
    return best


cdef bint pieces_match(
    RuleSet *ruleset, Wild *wild, const uint8_t *at, const uint8_t *end
) noexcept nogil:
    """Whether the pieces follow one another.

    A piece taken at its first place leaves the most room for the next: no need to backtrack.
    """
    cdef Piece *piece = &ruleset.pieces[wild.piece]
    cdef int32_t pieces = wild.pieces, i
    cdef const uint8_t *text
    if wild.anchored:
        pieces -= 1
        text = text_of(ruleset, piece[pieces].start)
        end -= piece[pieces].size
        if memcmp(end, text, piece[pieces].size) != 0:
            return False
    for i in range(pieces):
        at = find_piece(at, end, text_of(ruleset, piece[i].start), piece[i].size, piece[i].rare)
        if at == NULL:
            return False
        at += piece[i].size
    return True


cdef inline const uint8_t *path_of(
    int path_code, const uint8_t *url, Py_ssize_t url_size, Py_ssize_t *size,
    uint8_t *few, uint8_t **buffer
) noexcept nogil:
    """The normalised path of a URL: part of it where it is plain, else written to `few`, of STACK
    bytes, or to a new buffer, which the caller frees. NULL without memory."""
    cdef Py_ssize_t end = 0, start = find_path(url, url_size, &end), written
    cdef const uint8_t *path = url + start
    cdef uint8_t *out = few
    if start < 0:
        size[0] = 1
        return <const uint8_t *>b"/"
    size[0] = end - start
    if path[0] == c"/" and is_plain(path_code, path, size[0]):
        return path
    if 3 * size[0] + 1 > STACK:
        out = buffer[0] = <uint8_t *>malloc(3 * size[0] + 1)
        if out == NULL:
            return NULL
    # `match_path`: a path that begins with ? or ; gets a slash in front.
    written = path[0] != c"/"
    out[0] = c"/"
    size[0] = written + normalise(path_code, path, size[0], out + written)
    return out


cdef int check_url(
    RuleSet *ruleset, const uint8_t *url, Py_ssize_t size, uint64_t *rank
) noexcept nogil:
    """1 allowed, 0 disallowed, -1 no memory; for dialects whose normaliser the kernel knows."""
    cdef uint8_t few[STACK]
    cdef uint8_t *buffer = NULL
    cdef Py_ssize_t path_size = 0
    cdef const uint8_t *path = path_of(ruleset.path_code, url, size, &path_size, few, &buffer)
    cdef int allowed = -1
    if path != NULL:
        allowed = check_path(ruleset, path, path_size, rank)
    free(buffer)
    return allowed


cdef inline bint check_path(
    RuleSet *ruleset, const uint8_t *path, Py_ssize_t size, uint64_t *rank
) noexcept nogil:
    """Whether the rules allow a normalised path, and the rank of the one that decides."""
    rank[0] = best_rank(ruleset, path, size)
    return rank[0] == 0 or allows(ruleset, rank[0]) or (
        ruleset.robots_txt_allowed and is_robots_txt(path, size))


cdef inline bint allows(RuleSet *ruleset, uint64_t rank) noexcept nogil:
    """Whether a rule allows. An empty pattern, where the dialect keeps it, never disallows."""
    return ranked_rule(ruleset, rank).line & ALLOWS or ranked_rule(ruleset, rank).size == 0


cdef bint pattern_matches(
    const uint8_t *pattern, Py_ssize_t size, const uint8_t *path, Py_ssize_t path_size,
    bint wildcards
) noexcept nogil:
    """Whether one pattern matches, without any preparation."""
    cdef const uint8_t *end = path + path_size
    cdef const uint8_t *stop = pattern + size
    cdef const void *star
    cdef Py_ssize_t piece
    cdef bint anchored = wildcards and size and (stop - 1)[0] == c"$"
    if anchored:
        stop -= 1
    star = memchr(pattern, c"*", stop - pattern) if wildcards else NULL
    piece = (stop if star == NULL else <const uint8_t *>star) - pattern
    if piece > path_size or memcmp(pattern, path, piece) != 0:
        return False
    path += piece
    pattern += piece
    if star == NULL:
        return not anchored or path == end
    while True:
        while pattern < stop and pattern[0] == c"*":
            pattern += 1
        if pattern == stop:
            return True
        star = memchr(pattern, c"*", stop - pattern)
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


cdef inline uint64_t byte_classes(const uint8_t *text, Py_ssize_t size) noexcept nogil:
    cdef uint64_t classes = 0, more = 0  # two, so that neither waits for the other
    cdef Py_ssize_t i = 0
    while i + 4 <= size:
        classes |= BYTE_CLASS[text[i]] | BYTE_CLASS[text[i + 1]]
        more |= BYTE_CLASS[text[i + 2]] | BYTE_CLASS[text[i + 3]]
        i += 4
    while i < size:
        classes |= BYTE_CLASS[text[i]]
        i += 1
    return classes | more


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
    return size >= 11 and memcmp(path, b"/robots.txt", 11) == 0 and (size == 11 or path[11] == c"?")


cdef Py_ssize_t trials = 0

cdef inline void count_trial() noexcept nogil:
    """Count a rule with `*` that was tried, in builds with a planted bug (or -1: none)."""
    global trials
    if MANNERS_PLANTED != 0:
        trials += 1


def planted():
    """The bug planted in this build, and how often a rule with `*` was tried."""
    return MANNERS_PLANTED, trials

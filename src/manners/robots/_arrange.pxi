# Arranging rules for many checks: literals sorted for binary search, each with the best rank that
# holds once a path begins with it, and rules with `*` hanging on literals. A part of the kernel.

cdef struct Head:            # the literal a rule begins with, while a rule set is made
    uint64_t first, second   # as in Node
    uint64_t rank
    int32_t start, size
    int32_t wild             # or -1
    bint anchored


cdef int arrange(RuleSet *ruleset) except -1:
    """Arrange the rules for many checks."""
    cdef Head *heads = NULL
    cdef Py_ssize_t i
    if ruleset.rule_count == 0:
        ruleset.arranged = True
        return 0
    try:
        # Twice the room, for sorting.
        heads = <Head *>malloc(2 * ruleset.rule_count * sizeof(Head))
        if heads == NULL:
            raise MemoryError
        for i in range(ruleset.rule_count):
            split_rule(ruleset, &ruleset.rules[i], &heads[i])
        sort_heads(ruleset, heads, ruleset.rule_count)
        make_nodes(ruleset, heads, ruleset.rule_count)
        shrink(ruleset)
        ruleset.arranged = True
    finally:
        free(heads)
    return 0


cdef int split_rule(RuleSet *ruleset, Rule *rule, Head *head) except -1:
    """`patterns._split`: the literal before the first `*`, and the pieces behind it."""
    cdef const uint8_t *text = text_of(ruleset, rule.start)
    cdef int32_t size = rule.size, i
    cdef bint anchored = False
    cdef Wild *wild
    head.start, head.size, head.rank, head.wild = rule.start, size, rank_of(ruleset, rule), -1
    head.anchored = False
    head.first, head.second = eight_bytes(text, size, 0), eight_bytes(text, size, 8)
    if not ruleset.wildcards:
        return 0
    if size and text[size - 1] == c"$":
        anchored = True
        size -= 1
    if size and text[size - 1] == c"*":
        if MANNERS_PLANTED != 2:
            anchored = False
        while size and text[size - 1] == c"*":
            size -= 1
    i = 0
    while i < size and text[i] != c"*":
        i += 1
    head.size, head.anchored = i, anchored
    head.first, head.second = eight_bytes(text, i, 0), eight_bytes(text, i, 8)
    if i == size:
        return 0
    make_room(<void **>&ruleset.wilds, &ruleset.wild_room, ruleset.wild_count, sizeof(Wild))
    head.wild = <int32_t>ruleset.wild_count
    wild = &ruleset.wilds[ruleset.wild_count]
    ruleset.wild_count += 1
    wild[0] = Wild(classes=0, rank=head.rank, piece=<int32_t>ruleset.piece_count, pieces=0,
                   length=0, anchored=anchored)
    return add_pieces(ruleset, wild, rule.start, text, i, size)


cdef int add_pieces(
    RuleSet *ruleset, Wild *wild, int32_t start, const uint8_t *text, int32_t i, int32_t size
) except -1:
    """Add what stands between the stars of a pattern, from `i` on."""
    cdef int32_t begin
    while i < size:
        while i < size and text[i] == c"*":
            i += 1
        begin = i
        while i < size and text[i] != c"*":
            wild.classes |= BYTE_CLASS[text[i]]
            i += 1
        if i == begin:
            continue
        make_room(<void **>&ruleset.pieces, &ruleset.piece_room, ruleset.piece_count, sizeof(Piece))
        # An offset into the pool counts downwards.
        ruleset.pieces[ruleset.piece_count] = Piece(
            start=start + begin if start >= 0 else start - begin,
            size=i - begin, rare=rarest_byte(text + begin, i - begin))
        ruleset.piece_count += 1
        wild.pieces += 1
        wild.length += i - begin
    return 0


cdef inline bint comes_before(RuleSet *ruleset, Head *a, Head *b) noexcept:
    """Whether `a` stands before `b`: by text, and with one text the best first."""
    cdef int order
    if a.first != b.first:
        return a.first < b.first
    if a.second != b.second:
        return a.second < b.second
    order = memcmp(
        text_of(ruleset, a.start), text_of(ruleset, b.start), a.size if a.size < b.size else b.size)
    if order:
        return order < 0
    return a.size < b.size if a.size != b.size else a.rank > b.rank


cdef void sort_heads(RuleSet *ruleset, Head *heads, Py_ssize_t count) noexcept:
    """Merge sort, from short runs: no order of the rules makes it slow."""
    cdef Py_ssize_t width = RUN, low, middle, high, one, two, k
    cdef Head *source = heads
    cdef Head *target = heads + count
    cdef Head *swap
    cdef Head moved
    for low in range(0, count, RUN):
        for two in range(low + 1, min(low + RUN, count)):
            moved = heads[two]
            one = two
            while one > low and comes_before(ruleset, &moved, &heads[one - 1]):
                heads[one] = heads[one - 1]
                one -= 1
            heads[one] = moved
    while width < count:
        low = 0
        while low < count:
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            one, two = low, middle
            for k in range(low, high):
                if one < middle and (
                    two >= high or not comes_before(ruleset, &source[two], &source[one])
                ):
                    target[k] = source[one]
                    one += 1
                else:
                    target[k] = source[two]
                    two += 1
            low = high
        swap = source
        source = target
        target = swap
        width *= 2
    if source != heads:
        memcpy(heads, source, count * sizeof(Head))


cdef int make_nodes(RuleSet *ruleset, Head *heads, Py_ssize_t count) except -1:
    """Make a node of all heads with one text, and a list of the wild rules among them."""
    cdef Py_ssize_t i = 0
    cdef int32_t outer = -1
    cdef Wild *sorted_wilds = NULL
    cdef Py_ssize_t sorted_count = 0
    if ruleset.wild_count:
        sorted_wilds = <Wild *>malloc(ruleset.wild_count * sizeof(Wild))
        if sorted_wilds == NULL:
            raise MemoryError
    try:
        while i < count:
            while outer >= 0 and not begins_with(ruleset, &heads[i], &ruleset.nodes[outer]):
                outer = ruleset.nodes[outer].outer
            i += make_node(ruleset, &heads[i], count - i, outer, sorted_wilds, &sorted_count)
            outer = <int32_t>ruleset.node_count - 1
    finally:
        if sorted_wilds != NULL:
            free(ruleset.wilds)
            ruleset.wilds = sorted_wilds
            ruleset.wild_room = ruleset.wild_count
    for i in range(ruleset.list_count):
        if ruleset.lists[i].count >= MANY:
            index_grams(ruleset, &ruleset.lists[i])
    return 0


cdef Py_ssize_t make_node(
    RuleSet *ruleset, Head *heads, Py_ssize_t count, int32_t outer, Wild *wilds,
    Py_ssize_t *wild_count
) except -1:
    """A node of the first heads, as far as they have one text; how many these are."""
    cdef Py_ssize_t i = 0, first = wild_count[0]
    cdef Node *node
    make_room(<void **>&ruleset.nodes, &ruleset.node_room, ruleset.node_count, sizeof(Node))
    node = &ruleset.nodes[ruleset.node_count]
    node[0] = Node(first=heads.first, second=heads.second, start=heads.start, size=heads.size,
                   outer=outer, prefix=0, exact=0, wilds=-1)
    if outer >= 0:
        if MANNERS_PLANTED != 3:
            node.prefix = ruleset.nodes[outer].prefix
        node.wilds = ruleset.nodes[outer].wilds
    while i < count and heads[i].size == node.size and begins_with(ruleset, &heads[i], node):
        if heads[i].wild >= 0:
            wilds[wild_count[0]] = ruleset.wilds[heads[i].wild]
            wild_count[0] += 1
        elif heads[i].anchored:
            node.exact = max(node.exact, heads[i].rank)
        else:
            node.prefix = max(node.prefix, heads[i].rank)
        i += 1
    if wild_count[0] > first:
        node.wilds = add_list(ruleset, node, wilds, first, wild_count[0] - first)
    ruleset.node_count += 1
    return i


cdef inline bint begins_with(RuleSet *ruleset, Head *head, Node *node) noexcept:
    return node.size <= head.size and memcmp(
        text_of(ruleset, head.start), text_of(ruleset, node.start), node.size) == 0


cdef int32_t add_list(
    RuleSet *ruleset, Node *node, Wild *wilds, Py_ssize_t first, Py_ssize_t count
) except -2:
    cdef uint64_t top = wilds[first].rank
    make_room(<void **>&ruleset.lists, &ruleset.list_room, ruleset.list_count, sizeof(Wilds))
    if node.wilds >= 0:
        top = max(top, ruleset.lists[node.wilds].top)
    ruleset.lists[ruleset.list_count] = Wilds(
        first=<int32_t>first, count=<int32_t>count, node_size=node.size, outer=node.wilds,
        top=top, grams=-1)
    ruleset.list_count += 1
    return <int32_t>(ruleset.list_count - 1)


cdef int index_grams(RuleSet *ruleset, Wilds *rules) except -1:
    """File each rule with a long enough piece under the rarest of its grams.

    Sorted, not hashed: no choice of grams makes building or searching it slow.
    """
    cdef Py_ssize_t i, total = count_grams(ruleset, rules), distinct, filed = 0, unfiled = 0
    cdef uint64_t gram
    cdef Wild *moved = NULL
    cdef Wild *first = &ruleset.wilds[rules.first]
    cdef uint64_t *counted = NULL
    cdef uint64_t *chosen = NULL
    cdef Grams grams
    if total == 0:
        return 0
    memset(&grams, 0, sizeof(Grams))
    try:  # longer than most functions: whatever fails, all of this is freed
        counted = <uint64_t *>malloc(2 * total * sizeof(uint64_t))
        chosen = <uint64_t *>malloc(2 * rules.count * sizeof(uint64_t))
        moved = <Wild *>malloc(rules.count * sizeof(Wild))
        if counted == NULL or chosen == NULL or moved == NULL:
            raise MemoryError
        distinct = gather_grams(ruleset, rules, counted)
        # Rules without a gram stay in front, to be tried one by one.
        for i in range(rules.count):
            if rarest_gram(ruleset, &first[i], counted, distinct, &gram):
                chosen[filed] = gram << 32 | <uint64_t>i
                filed += 1
            else:
                moved[unfiled] = first[i]
                unfiled += 1
        # Rules of one gram become neighbours, and stay best first.
        sort_numbers(chosen, filed)
        for i in range(filed):
            moved[unfiled + i] = first[chosen[i] & 0xffffffff]
        fill_grams(&grams, chosen, filed, rules.first + <int32_t>unfiled)
        memcpy(first, moved, rules.count * sizeof(Wild))
        make_room(<void **>&ruleset.grams, &ruleset.gram_room, ruleset.gram_count, sizeof(Grams))
        ruleset.grams[ruleset.gram_count] = grams
        memset(&grams, 0, sizeof(Grams))
        rules.grams = <int32_t>ruleset.gram_count
        rules.count = <int32_t>unfiled
        ruleset.gram_count += 1
    finally:
        free(counted)
        free(chosen)
        free(moved)
        free(grams.gram)
        free(grams.first)
        free(grams.bits)
    return 0


cdef Py_ssize_t count_grams(RuleSet *ruleset, Wilds *rules) noexcept:
    """How many grams the pieces of these rules have."""
    cdef Py_ssize_t i, total = 0
    cdef int32_t j, size
    cdef Wild *wild = &ruleset.wilds[rules.first]
    for i in range(rules.count):
        for j in range(wild[i].pieces):
            size = ruleset.pieces[wild[i].piece + j].size
            if size >= GRAM:
                total += size - GRAM + 1
    return total


cdef Py_ssize_t gather_grams(RuleSet *ruleset, Wilds *rules, uint64_t *counted) noexcept:
    """Write each gram once, sorted, with its count in the low half; how many these are."""
    cdef Py_ssize_t i, k, total = 0, distinct = 0
    cdef int32_t j
    cdef Wild *wild = &ruleset.wilds[rules.first]
    cdef Piece *piece
    for i in range(rules.count):
        for j in range(wild[i].pieces):
            piece = &ruleset.pieces[wild[i].piece + j]
            for k in range(piece.size - GRAM + 1):
                counted[total] = gram_at(text_of(ruleset, piece.start) + k)
                total += 1
    sort_numbers(counted, total)
    for i in range(total):
        if distinct == 0 or counted[distinct - 1] >> 32 != counted[i]:
            counted[distinct] = counted[i] << 32
            distinct += 1
        counted[distinct - 1] += 1
    return distinct


cdef bint rarest_gram(
    RuleSet *ruleset, Wild *wild, uint64_t *counted, Py_ssize_t distinct, uint64_t *rarest
) noexcept:
    """Find the gram of a rule that occurs in the fewest places; False when it has none."""
    cdef uint64_t gram, fewest = ~<uint64_t>0
    cdef Py_ssize_t k
    cdef int32_t j
    cdef Piece *piece
    for j in range(wild.pieces):
        piece = &ruleset.pieces[wild.piece + j]
        for k in range(piece.size - GRAM + 1):
            gram = gram_at(text_of(ruleset, piece.start) + k)
            gram = counted[place_of(counted, distinct, gram << 32)]
            if gram & 0xffffffff < fewest:
                fewest = gram & 0xffffffff
                rarest[0] = gram >> 32
    return fewest != ~<uint64_t>0


cdef int fill_grams(Grams *grams, uint64_t *chosen, Py_ssize_t count, int32_t first) except -1:
    """Make the index of sorted pairs of gram and rule; the rules stand from `first` on."""
    cdef Py_ssize_t i
    cdef uint32_t gram, bit
    grams.shift = 32 - 9
    while grams.shift > 3 and (<Py_ssize_t>1 << (32 - grams.shift)) < 16 * count:
        grams.shift -= 1
    grams.gram = <uint32_t *>malloc(count * sizeof(uint32_t))
    grams.first = <int32_t *>malloc((count + 1) * sizeof(int32_t))
    grams.bits = <uint8_t *>calloc(<size_t>1 << (29 - grams.shift), 1)
    if grams.gram == NULL or grams.first == NULL or grams.bits == NULL:
        raise MemoryError
    for i in range(count):
        gram = <uint32_t>(chosen[i] >> 32)
        if i == 0 or gram != chosen[i - 1] >> 32:
            grams.gram[grams.count] = gram
            grams.first[grams.count] = first + <int32_t>i
            grams.count += 1
            bit = gram_hash(gram) >> grams.shift
            grams.bits[bit >> 3] |= 1 << (bit & 7)
    grams.first[grams.count] = first + <int32_t>count
    return 0


cdef int shrink(RuleSet *ruleset) except -1:
    """Give back the room that growing took and nothing uses."""
    ruleset.nodes = <Node *>shrunk(ruleset.nodes, ruleset.node_count * sizeof(Node))
    ruleset.pieces = <Piece *>shrunk(ruleset.pieces, ruleset.piece_count * sizeof(Piece))
    ruleset.lists = <Wilds *>shrunk(ruleset.lists, ruleset.list_count * sizeof(Wilds))
    ruleset.grams = <Grams *>shrunk(ruleset.grams, ruleset.gram_count * sizeof(Grams))
    return 0


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
    cdef Py_ssize_t width = 1, low, middle, high, one, two, k
    cdef uint64_t *source = numbers
    cdef uint64_t *target = numbers + count
    cdef uint64_t *swap
    while width < count:
        low = 0
        while low < count:
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            one, two = low, middle
            for k in range(low, high):
                if one < middle and (two >= high or source[one] <= source[two]):
                    target[k] = source[one]
                    one += 1
                else:
                    target[k] = source[two]
                    two += 1
            low = high
        swap = source
        source = target
        target = swap
        width *= 2
    if source != numbers:
        memcpy(numbers, source, count * sizeof(uint64_t))


cdef int32_t rarest_byte(const uint8_t *text, int32_t size) noexcept nogil:
    cdef int32_t i, best = 0
    for i in range(1, size):
        if COMMON[text[i]] < COMMON[text[best]]:
            best = i
    return best

# A table of sites: the rules of very many robots.txt files for one agent, and what they say about
# columns of URLs. A part of the kernel; `manners.bulk.plain` has the same in plain Python.
#
# A file is read where Arrow has it. What stays is its rules for the agent, with their texts, so the
# memory of the files can go. Files with the same content are read once.

cdef enum:  # reasons, as `manners.bulk.decisions.REASONS` counts them
    BECAUSE_NO_URL, BECAUSE_INVALID_URL, BECAUSE_NO_ROBOTS, BECAUSE_RULE, BECAUSE_NO_RULE
    BECAUSE_NO_GROUP, BECAUSE_ROBOTS_TXT, BECAUSE_TOO_LARGE, BECAUSE_TOO_MANY_RULES
    BECAUSE_UNAVAILABLE, BECAUSE_UNREACHABLE, BECAUSE_STALE

cdef enum:
    UNSET = 0xff            # a code that no row can have
    PAYS = 24               # URLs of a site from which on arranging its rules pays
    NO_SITE = -1
    NOT_A_URL = -2
    IS_NULL = -3
    NOT_WRITTEN_SO = -4     # a URL whose origin has to be worked out in Python

cdef struct FileRules:      # of one file; several sites may have it
    RuleSet plain
    RuleSet *arranged       # the same, for many checks; NULL until that pays
    bint is_owner           # of the memory of `plain`
    int32_t policy          # the number of a policy that has to be asked in Python, or -1
    Py_ssize_t checks
    uint8_t unmatched       # the code where no rule matches
    double delay

cdef struct SiteEntry:
    int64_t name            # where its origin stands in `names`
    int32_t size
    uint8_t fixed           # the code for every URL; 0 where rules decide
    uint8_t reason          # of a rule that matches
    FileRules *file         # NULL where no rules decide


cdef int own_texts(RuleSet *ruleset) except -1:
    """Copy what rules have of the file into the pool, so that the file can go."""
    cdef Py_ssize_t i, size = 0
    cdef Rule *rule
    cdef int32_t start
    for i in range(ruleset.rule_count):
        if ruleset.rules[i].start >= 0:
            size += ruleset.rules[i].size
    if size:
        start = ~into_pool(ruleset, NULL, size)
        for i in range(ruleset.rule_count):
            rule = &ruleset.rules[i]
            if rule.start >= 0:
                memcpy(ruleset.pool + start, ruleset.body + rule.start, rule.size)
                rule.start = ~start
                start += rule.size
        ruleset.pool = <uint8_t *>shrunk(ruleset.pool, ruleset.pool_size)
        ruleset.pool_room = ruleset.pool_size
    ruleset.body = NULL
    return 0


cdef int arrange_copy(FileRules *file) except -1:
    """Arrange the rules for many checks; they stay as they are for whoever reads them just now."""
    cdef RuleSet *copy = <RuleSet *>malloc(sizeof(RuleSet))
    if copy == NULL:
        raise MemoryError
    copy[0] = file.plain
    copy.nodes, copy.pieces, copy.wilds, copy.lists, copy.grams = NULL, NULL, NULL, NULL, NULL
    copy.node_count = copy.piece_count = copy.wild_count = copy.list_count = copy.gram_count = 0
    copy.node_room = copy.piece_room = copy.wild_room = copy.list_room = copy.gram_room = 0
    copy.arranged = False
    try:
        arrange(copy)
    except BaseException:
        free_arranged(copy)
        free(copy)
        raise
    file.arranged = copy
    return 0


cdef void free_file(FileRules *file) noexcept:
    if file.arranged != NULL:
        free_arranged(file.arranged)
        free(file.arranged)
    if file.is_owner:
        free_rules(&file.plain)
    free(file)


cdef class SiteTable:
    """The rules of many sites for one agent. Sites are added first, then columns are decided.

    `read` makes the policy of a file that the kernel does not read by itself, from its bytes,
    charset and origin; `slowest` is the crawl delay that timed lines come to.
    """

    cdef Config config
    cdef list own, policies
    cdef object read, slowest, kept_delays
    cdef Py_ssize_t max_bytes
    cdef SiteEntry *entries
    cdef FileRules **files
    cdef uint8_t *names
    cdef int32_t *places        # open addressing: the number of a site, plus one
    cdef uint64_t mask, seed
    cdef Py_ssize_t count, room, file_count, file_room, rules_size
    cdef int64_t names_size, names_room

    def __cinit__(self, dialect, tuple agents, Py_ssize_t max_bytes, read, slowest):
        self.config = config_of(dialect)
        self.own = self.config.own(agents) if self.config.selects_by_name else []
        self.policies, self.read, self.slowest, self.max_bytes = [], read, slowest, max_bytes
        self.seed = <uint64_t>hash(b"manners")  # nobody outside can foresee it
        self._resize(8)

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.file_count):
            free_file(self.files[i])
        free(self.files)
        free(self.entries)
        free(self.names)
        free(self.places)

    def __len__(self):
        return self.count

    # Adding sites.

    def add(self, sites, bytes fixed not None, bytes stale not None, charsets):
        """Add the sites of a table with `origin` and `body`.

        `fixed` has a code for every URL of a site, or 0; `stale` says whether an earlier copy
        decides; `charsets` are the charsets of some rows, by number.
        """
        cdef Reader reader = Reader(sites, ("origin", "body"))
        cdef int64_t i, row = 0
        cdef Text name, body
        cdef FileRules *file
        self.kept_delays = None
        while reader.next():
            self._begin_chunk(reader.length)
            known = {}
            for i in range(reader.length):
                name, body = text_at(&reader.columns[0], i), text_at(&reader.columns[1], i)
                if name.size < 0 or body.size < 0 or name.start == NULL or row >= len(fixed):
                    raise ValueError(BROKEN)
                file = NULL
                if fixed[row] == 0:
                    file = self._file(name, body, charsets.get(row) if charsets else None, known)
                self._put(name, file, fixed[row], stale[row])
                row += 1

    cdef int _begin_chunk(self, Py_ssize_t rows) except -1:
        cdef Py_ssize_t wanted = 8
        while wanted < 2 * (self.count + rows):
            wanted *= 2
        return self._resize(wanted) if wanted > <Py_ssize_t>(self.mask + 1) else 0

    cdef int _resize(self, Py_ssize_t slots) except -1:
        cdef int32_t *places = <int32_t *>calloc(slots, sizeof(int32_t))
        cdef Py_ssize_t i
        cdef uint64_t place
        if places == NULL or slots > 0x3fffffff:
            free(places)
            raise MemoryError
        free(self.places)
        self.places, self.mask = places, slots - 1
        for i in range(self.count):
            place = hash_text(
                self.names + self.entries[i].name, self.entries[i].size, self.seed) & self.mask
            while self.places[place] != 0:
                place = (place + 1) & self.mask
            self.places[place] = <int32_t>i + 1
        return 0

    cdef int _put(self, Text name, FileRules *file, uint8_t fixed, bint is_stale) except -1:
        """Add a site, or replace it."""
        cdef int32_t number = self.find(name.start, name.size)
        cdef uint64_t place
        cdef SiteEntry *entry
        if number < 0:
            number = <int32_t>self.count
            make_room(<void **>&self.entries, &self.room, number, sizeof(SiteEntry))
            self.entries[number].name = self.names_size
            self.entries[number].size = <int32_t>name.size
            self._add_name(name)
            place = hash_text(name.start, name.size, self.seed) & self.mask
            while self.places[place] != 0:
                place = (place + 1) & self.mask
            self.places[place] = number + 1
            self.count += 1
        entry = &self.entries[number]
        entry.file, entry.fixed = file, fixed
        entry.reason = BECAUSE_STALE if is_stale else BECAUSE_RULE
        return 0

    cdef int _add_name(self, Text name) except -1:
        cdef int64_t wanted = self.names_size + name.size
        cdef uint8_t *moved
        if wanted > self.names_room or self.names == NULL:
            wanted = max(2 * wanted, 1024)
            moved = <uint8_t *>realloc(self.names, wanted)
            if moved == NULL:
                raise MemoryError
            self.names, self.names_room = moved, wanted
        memcpy(self.names + self.names_size, name.start, name.size)
        self.names_size += name.size
        return 0

    cdef FileRules *_file(self, Text name, Text body, charset, dict known) except NULL:
        """The rules of a file; `known` has those of this chunk, by a hash of their content."""
        cdef FileRules *file
        cdef bint is_simple = charset is None and self._is_simple(body)
        cdef uint64_t mixed = 0
        if is_simple and not self.config.needs_url:
            mixed = hash_text(body.start, body.size, self.seed)
            for start, size, number in known.get(mixed, ()):
                if size == body.size and (size == 0 or memcmp(
                        <const uint8_t *><uintptr_t>start, body.start, size) == 0):
                    return self.files[<Py_ssize_t>number]
        make_room(<void **>&self.files, &self.file_room, self.file_count, sizeof(void *))
        file = <FileRules *>calloc(1, sizeof(FileRules))
        if file == NULL:
            raise MemoryError
        self.files[self.file_count] = file
        self.file_count += 1
        file.policy, file.delay = -1, NAN
        if is_simple and self.config.selects_by_name and not self.config.needs_url:
            self._scan(file, body)
        else:
            self._take_policy(file, name, body, charset)
        self.rules_size += sizeof(FileRules) + file.plain.rule_count * sizeof(Rule)
        self.rules_size += file.plain.pool_size
        if is_simple and not self.config.needs_url:
            known.setdefault(mixed, []).append(
                (<uintptr_t>body.start, body.size, self.file_count - 1))
        return file

    cdef bint _is_simple(self, Text body) noexcept:
        """Whether a file can be read as it is: not too large, and without a byte order mark."""
        if body.size > self.max_bytes:
            return False
        return body.size == 0 or (
            body.start[0] != 0xef and body.start[0] != 0xfe and body.start[0] != 0xff)

    cdef int _scan(self, FileRules *file, Text body) except -1:
        cdef Scan scan
        cdef FewLines few
        cdef Choice choice
        cdef RuleSet *rules = &file.plain
        cdef bint too_many
        file.is_owner = True
        set_up_rules(
            rules, self.config, body.start if body.start != NULL else <const uint8_t *>b"")
        start_scan(&scan, &few)
        try:
            scan_file(&scan, self.config, rules.body, body.size)
            too_many = 0 <= self.config.max_rules < scan.rules_with_value
            rules_by_name(rules, self.config, &scan, self.own, None, &choice)
            if scan.timed_count:
                file.delay = self.slowest(timed_lines(rules.body, &scan))
        finally:
            free_scan(&scan)
        if too_many:
            rules.rule_count = 0
        self._set_unmatched(file, too_many, choice.first >= 0)
        return own_texts(rules)

    cdef int _take_policy(self, FileRules *file, Text name, Text body, charset) except -1:
        """The rules of a policy that Python makes."""
        cdef Matcher policy = self.read(
            PyBytes_FromStringAndSize(<const char *>body.start, body.size) if body.size else b"",
            charset or "",
            to_text(PyBytes_FromStringAndSize(<const char *>name.start, name.size)))
        file.plain = policy.ruleset
        file.plain.arranged = False
        self.policies.append(policy)  # it owns the memory
        if self.config.path_code == NORM_PYTHON:
            file.policy = <int32_t>(len(self.policies) - 1)
        file.delay = self.slowest(policy._timed_lines)
        self._set_unmatched(file, policy.too_many_rules, policy._has_group)
        return 0

    cdef void _set_unmatched(self, FileRules *file, bint too_many, bint has_group) noexcept:
        cdef int reason = BECAUSE_NO_RULE if has_group else BECAUSE_NO_GROUP
        file.unmatched = (BECAUSE_TOO_MANY_RULES if too_many else reason) << 2 | ALLOWED

    # Looking up.

    cdef int32_t find(self, const uint8_t *text, Py_ssize_t size) noexcept nogil:
        """The number of an origin; -1 when there is none."""
        cdef uint64_t place = hash_text(text, size, self.seed) & self.mask
        cdef SiteEntry *entry
        while self.places[place] != 0:
            entry = &self.entries[self.places[place] - 1]
            if entry.size == size and memcmp(self.names + entry.name, text, size) == 0:
                return self.places[place] - 1
            place = (place + 1) & self.mask
        return NO_SITE

    cdef int32_t find_any(self, Text text) except? -1:
        """The same for a URL that is not written as its origin is."""
        try:
            url = to_text(PyBytes_FromStringAndSize(<const char *>text.start, text.size))
            key = plain_origin(url).encode("ascii")
        except ValueError:  # InvalidURL
            return NOT_A_URL
        return self.find(<const uint8_t *>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))

    def origins(self):
        """The origins of the sites, by their number."""
        cdef Py_ssize_t i
        return [
            to_text(PyBytes_FromStringAndSize(
                <const char *>self.names + self.entries[i].name, self.entries[i].size))
            for i in range(self.count)]

    def delays(self):
        """The crawl delay of each site, as bytes of doubles; NaN where it asks for none."""
        cdef double *delays
        cdef Py_ssize_t i
        if self.kept_delays is None:
            found = PyBytes_FromStringAndSize(NULL, self.count * sizeof(double))
            delays = <double *>PyBytes_AS_STRING(found)
            for i in range(self.count):
                delays[i] = NAN if self.entries[i].file == NULL else self.entries[i].file.delay
            self.kept_delays = found
        return self.kept_delays

    cdef tuple _rule_texts(
        self, const int32_t *sites, const int32_t *rules, int64_t *rows, int64_t count
    ):
        """The rules of some rows as `Disallow: /path`, one behind the other, and where each ends."""
        cdef bytes offsets = PyBytes_FromStringAndSize(NULL, (count + 1) * sizeof(int32_t))
        cdef int32_t *ends = <int32_t *>PyBytes_AS_STRING(offsets)
        cdef int64_t i, size = 0
        cdef RuleSet *ruleset
        cdef Rule *rule
        cdef uint8_t *text
        ends[0] = 0
        for i in range(count):
            rule = &self.entries[sites[rows[i]]].file.plain.rules[rules[rows[i]] - 1]
            size += (7 if rule.line & ALLOWS else 10) + rule.size
            if size > 0x7fffffff:
                raise OverflowError("rules of 2 GiB or more in one column")
            ends[i + 1] = <int32_t>size
        found = PyBytes_FromStringAndSize(NULL, size)
        text = <uint8_t *>PyBytes_AS_STRING(found)
        for i in range(count):
            ruleset = &self.entries[sites[rows[i]]].file.plain
            rule = &ruleset.rules[rules[rows[i]] - 1]
            if rule.line & ALLOWS:
                memcpy(text + ends[i], b"Allow: ", 7)
            else:
                memcpy(text + ends[i], b"Disallow: ", 10)
            memcpy(text + ends[i + 1] - rule.size, text_of(ruleset, rule.start), rule.size)
        return offsets, found

    cdef bint _have_rules(
        self, const int32_t *sites, const int32_t *rules, int64_t count
    ) noexcept nogil:
        """Whether there is such a site and such a rule for each row that names one."""
        cdef int64_t i
        for i in range(count):
            if rules[i] and not (
                    0 <= sites[i] < self.count and self.entries[sites[i]].file != NULL
                    and 0 < rules[i] <= self.entries[sites[i]].file.plain.rule_count):
                return False
        return True

    def rule_places(self, bytes sites not None, bytes rules not None):
        """The place of each row's rule among the distinct ones, and those as offsets and texts."""
        cdef int64_t count = len(rules) // sizeof(int32_t), i
        cdef const int32_t *site = <const int32_t *>PyBytes_AS_STRING(sites)
        cdef const int32_t *rule = <const int32_t *>PyBytes_AS_STRING(rules)
        cdef bytes found = PyBytes_FromStringAndSize(NULL, count * sizeof(int32_t))
        cdef int32_t *places = <int32_t *>PyBytes_AS_STRING(found)
        cdef int64_t *firsts
        cdef int64_t distinct
        if len(sites) != len(rules) or not self._have_rules(site, rule, count):
            raise ValueError("sites and rules of the same rows are needed")
        firsts = <int64_t *>malloc((count + 1) * sizeof(int64_t))
        try:
            if firsts == NULL:
                raise MemoryError
            with nogil:
                distinct = number_rules(site, rule, count, places, firsts)
            if distinct < 0:
                raise MemoryError
            offsets, texts = self._rule_texts(site, rule, firsts, distinct)
            return found, offsets, texts
        finally:
            free(firsts)

    @property
    def nbytes(self):
        """Bytes of memory of sites and rules, arranged ones aside."""
        return (self.names_room + self.room * sizeof(SiteEntry) + self.rules_size
                + (self.mask + 1) * sizeof(int32_t))

    # Deciding.

    def decide(self, urls):
        """For each row of a column a code, the deciding line, the site and its rule, as bytes."""
        cdef Reader reader = Reader(urls, ())
        parts = [self._decide(&reader.columns[0])] if reader.next() else []
        while reader.next():
            parts.append(self._decide(&reader.columns[0]))
        if len(parts) == 1:
            return parts[0]
        return tuple(b"".join(each) for each in zip((b"",) * 4, *parts))

    cdef tuple _decide(self, Column *column):
        cdef int64_t length = column.length
        cdef bytes codes = PyBytes_FromStringAndSize(NULL, length)
        cdef bytes lines = PyBytes_FromStringAndSize(NULL, length * sizeof(int32_t))
        cdef bytes sites = PyBytes_FromStringAndSize(NULL, length * sizeof(int32_t))
        cdef bytes rules = PyBytes_FromStringAndSize(NULL, length * sizeof(int32_t))
        cdef Rows rows
        cdef int64_t i
        cdef int failed
        rows.codes = <uint8_t *>PyBytes_AS_STRING(codes)
        rows.lines = <int32_t *>PyBytes_AS_STRING(lines)
        rows.sites = <int32_t *>PyBytes_AS_STRING(sites)
        rows.rules = <int32_t *>PyBytes_AS_STRING(rules)
        with nogil:
            failed = find_sites(self, column, rows.sites)
        if failed & 2:
            raise ValueError(BROKEN)
        if failed & 4:
            for i in range(length):
                if rows.sites[i] == NOT_WRITTEN_SO:
                    rows.sites[i] = self.find_any(text_at(column, i))
        self._arrange_used(rows.sites, length)
        with nogil:
            failed = decide_rows(self, column, &rows)
        if failed & 1:
            raise MemoryError
        if failed & 4:
            for i in range(length):
                if rows.codes[i] == UNSET:
                    self._ask_policy(column, i, &rows)
        return codes, lines, sites, rules

    cdef int _arrange_used(self, int32_t *sites, int64_t length) except -1:
        """Arrange the rules of sites that have enough URLs, here and before.

        Nothing that another thread may be reading without the GIL is changed by it.
        """
        cdef int64_t i = 0, begin
        cdef FileRules *file
        while i < length:
            begin = i
            while i < length and sites[i] == sites[begin]:
                i += 1
            if sites[begin] < 0:
                continue
            file = self.entries[sites[begin]].file
            if file == NULL or file.arranged != NULL:
                continue
            file.checks += i - begin
            if file.checks >= PAYS and file.plain.rule_count:
                arrange_copy(file)
        return 0

    cdef int _ask_policy(self, Column *column, int64_t row, Rows *rows) except -1:
        """Decide a row by a policy whose paths only Python can normalise."""
        cdef SiteEntry *entry = &self.entries[rows.sites[row]]
        cdef Matcher policy
        cdef Rule *rule
        url = to_text(bytes_at(column, row))
        if self.config.robots_txt_allowed:
            path = self.config.normalise_path(match_path(url))
            if path == "/robots.txt" or path.startswith("/robots.txt?"):
                rows.codes[row] = BECAUSE_ROBOTS_TXT << 2 | ALLOWED
                return 0
        if entry.file == NULL:
            rows.codes[row] = entry.fixed
            return 0
        policy = self.policies[entry.file.policy]
        allowed, number = policy._decide(url)
        rows.codes[row] = entry.file.unmatched
        if number:
            rule = &entry.file.plain.rules[<Py_ssize_t>number - 1]
            rows.codes[row] = entry.reason << 2 | (ALLOWED if allowed else DISALLOWED)
            rows.lines[row], rows.rules[row] = rule.line >> 2, number
        elif entry.reason == BECAUSE_STALE:
            rows.codes[row] = BECAUSE_STALE << 2 | ALLOWED
        return 0


cdef struct Rows:           # what is found out about each row
    uint8_t *codes
    int32_t *lines
    int32_t *sites
    int32_t *rules


cdef int find_sites(SiteTable table, Column *column, int32_t *sites) noexcept nogil:
    """The number of each row's site, or why there is none.

    Not 0: 2 when the column contradicts itself, 4 when some have to be worked out in Python.
    """
    cdef int64_t i
    cdef int32_t number = NO_SITE
    cdef Py_ssize_t size, before_size = 0
    cdef const uint8_t *before = NULL
    cdef Text text
    cdef int found = 0
    for i in range(column.length):
        text = text_at(column, i)
        if text.size < 0:
            return 2
        if text.start == NULL:
            sites[i] = IS_NULL
            continue
        # Columns are often sorted, or nearly so: the origin of the row before, and a slash.
        if before_size and text.size > before_size and text.start[before_size] == c"/" and memcmp(
                text.start, before, before_size) == 0:
            sites[i] = number
            continue
        size = written_origin(text.start, text.size)
        if size == 0:
            sites[i] = NOT_WRITTEN_SO
            found |= 4
            continue
        before, before_size = text.start, size
        number = sites[i] = table.find(text.start, size)
    return found


cdef int decide_rows(SiteTable table, Column *column, Rows *rows) noexcept nogil:
    """Decide each row; not 0: 1 without memory, 4 when some have to be decided in Python."""
    cdef int64_t i
    cdef int32_t number
    cdef int found = 0
    cdef SiteEntry *entry
    for i in range(column.length):
        rows.lines[i] = rows.rules[i] = 0
        number = rows.sites[i]
        if number < 0:
            rows.codes[i] = UNDECIDED_CODES[-number]
            rows.sites[i] = NO_SITE
            continue
        entry = &table.entries[number]
        if entry.fixed & 3 == NO_ANSWER:
            rows.codes[i] = entry.fixed
            continue
        if table.config.path_code == NORM_PYTHON:
            rows.codes[i] = UNSET
            found |= 4
            continue
        found |= decide_row(entry, table.config.path_code, table.config.robots_txt_allowed,
                            text_at(column, i), rows, i)
    return found


cdef inline int decide_row(
    SiteEntry *entry, int path_code, bint robots_txt_allowed, Text text, Rows *rows, int64_t row
) noexcept nogil:
    """Decide a row by the rules of its site, or by what is said of all its URLs."""
    cdef uint8_t few[STACK]
    cdef uint8_t *buffer = NULL
    cdef Py_ssize_t size = 0
    cdef const uint8_t *path = path_of(path_code, text.start, text.size, &size, few, &buffer)
    cdef FileRules *file = entry.file
    cdef RuleSet *rules
    cdef Rule *rule
    cdef uint64_t rank
    if path == NULL:
        return 1
    if robots_txt_allowed and is_robots_txt(path, size):
        rows.codes[row] = BECAUSE_ROBOTS_TXT << 2 | ALLOWED
    elif file == NULL:
        rows.codes[row] = entry.fixed
    else:
        rules = &file.plain if file.arranged == NULL else file.arranged
        rank = best_rank(rules, path, size)
        if rank == 0:
            rows.codes[row] = file.unmatched
            if entry.reason == BECAUSE_STALE:
                rows.codes[row] = BECAUSE_STALE << 2 | ALLOWED
        else:
            rule = ranked_rule(rules, rank)
            rows.codes[row] = entry.reason << 2 | (
                ALLOWED if allows(rules, rank) else DISALLOWED)
            rows.lines[row] = rule.line >> 2
            rows.rules[row] = <int32_t>(rule - rules.rules) + 1
    free(buffer)
    return 0


cdef int64_t number_rules(
    const int32_t *sites, const int32_t *rules, int64_t count, int32_t *places, int64_t *firsts
) noexcept nogil:
    """Number the distinct rules of some rows, from 0 on, and note the first row of each.

    How many there are; -1 without memory. Numbers of sites and rules are ours, so nobody can make
    them collide.
    """
    cdef uint64_t slots = 16, slot, key, last = 0
    cdef int64_t i, distinct = 0
    cdef int32_t *table
    cdef int32_t place = 0
    while slots < 2 * <uint64_t>count:
        slots *= 2
    table = <int32_t *>calloc(slots, sizeof(int32_t))
    if table == NULL:
        return -1
    for i in range(count):
        places[i] = 0
        if rules[i] == 0:
            continue
        key = <uint64_t>sites[i] << 32 | <uint32_t>rules[i]
        if key != last:
            last = key
            slot = key * <uint64_t>0x9E3779B97F4A7C15
            slot = (slot ^ slot >> 29) & (slots - 1)
            while table[slot] and (sites[firsts[table[slot] - 1]] != sites[i]
                                   or rules[firsts[table[slot] - 1]] != rules[i]):
                slot = (slot + 1) & (slots - 1)
            if table[slot] == 0:
                firsts[distinct] = i
                distinct += 1
                table[slot] = <int32_t>distinct
            place = table[slot] - 1
        places[i] = place
    free(table)
    return distinct


cdef uint8_t UNDECIDED_CODES[4]
UNDECIDED_CODES[-NO_SITE] = BECAUSE_NO_ROBOTS << 2 | NO_ANSWER
UNDECIDED_CODES[-NOT_A_URL] = BECAUSE_INVALID_URL << 2 | NO_ANSWER
UNDECIDED_CODES[-IS_NULL] = BECAUSE_NO_URL << 2 | NO_ANSWER


# Parts of a large job.

cdef inline int32_t bucket_of(
    const uint8_t *host, Py_ssize_t size, uint64_t parts
) noexcept nogil:
    """`manners.bulk.hosts.bucket`: FNV-1a of the host, without `www.`, mixed once more."""
    cdef uint64_t mixed = <uint64_t>0xCBF29CE484222325
    cdef Py_ssize_t i = 4 if size >= 4 and memcmp(host, b"www.", 4) == 0 else 0
    while i < size:
        mixed = (mixed ^ host[i]) * <uint64_t>0x100000001B3
        i += 1
    mixed = (mixed ^ mixed >> 32) * <uint64_t>0x9E3779B97F4A7C15
    mixed ^= mixed >> 29
    return <int32_t>((mixed >> 32) * parts >> 32)


def arrow_buckets(urls, uint64_t parts):
    """The part of each row of a column of URLs, as bytes of 32-bit numbers."""
    cdef Reader reader = Reader(urls, ())
    chunks = []
    while reader.next():
        found = PyBytes_FromStringAndSize(NULL, reader.length * sizeof(int32_t))
        fill_buckets(&reader.columns[0], <int32_t *>PyBytes_AS_STRING(found), parts)
        chunks.append(found)
    return b"".join(chunks)


cdef int fill_buckets(Column *column, int32_t *found, uint64_t parts) except -1:
    cdef int64_t i
    cdef Text text
    cdef bint is_broken = False, has_others = False
    cdef Py_ssize_t start, end, size, name_size = 0
    cdef const uint8_t *name = NULL
    cdef int32_t number = 0
    with nogil:
        for i in range(column.length):
            text = text_at(column, i)
            found[i] = 0
            if text.size < 0:
                is_broken = True
                break
            if text.start == NULL:
                continue
            if name_size and text.size > name_size and text.start[name_size] == c"/" and memcmp(
                    text.start, name, name_size) == 0:
                found[i] = number
                continue
            size = written_origin(text.start, text.size)
            if size == 0:
                found[i] = -1
                has_others = True
                continue
            start = end = 8 if text.start[4] == c"s" else 7
            while end < size and text.start[end] != c":":
                end += 1
            number = found[i] = bucket_of(text.start + start, end - start, parts)
            name, name_size = text.start, size
    if is_broken:
        raise ValueError(BROKEN)
    if has_others:
        for i in range(column.length):
            if found[i] < 0:
                found[i] = other_bucket(text_at(column, i), parts)
    return 0


cdef int32_t other_bucket(Text text, uint64_t parts) except -1:
    """The part of a URL that is not written as its origin is; 0 for what is not a URL."""
    try:
        name = plain_host(to_text(PyBytes_FromStringAndSize(<const char *>text.start, text.size)))
        name = name.encode()
    except ValueError:  # InvalidURL
        return 0
    return bucket_of(<const uint8_t *>PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name), parts)

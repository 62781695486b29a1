"""The statements that run for every page, as text: to build them takes longer than to run them.

All are made of constants. Values come as parameters; many rows come as one JSON text in SQLite, and
as arrays or JSON in PostgreSQL.
"""

from collections.abc import Sequence

from manners.crawler.frontier.values import LeasedUrl

PAGE_COLUMNS = (
    *("status", "cause", "type", "bytes", "sha256", "title", "links", "location", "started"),
    *("waited", "seconds", "delay", "problems"),
)
"""What is kept of the last answer."""
RETRY_COLUMNS = ("status", "cause", "bytes", "started", "waited", "seconds", "delay")
"""What is kept of an answer after which a URL is tried again."""
URL_COLUMNS = (
    *("crawl", "host", "digest", "url", "source", "found_in", "depth", "priority", "lastmod"),
    *("reason", "rule", "line", "kind", "state", "hops", "seq"),
)

_KEY = "crawl = ? AND host = ? AND digest = ?"
_UNCHANGED = "depth = ? AND hops = ? AND priority = ? AND state = ? AND reason = ?"
# PostgreSQL keeps the plan of a statement, even one from when the tables were empty: then it may
# read all rows of a crawl for a few of them, until it is told the new sizes. `OFFSET 0`, `LATERAL`
# with `LIMIT`, and `ANY(ARRAY(...))` leave it no choice but to look up each key.
_AT_ONCE = "LIMIT 1 OFFSET 0"
_IS_IDLE = (
    "owner IS NULL AND ready IS NULL AND EXISTS (SELECT 1 FROM urls WHERE urls.crawl = hosts.crawl"
    f" AND urls.host = hosts.host AND urls.state = 'queued' {_AT_ONCE})"
)
"""Whether a host has something queued, and nobody was told."""
_ONE_MORE = (
    "ON CONFLICT (crawl, host, form) DO UPDATE SET number = forms.number + excluded.number"
    " RETURNING host, form, number"
)


def _statements(is_sqlite: bool) -> dict[str, str]:
    mark = "?" if is_sqlite else "%s"
    page_columns = ("crawl", "host", "digest", *PAGE_COLUMNS, "targets")
    retry_columns = ("crawl", "host", "digest", *RETRY_COLUMNS)
    updates = ", ".join(f"{name} = excluded.{name}" for name in page_columns[3:])
    leased = ", ".join(LeasedUrl._fields)
    texts = {
        "settle": "UPDATE urls SET depth = ?, hops = ?, priority = ?, state = ?, reason = ?,"
        f" rule = ?, line = ?, source = ?, found_in = ? WHERE {_KEY} AND {_UNCHANGED}",
        "shorten": "UPDATE urls SET depth = ?, hops = ?, priority = ?, state = ?"
        f" WHERE {_KEY} AND {_UNCHANGED}",
        "finish": "UPDATE urls SET state = ?, reason = ?, rule = ?, line = ?, status = ?,"
        f" attempts = ?, not_before = ?, evidence = ? WHERE {_KEY}",
        "page": f"INSERT INTO pages {_values(page_columns)}"
        f" ON CONFLICT (crawl, host, digest) DO UPDATE SET {updates}",
        "retry": f"INSERT INTO retries {_values(retry_columns)}",
        "pace": "UPDATE hosts SET delay = ?, not_before = ? WHERE crawl = ? AND host = ?",
        "count": f"INSERT INTO counts {_values(('crawl', 'worker', 'kind', 'what', 'number'))}"
        " ON CONFLICT (crawl, worker, kind, what)"
        " DO UPDATE SET number = counts.number + excluded.number",
        # The order of leasing, from its end.
        "worst": "SELECT digest FROM urls WHERE crawl = ? AND host = ? AND state = 'queued'"
        " AND kind = ? AND priority >= ? ORDER BY priority, depth DESC, seq DESC LIMIT ?",
        "release": "UPDATE hosts SET owner = NULL, delay = ?, not_before = ?, ready = ?"
        # Not by the index of owners: it would read all hosts that the worker has, for each.
        " WHERE crawl = ? AND host = ? AND owner IS NOT DISTINCT FROM ?",
        **(_sqlite_texts(leased) if is_sqlite else _postgres_texts(leased)),
    }
    return {name: text.replace("?", mark) for name, text in texts.items()}


def _sqlite_texts(leased: str) -> dict[str, str]:
    """Statements for many rows, which come as JSON."""
    keys = "json_each(?) AS k CROSS JOIN {0} ON {0}.crawl = ?"
    keys += " AND {0}.host = json_extract(k.value, '$[0]')"
    keys += " AND {0}.digest = json_extract(k.value, '$[1]')"
    among = "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)"
    given = "host IN (SELECT value FROM json_each(?))"
    return {
        **_by_key(keys, among),
        "insert": f"INSERT INTO urls {_values(URL_COLUMNS)}",
        "forms": "INSERT INTO forms (crawl, host, form, number)"
        " SELECT ?, json_extract(value, '$[0]'), json_extract(value, '$[1]'),"
        " json_extract(value, '$[2]') FROM json_each(?) WHERE true"
        f" {_ONE_MORE}",
        "due": f"SELECT {leased}, digest FROM urls"
        " WHERE crawl = ? AND host = ? AND state = 'queued' AND not_before <= ?"
        " ORDER BY priority DESC, depth, seq LIMIT ?",
        "later": "SELECT min(not_before) FROM urls"
        " WHERE crawl = ? AND host = ? AND state = 'queued' AND not_before > ?",
        "new_hosts": "INSERT INTO hosts (crawl, host, ready) SELECT ?, value, ? FROM json_each(?)"
        " WHERE true ON CONFLICT (crawl, host) DO NOTHING RETURNING host",
        "wake": f"UPDATE hosts SET ready = ? WHERE crawl = ? AND {given} AND {_IS_IDLE}",
        "wake_all": f"UPDATE hosts SET ready = ? WHERE crawl = ? AND {_IS_IDLE}",
        "take_hosts": "UPDATE hosts SET owner = ?, epoch = epoch + 1, wanted = NULL"
        " WHERE crawl = ? AND host IN"
        " (SELECT host FROM hosts WHERE crawl = ? AND owner IS NULL AND ready <= ?"
        " ORDER BY ready, host LIMIT ?) RETURNING host, epoch, delay, not_before",
        "lock_hosts": f"SELECT host FROM hosts WHERE crawl = ? AND {given}"
        " AND (owner IS NULL OR owner = ?)",
    }


def _postgres_texts(leased: str) -> dict[str, str]:
    """Statements for many rows, which come as arrays or as JSON."""
    keys = (
        "unnest(?::text[], ?::text[]) AS k(h, d) CROSS JOIN LATERAL (SELECT * FROM {0}"
        " WHERE {0}.crawl = ? AND {0}.host = k.h AND {0}.digest = k.d LIMIT 1) AS {0}"
    )
    among = "SELECT * FROM unnest(?::text[], ?::text[])"
    given = "host = ANY(?)"
    columns = ", ".join(URL_COLUMNS)
    return {
        **_by_key(keys, among),
        # Another worker may be adding the same URL just now: then this waits for it.
        "insert": f"INSERT INTO urls ({columns}) SELECT {columns}"
        " FROM jsonb_to_recordset(?::jsonb) AS new(crawl bigint, host text, digest text, url text,"
        " source text, found_in text, depth int, priority float8, lastmod text, reason text,"
        " rule text, line int, kind text, state text, hops int, seq bigint)"
        " ON CONFLICT DO NOTHING RETURNING host, digest",
        # In one order for all workers: no two wait for each other.
        "forms": "INSERT INTO forms (crawl, host, form, number)"
        " SELECT ?, * FROM unnest(?::text[], ?::bigint[], ?::int[]) ORDER BY 2, 3"
        f" {_ONE_MORE}",
        "due": f"SELECT {', '.join(f'found.{name}' for name in LeasedUrl._fields)}, found.digest"
        " FROM unnest(?::text[], ?::int[]) AS k(h, most) CROSS JOIN LATERAL"
        f" (SELECT {leased}, digest FROM urls WHERE crawl = ? AND urls.host = k.h"
        " AND state = 'queued' AND not_before <= ?"
        " ORDER BY priority DESC, depth, seq LIMIT k.most) AS found",
        "later": "SELECT k.h, (SELECT min(not_before) FROM urls WHERE crawl = ? AND urls.host = k.h"
        " AND state = 'queued' AND not_before > ?) FROM unnest(?::text[]) AS k(h)",
        # Those that are there are looked for first: ON CONFLICT alone would wait for an owner who
        # is writing to his host just now.
        "new_hosts": "INSERT INTO hosts (crawl, host, ready) SELECT ?, name, ?::float8"
        " FROM unnest(?::text[]) AS new(name)"
        f" WHERE NOT EXISTS (SELECT 1 FROM hosts WHERE crawl = ? AND host = name {_AT_ONCE})"
        " ORDER BY name ON CONFLICT (crawl, host) DO NOTHING RETURNING host",
        "wake": _woken(f"{given} AND {_IS_IDLE}"),
        "wake_all": _woken(_IS_IDLE),
        "take_hosts": "WITH due AS (SELECT host FROM hosts WHERE crawl = ? AND owner IS NULL"
        " AND ready <= ? ORDER BY ready LIMIT ? FOR UPDATE SKIP LOCKED)"
        " UPDATE hosts SET owner = ?, epoch = epoch + 1, wanted = NULL"
        " WHERE crawl = ? AND host = ANY(ARRAY(SELECT host FROM due))"
        " RETURNING host, epoch, delay, not_before",
        "lock_hosts": f"SELECT host FROM hosts WHERE crawl = ? AND {given}"
        " AND (owner IS NULL OR owner = ?) ORDER BY host FOR UPDATE",
    }


def _by_key(keys: str, among: str) -> dict[str, str]:
    """Statements for many URLs: `keys` joins a table with them, `among` selects them."""
    return {
        "known": "SELECT urls.host, digest, depth, hops, state, reason, kind, priority"
        f" FROM {keys.format('urls')}",
        "targets": f"SELECT pages.host, digest, targets, location FROM {keys.format('pages')}",
        "delete": f"DELETE FROM urls WHERE crawl = ? AND (host, digest) IN ({among})",
        "drop": "UPDATE urls SET state = 'blocked', reason = ?, rule = ?, line = 0"
        f" WHERE crawl = ? AND (host, digest) IN ({among})",
    }


def _woken(condition: str) -> str:
    """Wakes hosts in one order for all workers, so that no two wait for each other."""
    return (
        "UPDATE hosts SET ready = ? FROM (SELECT crawl, host FROM hosts WHERE crawl = ?"
        f" AND {condition} ORDER BY host FOR UPDATE) AS idle"
        " WHERE hosts.crawl = idle.crawl AND hosts.host = idle.host"
    )


def _values(columns: Sequence[str]) -> str:
    return f"({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


SQLITE, POSTGRES = _statements(True), _statements(False)

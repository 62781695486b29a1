"""Crawl a site into a table of your own, and resume where it stopped.

    python crawl_and_store.py https://example.com/ pages.db --max-pages 50

Stop or kill it at any moment, and run the same command again: it resumes. The state of the crawl
and the evidence are in `pages.db.crawl`, the pages in the table `pages` of `pages.db`. The exit
code is 0 when the crawl is finished, 1 otherwise.

Settings come from `manners.toml` and the environment: for a site on your own machine, run it with
MANNERS_ALLOW_PRIVATE=true.
"""

import argparse
import sqlite3
import sys
from pathlib import Path

import manners

TABLE = "CREATE TABLE IF NOT EXISTS pages (url TEXT PRIMARY KEY, status INT, title TEXT, html TEXT)"


def main() -> int:
    """Crawl, and print a line for each page."""
    options = argparse.ArgumentParser(description="Crawl a site into an SQLite table.")
    options.add_argument("url", help="where to begin")
    options.add_argument("database", type=Path, help="the file for your table")
    options.add_argument("--agent", default="MyBot", help="sent as User-Agent")
    options.add_argument("--max-pages", type=int, default=200)
    given = options.parse_args()

    # The crawl calls `keep` in a thread of its own.
    database = sqlite3.connect(given.database, check_same_thread=False)
    database.execute(TABLE)

    def keep(page: manners.CrawledPage) -> None:
        """Keep a page; the crawl counts it as fetched only when this returns.

        After a crash, the same page may come once more, so it is replaced.
        """
        if page.ok:
            row = (page.url, page.status, page.title, page.text)
            with database:  # commits at the end
                database.execute("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?)", row)

    store = Path(f"{given.database}.crawl")
    is_resumed = store.exists() and database.execute("SELECT 1 FROM pages").fetchone() is not None
    crawl = manners.crawl(
        [given.url],
        manners.Settings.load(),
        agent=given.agent,
        keep=keep,
        store=str(store),
        resume=is_resumed,
        max_pages=given.max_pages,
    )
    try:
        for page in crawl:
            print(f"{page.state}  {page.url}  {page}", flush=True)
    except KeyboardInterrupt:
        print("stopped; run it again to resume")
    (number,) = database.execute("SELECT count(*) FROM pages").fetchone()
    database.close()
    print(f"{crawl.ended}: {number} pages in {given.database}")
    return 0 if crawl.ended == "finished" else 1


if __name__ == "__main__":
    sys.exit(main())

"""The frontier: every URL that a crawl knows, by host, and what became of it; kept in the store."""

"""WARC files: what was requested and received, for archives and replay (WARC 1.1)."""

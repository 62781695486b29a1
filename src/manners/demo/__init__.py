"""The demo: a site on this machine, its cases, a crawl of it, and what came of it."""

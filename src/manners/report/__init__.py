"""What happened in a crawl, as data and as a page."""

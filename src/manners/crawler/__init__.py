"""The crawler: what to fetch next, and fetching it."""

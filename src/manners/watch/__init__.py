"""Watching the robots.txt of sites: what changed, what that does, and who is told."""

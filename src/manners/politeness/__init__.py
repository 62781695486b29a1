"""Politeness: how often requests go to a host, and how many at a time."""

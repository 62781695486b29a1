"""Politeness: how fast a host may be asked, and by how many at a time."""

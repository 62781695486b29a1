"""Retrieval: what a site says right now, and what it means when it says nothing."""

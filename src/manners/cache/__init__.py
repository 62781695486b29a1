"""The cache: what is known of each site's robots.txt, and for how long."""

"""The cache of robots.txt files: what to keep of each site, where, and for how long."""

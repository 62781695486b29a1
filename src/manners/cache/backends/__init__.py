"""Where entries are kept, one file each."""

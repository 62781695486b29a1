"""The report as HTML: one file without scripts that loads nothing."""

"""The picture of a report: one HTML file without scripts that loads nothing from anywhere."""

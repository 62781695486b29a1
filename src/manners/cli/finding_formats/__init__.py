"""How findings are printed: one file for each value of `--output-format`.

A format is a function `report(files)` that yields what is printed, line by line.
"""

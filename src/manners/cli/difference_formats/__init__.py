"""How `manners diff` prints what differs: one file for each value of `--output-format`.

A format is a function `report(found)` that yields what is printed, line by line.
"""

"""What rules know about crawlers: names with dates and sources, as constants.

Names go out of date, so each table says of which day it is (`AS_OF`) and where it comes from
(`SOURCE`). A name that is absent is unknown, and never a mistake.
"""

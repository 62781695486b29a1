"""The commands, one file each: a function `command` that returns the exit code."""

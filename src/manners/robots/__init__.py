"""The robots.txt engine: what a file says, and what follows from it for one agent and one URL.

The way of a file: `lines` reads bytes into lines, `groups` gathers lines into groups, `agents`
chooses an agent's groups, `patterns` finds the rule that decides, `policy` says so in a `verdict`.
`directives` is the table of everything a line may be; `dialects` has the ways to read a file.

Quiet: no input or output, no clock, no randomness.
"""

"""Forks: how often this process was forked.

Threads, event loops and requests in progress stay with the parent. Code that keeps such things
compares generations to see whether it is still in the process that started them.
"""

import os

generation = 0
"""0 in the process that first imported this module, 1 in its child, and so on."""


def _count() -> None:
    global generation  # noqa: PLW0603 (it is what this module is for)
    generation += 1


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_count)

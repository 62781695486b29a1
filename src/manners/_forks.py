"""How often this process was forked off another one.

Threads, event loops and requests under way stay with the parent; whoever keeps such things looks
here whether it is still the process that began them.
"""

import os

generation = 0
"""0 in the process that imported this first, 1 in a child of it, and so on."""


def _count() -> None:
    global generation  # noqa: PLW0603 (it is what this module is for)
    generation += 1


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_count)

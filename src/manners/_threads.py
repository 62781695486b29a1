"""Work in other threads that an event loop waits for.

A loop that skips waiting (`manners.testing`) must not skip over it.
"""

import asyncio
from weakref import WeakKeyDictionary

_items: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()


def begin(loop: asyncio.AbstractEventLoop, items: int) -> None:
    """A thread got items from a loop; called in the loop, like the others."""
    _items[loop] = _items.get(loop, 0) + items


def end(loop: asyncio.AbstractEventLoop, items: int) -> None:
    """The loop got their results."""
    rest = _items.pop(loop, 0) - items
    if rest > 0:
        _items[loop] = rest


def busy(loop: asyncio.AbstractEventLoop) -> bool:
    """Whether a thread is working for a loop."""
    return loop in _items

"""What tests add to each process of a fleet: it calls from an address that says who it is.

The process with the number 70,000 opens its connections from 127.129.17.112, so that the log of a
server on loopback tells who asked, also for what has no header of the settings, such as robots.txt.
And it writes down when it stood still, as in `generated_process.py`.

Nothing of the package is replaced: `every_process/sitecustomize.py`, which Python loads by itself
when its folder is in PYTHONPATH, calls `begin`. So what runs is the command as users start it, and
the processes that it starts itself do the same.
"""

import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

FOLDER = "FLEET_FOLDER"
"""The variable that says where processes write down when they stood still."""
_OWN = 128
"""The second number of the addresses that processes call from begins here."""
_IP_BIND_ADDRESS_NO_PORT = 24
ROOT = Path(__file__).parents[2]


def address_of(pid: int) -> str:
    """Where a process calls from.

    >>> address_of(70_000)
    '127.129.17.112'
    """
    return f"127.{_OWN + (pid >> 16)}.{pid >> 8 & 255}.{pid & 255}"


def pid_of(address: str) -> int:
    """The process that calls from an address; 0 if it is not such an address.

    >>> pid_of("127.129.17.112"), pid_of("127.0.0.1")
    (70000, 0)
    """
    first, second, *rest = map(int, address.split("."))
    return 0 if first != 127 or second < _OWN else second - _OWN << 16 | rest[0] << 8 | rest[1]


def environment(folder: Path) -> dict[str, str]:
    """The environment of a process that begins so."""
    paths = (str(ROOT / "tests" / "crawler" / "every_process"), str(ROOT))
    own = {name: value for name, value in os.environ.items() if not name.startswith("MANNERS_")}
    return {**own, "PYTHONPATH": os.pathsep.join(paths), FOLDER: str(folder)}


def begin() -> None:
    """Call from an address of one's own, and watch for standstills; in forked processes, too."""
    import asyncio.selector_events

    loop: Any = asyncio.selector_events.BaseSelectorEventLoop
    connect = loop.sock_connect

    async def call_from_own_address(self: Any, sock: socket.socket, address: Any) -> None:
        if sock.family == socket.AF_INET and str(address[0]).startswith("127."):
            with suppress(OSError):
                sock.setsockopt(socket.IPPROTO_IP, _IP_BIND_ADDRESS_NO_PORT, 1)
                sock.bind((address_of(os.getpid()), 0))
        await connect(self, sock, address)

    loop.sock_connect = call_from_own_address
    _watch()
    os.register_at_fork(after_in_child=_watch)


def _watch() -> None:
    from tests.crawler.generated_process import Watch

    Watch(str(Path(os.environ[FOLDER]) / f"standstills.{os.getpid()}"))

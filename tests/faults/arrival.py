"""When a request arrived: by the clock of the kernel, however late a process gets to read it."""

import socket
import struct
import time

_LAST_DATA_RECEIVED = 52
"""Where `tcpi_last_data_recv` stands in Linux's `struct tcp_info`: milliseconds since then."""
_TICK = 0.010
"""Seconds that the kernel's count may be ahead by: it counts ticks, of 1 to 10 ms."""


def arrived(connection: socket.socket | None) -> float:
    """When the last bytes came on a connection; never too early, and late by two ticks at most.

    Where the kernel does not say so, it is now.
    """
    if connection is None or not hasattr(socket, "TCP_INFO"):
        return time.monotonic()
    looks = []
    for _ in range(10):  # a busy machine may stop the process between two looks
        before = time.monotonic()
        told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        after = time.monotonic()
        looks.append((after - before, after, told))
        if after - before < 0.001:
            break
    _, now, told = min(looks)
    if len(told) < _LAST_DATA_RECEIVED + 4:
        return now
    milliseconds: int
    (milliseconds,) = struct.unpack_from("I", told, _LAST_DATA_RECEIVED)
    return now - max(milliseconds / 1000 - _TICK, 0.0)

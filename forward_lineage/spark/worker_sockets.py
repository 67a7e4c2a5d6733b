"""The socket through which Spark's JVM gives a Python worker its rows: neither side is to wait for the other.

The JVM writes in small pieces, and holds one back until the piece before it is acknowledged (Nagle's algorithm, which
Spark leaves on). The worker only reads, and an operating system acknowledges what nobody answers some 40 milliseconds
later (RFC 1122, 4.2.3.2). So every task would begin with 40 milliseconds in which nothing is done.

Imported by workers: it needs nothing but Python.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def acknowledge_at_once() -> None:
    """Acknowledge what the JVM has written so far, and send what is written from now on as it comes.

    Only Linux can be asked for that; elsewhere, and where the socket is no TCP socket, nothing is done.
    """
    if not hasattr(socket, "TCP_QUICKACK"):
        return
    for each in tcp_sockets():
        with suppress(OSError):  # closed meanwhile by whoever it belongs to
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def tcp_sockets() -> Iterator[socket.socket]:
    """Yield the TCP sockets that this process has open, each under another descriptor, which is closed behind it."""
    for entry in Path("/proc/self/fd").iterdir():
        descriptor = int(entry.name)
        with suppress(OSError):  # it was there to list the others
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            with socket.fromfd(descriptor, socket.AF_INET, socket.SOCK_STREAM) as each:
                if _is_tcp(each):
                    yield each


def _is_tcp(each: socket.socket) -> bool:
    domain = each.getsockopt(socket.SOL_SOCKET, socket.SO_DOMAIN)
    return domain in (socket.AF_INET, socket.AF_INET6) and each.type == socket.SOCK_STREAM

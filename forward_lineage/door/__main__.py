"""`python -m forward_lineage.door`, which Spark's JVM starts, and tells on standard input what is asked.

The first line says where the gateway is, every other one is a statement, all as JSON. The process ends when its input
does: with the JVM, however that ends.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
from queue import SimpleQueue
from typing import Any


def main() -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a shell is for its query
    lines = sys.stdin.buffer
    try:
        gateway = json.loads(lines.readline())
        port, secret = int(gateway["port"]), str(gateway["secret"])
    except (ValueError, KeyError, TypeError):
        sys.exit("This is started by Spark, for SQL clients: see docs/sql-clients.md.")
    requests: SimpleQueue[dict[str, Any]] = SimpleQueue()
    # Not in this thread, in which PySpark would take signals for its own.
    threading.Thread(target=_serve, args=(port, secret, requests), daemon=True).start()
    for line in lines:
        requests.put(json.loads(line))
    os._exit(0)  # whatever is under way: nobody waits for it


def _serve(port: int, secret: str, requests: SimpleQueue[dict[str, Any]]) -> None:
    try:
        from forward_lineage.door.visitors import Visitors  # noqa: PLC0415 - what is wrong with PySpark is said below

        visitors = Visitors(port, secret)
        while True:
            visitors.take(requests.get())
    except BaseException as error:
        _say(error)
        os._exit(1)


def _say(error: BaseException) -> None:
    """Print what is to be done last: that line stands in the error that Spark shows."""
    from udafs.errors import LineageError  # noqa: PLC0415

    if not isinstance(error, LineageError):
        traceback.print_exception(error)
    print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

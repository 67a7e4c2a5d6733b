"""`forward-lineage`, and `python -m forward_lineage`: Ctrl-C ends both in one line, from their first imports on."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType

_STOPPED = 130  # as in `cli.stopping`, which is imported below


def main() -> None:
    """Run the command that the process was started with.

    Before a command begins, and once it has ended, Ctrl-C just ends the process: Python's own handler would print a
    traceback. In between, commands say what they have done until then.
    """
    heard = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN  # a process that ignores it goes on ignoring it
    if heard:
        signal.signal(signal.SIGINT, _stop)
    from forward_lineage.cli import main as commands  # noqa: PLC0415 - Ctrl-C is heard while it is imported

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        commands(prog_name="forward-lineage")
    finally:
        if heard:
            signal.signal(signal.SIGINT, _end)


def _stop(*_: int | FrameType | None) -> None:
    os.write(2, b"stopped.\n")
    os._exit(_STOPPED)


def _end(*_: int | FrameType | None) -> None:
    with suppress(Exception):  # it may be what was interrupted
        sys.stdout.flush()
    os._exit(_STOPPED)


if __name__ == "__main__":
    main()

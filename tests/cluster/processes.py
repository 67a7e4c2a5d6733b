"""Processes that end when the test does, even if it is killed; and which there are. Linux only: /proc, prctl."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

MARK = "FORWARD_LINEAGE_TEST_CLUSTER"
"""A variable that all processes of a cluster have in their environment, children and grandchildren too."""

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
_LIBC = ctypes.CDLL(None, use_errno=True)  # loaded here: between fork and exec nothing may be


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent dies; it holds across exec, not for children."""
    _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def marked(mark: str) -> list[int]:
    """Return the processes that have a mark in their environment and are not merely waiting to be reaped."""
    wanted = f"{MARK}={mark}".encode()
    return [pid for pid in _all() if wanted in environment_of(pid)]


def environment_of(pid: int) -> list[bytes]:
    """Return the environment that a process was started with; nothing of one that is gone."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def command_of(pid: int) -> str:
    """Return the command line of a process, empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def parent_of(pid: int) -> int:
    """Return the parent of a process: the fourth word of its /proc entry, after a name in parentheses."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def own_executor() -> int:
    """Return the executor whose task runs in this Python worker: its JVM stands above the daemon that forks workers."""
    pid = os.getppid()
    while "CoarseGrainedExecutorBackend" not in command_of(pid):
        pid = parent_of(pid)
    return pid


def wait_for(what: str, holds: Callable[[], object], seconds: float = 600) -> None:
    """Wait until something holds.

    Raises:
        TimeoutError: it does not, after so many seconds.

    """
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.02)


def _all() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]

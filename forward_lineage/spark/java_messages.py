"""Pass on lines of Spark's Java process on stderr, without the line that every one of them begins with."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Spark asks for this module, and nobody can do anything about it.
NOISE = b"WARNING: Using incubator modules: jdk.incubator.vector\n"
_CHUNK = 1 << 16


@contextmanager
def stderr_for_java() -> Iterator[int]:
    """Give a file descriptor that a process may have as its stderr: what it writes there goes to ours."""
    there, here = os.pipe()
    threading.Thread(target=_pass_on, args=(there, 2), name="stderr of Java", daemon=True).start()
    try:
        yield here
    finally:
        os.close(here)  # the process has its own; when that is closed, too, the thread ends


def _pass_on(there: int, to: int) -> None:
    held = b""
    while chunk := os.read(there, _CHUNK):
        text = (held + chunk).replace(NOISE, b"")
        held = _begun(text)
        _write(to, text.removesuffix(held))
    _write(to, held)
    os.close(there)


def _begun(text: bytes) -> bytes:
    """The end of a text that may go on as the noise: its last line, so far."""
    last = text[text.rfind(b"\n") + 1 :]
    return last if NOISE.startswith(last) else b""


def _write(to: int, text: bytes) -> None:
    while text:
        text = text[os.write(to, text) :]

"""What Spark's Java process says reaches the user, but for the line that each begins with."""

from __future__ import annotations

import subprocess
import sys

_STARTS = """
import subprocess, threading
from forward_lineage.spark.java_messages import NOISE, stderr_for_java
said = NOISE + b"a real one\\n" + NOISE + b"WARNING: of another kind\\nno end of a line"
with stderr_for_java() as stderr:
    for at in range(0, len(said), {step}):
        subprocess.run(["bash", "-c", 'printf %s "$0" >&2', said[at : at + {step}] + b""], stderr=stderr, check=True)
for thread in threading.enumerate():
    if thread.name == "stderr of Java":
        thread.join()
"""


def test_one_line_is_left_out() -> None:
    for step in (1 << 10, 29):  # at once, and in pieces that end anywhere
        done = subprocess.run(
            [sys.executable, "-c", _STARTS.format(step=step)], capture_output=True, text=True, check=True
        )
        assert done.stderr == "a real one\nWARNING: of another kind\nno end of a line"

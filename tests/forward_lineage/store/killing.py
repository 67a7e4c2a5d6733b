"""Programs that save again and again, killed at a random moment."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.spark_programs import interpreted


def kill_while_saving(script: str, home: Path, moments: random.Random, most: float) -> None:
    """Run a program that says a line after each save; kill it within so many seconds after its first."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(home)], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL, env=interpreted(os.environ),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline(), "it saves once before it is killed"
    time.sleep(moments.uniform(0, most))
    process.kill()
    process.communicate()

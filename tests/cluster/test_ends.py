"""Nothing of a cluster outlives the test that started it, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.processes import marked, wait_for
from tests.structure import REPOSITORY

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

PROGRAM = """
import sys
import time
from pathlib import Path
from tests.cluster.driver import Driver
from tests.cluster.processes import wait_for
from tests.cluster.standalone import Cluster

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with Cluster(folder) as cluster, Driver(cluster, folder / "spark.log"):
        wait_for("executors", lambda: len(cluster.executors()) == 2)
        print(cluster.mark, flush=True)
        time.sleep(1000)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, str(program), str(tmp_path)],
        cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    mark = process.stdout.readline().strip()
    assert len(marked(mark)) >= 6, "master, two workers, the driver's JVM, two executors"
    process.send_signal(how)
    process.wait(600)
    process.stdout.close()
    wait_for("all of them to end", lambda: not marked(mark))

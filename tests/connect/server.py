"""A Spark Connect server on the loopback interface, from PySpark's own classes; it ends with who started it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.cluster.processes import die_with_parent, wait_for
from tests.spark_programs import SMALL, SPARK_HOME, environment
from udafs.build import build_kernel

_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
_STARTED = re.compile(r"Spark Connect server started at: \S+:(\d+)")
_SMALL = SMALL | {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": "0"}


def kernel_settings() -> dict[str, str]:
    """What a server is started with to have the kernel, as docs/deploying.md says."""
    from udafs.remote import SETTINGS  # noqa: PLC0415 - 3.5 has not all that it needs

    return SETTINGS | {"spark.jars": str(build_kernel())}


class Server:
    """A server with `local[2]`; a context manager, at whose end it is gone.

    Attributes:
        log: what it says.

    Args:
        folder: a new folder, where it runs.
        settings: of Spark; by default those with which it has the kernel.

    """

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self.log = folder / "server.log"
        given = _SMALL | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
        given |= dict(kernel_settings() if settings is None else settings)
        command = [str(SPARK_HOME / "bin" / "spark-submit"), "--class", _SERVER, "--master", "local[2]"]
        command += [
            "--driver-memory",
            "1g",
            *(f"--conf={key}={value}" for key, value in given.items()),
            "spark-internal",
        ]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - it does one call of the C library
                start_new_session=True,
            )

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def url(self) -> str:
        """Wait until it runs, and return where.

        Raises:
            RuntimeError: it has ended.

        """
        wait_for("the server", lambda: self.process.poll() is not None or _STARTED.search(self._said()))
        found = _STARTED.search(self._said())
        if found is None:
            raise RuntimeError(f"the server ended: {self._said()[-2000:]}")
        return f"sc://127.0.0.1:{found[1]}"

    def kill(self) -> None:
        """End it, and its Python workers with it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def _said(self) -> str:
        return self.log.read_text(errors="replace")

"""A Spark Thrift server on the loopback interface, from PySpark's own classes; it ends with who started it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.cluster.processes import command_of, die_with_parent, parent_of, wait_for
from tests.spark_programs import SMALL, SPARK_HOME, environment
from udafs.build import build_kernel

_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
_PROMPTS = re.compile(r"^(?:[.\d]+: jdbc:hive2:\S+> ?)+|^(?:\.\s?)+> ?")
_SMALL = SMALL | {"spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1"}


def kernel_settings(home: Path) -> dict[str, str]:
    """What a shell or a server is started with to have the door, as docs/sql-clients.md says."""
    jar = str(build_kernel())
    return {
        "spark.jars": jar,
        "spark.driver.extraClassPath": jar,
        "spark.sql.extensions": "forwardlineage.LineageExtensions",
        "spark.forward_lineage.python": sys.executable,
        "spark.forward_lineage.home": str(home),
    }


def submit(*arguments: str, settings: Mapping[str, str]) -> list[str]:
    """The command of a program of Spark's with settings."""
    given = [f"--conf={key}={value}" for key, value in (_SMALL | dict(settings)).items()]
    return [*arguments[:1], "--master", "local[2]", "--driver-memory", "1g", *given, *arguments[1:]]


class ThriftServer:
    """A server with `local[2]`; a context manager, at whose end it is gone.

    Attributes:
        port: where it listens.
        log: what it says.

    Args:
        folder: a new folder, where it runs.
        settings: of Spark, beside those that it has anyhow.

    """

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.log = folder / "server.log"
        self.port = _free_port()
        given = {
            "spark.hadoop.hive.server2.thrift.port": str(self.port),
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            **settings,
        }
        command = submit(str(SPARK_HOME / "bin" / "spark-submit"), "--class", _SERVER, "spark-internal", settings=given)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - it does one call of the C library
                start_new_session=True,
            )

    def __enter__(self) -> ThriftServer:
        wait_for("the server", lambda: self.process.poll() is not None or self._answers())
        if self.process.poll() is not None:
            raise RuntimeError(f"the server ended: {self.said()[-2000:]}")
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def beeline(self, *statements: str) -> str:
        """Run statements in one session of beeline, and return what it prints.

        Raises:
            AssertionError: one failed.

        """
        found = self.tried(*statements)
        assert found.returncode == 0, found.stderr
        return found.stdout

    def script(self, file: Path, database: str = "default") -> str:
        """Run a file of statements in a folder, where it lies, and return what beeline prints.

        Raises:
            AssertionError: one failed.

        """
        done = self._run("-f", file.name, folder=file.parent, database=database)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tried(self, *statements: str) -> subprocess.CompletedProcess[str]:
        """The same for statements that may fail."""
        return self._run(*(part for each in statements for part in ("-e", each)))

    def _run(
        self, *given: str, folder: Path | None = None, database: str = "default"
    ) -> subprocess.CompletedProcess[str]:
        url = f"jdbc:hive2://127.0.0.1:{self.port}/{database}"
        command = [str(SPARK_HOME / "bin" / "beeline"), "-u", url, "-n", "somebody", "--silent=true"]
        command += ["--outputformat=tsv2", "--showHeader=false", *given]
        return subprocess.run(
            command,
            cwd=folder,
            env=environment(),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=600,
        )

    def doors(self) -> list[int]:
        """Return the processes that trace for it."""
        return doors_of(self.process.pid)

    def kill(self) -> None:
        """End it at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def said(self) -> str:
        """Return its log."""
        return self.log.read_text(errors="replace")

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False


def all_doors() -> list[int]:
    """Return the processes of this machine that trace for somebody."""
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and _is_door(int(each.name))]


def doors_of(java: int) -> list[int]:
    """Return those that a Java process has started."""
    return [each for each in all_doors() if _parent(each) == java]


def _is_door(pid: int) -> bool:
    return "-m forward_lineage.door" in command_of(pid)


def _parent(pid: int) -> int | None:
    with contextlib.suppress(OSError):
        return parent_of(pid)
    return None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def rows_of(printed: str) -> list[Sequence[str]]:
    """Return the rows that beeline printed, in no order, without its prompts."""
    lines = (_PROMPTS.sub("", line) for line in printed.splitlines())
    return sorted(tuple(line.split("\t")) for line in lines if line)

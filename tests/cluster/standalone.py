"""A standalone cluster on the loopback interface: a master and workers, each a process of its own.

Every process has a mark in its environment and is killed by the kernel when the process that started it dies; executors
end with their worker, Python workers with their executor. Ports are those that the system gives (port 0), read from
the logs. Workers have addresses of their own, 127.0.0.1 and 127.0.0.2: Spark starts no copy of a task on the host where
the first one runs.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

from forward_lineage.spark.java import find_java
from tests.cluster.processes import MARK, command_of, die_with_parent, marked, parent_of, wait_for

SPARK_HOME = Path(pyspark.__file__).parent
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_URL = re.compile(r"Starting Spark master at (spark://[\w.:]+)")
_REGISTERED = "Successfully registered with master"


@dataclass
class Daemon:
    """A master or a worker.

    Attributes:
        process: the JVM.
        host: its address.
        log: where it writes its log.
        folder: where the executors of a worker run, and keep their logs.
        scratch: where they keep shuffle files and spills.

    """

    process: subprocess.Popen[bytes]
    host: str
    log: Path
    folder: Path
    scratch: Path

    def said(self) -> str:
        """Return its log so far.

        Raises:
            RuntimeError: it has ended.

        """
        text = self.log.read_text(errors="replace")
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.log.name} ended: {text[-2000:]}")
        return text

    def said_by_executors(self) -> str:
        """Return the logs of the executors that it has started."""
        return "".join(each.read_text(errors="replace") for each in sorted(self.folder.glob("app-*/*/stderr")))

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it, and all that it started and that did not leave its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, how)
        self.process.wait(60)


class Cluster:
    """A master and workers of one core and 1 GB each; a context manager, at whose end no process is left.

    Args:
        folder: for logs, and for what executors write.
        options: Java options of master and workers, such as settings of Spark.
        scratch: where executors of each worker keep shuffle files and spills; below `folder` unless told.
        wrapper: a command in front of each worker's, such as one that gives it a view of the file system of its own.

    """

    def __init__(
        self,
        folder: Path,
        *,
        workers: int = 2,
        options: Sequence[str] = (),
        scratch: Path | None = None,
        wrapper: Sequence[str] = (),
    ) -> None:
        self.folder, self.mark = folder, uuid.uuid4().hex
        self.workers: list[Daemon] = []
        self._options, self._scratch, self._wrapper = options, scratch or folder, wrapper
        self._count = workers
        self._started = 0
        self.url = ""

    def __enter__(self) -> Cluster:
        self._master = self._start("127.0.0.1", [_MASTER, "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"])
        try:
            wait_for("the master", lambda: _URL.search(self._master.said()))
            found = _URL.search(self._master.said())
            assert found is not None
            self.url = found[1]
            self.replace_workers()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End all processes, and wait until they are gone."""
        for daemon in [*self.workers, self._master]:
            daemon.kill()
        wait_for("the cluster's processes to end", lambda: not marked(self.mark), 60)

    def environment(self) -> dict[str, str]:
        """Return what the processes of the cluster, drivers included, have in their environment."""
        return {MARK: self.mark}

    # ------------------------------------------------------------ workers

    def wait_for_workers(self) -> None:
        """Wait until the master knows all workers."""
        for worker in self.workers:
            wait_for("a worker", lambda worker=worker: _REGISTERED in worker.said())

    def replace_workers(self) -> None:
        """Start those that are missing, each at the address that is free: a copy of a task needs another one."""
        taken = {worker.host for worker in self.workers}
        hosts = [f"127.0.0.{number + 1}" for number in range(self._count)]
        self.workers += [self._start_worker(host) for host in hosts if host not in taken]
        self.wait_for_workers()

    def lose(self, worker: Daemon) -> None:
        """Kill a worker; its executors notice and end."""
        self.workers.remove(worker)
        worker.kill()

    def worker_of(self, executor: int) -> Daemon:
        """Return the worker that started an executor."""
        return next(each for each in self.workers if each.process.pid == parent_of(executor))

    def executors(self) -> list[int]:
        """Return the process ids of all executors."""
        return [pid for pid in marked(self.mark) if "CoarseGrainedExecutorBackend" in command_of(pid)]

    def _start_worker(self, host: str) -> Daemon:
        own = ["--host", host, "--port", "0", "--webui-port", "0", "--cores", "1", "--memory", "1g"]
        folder = self.folder / f"work-{self._started}"
        return self._start(host, [_WORKER, *own, "--work-dir", str(folder), self.url], self._wrapper)

    def _start(self, host: str, command: Sequence[str], wrapper: Sequence[str] = ()) -> Daemon:
        find_java()
        number, self._started = self._started, self._started + 1
        log, work = self.folder / f"daemon-{number}.log", self.folder / f"work-{number}"
        scratch = self._scratch / f"scratch-{number}"
        for each in (work, scratch):
            each.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*wrapper, str(SPARK_HOME / "bin" / "spark-class"), *command],
                cwd=work, env=self._environment(host, scratch), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True, preexec_fn=die_with_parent,  # noqa: PLW1509 - it makes one system call
            )  # fmt: skip
        return Daemon(process, host, log, work, scratch)

    def _environment(self, host: str, scratch: Path) -> Mapping[str, str]:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
        # On a busy machine a worker may be silent for a minute; one that dies is noticed by its connection.
        java = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dspark.worker.timeout=900", *self._options]
        return inherited | self.environment() | {
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": host,  # web pages would be seen by other machines
            "SPARK_LOCAL_DIRS": str(scratch),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": " ".join(java),
        }  # fmt: skip

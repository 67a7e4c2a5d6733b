"""The parent's side of the child process: asked one thing at a time, ended when it hangs, replaced when it died."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from udafs.errors import SetupError

#: To start Spark, and to compile the kernel where nobody has yet.
_STARTING = 600.0
_LOOK = "See whether forward-lineage demo works here, and whether --memory is what this machine has."
# Many short queries: the optimising compiler and parallel collectors cost more than they give.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m"


class ChildEndedError(Exception):
    """The child process hangs or has died.

    Attributes:
        hung: whether it gave no sign of life for too long; else it died.
        step: what it was doing.

    """

    def __init__(self, hung: bool, step: str) -> None:
        super().__init__(step)
        self.hung = hung
        self.step = step


@dataclass(frozen=True)
class Settings:
    """The settings that a child is started with.

    Attributes:
        master: Spark master.
        memory: heap of its Java process.
        data: the tables of `--data`.
        semantics: which are tried.
        rows: how many rows of each result are sampled.
        timeout: seconds that one step of a statement may take.
        continued: how many continuations of each traced frame are tried.

    """

    master: str = "local[*]"
    memory: str = "4g"
    data: dict[str, Path] = field(default_factory=dict)
    semantics: tuple[str, ...] = ("data", "control")
    rows: int = 5
    timeout: float = 60.0
    continued: int = 0


class Child:
    """A process that holds Spark, in a folder of its own; `close` ends both.

    Args:
        settings: see there.

    Raises:
        SetupError: it does not start.

    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._scratch = Path(tempfile.mkdtemp(prefix="forward_lineage-check-"))
        self._log = (self._scratch / "worker.log").open("w+", encoding="utf-8")
        self._process = _started(self._scratch, self._log)
        self._unread = b""
        try:
            self._send({**_first(settings), "scratch": str(self._scratch)})
            for _ in self._answers(_STARTING):
                pass
        except (ChildEndedError, BrokenPipeError):
            said = self._last_words()
            self.close()
            raise SetupError(f"the process that runs statements does not start: {said}", instead=_LOOK) from None
        except BaseException:  # Ctrl-C
            self.close()
            raise

    def ask(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Send a request and yield the answers, the last one being ``{"done": …}``.

        Raises:
            ChildEndedError: it hangs, or it died.

        """
        with suppress(BrokenPipeError):  # that it died is seen in its answers
            self._send(request)
        yield from self._answers(self._settings.timeout)

    @property
    def ran_out_of_memory(self) -> bool:
        """Whether its logs say that memory ran out."""
        logs = (self._scratch / "worker.log", self._scratch / "spark.log")
        return any("OutOfMemoryError" in log.read_text(errors="replace") for log in logs if log.exists())

    def close(self) -> None:
        """End the process and all that it started, and remove its folder."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _send(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()

    def _answers(self, timeout: float) -> Iterator[dict[str, Any]]:
        step = "start"
        while True:
            line = self._line(time.monotonic() + timeout, step)
            answer: dict[str, Any] = json.loads(line)
            step = answer.get("step", step)
            yield answer
            if "done" in answer:
                return

    def _line(self, deadline: float, step: str) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise ChildEndedError(True, step)
            read = os.read(self._process.stdout.fileno(), 1 << 16)
            if not read:
                raise ChildEndedError(False, step)
            self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _last_words(self) -> str:
        self._log.flush()
        self._log.seek(0)
        lines = [line.strip() for line in self._log.read().splitlines() if line.strip()]
        javas = next((n for n, line in enumerate(lines) if line.startswith(("Error", "Invalid"))), None)
        said = lines[-1:] if javas is None else lines[javas : javas + 2]
        return "; ".join(said)[:300].rstrip(".") or "it says nothing"


def _started(scratch: Path, log: Any) -> subprocess.Popen[bytes]:
    # Settings of the user's Spark may name catalogs, which nothing here may reach. The folder is never made: Java takes
    # an archive of classes only for the class path that it was made for, and does not count what is not there.
    environment = {
        "SPARK_SUBMIT_OPTS": _JAVA,
        **os.environ,
        "SPARK_CONF_DIR": str(scratch / "no-conf"),
        "PYTHONPATH": _modules(),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "forward_lineage.checking.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        cwd=scratch,
        env=environment,
        start_new_session=True,
    )


def _modules() -> str:
    return os.pathsep.join(str(Path(each).absolute()) for each in sys.path)


def _first(settings: Settings) -> dict[str, Any]:
    return {
        "master": settings.master,
        "memory": settings.memory,
        "data": {name: str(path) for name, path in settings.data.items()},
        "semantics": list(settings.semantics),
        "rows": settings.rows,
        "timeout": settings.timeout,
        "continued": settings.continued,
    }

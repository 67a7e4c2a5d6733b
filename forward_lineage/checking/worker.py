"""The child process that holds Spark and runs statements; it may hang or die, and the parent goes on with another.

It reads one JSON object a line from standard input, and answers in JSON lines. These are any number of ``{"step": …}``
and ``{"verdict": …}``, then ``{"done": …}``. When its input ends, it ends, whatever it is doing, and Java with it.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from pyspark.sql import SparkSession

from forward_lineage.checking.base_tables import BaseTables
from forward_lineage.checking.copies import Copies
from forward_lineage.checking.judging import Judge, TrialRequest
from forward_lineage.checking.outcomes import Outcome, Verdict
from forward_lineage.checking.results import SparkIsGoneError, failure_of
from forward_lineage.checking.scratch import session_for_a_file, start

#: What the process ends with when Java has ended under it.
SPARK_IS_GONE = 9


class Worker:
    """Answers the parent's requests.

    Args:
        request: the first one: where things are and what is to be tried.
        answers: where answers go.

    """

    def __init__(self, request: dict[str, Any], answers: IO[str]) -> None:
        self._answers = answers
        self._scratch = Path(request["scratch"])
        self._data = {name: Path(path) for name, path in request["data"].items()}
        self._wanted = TrialRequest(
            tuple(request["semantics"]), request["rows"], request["timeout"], request["continued"]
        )
        self._spark: SparkSession = start(self._scratch, request["master"], request["memory"])
        self._copies = Copies(self._scratch)
        self._open = ExitStack()
        self._judge: Judge | None = None

    def answer(self, request: dict[str, Any]) -> None:
        """Do what is asked: open a file, run a set-up statement again, or judge a statement."""
        done: Any = True
        if request["do"] == "open":
            self._open_file()
        elif request["do"] == "again":
            self._file.set_up(request["sql"])
        else:
            done = self._judged(request["sql"], request["place"])
        self._say({"done": done})

    def _judged(self, sql: str, place: str) -> dict[str, Any] | None:
        try:
            return self._file.judge(sql, place).to_json()
        except SparkIsGoneError:
            raise
        except Exception as error:  # nothing may end the run; it is a failure of ours, and said
            why = f"{type(error).__name__}: {failure_of(error).why}"
            for semantics in self._wanted.semantics:
                self._say_verdict(semantics, Verdict(Outcome.FAILED, why, why))
            return None

    @property
    def _file(self) -> Judge:
        assert self._judge is not None, "no file was opened"
        return self._judge

    def _open_file(self) -> None:
        self._open.close()
        lineage = self._open.enter_context(session_for_a_file(self._spark, self._scratch))
        bases = BaseTables(lineage, dict(self._data), self._scratch)
        self._judge = Judge(bases, self._copies, self._wanted, self._say_step, self._say_verdict)

    def _say_step(self, step: str) -> None:
        self._say({"step": step})

    def _say_verdict(self, semantics: str, verdict: Verdict) -> None:
        self._say({"verdict": verdict.to_json(), "semantics": semantics})

    def _say(self, answer: dict[str, Any]) -> None:
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()


def main() -> None:
    """Run until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what Spark and Java print does not get between the answers
    requests: queue.Queue[dict[str, Any]] = queue.Queue()
    first = json.loads(sys.stdin.readline())
    threading.Thread(target=_read, args=(requests, Path(first["scratch"])), daemon=True).start()
    try:
        worker = Worker(first, answers)
        worker.answer({"do": "open"})
        while True:
            worker.answer(requests.get())
    except SparkIsGoneError:
        os._exit(SPARK_IS_GONE)


def _read(requests: queue.Queue[dict[str, Any]], scratch: Path) -> None:
    for line in sys.stdin:
        requests.put(json.loads(line))
    shutil.rmtree(scratch, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)  # Java and Python workers, too


if __name__ == "__main__":
    main()

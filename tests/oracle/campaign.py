"""A campaign: many blocks judged by processes with a Spark of their own, each finished one noted on disk at once.

The file of notes is named after the sources that decide the verdicts, so what was judged with other code is never taken
for judged. Stopped at any time, the same call goes on where it was; the blocks that were under way are judged anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import multiprocessing
import os
import platform
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from multiprocessing.connection import Connection, wait
from pathlib import Path

from tests.oracle.blocks import Block, Outcome, judged
from tests.structure import REPOSITORY

DECIDING_SOURCES = (
    *("rewrites", "udafs", "forward_lineage", "tests/oracle", "tests/spark_settings.py", "tests/spark_switches.py"),
)
DECIDING_PACKAGES = ("pyspark", "sqlglot", "hypothesis", "dd")

# A Spark that has run some thousands of queries is slower than a new one.
BLOCKS_A_SPARK = 40

Work = Callable[[Connection, Path], None]


class StateError(Exception):
    """A campaign cannot go on: what stands in its state, or who else uses it."""


def fingerprint() -> str:
    """Stands for everything that a verdict depends on: our sources, and the packages that generate and run queries."""
    digest = hashlib.sha256(platform.python_version().encode())
    for package in DECIDING_PACKAGES:
        digest.update(f"{package} {version(package)}".encode())
    for source in _sources():
        digest.update(f"\n{source.relative_to(REPOSITORY)}\n".encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def _sources() -> list[Path]:
    files: list[Path] = []
    for place in (REPOSITORY / name for name in DECIDING_SOURCES):
        files += [place] if place.is_file() else [each for kind in ("*.py", "*.scala") for each in place.rglob(kind)]
    return sorted(file for file in files if not file.name.startswith("test_"))


class State:
    """What a campaign has finished, a line of JSON for each block; one process at a time has it open.

    Raises:
        StateError: another campaign has it open, or a line is not one of ours.

    """

    def __init__(self, folder: Path, key: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{key}.jsonl"
        self.others = sorted(each.stem for each in folder.glob("*.jsonl") if each != self.path)
        self._file = self.path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.finished = {outcome.block: outcome for outcome in self._whole_lines()}
        except BlockingIOError:
            self._file.close()
            raise StateError(f"another campaign uses {self.path}; wait for it, or name another --state") from None
        except StateError:
            self._file.close()
            raise

    def __enter__(self) -> State:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _whole_lines(self) -> Iterator[Outcome]:
        """The outcomes so far; a last line that was cut off is removed."""
        self._file.seek(0)
        content = self._file.read()
        whole = content.rfind(b"\n") + 1
        self._file.truncate(whole)
        for number, line in enumerate(content[:whole].splitlines(), start=1):
            try:
                yield Outcome(**json.loads(line))
            except (ValueError, TypeError) as error:
                raise StateError(f"{self.path}, line {number}: {error}; remove the file to start afresh") from error

    def add(self, outcome: Outcome) -> None:
        """Note a finished block; when this returns it is on disk."""
        self._file.write(json.dumps(asdict(outcome)).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.finished[outcome.block] = outcome


class _Worker:
    """A process that judges one block after another."""

    def __init__(self, work: Work, scratch: Path) -> None:
        spawning = multiprocessing.get_context("spawn")
        self.connection, theirs = spawning.Pipe()
        self.process = spawning.Process(target=work, args=(theirs, scratch), daemon=True)
        self.process.start()
        theirs.close()
        self.judging: Block | None = None
        self.blocks = 0

    def give(self, block: Block) -> None:
        self.judging = block
        self.blocks += 1
        self.connection.send(block)

    def take(self) -> Outcome:
        """The outcome of the block that it was given."""
        assert self.judging is not None
        try:
            answer = self.connection.recv()
        except EOFError:
            self.process.join()
            raise StateError(
                f"the process that judged block {self.judging.name!r} (seed {self.judging.seed}) ended with "
                f"{self.process.exitcode}; the same command tries it again"
            ) from None
        self.judging = None
        assert isinstance(answer, Outcome)
        return answer

    def stop(self) -> None:
        """End the process: at once if it is judging, else after its Spark has put things away."""
        self.connection.close()
        if self.judging:
            self.process.terminate()
        self.process.join()


def judge_blocks(todo: Sequence[Block], processes: int, work: Work | None = None) -> Iterator[Outcome]:
    """Yield the outcome of each block when it is there.

    Raises:
        StateError: a process ended before it had judged its block.

    """
    waiting = list(reversed(todo))
    workers: list[_Worker] = []
    with tempfile.TemporaryDirectory(prefix="oracle-", ignore_cleanup_errors=True) as scratch:
        try:
            while waiting or any(worker.judging for worker in workers):
                _employ(workers, waiting, processes, work or judge_until_told, Path(scratch))
                ready = wait([worker.connection for worker in workers if worker.judging])
                for worker in [each for each in workers if each.connection in ready]:
                    outcome = worker.take()
                    if outcome.died:
                        worker.stop()
                        workers.remove(worker)
                    yield outcome
        finally:
            for worker in workers:
                worker.stop()


def _employ(workers: list[_Worker], waiting: list[Block], processes: int, work: Work, scratch: Path) -> None:
    """Give every idle process a block; a process that has judged many is replaced."""
    for worker in [each for each in workers if not each.judging and each.blocks >= BLOCKS_A_SPARK]:
        worker.stop()
        workers.remove(worker)
    while waiting and len(workers) < processes:
        workers.append(_Worker(work, Path(tempfile.mkdtemp(dir=scratch))))
        workers[-1].give(waiting.pop())
    for worker in workers:
        if waiting and not worker.judging:
            worker.give(waiting.pop())


def judge_until_told(connection: Connection, scratch: Path) -> None:
    """What a process does: answer each block with its outcome, until the connection is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked decides what Ctrl-C means
    from tests.oracle.session import oracle_session  # noqa: PLC0415 - Spark is only for these processes

    with suppress(ConnectionError), oracle_session(scratch) as spark:
        while True:
            try:
                connection.send(judged(spark, connection.recv()))
            except (EOFError, BrokenPipeError):
                return


class Progress:
    """How far a campaign is, a line a block."""

    def __init__(self, blocks: Sequence[Block], state: State) -> None:
        self._state = state
        self._cases = sum(block.count for block in blocks)
        self._names = {block.name for block in blocks}
        self._before = self._done()
        self._start = time.monotonic()

    def _done(self) -> int:
        return sum(outcome.cases for name, outcome in self._state.finished.items() if name in self._names)

    def line(self) -> str:
        """Cases done, disagreements, cases a second in this run, time left."""
        done = self._done()
        rate = (done - self._before) / max(time.monotonic() - self._start, 1e-9)
        wrong = sum(len(outcome.disagreements) for outcome in self._state.finished.values())
        left = f"{_duration((self._cases - done) / rate)} left" if rate else "time left unknown"
        return f"{done:,} of {self._cases:,} cases, {wrong} disagreements, {rate:.1f} a second, {left}"


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min" if minutes else "< 1 min"

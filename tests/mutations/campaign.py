"""Spoil many of one kind, in a process of its own whose memory is bounded, and count what became of them.

A chunk is said by the seed and its number alone, so whatever is found can be found again.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

from tests.mutations.kinds import KINDS, REFUSED, Kind
from tests.udafs.kernel_probe import KernelProbe

CHUNK = 2000
#: Seconds of the processor for one, and bytes that all of them together may add to what the process has at its start.
LONGEST = 2.0
ADDED = 384 << 20
KERNEL_HEAP = "256m"
_SILENT = 300  # seconds without a word: then it hangs


@dataclass
class Counts:
    """What became of some.

    Attributes:
        tried: how many.
        refused: by an error of ours.
        slowest: seconds of the processor that one took, in Python.
        added: bytes that reading them added to the largest size of the process.
        heap: MB of the kernel's heap in use, at most.
        faults: what is wrong: the kind, the seed, the chunk, which of it, the bytes, and how.

    """

    tried: int = 0
    refused: int = 0
    slowest: float = 0.0
    added: int = 0
    heap: int = 0
    faults: list[str] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        """Count some more."""
        self.tried, self.refused = self.tried + other.tried, self.refused + other.refused
        self.slowest, self.added = max(self.slowest, other.slowest), max(self.added, other.added)
        self.heap = max(self.heap, other.heap)
        self.faults += other.faults


def spoil(kind: str, count: int, seed: int) -> Iterator[Counts]:
    """Spoil `count` of one kind, and yield what became of each chunk.

    Raises:
        RuntimeError: the process ended, or hangs.

    """
    spawn = multiprocessing.get_context("spawn")
    mine, its = spawn.Pipe(duplex=False)
    worker = spawn.Process(target=_work, args=(its, kind, count, seed), daemon=True)
    worker.start()
    its.close()
    try:
        for chunk in range(-(-count // CHUNK)):
            if not mine.poll(_SILENT):
                raise RuntimeError(f"{kind}, seed {seed}, chunk {chunk}: nothing for {_SILENT} s")
            try:
                yield mine.recv()
            except EOFError:
                raise RuntimeError(f"{kind}, seed {seed}, chunk {chunk}: its process has ended") from None
    finally:
        worker.kill()
        worker.join()


def _work(pipe: Connection, name: str, count: int, seed: int) -> None:
    kind = KINDS[name]()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kernel = stack.enter_context(KernelProbe(scratch, KERNEL_HEAP)) if kind.kernel else None
        judge(kind, [kind.spoilt(Random(each)) for each in range(200)], "warm-up")  # loads what is loaded once
        _bound_memory()
        for chunk in range(-(-count // CHUNK)):
            dice = Random(f"{seed} {name} {chunk}")
            spoilt = [kind.spoilt(dice) for _ in range(min(CHUNK, count - chunk * CHUNK))]
            place = f"{name}, seed {seed}, chunk {chunk}"
            found, judged = judge(kind, spoilt, place)
            if kernel is not None:
                compare(kernel, kind, spoilt, judged, found, scratch, place)
            pipe.send(found)


def _bound_memory() -> None:
    """A bomb raises a MemoryError, which is no error of ours."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ADDED, resource.RLIM_INFINITY))


def judge(kind: Kind, spoilt: list[bytes], place: str) -> tuple[Counts, list[str]]:
    found, judged = Counts(), []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number, data in enumerate(spoilt):
        begun = time.process_time()
        try:
            said = kind.judged(data)
        except Exception:
            said = "broken"
            found.faults.append(_fault(place, number, data, traceback.format_exc(limit=-3)))
        took = time.process_time() - begun
        if took > LONGEST:
            found.faults.append(_fault(place, number, data, f"it took {took:.1f} s"))
        found.slowest = max(found.slowest, took)
        found.refused += said == REFUSED
        judged.append(said)
    found.tried = len(spoilt)
    found.added = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return found, judged


def compare(
    kernel: KernelProbe, kind: Kind, spoilt: list[bytes], judged: list[str], found: Counts, scratch: Path, place: str
) -> None:
    """Let the kernel judge them, too: it must say the same; of a manifest it may not see what is wrong for Python."""
    theirs, found.heap = kernel.judge(str(kind.kernel), map(kind.for_the_kernel, spoilt), scratch)
    assert len(theirs) == len(judged)
    for number, (mine, other) in enumerate(zip(judged, theirs, strict=True)):
        if mine != other and not (kind.kernel == "manifests" and mine in (REFUSED, "not for the kernel")):
            found.faults.append(_fault(place, number, spoilt[number], f"Python says {mine}, the kernel {other}"))


def _fault(place: str, number: int, data: bytes, how: str) -> str:
    shown = repr(data) if len(data) < 200 else f"{data[:200]!r}… {len(data)} bytes"
    return f"{place}, number {number}: {shown}\n{how}"

"""The kernel's codecs in a JVM of their own, without Spark: a pipe to scala/CodecProbe.scala."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import numpy as np

from udafs.build import build_kernel, class_path, compile_scala, java

SOURCES = sorted(Path(__file__).with_name("scala").glob("*.scala"))


class RefusedError(Exception):
    """The kernel refused the bytes."""


class KernelProbe:
    """One conversation; `ids` are any iterable of integers, values are bytes.

    Args:
        folder: where the probe is compiled; several may use one, and only the first compiles.
        heap: of the JVM.

    """

    def __init__(self, folder: Path, heap: str = "1g") -> None:
        kernel = build_kernel()
        classes = folder / "probe"
        if not classes.exists():
            classes.mkdir()
            compile_scala(SOURCES, classes, [kernel])
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed with the process
        self._process = subprocess.Popen(
            [
                java(),
                f"-Xmx{heap}",
                "-cp",
                class_path(classes, kernel),
                "org.apache.spark.sql.forwardlineage.CodecProbe",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            bufsize=1,
        )

    def ask(self, *words: str) -> str:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(" ".join(words) + "\n")
        line = self._process.stdout.readline()
        if not line:  # it ended
            self._log.seek(0)
            raise AssertionError(self._log.read(2000))
        if line.startswith("ERROR "):
            raise RefusedError(line)
        return line.rstrip("\n")

    def encode(self, ids: Iterable[int], setting: str) -> bytes:
        self.ask("new")
        self.add(ids)
        return self.result(setting)

    def add(self, ids: Iterable[int]) -> None:
        self.ask("add", np.array(list(ids), "<i8").tobytes().hex())

    def merge(self, value: bytes) -> None:
        self.ask("merge", value.hex())

    def result(self, setting: str) -> bytes:
        return bytes.fromhex(self.ask("result", setting))

    def decode(self, value: bytes) -> list[int]:
        return np.frombuffer(bytes.fromhex(self.ask("decode", value.hex())), "<i8").tolist()

    def size(self, value: bytes) -> int:
        return int(self.ask("size", value.hex()))

    def contains(self, value: bytes, wanted: int) -> bool:
        return self.ask("contains", value.hex(), str(wanted)) == "true"

    def intersects(self, left: bytes, right: bytes) -> bool:
        return self.ask("intersects", left.hex(), right.hex()) == "true"

    def judge(self, kind: str, spoilt: Iterable[bytes], scratch: Path) -> tuple[list[str], int]:
        """What is said of each of many spoilt ones, see CodecProbe.judge; and how many MB the heap has in use."""
        given, judged = scratch / "spoilt", scratch / "judged"
        given.write_text("".join(f"{data.hex()}\n" for data in spoilt))
        used = self.ask("judge", kind, str(given), str(judged))
        return judged.read_text().splitlines(), int(used)

    def __enter__(self) -> KernelProbe:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=30)
        self._log.close()

"""The work of a task of a Spark Connect server: see first whether Python there has the client's release."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyarrow as pa

from forward_lineage.store.saving.tasks import SaveTask, Task
from udafs.errors import SetupError


class ServersSaveTask(SaveTask):
    """The same where the workers are a Spark Connect server's, whose Python may have another release of this package.

    Args:
        task: what every task is told.
        release: checksum of the client's sources, see `release`.

    """

    def __init__(self, task: Task, release: str) -> None:
        super().__init__(task)
        self.release = release

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write a partition and report its files.

        Raises:
            SetupError: this worker has another release.

        """
        if release() != self.release:
            raise SetupError(
                "the Python of the Spark Connect server has another release of forward_lineage than this client",
                instead="Install the same one in both.",
            )
        yield from super().__call__(batches)


@cache
def release() -> str:
    """Return a checksum of this package's Python sources."""
    digest = hashlib.sha256()
    top = Path(__file__).parents[3]
    for source in sorted(
        each for name in ("forward_lineage", "udafs", "rewrites") for each in (top / name).rglob("*.py")
    ):
        digest.update(source.relative_to(top).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()

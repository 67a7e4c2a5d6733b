"""`python -m tests.bench.commits REVISION`: this checkout against another commit, TPC-H query by query, in turn.

Each has a Spark session in a process of its own; a query runs in one, then in the other, so that what drifts on the
machine drifts for both. What is compared is what a user waits for: `lineage.sql`, then all of the result.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console

from tests.structure import REPOSITORY
from tpch_queries.data import generate

_SERVER = Path(__file__).with_name("commit_server.py")


@dataclass
class Commit:
    """A running `commit_server`."""

    process: subprocess.Popen[str]

    def ask(self, query: str) -> float:
        """Return the seconds that a query takes, prepared and run."""
        assert self.process.stdin is not None
        self.process.stdin.write(query + "\n")
        self.process.stdin.flush()
        return sum(self.answer().values())

    def answer(self) -> dict[str, float]:
        """Return what the process says next."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise click.ClickException("a session has ended: its last words are above")
        found: dict[str, float] = json.loads(line)
        return found


@contextmanager
def tree_of(revision: str) -> Iterator[Path]:
    """Yield a checkout of a commit, which goes at the end."""
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        git = ["git", "-C", str(REPOSITORY), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), revision], check=True)
        try:
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


@contextmanager
def served(tree: Path, data: Path, semantics: str) -> Iterator[Commit]:
    """Yield the session of a tree, which ends with the block."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, str(_SERVER), str(data), semantics]
    process = subprocess.Popen(
        command, cwd=tree, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        commit = Commit(process)
        commit.answer()
        yield commit
    finally:
        process.kill()
        process.wait()


@click.command()
@click.argument("revision")
@click.option("--scale", type=float, default=1.0, show_default=True, help="TPC-H scale factor.")
@click.option("--runs", type=click.IntRange(min=1), default=5, show_default=True, help="Timed runs of each.")
@click.option("--queries", default=",".join(f"q{i}" for i in range(1, 23)), help="Joined by commas.")
@click.option("--semantics", type=click.Choice(["data", "control"]), default="data", show_default=True)
def main(revision: str, scale: float, runs: int, queries: str, semantics: str) -> None:
    """Print for each query this checkout's seconds over those of REVISION, medians of runs in turn."""
    data = generate(scale)
    console = Console()
    console.print("query  before, s    now, s     ratio")
    ratios = []
    with ExitStack() as stack:
        before = stack.enter_context(served(stack.enter_context(tree_of(revision)), data, semantics))
        now = stack.enter_context(served(REPOSITORY, data, semantics))
        for query in queries.split(","):
            with console.status(f"{query} …"):
                then_seconds, now_seconds, ratio = _compared(before, now, query, runs)
            ratios.append(ratio)
            console.print(f"{query:5} {then_seconds:10.2f} {now_seconds:9.2f} {ratio:9.2f}")
    console.print(f"geometric mean {statistics.geometric_mean(ratios):.3f}, worst {max(ratios):.2f}")


def _compared(before: Commit, now: Commit, query: str, runs: int) -> tuple[float, float, float]:
    """Return the medians of both, and the median of the ratios of neighbouring runs."""
    pairs = []
    for turn in range(runs + 1):
        order = [before, now] if random.random() < 0.5 else [now, before]
        seconds = {id(commit): commit.ask(query) for commit in order}
        if turn:  # the first warms up
            pairs.append((seconds[id(before)], seconds[id(now)]))
    then, here = zip(*pairs, strict=True)
    return statistics.median(then), statistics.median(here), statistics.median(b / a for a, b in pairs)


if __name__ == "__main__":
    main()

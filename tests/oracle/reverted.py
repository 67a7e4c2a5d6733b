"""`python -m tests.oracle.reverted`: take back what was mended, one rule after another, and see the campaigns find it.

Each rule of `reverted.toml` is taken back in a copy of the sources, and the campaign that is named there runs over the
copy until something disagrees. It ends with 1 if a rule that must be found is not.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.structure import REPOSITORY

RULES = Path(__file__).with_name("reverted.toml")
SOURCES = ("forward_lineage", "rewrites", "udafs", "tests", "tpch_queries", "setup.py", "pyproject.toml")
CASES = 2_000
_PROGRESS = re.compile(r"^([\d,]+) of [\d,]+ cases, (\d+) disagreements", re.MULTILINE)


@dataclass(frozen=True)
class Reverted:
    """A rule that was mended, and how to take it back.

    Attributes:
        name: what was mended.
        file: where, from the top of the repository.
        before: a part of the file that is there once.
        after: what stands there when the rule is taken back.
        campaign: the option of `python -m tests.oracle` under which it must be found.
        seed: of the campaign.
        unseen: why the campaign cannot find it, and what does; empty where it must.

    """

    name: str
    file: str
    before: str
    after: str
    campaign: str
    seed: int = 10_000_000
    unseen: str = ""

    def text(self) -> str:
        """The file without the rule.

        Raises:
            ValueError: what is to be replaced is not there once.

        """
        text = (REPOSITORY / self.file).read_text()
        if text.count(self.before) != 1:
            raise ValueError(f"{self.name}: {self.file} has {text.count(self.before)} times {self.before!r}")
        return text.replace(self.before, self.after)


def rules() -> list[Reverted]:
    """All that can be taken back."""
    return [Reverted(**each) for each in tomllib.loads(RULES.read_text())["rule"]]


def found_after(rule: Reverted, cases: int) -> int | None:
    """How many cases it takes until something disagrees without the rule; None if nothing does."""
    with tempfile.TemporaryDirectory(prefix="reverted-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder)
        _copy_sources(copy)
        (copy / rule.file).write_text(rule.text())
        options = [
            "--queries",
            "0",
            rule.campaign,
            str(cases),
            "--seed",
            str(rule.seed),
            "--state",
            str(copy / "state"),
        ]
        campaign = subprocess.Popen(
            [sys.executable, "-m", "tests.oracle", *options],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(copy)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            for done, disagreements in _progress(campaign):
                if disagreements:
                    return done
        finally:
            campaign.send_signal(signal.SIGINT)
            campaign.communicate()
    return None


def _copy_sources(copy: Path) -> None:
    for name in SOURCES:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, copy / name)


def _progress(campaign: subprocess.Popen[str]) -> Iterator[tuple[int, int]]:
    """Cases done and disagreements, after each block.

    Raises:
        RuntimeError: the campaign ended before it had judged anything.

    """
    said, seen = [], False
    assert campaign.stdout is not None
    for line in campaign.stdout:
        said.append(line)
        if found := _PROGRESS.match(line):
            seen = True
            yield int(found[1].replace(",", "")), int(found[2])
    if not seen:
        raise RuntimeError("the campaign did not run:\n" + "".join(said[-20:]))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.reverted", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cases", type=int, default=CASES, help="at most, of each (default: %(default)s)")
    parser.add_argument("--only", default="", help="rules whose name has this in it")
    options = parser.parse_args()
    lost = 0
    for rule in (each for each in rules() if options.only in each.name):
        after = found_after(rule, options.cases)
        lost += after is None and not rule.unseen
        said = (
            f"found within {after:,} cases" if after else f"not found in {options.cases:,}: {rule.unseen or 'MISSED'}"
        )
        print(f"{rule.name}: {said} ({rule.campaign})", flush=True)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

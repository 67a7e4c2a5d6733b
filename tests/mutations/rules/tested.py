"""`python -m tests.mutations.rules.tested MODULE KIND PLACE LINE`: the tests of the rules, one of which is a mutant.

The last line is the first test that fails, or "nothing".
"""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from tests.mutations.rules.importing import become
from tests.mutations.rules.sites import Mutant
from tests.structure import REPOSITORY

TESTS = ("tests/rewrites", "tests/forward_lineage/frontend")


class _Failed:
    """Which tests, or files of tests, failed."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.names.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.names.append(report.nodeid)


def main() -> int:
    module, kind, place, line = sys.argv[1:]
    become(Mutant(module, kind, int(place), int(line)))
    os.chdir(REPOSITORY)
    failed = _Failed()
    options = ["-x", "-q", "-m", "not slow and not long", "-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain"]
    code = pytest.main([*options, *TESTS], plugins=[failed])
    if code != pytest.ExitCode.OK and not failed.names:
        print(f"the tests of the rules cannot be run: {code!r}", file=sys.stderr)
        return 2
    print(f"\n{failed.names[0] if failed.names else 'nothing'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

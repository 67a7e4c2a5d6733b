"""`python -m tests.golden.update [file …]`: write the rewritten SQL of today into the fixtures, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.golden.cases import FIXTURES, SEMANTICS, head_of, one_line, read, write
from tests.golden.execution import rewritten
from tests.golden.tables import catalog
from udafs.errors import LineageError


def update(file: Path) -> None:
    """Refresh one file."""
    known, cases = catalog(), read(file)
    for case in cases:
        case.rewritten = {}
        for semantics in SEMANTICS:
            statement = rewritten(case, semantics, known)
            if isinstance(statement, LineageError):
                if semantics not in case.refused and case.bug is None:
                    print(f"{case.name} ({semantics}): {statement}", file=sys.stderr)
            elif semantics not in case.refused:
                case.rewritten[semantics] = one_line(statement.sql)
    write(file, head_of(file), cases)


if __name__ == "__main__":
    wanted = [FIXTURES / f"{name}.golden" for name in sys.argv[1:]] or sorted(FIXTURES.glob("*.golden"))
    for each in wanted:
        update(each)

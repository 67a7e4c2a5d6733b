"""The 22 TPC-H queries and the SPJ queries S1–S8 of [Zhang 2007, appendix A] as plain Spark SQL, and their tables.

The queries are the files `q1.sql` … `q22.sql` and `s1.sql` … `s8.sql` of this folder; `tpch_queries.data` generates
the tables. README.md says how the files read the specification and the paper.
"""

from __future__ import annotations

from pathlib import Path

from forward_lineage import BadArgumentError
from forward_lineage.demo.tpch_tables import TABLES, Table

__all__ = ["TABLES", "Table", "names", "query"]

_FOLDER = Path(__file__).parent
_NAMES = tuple(f"q{number}" for number in range(1, 23)) + tuple(f"s{number}" for number in range(1, 9))


def names() -> tuple[str, ...]:
    """Return the names of all queries, in reading order: `q1` … `q22`, `s1` … `s8`."""
    return _NAMES


def query(name: str) -> str:
    """Return the text of one query: a single statement without a semicolon, its first line a comment.

    Args:
        name: `q1` … `q22` or `s1` … `s8`; upper case is accepted.

    Raises:
        BadArgumentError: there is no query of that name.

    """
    wanted = name.strip().lower()
    if wanted not in _NAMES:
        raise BadArgumentError(
            f"there is no query {name!r} in tpch_queries", instead="The names are q1 … q22 and s1 … s8."
        )
    return (_FOLDER / f"{wanted}.sql").read_text(encoding="utf-8")

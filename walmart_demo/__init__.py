"""The Walmart schema of [Zhang 2007, §5.6]: a generator of one day's sales, the queries Q1–Q8, and a story about them.

`python -m walmart_demo` tells the story of one bad item record and the reports it spoiled. README.md says how close the
generated data come to the paper's Table 9.
"""

from __future__ import annotations

from pathlib import Path

from forward_lineage import BadArgumentError

__all__ = ["TABLES", "names", "query"]

TABLES = ("store_information", "item_description", "store_visits", "item_scan")
"""The four tables, small ones first; each is a Parquet file of that name."""

_FOLDER = Path(__file__).parent
_NAMES = tuple(f"q{number}" for number in range(1, 9))


def names() -> tuple[str, ...]:
    """Return the names of the queries of [Zhang 2007, appendix B]: `q1` … `q8`."""
    return _NAMES


def query(name: str) -> str:
    """Return the text of one query: a single statement without a semicolon, its first line a comment.

    Raises:
        BadArgumentError: there is no query of that name.

    """
    wanted = name.strip().lower()
    if wanted not in _NAMES:
        raise BadArgumentError(f"there is no query {name!r} in walmart_demo", instead="The names are q1 … q8.")
    return (_FOLDER / f"{wanted}.sql").read_text(encoding="utf-8")

"""A text that names files by their path lets the kernel read them, which remembers what columns they have.

    SELECT … FROM parquet.`/data/t` AS t   →   SELECT … FROM dl_parquet('/data/t') AS t

Both are the same relation, hidden columns and patterns included. But Spark reads a footer wherever such a name stands,
in a job of 30 to 40 milliseconds, at every run of the text. A `dl_parquet` reads one if the files are others than
before.
"""

from __future__ import annotations

import re

from sqlglot import exp

from rewrites.aliases import table_name
from rewrites.lineage_functions import dl_parquet
from rewrites.shared_files import is_path

# What stands in a literal as it is, under whatever settings: no quote, nothing that is escaped or a variable.
_PLAIN = re.compile(r"[^\\'\"$\x00-\x1f]+")


def read_by_kernel(query: exp.Query) -> None:
    """Edit a query so that Parquet files are read by `dl_parquet`, where Spark's grammar lets a function stand."""
    for table in list(query.find_all(exp.Table)):
        if not is_path(table) or table.args.get("sample"):
            continue
        file_format, path = table_name(table)
        if file_format.lower() == "parquet" and is_plain(path):
            table.set("this", dl_parquet(path))
            table.set("db", None)


def is_plain(path: str) -> bool:
    """Say whether a path means the same in a string literal whatever the session's settings are."""
    return _PLAIN.fullmatch(path) is not None

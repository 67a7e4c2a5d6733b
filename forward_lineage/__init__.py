"""Spark SQL whose every result row says which base rows it was made of."""

from typing import Any

from forward_lineage.shadowing import refuse_strangers

refuse_strangers()  # before anything is imported from the packages beside this one

from pyspark import __version__ as _pyspark_version

from udafs.versions import check_version

check_version(_pyspark_version)  # before anything is imported that another PySpark may lack

from forward_lineage.catalog import Catalog
from forward_lineage.frontend import rewrite_sql, split_script
from forward_lineage.session import ForwardLineage
from forward_lineage.showing.lists import ids
from udafs.errors import (
    BadArgumentError,
    ChangedError,
    CorruptLineageError,
    DamagedError,
    FailedQueryError,
    InternalError,
    LineageError,
    NameTakenError,
    NotRegisteredError,
    NotSavedError,
    NotTracedError,
    SetupError,
    SparkError,
    WrongSqlError,
)
from udafs.lineage_set import LineageSet

__all__ = [
    "BadArgumentError",
    "Catalog",
    "ChangedError",
    "CorruptLineageError",
    "DamagedError",
    "FailedQueryError",
    "ForwardLineage",
    "InternalError",
    "LineageError",
    "LineageSet",
    "NameTakenError",
    "NotRegisteredError",
    "NotSavedError",
    "NotTracedError",
    "SetupError",
    "SparkError",
    "WrongSqlError",
    "ids",
    "load_ipython_extension",
    "rewrite_sql",
    "split_script",
    "unload_ipython_extension",
]


def load_ipython_extension(shell: Any) -> None:
    """Do what ``%load_ext forward_lineage`` asks for: the magics, and rows that show their lineage.

    Args:
        shell: IPython's, which calls this.

    """
    from forward_lineage.notebooks.extension import load  # noqa: PLC0415 - only in IPython

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Undo it: ``%unload_ext forward_lineage``."""
    from forward_lineage.notebooks.extension import unload  # noqa: PLC0415 - only in IPython

    unload(shell)

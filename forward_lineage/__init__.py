"""Spark SQL whose every result row says which base rows it was made of."""

from forward_lineage.shadowing import refuse_strangers

refuse_strangers()  # before anything is imported from the packages beside this one

from pyspark import __version__ as _pyspark_version

from udafs.versions import check_version

check_version(_pyspark_version)  # before anything is imported that another PySpark may lack

from forward_lineage.catalog import Catalog
from forward_lineage.frontend import rewrite_sql, split_script
from forward_lineage.session import ForwardLineage
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
    "NameTakenError",
    "NotRegisteredError",
    "NotSavedError",
    "NotTracedError",
    "SetupError",
    "SparkError",
    "WrongSqlError",
    "rewrite_sql",
    "split_script",
]

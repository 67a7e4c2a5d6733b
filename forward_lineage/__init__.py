"""Spark SQL whose every result row says which base rows it was made of.

These names are imported when they are first used: a command that needs no Spark should not wait for it.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from forward_lineage.shadowing import refuse_strangers

refuse_strangers()  # before anything is imported from the packages beside this one

from udafs.versions import check_installed

check_installed()  # before anything is imported that another PySpark may lack

if TYPE_CHECKING:
    from forward_lineage.catalog import Catalog
    from forward_lineage.dataframes.marks import all_so_far, row_by_row
    from forward_lineage.frontend import rewrite_sql, split_script
    from forward_lineage.session import ForwardLineage
    from forward_lineage.showing.lists import ids
    from forward_lineage.steps.step import step
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

__version__ = "0.1.0"  # setup.py reads this line

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
    "__version__",
    "all_so_far",
    "ids",
    "load_ipython_extension",
    "rewrite_sql",
    "row_by_row",
    "split_script",
    "step",
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


_PLACES = {
    "Catalog": "forward_lineage.catalog",
    "ForwardLineage": "forward_lineage.session",
    "LineageSet": "udafs.lineage_set",
    "all_so_far": "forward_lineage.dataframes.marks",
    "ids": "forward_lineage.showing.lists",
    "rewrite_sql": "forward_lineage.frontend",
    "row_by_row": "forward_lineage.dataframes.marks",
    "split_script": "forward_lineage.frontend",
    "step": "forward_lineage.steps.step",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")  # rooms were there once this was imported, and still are
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_PLACES.get(name, "udafs.errors")), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

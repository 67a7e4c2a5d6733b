"""Saving needs no PYSPARK_PYTHON where the executors are on the driver's machine."""

from __future__ import annotations

import sys

import pytest
from pyspark.errors import PythonException

from forward_lineage import ForwardLineage
from forward_lineage.spark.python_workers import interpreter_of
from udafs.errors import LineageError, SetupError


def test_workers_are_of_the_drivers_interpreter(store: ForwardLineage, monkeypatch: pytest.MonkeyPatch) -> None:
    context = store.spark.sparkContext
    monkeypatch.setattr(context, "pythonExec", "no-such-python")
    saved = store.save("SELECT * FROM sales", "copy_of_sales")
    assert saved.rows == store.spark.table("sales").count()
    assert context.pythonExec == "no-such-python"


@pytest.mark.parametrize(
    "said",
    ["Traceback …\nModuleNotFoundError: No module named 'forward_lineage'", "[PYTHON_VERSION_MISMATCH] 3.9 and 3.11"],
)
def test_workers_that_cannot_import_us(store: ForwardLineage, said: str) -> None:
    refused = pytest.raises(LineageError, match=r"workers cannot run forward_lineage: .*Set PYSPARK_PYTHON")
    with refused, interpreter_of(store.spark.sparkContext):
        raise PythonException(said)


def test_other_failures_stay_what_they_are(store: ForwardLineage) -> None:
    context = store.spark.sparkContext
    with pytest.raises(PythonException, match="ValueError"), interpreter_of(context):
        assert context.pythonExec == sys.executable
        raise PythonException("ValueError: no")


def test_what_a_task_of_ours_refuses_is_ours(store: ForwardLineage) -> None:
    said = "Traceback …\n  File x, line 1\nudafs.errors.SetupError: /a.b is not on c. Pass home= another.\n"
    with pytest.raises(SetupError) as refused, interpreter_of(store.spark.sparkContext):
        raise PythonException(said)
    assert (refused.value.what, refused.value.instead) == ("/a.b is not on c", "Pass home= another.")

"""Every public method of `ForwardLineage` has an example in its docstring, and it shows what happens.

The example of the class comes first; those of the methods go on from there, a file of the session at a time. No example
may take away or change what another one asks about: it makes something of its own for that.
"""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from tests.forward_lineage.row_ids.formats.delta_tables import DeltaTable

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: The classes that `ForwardLineage` inherits its calls from.
ROOMS = [room for room in ForwardLineage.__mro__[1:] if room.__module__.startswith("forward_lineage.session.")]
#: What the pages show every day, too.
SELDOM = {"ViewCalls", "ProfileCalls", "SketchCalls"}


@pytest.fixture(scope="module")
def names(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A session, a folder, a Delta table that changes, and the names that the example of the class makes."""
    folder = tmp_path_factory.mktemp("examples")
    orders, update = orders_that_change(folder / "orders")
    known: dict[str, Any] = {"spark": spark.newSession(), "folder": str(folder), "orders": orders, "update": update}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORWARD_LINEAGE_HOME", str(folder / "home"))
        run("ForwardLineage", ForwardLineage, known | {"ForwardLineage": ForwardLineage}, known)
    return known


@pytest.mark.parametrize(
    "room",
    [pytest.param(room, id=room.__name__, marks=[pytest.mark.long] * (room.__name__ in SELDOM)) for room in ROOMS],
)
def test_examples(room: type, names: dict[str, Any]) -> None:
    for name, member in vars(room).items():
        if not name.startswith("_"):
            run(name, member, dict(names), {})


def run(name: str, member: Any, known: dict[str, Any], kept: dict[str, Any]) -> None:
    """Run the examples of a docstring, with the names that are known; keep the names that they make."""
    example = doctest.DocTestParser().get_doctest(inspect.getdoc(member) or "", known, name, None, None)
    assert example.examples, f"{name} has no example"
    faults: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS, verbose=False).run(example, out=faults.append, clear_globs=False)
    assert not faults, "".join(faults)
    kept.update(example.globs)


def test_all_public_methods_are_in_a_room() -> None:
    public = {name for name in dir(ForwardLineage) if not name.startswith("_")}
    assert public == {name for room in ROOMS for name in vars(room) if not name.startswith("_")}


def orders_that_change(folder: Path) -> tuple[str, Callable[[str], None]]:
    """A Delta table that tracks rows, and what changes its second one."""
    table = DeltaTable(folder, {"o_id": "long", "amount": "long"}).create()
    table.write(table.file([{"o_id": 11, "amount": 50}, {"o_id": 12, "amount": 70}]))

    def update(_: str) -> None:
        rows = [{"o_id": 11, "amount": 50}, {"o_id": 12, "amount": 75}]
        table.write(table.file(rows, moved={0: (0, 1), 1: (1, None)}), removed=list(table.live.values()))

    return str(folder), update

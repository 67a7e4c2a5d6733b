"""The `ForwardLineage` that a cell means: one of the notebook's own, or one that is made."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.session import ForwardLineage
from udafs.errors import SetupError

#: What it is called in a notebook that has not made one.
NAME = "lineage"

Namespace = MutableMapping[str, Any]
"""The notebook's variables."""


def session_of(names: Namespace) -> ForwardLineage:
    """Return the notebook's `ForwardLineage`; made, and called `lineage`, if there is none.

    Args:
        names: the notebook's variables.

    Raises:
        SetupError: there are several and none is called `lineage`, or no Spark session, or what is called `lineage` is
            something else.

    """
    if isinstance(names.get(NAME), ForwardLineage):
        return _of(names[NAME])
    found = {id(each): (name, each) for name, each in _own(names).items()}
    if len(found) > 1:
        listed = ", ".join(sorted(name for name, _ in found.values()))
        raise SetupError(f"several sessions of lineage are here: {listed}", instead=f"Call the one you mean {NAME}.")
    if found:
        return next(each for _, each in found.values())
    if NAME in names:
        kind = type(names[NAME]).__name__
        raise SetupError(
            f"the variable {NAME} is a {kind}, no ForwardLineage", instead=f"Run: {NAME} = ForwardLineage(spark)"
        )
    names[NAME] = ForwardLineage(_spark(names))
    return _of(names[NAME])


def session_of_home(names: Namespace, spark: SparkSession, home: str) -> ForwardLineage:
    """Return a `ForwardLineage` with a home: the notebook's if it has one, or one that is made and not kept."""
    own = (each for each in _own(names).values() if each.spark is spark and str(each.home) == home)
    return next(own, None) or ForwardLineage(spark, home)


def _own(names: Namespace) -> dict[str, ForwardLineage]:
    """The notebook's sessions by name; what IPython keeps of outputs has names that begin with _."""
    items = [*names.items()]
    return {name: each for name, each in items if isinstance(each, ForwardLineage) and not name.startswith("_")}


def _of(session: Any) -> ForwardLineage:
    assert isinstance(session, ForwardLineage)
    return session


def _spark(names: Namespace) -> SparkSession:
    own = names.get("spark")
    spark = own if isinstance(own, SparkSession) else SparkSession.getActiveSession()
    if spark is None:
        raise SetupError(
            "there is no Spark session in this notebook",
            instead="Run: from pyspark.sql import SparkSession; spark = SparkSession.builder.getOrCreate()",
        )
    return spark

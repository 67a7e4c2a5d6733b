"""The meaning of names to Spark's session catalog."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from udafs.requests import ask, ask_json


@dataclass(frozen=True)
class FoundName:
    """A table or view of Spark's session catalog.

    Attributes:
        name: the text that was asked for, quoted.
        view: whether it is a view.
        temporary: whether it is a temporary one.
        text: of a view, its SQL; None where it was made from a DataFrame.
        columns: those that a view's text gave when it was made, by which Spark finds them; none: as they come.
        made_in: catalog and namespace in which a view was made.
        meaning: what a table says of the lineage that it carries.

    """

    name: str
    view: bool
    temporary: bool
    text: str | None
    columns: tuple[str, ...]
    made_in: tuple[str, ...]
    meaning: str | None


def found_name(spark: SparkSession, name: str) -> FoundName | None:
    """Return what a name of one or two parts means; None when it means nothing.

    Args:
        spark: a session with the kernel attached.
        name: quoted.

    """
    said = ask_json(spark, "name of table", name=name)
    if said is None:
        return None
    columns, made_in = tuple(said["columns"]), tuple(said["made in"])
    return FoundName(name, said["view"], said["temporary"], said["text"], columns, made_in, said["meaning"])


def stated_meaning(spark: SparkSession, name: str) -> str | None:
    """Return what a table of any catalog says of the lineage that it carries; None: nothing, or there is no such table.

    Args:
        spark: a session with the kernel attached.
        name: of the table, with its catalog, quoted.

    """
    return ask(spark, "name of meaning", name=name) or None


def is_temporary_view(spark: SparkSession, name: str) -> bool:
    """Tell whether a name, quoted, is that of a temporary view."""
    return ask(spark, "name of temporary view", name=name) == "true"


def is_temporary_function(spark: SparkSession, name: str) -> bool:
    """Tell whether a name is that of a function which only this session has."""
    return ask(spark, "name of temporary function", name=name) == "true"

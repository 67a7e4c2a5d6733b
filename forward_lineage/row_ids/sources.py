"""May the rows of a table change unnoticed, or by themselves? Asked before they get ids, and before each query.

Ids by value are worth what the rows are worth: a change must be noticed, and a second reading must give the same rows.
So there is a list of sources whose changes we notice. These are files, compared with the manifest one by one, and rows
that stand in the plan itself, and DataFrames of a program, by checksum. A source that is not on it is refused, or taken
on trust by a user who says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from forward_lineage.results import LINEAGE_COLUMN, carries_lineage
from forward_lineage.spark.plan_facts import (
    collections,
    open_orders,
    unrepeatable_parts,
    unwatched_sources,
    written_rows,
)
from forward_lineage.spark.tables import columns_of, fingerprint, only_row
from udafs.errors import NotTracedError

# Which rows the DataFrames of a program have was computed once: they do not change, but a view may get another one.
_KNOWN: WeakKeyDictionary[SparkSession, dict[tuple[str, ...], str]] = WeakKeyDictionary()


def check_source(frame: DataFrame, name: str, *, trusted: bool) -> None:
    """Check that a table or view may get ids by value.

    Args:
        frame: its rows.
        name: what messages call it.
        trusted: take it on trust that changes do no harm, and that orders are total.

    Raises:
        NotTracedError: it may not; the message says why and what to do instead.

    """
    check_rows(frame, name)
    check_repeatable(frame, name)
    if trusted:
        return
    check_watched(frame, name)
    if open_ := open_orders(frame):
        raise NotTracedError(
            f"{name} may have other rows at every reading: rows are equal in {open_[0]}",
            instead=f"Order by more columns, until no two rows are equal. {_copy(name)}.",
        )


def check_rows(frame: DataFrame, name: str) -> None:
    """Check that rows end, and carry no lineage.

    Raises:
        NotTracedError: a stream, or a table with a column `DL` of ours.

    """
    if frame.isStreaming:
        raise NotTracedError(
            f"{name} is a stream, whose rows are never all there",
            instead="Write the stream to a table of files, and register that.",
        )
    refuse_lineage(columns_of(frame), name)


def refuse_lineage(columns: Sequence[tuple[str, str]], name: str) -> None:
    """Refuse a table that carries the lineage of its rows.

    Args:
        columns: names and Spark types.
        name: what messages call it.

    Raises:
        NotTracedError: there is a column `DL` of ours.

    """
    if carries_lineage(columns):
        raise NotTracedError(
            f"{name} carries lineage, in its column {LINEAGE_COLUMN}: its rows are made of others, and need no ids",
            instead="Query it as it is: lineage.sql(…) traces through it to the tables that it was made of.",
        )


def check_repeatable(frame: DataFrame, name: str) -> None:
    """Check that a second reading gives the same rows, as far as the plan says.

    Raises:
        NotTracedError: something in it is not deterministic.

    """
    if chance := unrepeatable_parts(frame):
        raise NotTracedError(
            f"{name} is not the same at every reading: it has {', '.join(chance)}",
            instead=f"{_copy(name)}.",
        )


def check_watched(frame: DataFrame, name: str) -> None:
    """Check that all that is read is on the list of what we notice changes of.

    Raises:
        NotTracedError: something is not.

    """
    if unwatched := unwatched_sources(frame):
        raise NotTracedError(
            f"changes of {name} cannot be noticed: it reads {', '.join(unwatched)}",
            instead=f"{_copy(name)}; or say trusted=True, and answers say so too.",
        )


def _copy(name: str) -> str:
    return f'Save a copy and query that: lineage.register("another_name", source="{name}")'


# ------------------------------------------------------------ rows that are in no file


def contents(frame: DataFrame, digest: str | None = None) -> dict[str, Any]:
    """Return what a manifest keeps of rows that are in no file: checksums of those of VALUES, of those of DataFrames.

    Args:
        frame: the rows.
        digest: their digest, see `digest_of`, if it was computed on the way; it is computed if need be.

    """
    kept = {}
    if rows := written_rows(frame):
        kept["rows"] = rows
    if is_of_a_program(frame):
        _known(frame).pop(_place(frame), None)
        if digest is not None:
            _known(frame)[_place(frame)] = digest
        kept["digest"] = _digest_now(frame)
    return kept


def have_changed(frame: DataFrame, source: Mapping[str, Any]) -> bool:
    """Tell whether rows that are in no file are others than a manifest knows; an old one may know nothing of them."""
    if "rows" in source and source["rows"] != written_rows(frame):
        return True
    return "digest" in source and source["digest"] != _digest_now(frame)


def is_of_a_program(frame: DataFrame) -> bool:
    """Tell whether a plan reads DataFrames that a program made of its own data."""
    return bool(collections(frame))


def row_hash(frame: DataFrame) -> Column:
    """Return a hash of a row, to be combined by `digest_of`; by way of JSON, since maps have no hash."""
    return F.xxhash64(F.to_json(F.struct("*"), {"ignoreNullFields": "false"}))


def digest_of(hashes: Column, rows: Column) -> Column:
    """Return an aggregate: how many rows there are, and all their hashes in one, in no order."""
    return F.concat_ws(":", rows.cast("string"), F.hex(F.bit_xor(hashes)))


def _digest_now(frame: DataFrame) -> str:
    known, place = _known(frame), _place(frame)
    if place not in known:
        hashes = frame.select(row_hash(frame).alias("hash"))
        known[place] = str(only_row(hashes.agg(digest_of(F.col("hash"), F.count("*"))))[0])
    return known[place]


def _known(frame: DataFrame) -> dict[tuple[str, ...], str]:
    return _KNOWN.setdefault(frame.sparkSession, {})


def _place(frame: DataFrame) -> tuple[str, ...]:
    return (fingerprint(frame), written_rows(frame), *collections(frame))

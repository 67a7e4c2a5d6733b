"""The result: the user's columns as they would be without lineage, then `DL`, which knows what its ids mean."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol
from weakref import WeakSet

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rewrites.tables import HIDDEN_PREFIX as HIDDEN_PREFIX  # noqa: PLC0414 - handed on
from rewrites.tables import LINEAGE_COLUMN as LINEAGE_COLUMN  # noqa: PLC0414 - handed on
from udafs.errors import InternalError, NotTracedError
from udafs.requests import describing_last

METADATA_KEY = "forward_lineage"
TRUSTED = "trusted"  # of an entry of a table; of an answer, the names of such tables
MADE_WITH = "made_with"  # of an entry of a table: the oldest version that rows which were read had been made with
DECIDED_BY = "decided_by"  # entries of registered tables that the query reads and that no row is traced to
CHOSEN_ON_TRUST = "chosen_on_trust"  # names of tables that BACKWARD(…) and FORWARD(…) in a query take on trust
_SETS = re.compile(r"struct<.+:binary>")


def carries_lineage(columns: Sequence[tuple[str, str]]) -> bool:
    """Tell whether rows carry their lineage: a column `DL` that is a struct of sets.

    Args:
        columns: names and Spark types.

    """
    return any(name.upper() == LINEAGE_COLUMN and _SETS.fullmatch(kind) is not None for name, kind in columns)


_OUTER = re.compile(r"\bouter\((?:[^().]+\.)*([^().]+)\)")  # in Spark's name for a column of LATERAL


class Registered(Protocol):
    """The facts about a traced table: its name, and the version of its registration that gave the ids, and by what."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def version(self) -> int: ...  # noqa: D102
    @property
    def provider(self) -> str: ...  # noqa: D102
    @property
    def trusted(self) -> bool: ...  # noqa: D102


def described(
    sql: str,
    semantics: str,
    tables: Sequence[Registered],
    home: str,
    granules: Mapping[str, Any] | None = None,
    *,
    made_with: Mapping[str, tuple[int, bool]] | None = None,
    chosen_on_trust: Collection[str] = (),
    decided_by: Sequence[Registered] = (),
) -> dict[str, Any]:
    """Say what the ids in a `DL` column mean, as JSON-able data.

    Args:
        sql: as the user wrote it.
        semantics: ``"data"`` or ``"control"``.
        tables: what gives the ids.
        home: where registrations and results are.
        granules: under LINEAGE ON, what the ids stand for.
        made_with: table → the oldest version of it that a table which was traced through was made with, and whether
            that was taken on trust.
        chosen_on_trust: tables by whose lineage rows were chosen, and that are taken on trust.
        decided_by: registered tables that are read and that no row is traced to, such as those behind NOT EXISTS.

    Returns:
        ``sql`` as the user wrote it, ``semantics``, ``granularity`` (``"rows"``, or ``"granules"`` under LINEAGE ON),
        ``home``, ``tables``. Each table has ``name``, ``version`` and ``provider``, and ``trusted`` if it was taken on
        trust. It has ``made_with``, an older version, if rows were read that had been made with it. There is
        ``chosen_on_trust`` if there are any, and ``decided_by``, with entries like those of ``tables``; and under
        LINEAGE ON ``granules``, see `frontend.described_granules`.

    """
    meaning: dict[str, Any] = {
        "sql": sql,
        "semantics": semantics,
        "granularity": "granules" if granules else "rows",
        "home": home,
        "tables": [_table(table, *(made_with or {}).get(table.name, (table.version, False))) for table in tables],
    }
    if chosen_on_trust:
        meaning[CHOSEN_ON_TRUST] = sorted(chosen_on_trust)
    if decided_by:
        meaning[DECIDED_BY] = [_table(table, table.version, trusted=False) for table in decided_by]
    return {**meaning, "granules": dict(granules)} if granules else meaning


def _table(table: Registered, made_with: int, trusted: bool) -> dict[str, Any]:
    known = {"name": table.name, "version": table.version, "provider": str(table.provider)}
    since = {MADE_WITH: made_with} if made_with < table.version else {}
    return {**known, **since, TRUSTED: True} if table.trusted or trusted else {**known, **since}


_ANSWERS: WeakSet[DataFrame] = WeakSet()


def as_answer(frame: DataFrame) -> DataFrame:
    """Return a frame that answers a question, so that a notebook shows its rows: it is short, and made to be read."""
    _ANSWERS.add(frame)
    return frame


def is_answer(frame: DataFrame) -> bool:
    """Tell whether a frame is the answer to a question, as it was returned."""
    return frame in _ANSWERS


def trusted_tables(frame: DataFrame) -> list[str]:
    """Return the tables that a result or an answer takes on trust: registered with ``trusted=True``, never checked.

    Args:
        frame: what `sql` returned, or `backward`, `forward`, `impact`, `stale`, `table` or `rows`.

    """
    meaning = meaning_of(frame)
    if meaning is not None:
        read = [table["name"] for table in meaning["tables"] if table.get(TRUSTED)]
        return [*read, *(name for name in meaning.get(CHOSEN_ON_TRUST, ()) if name not in read)]
    said = frame.schema.fields[0].metadata.get(METADATA_KEY) if frame.schema.fields else None
    return list(said.get(TRUSTED, ())) if isinstance(said, dict) else []


def meaning_of(frame: DataFrame) -> dict[str, Any] | None:
    """Return what the ids of a DataFrame's `DL` column mean; None when it did not come from us."""
    if not frame.columns or frame.columns[-1] != LINEAGE_COLUMN:
        return None
    found = frame.schema.fields[-1].metadata.get(METADATA_KEY)
    return found if isinstance(found, dict) else None


def with_meaning(frame: DataFrame, wanted: StructType, meaning: Mapping[str, Any]) -> DataFrame:
    """Check a rewritten query's columns against the user's own, and write into `DL` what its ids mean.

    Args:
        frame: the rewritten query.
        wanted: the columns that the user's own text has.
        meaning: see `described`.

    Raises:
        NotTracedError: the user already has a column `DL`.
        InternalError: a column's name, type or place differs.

    """
    traced = bool(meaning["tables"])
    if traced:
        refuse_lineage_column(wanted)
    frame = _named_as_wanted(frame, wanted)
    expected = [(field.name, field.dataType) for field in wanted.fields]
    found = [(field.name, field.dataType) for field in frame.schema.fields]
    if found[: len(expected)] != expected or len(found) != len(expected) + traced:
        odd = next((pair for pair in zip(expected, found, strict=False) if pair[0] != pair[1]), (expected, found))
        raise InternalError(f"the rewritten query changes the user's columns: {odd[0]} became {odd[1]}")
    if not traced:
        return frame
    if found[-1][0] != LINEAGE_COLUMN:
        raise InternalError(f"the last column is {found[-1][0]}, not {LINEAGE_COLUMN}")
    return describing_last(frame, {METADATA_KEY: dict(meaning)})


def refuse_lineage_column(wanted: StructType) -> None:
    """Refuse a query that has a column of its own where lineage is put.

    Args:
        wanted: the columns of the user's own text.

    Raises:
        NotTracedError: one is called `DL`.

    """
    if any(field.name.upper() == LINEAGE_COLUMN for field in wanted.fields):
        raise NotTracedError("the result has a column DL already", instead="Give that column another name: … AS dl_1.")


def _named_as_wanted(frame: DataFrame, wanted: StructType) -> DataFrame:
    """Spark names a column after its text, and writes an outer row's column there with all qualifiers that it has."""
    names, others = wanted.names, frame.columns[len(wanted.names) :]
    found = frame.columns[: len(names)]
    if found != names and [_OUTER.sub(r"outer(\1)", name) for name in found] == [
        _OUTER.sub(r"outer(\1)", name) for name in names
    ]:
        return frame.toDF(*names, *others)
    return frame

"""What a saved result holds, beside what a full run of its query gives: rows with their lineage."""

from __future__ import annotations

from forward_lineage import ForwardLineage


def full_run(lineage: ForwardLineage, sql: str) -> list[str]:
    """Return the rows of a query with the ids of each, table by table; sorted, as texts."""
    traced = lineage.sql(sql)
    tables = traced.schema["DL"].dataType.names  # type: ignore[attr-defined]
    ids = [f"dl_ids(DL.{table}) AS dl_{table}" for table in tables]
    return sorted(repr(tuple(row)) for row in traced.selectExpr("*", *ids).drop("DL").collect())


def as_saved(lineage: ForwardLineage, name: str) -> list[str]:
    """Return the same of a saved result."""
    saved = lineage.describe(name)
    tables = [edge.name for edge in saved.tables]
    numbered = zip(saved.numbers(), lineage.result(name).collect(), strict=True)
    return sorted(
        repr((*row, *(lineage.backward_ids(name, rows=[number], table=table).ids().tolist() for table in tables)))
        for number, row in numbered
    )

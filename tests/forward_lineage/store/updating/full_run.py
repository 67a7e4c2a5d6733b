"""What a saved result holds, beside what a full run of its query gives: rows with their lineage."""

from __future__ import annotations

from collections import defaultdict

from forward_lineage import ForwardLineage


def full_run(lineage: ForwardLineage, sql: str) -> list[str]:
    """Return the rows of a query with the ids of each, table by table; sorted, as texts."""
    traced = lineage.sql(sql)
    tables = traced.schema["DL"].dataType.names  # type: ignore[attr-defined]
    ids = [f"dl_ids(DL.{table}) AS dl_{table}" for table in tables]
    return sorted(repr(tuple(row)) for row in traced.selectExpr("*", *ids).drop("DL").collect())


def as_saved(lineage: ForwardLineage, name: str) -> list[str]:
    """Return the same of a saved result."""
    tables = [edge.name for edge in lineage.describe(name).tables]
    ids: dict[tuple[int, str], list[int]] = defaultdict(list)
    for table in tables:
        for number, one in sorted(map(tuple, lineage.table(f"lineage_of({name}, {table})").collect())):
            ids[number, table].append(one)
    rows = map(tuple, lineage.rows(name).collect())
    return sorted(repr((*row, *(ids[number, table] for table in tables))) for number, *row in rows)

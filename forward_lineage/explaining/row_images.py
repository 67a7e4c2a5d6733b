"""Tables that have two images of their changed rows: old and new. A joined row may mix them.

An id is four times that of the base row, and which image it is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

from forward_lineage.explaining.attributing import JoinedRow
from forward_lineage.explaining.few_rows import ID
from forward_lineage.explaining.undoing import Named
from forward_lineage.row_ids.row_changes import RowChanges
from forward_lineage.spark.names import quoted
from rewrites.tables import BaseTable, View
from udafs.errors import NotTracedError
from udafs.lineage_set import LineageSet

OLD, NEW = 1, 2
_MOST_IMAGES = 20_000


def both_images(then: BaseTable | View, now: BaseTable | View, changes: RowChanges, whole: bool) -> BaseTable:
    """Return the changed rows of a table, old and new, and all others if `whole`; ids tell them apart.

    Raises:
        NotTracedError: it is a view, or too many rows changed.

    """
    if not isinstance(then, BaseTable) or not isinstance(now, BaseTable):
        raise NotTracedError("a view stands for a table", instead="Ask about fewer rows.")
    if len(changes.before) + len(changes.after) > _MOST_IMAGES:
        raise NotTracedError(
            f"more than {_MOST_IMAGES:,} rows of {now.name} changed", instead="Compare closer versions."
        )
    parts = [_image(then, changes.before, OLD), _image(now, changes.after, NEW)]
    if whole:
        parts.append(_image(now, changes.after, 0))
    relation = f"({' UNION ALL '.join(parts)})"
    return replace(now, relation=relation, identified=relation, row_id=ID)


def undone_image(then: BaseTable | View, now: BaseTable | View, ids: Iterable[int]) -> BaseTable:
    """Return a table with the old images of some rows, and the new ones of all others.

    Raises:
        NotTracedError: it is a view.

    """
    if not isinstance(then, BaseTable) or not isinstance(now, BaseTable):
        raise NotTracedError("a view stands for a table", instead="Ask about fewer rows.")
    listed = ", ".join(f"{each}L" for each in sorted(ids)) or "-1"
    columns = ", ".join(map(quoted, now.columns))
    parts = [
        f"SELECT {columns}, {ID} FROM (SELECT {columns}, {table.row_id} AS {ID} "
        f"FROM {table.identified or table.relation}) WHERE {ID} {among} ({listed})"
        for table, among in ((now, "NOT IN"), (then, "IN"))
    ]
    relation = f"({' UNION ALL '.join(parts)})"
    return replace(now, relation=relation, identified=relation, row_id=ID)


def _image(table: BaseTable, ids: LineageSet, image: int) -> str:
    """The rows of some ids, or for 0 the others."""
    columns = ", ".join(map(quoted, table.columns))
    listed = ", ".join(f"{int(each)}L" for each in ids) or "-1"
    rows = f"SELECT {columns}, {table.row_id} AS {ID} FROM {table.identified or table.relation}"
    return (
        f"SELECT {columns}, {ID} * 4 + {image} AS {ID} FROM ({rows}) WHERE {ID} {'' if image else 'NOT '}IN ({listed})"
    )


def changed_in(row: JoinedRow, tables: Sequence[str], moved: Container[str], image: int) -> Named:
    """Return the changed base rows of a joined row that stand there by one of the images."""
    return frozenset(
        (table, each // 4)
        for table, ids in zip(tables, row.ids, strict=True)
        for each in ids
        if table.lower() in moved and each % 4 == image
    )

"""Views over a few base rows that are given as Python values; no Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from forward_lineage.pages.page_definition import AskedPage, AskedView, page_of
from forward_lineage.pages.page_model import Shown, shown
from forward_lineage.relations.groups import narrowest
from forward_lineage.views.engine import engine_of
from forward_lineage.views.linked import LinkedViews
from forward_lineage.views.membership import Dense
from forward_lineage.views.view import Aggregate, View
from udafs.lineage_set import LineageSet


def linked_of(rows: pa.Table, views: Mapping[str, tuple[str, ...]]) -> LinkedViews:
    """Link views that count base rows.

    Args:
        rows: the base rows; their ids are 0, 1, 2, ….
        views: for each view the columns that it groups by.

    """
    found, memberships = [], []
    for name, keys in views.items():
        bars = rows.group_by(list(keys)).aggregate([([], "count_all")])
        bars = bars.sort_by([(key, "ascending") for key in keys]).rename_columns([*keys, "n"])
        places = {key: bar for bar, key in enumerate(_keys(bars, range(len(keys))))}
        codes = [places[key] for key in _keys(rows, keys)]
        memberships.append(Dense.of(np.array(codes, narrowest(bars.num_rows)), bars.num_rows))
        found.append(View(name, bars.combine_chunks(), (*[None] * len(keys), Aggregate("count"))))
    return LinkedViews(found, engine_of(memberships, [view.parts for view in found]), ("base", 3))


def _keys(table: pa.Table, columns: Iterable[str | int]) -> list[str]:
    return [repr(key) for key in zip(*(table.column(each).to_pylist() for each in columns), strict=True)]


def shown_of(
    rows: pa.Table, views: Mapping[str, tuple[str, ...]], asked: Mapping[str, Mapping[str, str]] | None = None
) -> Shown:
    """A page of them; base rows come from memory."""

    def read(ids: LineageSet) -> pa.Table:
        return rows.take(list(ids)).add_column(0, "row_id", [list(ids)])

    said = page_of({name: {"sql": name, **options} for name, options in (asked or {}).items()}) if asked else None
    page = AskedPage({name: said.views.get(name, AskedView(name)) if said else AskedView(name) for name in views})
    return shown(linked_of(rows, views), page, read)

"""The workloads that benches run: their tables, their queries, and the same queries with ids collected by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import tpch_queries
import tpch_queries.data
import walmart_demo
import walmart_demo.data
from walmart_demo.sales import STORES

_RIVALS = Path(__file__).with_name("collect_set")


@dataclass(frozen=True)
class Workload:
    """Queries over tables that can be generated.

    Attributes:
        name: what people call it.
        folder: where the rivals' texts are, below `collect_set`.
        tables: the tables, each a file `<table>.parquet`.
        names: the queries' names.
        query: gives a query's text.
        generate: makes the tables at a scale (1 is the paper's) and returns their folder.

    """

    name: str
    folder: str
    tables: Sequence[str]
    names: Sequence[str]
    query: Callable[[str], str]
    generate: Callable[[float], Path]

    def rival(self, name: str) -> str:
        """Return the text of a query with the ids of its base rows collected by hand, from columns `<table>_id`."""
        return (_RIVALS / self.folder / f"{name}.sql").read_text(encoding="utf-8")


TPCH = Workload(
    "TPC-H", "tpch", tuple(tpch_queries.TABLES), tpch_queries.names(), tpch_queries.query, tpch_queries.data.generate
)

WALMART = Workload(
    "Walmart",
    "walmart",
    walmart_demo.TABLES,
    walmart_demo.names(),
    walmart_demo.query,
    lambda scale: walmart_demo.data.generate(round(STORES * scale)),
)

WORKLOADS = {workload.folder: workload for workload in (TPCH, WALMART)}

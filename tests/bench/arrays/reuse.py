"""Table IX: which of the 136 operations are captured, and which signatures reuse them.   [Zhao 2024, §VII-E]"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from tests.bench.arrays.paper import TABLE_9
from tests.forward_lineage.arrays.signatures import signatures
from tests.forward_lineage.arrays.table_ix import COMPLEX, ELEMENT, SHAPES, SIZES


def measure() -> list[dict[str, Any]]:
    """What answered for each operation; a reuse that differs from what our rules say is wrong."""
    found = []
    for kind, operations in (("element", ELEMENT), ("complex", COMPLEX)):
        for name in operations:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    said = signatures(name)._asdict()
                except AssertionError:
                    said = {"captured": True, "by_shape": False, "by_size": False, "wrong": 1}
            found.append({"kind": kind, "name": name, **said})
    return found


def show(console: Console, found: Any) -> None:
    """Print the table, and what is not as the truth table has it."""
    names = ("dim_sig", "gen_sig", "wrong")
    table = Table("operations", "all", "captured", *names, "paper: captured", *names, title="Table IX: operations")
    for kind, paper in TABLE_9.items():
        rows = [each for each in found if kind in (each["kind"], "total")]
        ours = [sum(map(int, (each[name] for each in rows))) for name in ("captured", "by_shape", "by_size", "wrong")]
        table.add_row(kind, *map(str, (len(rows), *ours, *paper)))
    console.print(table)
    for signature, truth in (("by_shape", SHAPES), ("by_size", SIZES)):
        other = [each["name"] for each in found if each[signature] != (each["name"] in truth)]
        console.print(f"{'dim_sig' if signature == 'by_shape' else 'gen_sig'} is not the truth table's for: "
                      f"{', '.join(other) or 'none'}")  # fmt: skip
    cross = next(each for each in found if each["name"] == "cross")
    console.print(f"cross, which the paper reuses wrongly: {cross}")

"""The steps that `earlier` times, of whichever checkout is imported; prints their seconds as JSON.

Started by its file: `python earlier_steps.py TABLES SMALL_FILES SCRATCH RUNS`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import forward_lineage
from forward_lineage import ForwardLineage
from forward_lineage.spark.local import local_session

Step = Callable[[], object]

_ITEMS = "SELECT * FROM lineitem"
_SAVED = {
    "save, 18,000 groups": "SELECT l_suppkey % 18000 AS k, sum(l_quantity) AS q FROM lineitem GROUP BY 1",
    "save, one group": "SELECT sum(l_quantity) AS q FROM lineitem WHERE l_discount > 0.05",
    "save, joined rows": (
        "SELECT o_orderkey, l_linenumber, c_name FROM lineitem JOIN orders ON o_orderkey = l_orderkey"
        " JOIN customer ON c_custkey = o_custkey WHERE l_shipdate < DATE '1992-09-01'"
    ),
}


def main(tables: Path, small: Path, scratch: Path, runs: int) -> dict[str, list[float]]:
    """Return seconds of each step's runs."""
    taken: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        spark = local_session(
            "steps", master="local[2]", driver_memory="3g", log=Path(folder) / "spark.log", spark__ui__enabled="false"
        )
        try:
            lineage = ForwardLineage(spark, home=Path(folder) / "home")
            for name, step in steps(lineage, tables, small).items():
                step()
                taken[name] = [seconds(step) for _ in range(runs)]
        finally:
            spark.stop()
    return taken


def steps(lineage: ForwardLineage, tables: Path, small: Path) -> dict[str, Step]:
    """Return the steps, in the order in which they are taken."""
    for name in ("orders", "customer"):
        lineage.register(name, path=str(tables / f"{name}.parquet"))
    made: dict[str, Step] = {}
    for files, path in (("one file", tables / "lineitem.parquet"), ("small files", small)):
        register = register_anew(lineage, str(path))
        made[f"register, {files}"] = register
        made[f"text to plan, {files}"] = lambda: lineage.sql("SELECT count(*) FROM lineitem")
        made[f"scan with ids, {files}"] = lambda: run_all_columns(lineage, _ITEMS)
    # The small files are what is registered now: queries read those.
    for name, text in _SAVED.items():
        made[name] = save_anew(lineage, text)
    made["backward of one row"] = lambda: [
        lineage.backward_ids("saved", rows=[row], table="lineitem") for row in (0, 17, 4711)
    ]
    return made


def register_anew(lineage: ForwardLineage, path: str) -> Step:
    def step() -> None:
        if "lineitem" in lineage.tables():
            lineage.unregister("lineitem")
        lineage.register("lineitem", path=path)

    return step


def save_anew(lineage: ForwardLineage, text: str) -> Step:
    def step() -> None:
        if any(result.name == "saved" for result in lineage.results()):
            lineage.drop("saved")
        lineage.save(text, "saved")

    return step


def run_all_columns(lineage: ForwardLineage, text: str) -> None:
    """Compute every row and column and throw them away."""
    lineage.sql(text).write.format("noop").mode("overwrite").save()


def seconds(step: Step) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


if __name__ == "__main__":
    arguments = [Path(argument) for argument in sys.argv[1:4]]
    told = main(arguments[0], arguments[1], arguments[2], int(sys.argv[4]))
    print(json.dumps({"code": str(Path(forward_lineage.__file__).parents[1]), "seconds": told}))

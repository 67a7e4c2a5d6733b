"""An update in whatever kind of session: in this process, on a cluster, through Spark Connect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage
from forward_lineage.spark.settings import UPDATE
from tests.forward_lineage.store.updating.full_run import as_saved

_PEOPLE = "id,city\n77,Rome\n12,Oslo\n5,Oslo\n31,Bern\n"
_CSV = {"header": "true", "inferSchema": "true"}
#: Each by another rule; the last three read results.
RESULTS = {
    "by_town": "SELECT city, count(*) AS n FROM townsfolk GROUP BY city",
    "walks_in_oslo": "SELECT w, metres FROM townsfolk JOIN walks ON id = walker WHERE city = 'Oslo'",
    "metres_of_all": "SELECT sum(metres) AS metres, max(w) AS last FROM walks",
    "at_home": "SELECT id FROM townsfolk t WHERE NOT EXISTS (SELECT 1 FROM walks WHERE walker = t.id)",
    "bern_alone": "SELECT id, city FROM townsfolk WHERE city = 'Bern'",
    "ranked": "SELECT w, rank() OVER (PARTITION BY walker ORDER BY metres, w) AS place FROM walks",
    "two_longest": "SELECT w, metres FROM walks ORDER BY metres DESC, w LIMIT 2",
    "towns": "SELECT count(*) AS n FROM by_town",
    "oslo_metres": "SELECT sum(metres) AS metres FROM walks_in_oslo",
    "of_bern": "SELECT upper(city) AS city FROM bern_alone",
}
Told = dict[str, tuple[str, ...]]


def updated(spark: SparkSession, folder: Path, names: Sequence[str] = tuple(RESULTS)) -> tuple[Told, list[str]]:
    """Save results, correct a row and add a file, and update.

    Args:
        spark: the session.
        folder: a new folder.
        names: of `RESULTS`, each after those that it reads.

    Returns:
        By result, its way and why; and the results that a full run gives other rows or lineage.

    """
    folder.mkdir()
    people = folder / "people.csv"
    people.write_text(_PEOPLE)
    _walk(folder, "a", [(1, 77, 500), (2, 12, 90), (3, 5, 40)])
    lineage = ForwardLineage(spark.newSession() if hasattr(spark, "newSession") else spark, folder / "home")
    lineage.spark.conf.set(UPDATE, "partly")  # wherever the driver is, whose tables are small
    lineage.register("townsfolk", path=people, format="csv", options=_CSV, key="id")
    lineage.register("walks", path=folder / "walks")
    for name in names:
        lineage.save(RESULTS[name], name)
    people.write_text(_PEOPLE.replace("77,Rome", "77,Oslo"))
    _walk(folder, "b", [(4, 12, 70), (5, 77, 510)])
    for table in ("townsfolk", "walks"):
        lineage.refresh(table)
    ways = {row.result: (row.way, row.why) for row in lineage.update().collect()}
    for name in names:
        lineage.save(RESULTS[name], f"{name}_anew")
    other = [name for name in names if as_saved(lineage, name) != as_saved(lineage, f"{name}_anew")]
    return ways, other


def _walk(folder: Path, file: str, walks: list[tuple[int, int, int]]) -> None:
    (folder / "walks").mkdir(exist_ok=True)
    rows = [dict(zip(("w", "walker", "metres"), walk, strict=True)) for walk in walks]
    pq.write_table(pa.Table.from_pylist(rows), folder / "walks" / f"{file}.parquet")

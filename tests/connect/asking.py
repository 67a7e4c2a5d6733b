"""What tests ask of a session, in its own process; what comes back can be compared with what another one says."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from forward_lineage import ForwardLineage, LineageError, ids
from forward_lineage.notebooks.finding import session_of
from forward_lineage.spark.fidelity import check_fidelity
from forward_lineage.spark.planning import Planner
from forward_lineage.spark.settings import BY_REFERENCE
from forward_lineage.store.saving import execution
from tests.forward_lineage.dataframes.tpch_frames import FRAMES
from tests.tpch_queries.neutrality import Answer, answer
from tests.tpch_queries.sessions import traced_session
from udafs.attach import attach
from udafs.requests import resolved_once

SQL = "SELECT n_regionkey, count(*) AS nations FROM nation GROUP BY n_regionkey"
Said = dict[str, object]


def said(error: LineageError) -> tuple[str, str]:
    """Return the type of an error, and what it says."""
    return type(error).__name__, str(error)


def registered(spark: SparkSession, tpch: Path, home: Path) -> Said:
    """Register tables in each way, and return what was written about them, but for the home's name."""
    lineage = ForwardLineage(spark, home)
    lineage.register("nation", path=tpch / "nation.parquet")
    lineage.register("orders", path=str(tpch / "order?.parquet"))
    lineage.register("region", path=tpch / "region.parquet", key="r_regionkey")
    spark.read.parquet(str(tpch / "supplier.parquet")).createOrReplaceTempView("supplier")
    lineage.register("supplier", key=["s_name", "s_phone"])
    lineage.register("sorted", source="nation", order_by="n_name")
    found = {name: str(vars(manifest)) for name, manifest in lineage.tables().items()}
    return {name: text for name, text in found.items() if name not in ("supplier", "sorted")} | {
        "ids": lineage.sql("SELECT count(*) AS n FROM supplier, sorted, region").collect(),
    }


def traced_frames(
    spark: SparkSession, tpch: Path, home: Path, names: Sequence[str], semantics: str
) -> dict[str, Answer]:
    """Trace queries of TPC-H as they are written with the DataFrame API."""
    lineage = traced_session(spark, tpch, home)
    return {name: answer(lineage.trace(FRAMES[name](lineage.spark.table), semantics).collect()) for name in names}


def traced_decimals(spark: SparkSession, tpch: Path, home: Path) -> Said:
    """Trace numbers that Spark Connect gives another type than their digits have; the rows are plain Spark's, too."""
    lineage = traced_session(spark, tpch, home)
    nation = lineage.spark.table("nation")
    made = nation.select((nation.n_nationkey * Decimal("7.0")).alias("n"))
    return {"traced": lineage.trace(made).drop("DL").toArrow().to_pylist(), "plain": made.toArrow().to_pylist()}


def questions(spark: SparkSession, home: Path) -> Said:
    """Ask a saved result, and what is registered, in a session that has registered nothing itself."""
    lineage = ForwardLineage(spark, home)
    return {
        "backward": lineage.backward_ids("per_region", where="n_regionkey = 1", table="nation").to_bytes(),
        "base rows": lineage.backward("per_region", rows=[0], table="nation").collect(),
        "forward": lineage.forward("nation", where="n_name = 'KENYA'", result="per_region").collect(),
        "in SQL": lineage.sql("SELECT n_name FROM BACKWARD(per_region WHERE n_regionkey = 2, nation)").collect(),
        "rows": lineage.rows("nation", [3, 5]).collect(),
        "affected": lineage.affected(SQL, "nation", "n_nationkey = 3").collect(),
        "impact": lineage.impact("nation", where="n_nationkey < 3").collect(),
        "stale": lineage.stale().collect(),
        "table": sorted(map(tuple, lineage.table("lineage_of(per_region, nation)").collect())),
        "granules": lineage.granules(lineage.sql(f"{SQL} LINEAGE ON n_name")).orderBy("n_regionkey").collect(),
        "with values": lineage.sql("SELECT n_name FROM nation WHERE n_nationkey = :k", args={"k": 7}).collect(),
        "run": sorted(
            lineage.run("SELECT n_regionkey, count(*) FROM nation WHERE n_nationkey > 20 GROUP BY 1").collect()
        ),
        "dependencies": [each.holds for each in lineage.dependencies("nation", ["n_nationkey -> n_name"])],
    }


def saved(spark: SparkSession, tpch: Path, home: Path) -> int:
    """Save a query, and what is left of its DataFrame."""
    lineage = ForwardLineage(spark, home)
    lineage.register("nation", path=tpch / "nation.parquet")
    lineage.save(lineage.sql(SQL).where("nations > 2").select("DL", "n_regionkey"), "left")
    return lineage.save(f"{SQL} ORDER BY n_regionkey", "per_region").rows


def shown(spark: SparkSession, tpch: Path, home: Path) -> Said:
    """Show rows as a console and a notebook do, list ids, and tell of a save; saved results must be there."""
    events = home.parent / f"{home.name}.jsonl"
    lineage = ForwardLineage(spark, home, openlineage=events)
    lineage.register("nation", path=tpch / "nation.parquet")
    saved = lineage.save(f"{SQL} ORDER BY n_regionkey", "shown")
    assert lineage.flush_events(60)
    told = json.loads(events.read_text().splitlines()[-1])["outputs"][0]
    frame = lineage.sql(f"{SQL} ORDER BY n_regionkey")
    names = {"here": lineage}
    return {
        "text": lineage.shown(frame).text(),
        "html": lineage.shown(frame)._repr_html_(),
        "values": lineage.shown(f"{SQL} ORDER BY n_regionkey LINEAGE ON n_name").text(),
        "saved": lineage.shown(saved)._repr_html_(),
        "ids": lineage.ids(frame).toArrow()["DL"].to_pylist(),
        "listed": ids(frame.toArrow())["DL"].to_pylist(),
        "found": session_of(names) is lineage,
        "columns": told["facets"]["columnLineage"]["fields"],
    }


def refused(spark: SparkSession, tpch: Path, home: Path) -> Said:
    """Ask what is refused, and return what is said."""
    lineage = ForwardLineage(spark, home)
    lineage.register("nation", path=tpch / "nation.parquet")
    spark.range(3).createOrReplaceTempView("made")
    found: Said = {}
    for name, ask in {
        "a wrong column": lambda: lineage.sql("SELECT\n n_nam FROM nation"),
        "no such table": lambda: lineage.sql("SELECT * FROM elsewhere"),
        "not registered": lambda: lineage.sql("SELECT * FROM made"),
        "no such file": lambda: lineage.register("none", path=tpch / "none.parquet"),
        "a key that is none": lambda: lineage.register("made", path=tpch / "nation.parquet", key="n_regionkey"),
        "an order that is more": lambda: lineage.register("more", source="nation", order_by="n_name LIMIT 3"),
        "a wrong condition": lambda: lineage.affected(SQL, "nation", "n_name = )"),
        "division by zero": lambda: lineage.save("SELECT 1 / (n_nationkey - 3) AS x FROM nation", "bad"),
        "grouped since": lambda: lineage.save(lineage.sql(SQL).groupBy("DL").count(), "bad"),
        "joined since": lambda: lineage.save(lineage.sql(SQL).crossJoin(spark.range(2)), "bad"),
    }.items():
        try:
            ask()
        except LineageError as error:
            found[name] = said(error)
    return found


def told_apart(spark: SparkSession, here: Path, there: Path) -> list[str]:
    """Give the guard pairs of texts that differ where EXPLAIN leaves something out; return those that pass."""
    attach(spark)
    columns = [f"id + {i} AS c{i}" for i in range(60)]
    wide = f"SELECT {', '.join(columns)} FROM range(3)"
    pairs = {
        "rows": ("SELECT * FROM VALUES (1), (2)", "SELECT * FROM VALUES (1), (3)"),
        "places": (f"SELECT * FROM parquet.`{here}`", f"SELECT * FROM parquet.`{there}`"),
        "fields": (wide, wide.replace("id + 59", "id + 58")),
        "the same": (wide, f"{wide} -- again"),
    }
    passed = []
    for name, (text, other) in pairs.items():
        try:
            check_fidelity(Planner(spark).plan, text, other)
            passed.append(name)
        except LineageError:
            pass
    return passed


def kept_in_time(spark: SparkSession, tpch: Path, home: Path) -> list[list[int]]:
    """Return the rows of a result, and again after its table's name has come to mean something else."""
    lineage = ForwardLineage(spark, home)
    lineage.register("nation", path=tpch / "nation.parquet")
    frame = lineage.sql("SELECT count(*) AS n FROM nation")
    before = frame.collect()
    lineage.register("nation", path=tpch / "region.parquet")
    return [[row.n for row in before], [row.n for row in frame.collect()]]


def joined_with_itself(spark: SparkSession, tpch: Path, home: Path) -> list[list[object]]:
    """Return rows of a traced query in two stages beside themselves, with the lineage of one side."""
    lineage = ForwardLineage(spark, home)
    lineage.register("region", path=tpch / "region.parquet")
    spark.conf.set(BY_REFERENCE, "true")  # of five rows nothing would be a stage
    frame = lineage.sql("SELECT r_name, count(*) OVER (PARTITION BY length(r_name)) AS n FROM region")
    joined = frame.alias("a").join(frame.alias("b"), expr("a.r_name = b.r_name"))
    return sorted(list(row) for row in joined.selectExpr("a.r_name", "b.n", "dl_ids(b.DL.region)").collect())


def left_behind(spark: SparkSession) -> list[int]:
    """Count a DataFrame that the server keeps, drop it, and ask until it is gone there, too."""
    from pyspark.sql.connect.dataframe import DataFrame  # noqa: PLC0415
    from pyspark.sql.connect.plan import CachedRemoteRelation  # noqa: PLC0415

    attach(spark)
    kept = resolved_once(spark.range(3))
    name, counts = kept._plan._relation_id, [kept.count()]  # type: ignore[operator]
    del kept
    gc.collect()
    for _ in range(600):
        same = CachedRemoteRelation(name, spark)  # type: ignore[arg-type]
        try:
            DataFrame(same, spark).count()  # type: ignore[arg-type]
        except PySparkException as error:
            assert "DATAFRAME_NOT_FOUND" in str(error), error
            return counts
        finally:
            same._relation_id = None  # type: ignore[assignment] # else this one would have it dropped
        time.sleep(0.1)
    return [*counts, 0]


def read_page(spark: SparkSession, code: str, shared: Path) -> str:
    """Type in a snippet of a page, and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {"__name__": "__main__", "shared": str(shared)})
    spark.stop()
    return printed.getvalue()


def another_release(spark: SparkSession, tpch: Path, home: Path) -> tuple[str, str]:
    """Save with a client whose sources are others than those that the server's workers have."""
    lineage = ForwardLineage(spark, home)
    lineage.register("nation", path=tpch / "nation.parquet")
    before, execution.release = execution.release, lambda: "another"  # type: ignore[assignment]
    try:
        lineage.save("SELECT n_name FROM nation", "names")
    except LineageError as error:
        return said(error)
    finally:
        execution.release = before  # type: ignore[assignment]
    return ("", "")


def begun(spark: SparkSession, home: Path) -> tuple[str, str]:
    """Begin, and say what is wrong with that."""
    try:
        ForwardLineage(spark, home)
    except LineageError as error:
        return said(error)
    return ("", "")


def without_server(spark: SparkSession, tpch: Path, home: Path, server: int) -> list[tuple[str, str]]:
    """Kill the server in the middle of work, and return what each kind of call says then."""
    from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415

    lineage = ForwardLineage(spark, home)
    lineage.register("nation", path=tpch / "nation.parquet")
    lineage.save(SQL, "per_region")
    spark.client.set_retry_policies([DefaultPolicy(max_retries=1)])  # Spark's own waits for ten minutes
    os.killpg(server, 9)
    time.sleep(0.5)
    found = []
    for ask in (
        lambda: lineage.sql("SELECT max(n_name) FROM nation"),
        lambda: lineage.save("SELECT min(n_name) AS x FROM nation", "least"),
        lambda: lineage.register("region", path=tpch / "region.parquet"),
        lambda: lineage.rows("nation", [1]),
        lambda: ForwardLineage(spark, home),
    ):
        try:
            ask()
        except LineageError as error:
            found.append(said(error))
    found.append(("results", ", ".join(each.name for each in lineage.results())))
    return found

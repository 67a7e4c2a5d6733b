"""TPC-H results in the lineage store, against the lineage that the query itself carries."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from itertools import product
from pathlib import Path

import pytest

import tpch_queries
from forward_lineage import ForwardLineage
from tests.conftest import REPOSITORY

# Few large groups, and groups by IN; joins and groups are Q3, which two executors save, below.
EVERY_DAY = {("q12", "data"), ("q18", "control")}

IN_A_CLUSTER = """
import sys
from pathlib import Path
from forward_lineage.spark.local import local_session
from tests.cluster.answers import by_comment
from tests.spark_settings import CLUSTER, INTERPRETED
from tests.tpch_queries.sessions import traced_session
from tests.tpch_queries.test_saving import inline, stored

data, home = Path(sys.argv[1]), Path(sys.argv[2])
settings = CLUSTER | {name.replace(".", "__"): value for name, value in INTERPRETED.items()}
spark = local_session("saving", log=home / "spark.log", spark__sql__shuffle__partitions="4", **settings)
lineage = traced_session(spark, data, home)
lineage.spark.conf.set("spark.sql.adaptive.enabled", "false")  # which would make one task of these few rows
wanted = inline(lineage, "q3", "data")
assert stored(lineage, "q3", "data") == wanted
by_comment(spark, data, home / "granules")  # compares the values with those of plain Spark
print(len(lineage.describe("q3").row_files))
spark.stop()
"""

Lineage = dict[str, list[int]]


def inline(lineage: ForwardLineage, name: str, semantics: str) -> Counter[str]:
    """The rows of a query, each with the ids that its `DL` has, exploded."""
    frame = lineage.sql(tpch_queries.query(name), semantics)
    users = frame.columns[:-1]
    tables = frame.schema["DL"].dataType.fieldNames()  # type: ignore[attr-defined]
    found = frame.selectExpr(*(f"`{c}`" for c in users), *(f"dl_ids(DL.`{t}`)" for t in tables)).collect()
    return Counter(_text(row[: len(users)], dict(zip(tables, row[len(users) :], strict=True))) for row in found)


def stored(lineage: ForwardLineage, name: str, semantics: str) -> Counter[str]:
    """The same of the saved query, from its row files and its segments."""
    saved = lineage.save(tpch_queries.query(name), name, semantics=semantics)
    ids: defaultdict[int, Lineage] = defaultdict(lambda: {table.name: [] for table in saved.tables})
    for table in saved.tables:
        pairs = lineage.table(f"lineage_of({name}, {table.name})").toArrow()
        for row, each in zip(*(column.to_pylist() for column in pairs.columns), strict=True):
            ids[row][table.name].append(each)
    return Counter(_text(tuple(row), ids[number]) for number, row in enumerate(lineage.result(name).collect()))


def _text(values: tuple[object, ...], ids: Lineage) -> str:
    return repr((values, {table: sorted(found) for table, found in sorted(ids.items())}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "semantics"),
    [
        pytest.param(*each, marks=() if each in EVERY_DAY else pytest.mark.long)
        for each in product(tpch_queries.names(), ("data", "control"))
    ],
)
def test_what_is_saved_is_what_the_query_carries(traced: ForwardLineage, name: str, semantics: str) -> None:
    wanted = inline(traced, name, semantics)
    assert stored(traced, name, semantics) == wanted
    traced.drop(name)


@pytest.mark.slow
@pytest.mark.timeout(900)  # a Spark of its own, on a machine that may be busy
def test_saved_by_executors_of_their_own(tpch: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_CLUSTER, str(tpch), str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=880,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) > 1, "several tasks wrote"

"""From registered tables to scrambles and answers: types, ids, changes, through the public calls."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage import ForwardLineage, LineageError

ROWS = 5_000


def _write(folder: Path, rows: int = ROWS) -> Path:
    generator = np.random.default_rng(3)
    table = pa.table(
        {
            "city": pa.array(["Rome", "Oslo", None, "Lima"]).take(pa.array(generator.integers(0, 4, rows))),
            "year": pa.array(generator.integers(2019, 2022, rows), pa.int32()),
            "price": pa.array(generator.lognormal(2, 0.4, rows), mask=generator.random(rows) < 0.1),
        }
    )
    folder.mkdir(exist_ok=True)
    for place in range(2):
        pq.write_table(table.slice(place * rows // 2, rows // 2), folder / f"part-{place}.parquet")
    return folder


def test_a_table_of_files_from_registration_to_change(lineage: ForwardLineage, tmp_path: Path) -> None:
    folder = _write(tmp_path / "trips")
    lineage.register("trips", path=str(folder))
    with pytest.raises(LineageError, match="trips has no scramble"):
        lineage.approximate("SELECT AVG(price) FROM trips")
    assert repr(lineage.scramble("trips", columns=["price"], groups=["year"])) == (
        "Scramble(trips, 5,000 rows, columns price, year, groups year)"  # read from the files
    )
    lineage.scramble("trips", columns=["price"], groups=["city", "year"])  # read by Spark, for its text
    told: list[str] = []
    sql = "SELECT city, AVG(price) AS price, COUNT(*) AS trips FROM trips t WHERE t.year <> 2020 GROUP BY city"
    answer = lineage.approximate(sql, error=0.1, confidence=0.999, progress=told.append)
    exact = {row["city"]: row for row in lineage.spark.sql(sql).collect()}
    assert answer.certified
    assert told
    assert {row["city"] for row in answer.rows} == set(exact)
    for place, row in enumerate(answer.rows):
        truth = exact[row["city"]]
        near = 1e-12 * truth["price"]  # Spark adds doubles in an order of its own
        assert row["price_low"] - near <= truth["price"] <= row["price_high"] + near
        assert row["trips_low"] <= truth["trips"] <= row["trips_high"]
        ids = list(answer.backward(place))
        assert len(ids) == row["rows_read"]
        read = pq.read_table(folder).take(pa.array(ids)).to_pylist()
        assert {each["city"] for each in read} == {row["city"]}
        prices = [each["price"] for each in read if each["year"] != 2020 and each["price"] is not None]
        assert row["price"] == pytest.approx(statistics.fmean(prices), rel=1e-15)
    assert answer.stale() is None
    _write(folder, ROWS + 2)
    assert "trips" in str(answer.stale())
    with pytest.raises(LineageError, match="is of other rows"):
        lineage.approximate(sql)


def test_columns_of_other_types(lineage: ForwardLineage) -> None:
    lineage.spark.sql(
        "SELECT id, id % 2 = 0 AS even, DATE '2020-01-01' + CAST(id % 3 AS INT) AS day, "
        "CAST(id AS DECIMAL(9, 2)) AS d, "
        "TIMESTAMP '2020-01-01 00:00:00' AS at FROM range(300)"
    ).createOrReplaceTempView("kinds")
    lineage.register("kinds", key="id")
    lineage.scramble("kinds", columns=["d"], groups=["even", "day"])
    answer = lineage.approximate(
        "SELECT day, even, AVG(d) AS d FROM kinds WHERE day >= DATE '2020-01-02' AND d < 299.5 GROUP BY day, even "
        "ORDER BY day DESC, even"
    )
    shown = [(str(row["day"]), row["even"], row["d"]) for row in answer.rows]
    assert shown == [
        ("2020-01-03", False, 152.0),
        ("2020-01-03", True, 149.0),
        ("2020-01-02", False, 148.0),
        ("2020-01-02", True, 151.0),
    ]
    assert set(answer.backward(0)) == {number for number in range(300) if number % 3 == 2 and number % 2}
    lineage.save("SELECT day, sum(d) AS total FROM kinds GROUP BY day", "by_day")
    lineage.scramble("by_day", columns=["total"])
    of_result = lineage.approximate("SELECT SUM(total) AS total, COUNT(*) AS days FROM `by_day` AS b WHERE b.total > 0")
    assert (of_result.rows[0]["total"], of_result.rows[0]["days"]) == (299 * 150.0, 3)
    with pytest.raises(LineageError, match="at, a timestamp, in a scramble"):
        lineage.scramble("kinds", columns=["at"])
    with pytest.raises(LineageError, match=r"d, a decimal\(9,2\), as a group"):
        lineage.scramble("kinds", columns=["id"], groups=["d"])
    with pytest.raises(LineageError, match="has no column nothing"):
        lineage.scramble("kinds", columns=["nothing"])
    with pytest.raises(LineageError, match="columns is a text"):
        lineage.scramble("kinds", columns="d")
    for wrong in ({"bounder": "normal"}, {"confidence": 1.0}, {"error": 0.0}, {"rows": 0}):
        with pytest.raises(LineageError, match=next(iter(wrong))):
            lineage.approximate("SELECT AVG(d) FROM kinds", **wrong)  # type: ignore[arg-type]

"""`SELECT … WITH ERROR`: which words ask, and what `lineage.sql` returns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.approximate.aggregate_query import read_query
from forward_lineage.approximate.with_error import columns_read, requested_error


@pytest.mark.parametrize(
    ("behind", "found"),
    [
        (" WITH ERROR 0.05", (0.05, 1 - 1e-15)),
        (" with error 5e-2 confidence .9 ; ", (0.05, 0.9)),
        (" -- why\nWITH ERROR 1", (1.0, 1 - 1e-15)),
        ("", None),
        (" WITH LINEAGE", None),
    ],
)
def test_words_that_ask(behind: str, found: tuple[float, float] | None) -> None:
    request = requested_error(f"SELECT AVG(a) FROM t{behind}")
    assert (request and (request.sql, request.error, request.confidence)) == (
        found and ("SELECT AVG(a) FROM t", *found)
    )


def test_words_that_do_not() -> None:
    assert requested_error("WITH error AS (SELECT 1) SELECT * FROM error") is None
    assert requested_error("SELECT 'WITH ERROR 0.1'") is None
    assert requested_error("SELECT 'open") is None
    for wrong in ("WITH ERROR 0.1 CONFIDENCE", "WITH ERROR 0.1 CONFIDENCE x", "WITH ERROR 0.1 LIMIT 3"):
        with pytest.raises(LineageError, match="is not understood"):
            requested_error(f"SELECT AVG(a) FROM t {wrong}")
    query = read_query("SELECT g, SUM(A), COUNT(*) FROM t WHERE b > 3 AND c = 'x' GROUP BY g")
    assert columns_read(query) == ["a", "b", "c"]


def test_rows_with_intervals_and_lineage(lineage: ForwardLineage, tmp_path) -> None:  # type: ignore[no-untyped-def]
    table = {"day": [n % 3 if n % 10 else None for n in range(3_000)], "late": [n % 7 for n in range(3_000)]}
    pq.write_table(pa.table(table), tmp_path / "flights.parquet")
    lineage.register("flights", path=str(tmp_path / "flights.parquet"))
    frame = lineage.sql(
        "SELECT day, AVG(late) AS late, COUNT(*) AS n FROM flights GROUP BY day ORDER BY day "
        "WITH ERROR 0.2 CONFIDENCE 0.99"
    )
    assert frame.columns == [
        *("day", "late", "late_low", "late_high", "n", "n_low", "n_high"),
        *("certified", "rows_read", "blocks_read", "rounds", "DL"),
    ]
    rows = frame.selectExpr("day", "late", "late_low", "late_high", "rows_read", "dl_ids(DL.flights) AS ids").collect()
    assert [row["day"] for row in rows] == [None, 0, 1, 2]
    for row in rows:
        exact = [late for day, late in zip(table["day"], table["late"], strict=True) if day == row["day"]]
        assert row["late_low"] <= sum(exact) / len(exact) <= row["late_high"]
        assert len(row["ids"]) == row["rows_read"]
        assert {table["day"][each] for each in row["ids"]} == {row["day"]}
        assert row["late"] == pytest.approx(sum(table["late"][each] for each in row["ids"]) / len(row["ids"]))
    whole = lineage.sql("SELECT COUNT(*) AS n FROM flights WITH ERROR 0.1").first()
    assert (whole["n"], whole["n_low"], whole["n_high"]) == (3_000.0, 3_000.0, 3_000.0)
    with pytest.raises(LineageError, match="parameters or semantics"):
        lineage.sql("SELECT AVG(late) FROM flights WITH ERROR 0.1", semantics="control")
    with pytest.raises(LineageError, match="a join in an approximate query"):
        lineage.sql("SELECT COUNT(*) FROM flights JOIN flights AS b WITH ERROR 0.1")

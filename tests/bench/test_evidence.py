"""The evidence: what the report says follows from what was measured, and the whole command runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.cli import main
from forward_lineage.row_ids.clustering import lineage_pairs, measure
from tests.bench import evidence, report
from tests.bench.experiments import EXPERIMENTS, GRANULARITY, VARIANTS, chosen
from tests.bench.figures import Trend, bars, misses, noise, peak_ratio, ratio, trend
from tests.bench.harness import Turns
from tests.bench.sizes import lineage_size
from udafs.lineage_set import LineageSet


def query(name: str, **medians: float | None) -> dict[str, Any]:
    """A record of one query: seconds by variant, `_` standing for `-`; None: refused."""
    original = medians["original"]
    assert original is not None
    variants = [
        {
            "name": variant.replace("reverse_", "reverse-"),
            "run_seconds": [] if median is None else [median, 2 * median],
            "prepare_seconds": [],
            "peak_bytes": [] if median is None else [int(100 * median)],
            "median_seconds": median,
            "ratio": None if median is None else median / original,
            "refused": "too clever" if median is None else None,
        }
        for variant, median in medians.items()
    ]
    return {"query": name, "variants": variants, "runs": 3, "semantics": "data", "load": [0.5, 1.5]}


def record(scale: float = 1, **experiments: list[dict[str, Any]]) -> dict[str, Any]:
    machine = {"spark": "4.3.0", "java": "17", "python": "3.11", "cores": 2}
    return {"scale": scale, **machine, "experiments": experiments}


def found(record: dict[str, Any]) -> dict[str, tuple[str, bool | None]]:
    return {bar.what: (bar.found, bar.met) for bar in bars(record)}


def test_a_reverse_query_comes_after_the_original() -> None:
    one = query("q1", original=2.0, auto=2.2, collect_set=3.0, reverse_one=1.0, reverse_all=8.0)
    assert ratio(one, "auto") == 1.1
    assert ratio(one, "collect_set") == 1.5
    assert ratio(one, "reverse-one") == 1.5
    assert ratio(one, "reverse-all") == 5.0
    assert ratio(one, "bdd") is None
    assert peak_ratio(one, "collect_set") == 1.5
    assert noise(one) == 2.0


def test_bars_met() -> None:
    every = [
        query(name, original=1.0, auto=1.04, collect_set=1.2, reverse_all=3.0) for name in EXPERIMENTS["aspj"].queries
    ]
    joins = [query(name, original=1.0, auto=1.1, collect_set=1.1) for name in EXPERIMENTS["spj"].queries]
    stores = [query(name, original=1.0, auto=0.9, collect_set=1.0) for name in EXPERIMENTS["walmart"].queries]
    verdicts = list(found(record(aspj=every, spj=joins, walmart=stores)).values())
    assert [met for _, met in verdicts] == [True] * 6
    assert verdicts[0] == ("1.04", True)
    assert verdicts[-1] == ("mean overhead +4% against +300%: 75.0 times", True)


def test_bars_missed_name_the_queries() -> None:
    every = [query(name, original=1.0, auto=1.0) for name in EXPERIMENTS["aspj"].queries]
    every[2] = query("q3", original=1.0, auto=1.5, collect_set=1.2, reverse_all=0.5)
    verdicts = found(record(aspj=every, walmart=[query("q2", original=1.0, auto=1.2, collect_set=1.1)]))
    assert verdicts["TPC-H Q1–Q22, auto: worst at most 1.30"] == ("over it: Q3 1.50", False)
    stores = "Walmart Q1–Q8, auto: each at most 1.10 (the paper: under 1.15)"
    assert verdicts[stores] == ("over it: Q2 1.20; 7 queries not measured", False)
    by_hand = ("faster on 2 of 2; Q3 1.50 against 1.20; Walmart Q2 1.20 against 1.10", False)
    assert verdicts["collect_set by hand is never faster than auto"] == by_hand


def test_a_miss_says_what_lineage_takes() -> None:
    slow = query("q5", original=1.0, auto=3.0, collect_set=5.0) | {"size": {"semantics": "data", "ids": 4_000_000}}
    joins = [query("s1", original=1.0, auto=1.05), query("s2", original=2.0, auto=2.4)]
    other = query("q7", original=1.0, auto=1.2) | {"size": {"semantics": "control", "ids": 9}}
    found = misses(record(spj=joins, walmart=[other, slow]))
    assert [(miss.experiment, miss.query, miss.overlap) for miss in found] == [
        ("spj", "s2", True),  # runs take 2 and 4 seconds without lineage, 2.4 and 4.8 with it
        ("walmart", "q5", False),
        ("walmart", "q7", True),
    ]
    assert (found[1].more, found[1].pairs, found[1].by_hand) == (2.0, 4_000_000, 4.0)
    assert (found[2].pairs, found[2].by_hand) == (None, None)


def test_what_was_not_measured_stays_open() -> None:
    verdicts = found(record(aspj=[query("q1", original=1.0, auto=1.2)]))
    assert verdicts["TPC-H Q1–Q22, auto: geometric mean at most 1.05"] == ("1.20; 21 queries not measured", None)
    assert verdicts["S1–S8, auto: each at most 1.10"] == ("", None)


def test_scales_are_compared_over_the_same_queries(tmp_path: Path) -> None:
    def ran(**autos: float) -> list[dict[str, Any]]:
        return [query(name, original=1.0, auto=auto) for name, auto in autos.items()]

    small, whole, large = record(0.1, aspj=ran(q1=1.0, q2=1.0)), record(1, aspj=ran(q2=8.0, q1=2.0)), record(10)
    assert trend([small, whole, large], "aspj", "auto") == Trend(["q1", "q2"], [(0.1, 1.0), (1.0, 4.0)])
    large = record(10, aspj=ran(q1=1.5))
    assert trend([small, whole, large], "aspj", "auto") == Trend(["q1"], [(0.1, 1.0), (1.0, 2.0), (10.0, 1.5)])
    assert trend([small], "spj", "auto") == Trend([], [])
    for each in (small, whole, large):
        (tmp_path / f"sf{each['scale']:g}.json").write_text(json.dumps(each))
    text = report.write(tmp_path).read_text()
    assert "| TPC-H Q1–Q22, aggregation | 1 | 1.00 | 2.00 | 1.50 |" in text
    assert "found at 1\n" in text, "promises are of scale factor 1"


def test_a_report_of_two_scales(tmp_path: Path) -> None:
    one = query("q3", original=1.0, auto=1.1, collect_set=None, reverse_all=4.0)
    size = {"semantics": "control", "rows": 11_620, "ids": 53_452, "average": 4.6, "replication": 1.4}
    one["size"] = {**size, "clustering": 0.5, "int32": 213_808, "values": 90_000, "stored": 999}
    for scale in (0.1, 1):
        text = json.dumps(record(scale, aspj=[one], granularity=[query("q9", original=1.0, auto=1.3)]))
        (tmp_path / f"sf{scale:g}.json").write_text(text)
    text = report.write(tmp_path).read_text()
    assert "| Q3 | 1.00 | 2.00 | 1.10 | – | 5.00 |" in text
    assert "| Q3 | control | 11,620 | 4.6 | 1.4 | 0.5 | 213.8 KB | 90.0 KB | 999 B | 11,620 | 4.6 | 0 |" in text
    assert "- scale factor 0.1, Q3, collect_set: too clever" in text
    assert "| aspj Q3 |" not in text
    pictures = {file.name for file in tmp_path.glob("*.png")}
    assert pictures == {*(f"{e}-sf{s}.png" for e in ("aspj", "granularity") for s in ("0.1", "1")), "scales.png"}
    assert all(f"({name})" in text for name in pictures)


def test_choosing_queries() -> None:
    assert len(chosen("all")) == 22 + 8 + 5 + 8
    assert [(each.key, name) for each, name in chosen("Q3, s1,walmart:q2")] == [
        ("aspj", "q3"),
        ("spj", "s1"),
        ("walmart", "q2"),
    ]
    assert len(chosen("spj,s1")) == 8
    with pytest.raises(LineageError, match="q99"):
        chosen("q1,q99")


def test_the_clause_is_behind_the_query() -> None:
    assert GRANULARITY.traced_text("q6").endswith("l_shipmode)")
    assert EXPERIMENTS["aspj"].traced_text("q6").endswith("l_quantity < 24")


def test_sizes_by_hand() -> None:
    values = [LineageSet([1, 2, 9]).to_bytes(), LineageSet([9, 20]).to_bytes(), LineageSet().to_bytes()]
    size = lineage_size(pa.table({"t": values, "u": [LineageSet([4]).to_bytes()] * 3}))
    assert (size.rows, size.ids, size.int32) == (3, 8, 32)
    assert size.replication == 8 / 5
    assert size.clustering == 100 * 2 / 8
    assert size.values == sum(map(len, values)) + 3 * len(LineageSet([4]).to_bytes())


def test_clustering_is_that_of_the_ids_command(spark: SparkSession, tmp_path: Path) -> None:
    lineage = ForwardLineage(spark.newSession(), home=tmp_path)
    lineage.spark.range(0, 400).selectExpr("id * (id % 7) as k", "id % 5 as g").groupBy("k").agg(
        {"g": "min"}
    ).withColumnRenamed("min(g)", "g").createOrReplaceTempView("clustered_t")
    lineage.register("clustered_t", key="k")
    data = lineage.sql("SELECT g, count(*) FROM clustered_t GROUP BY g").cache()
    expected = measure(lineage_pairs(data, "clustered_t"))
    size = lineage_size(data.select("DL.*").toArrow())
    data.unpersist()
    assert size.ids == expected.ids and size.replication == expected.replication
    assert size.clustering == pytest.approx(expected.clustering)


@pytest.mark.long
def test_the_whole_command_at_smoke_size(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARD_LINEAGE_DATA", str(tmp_path / "data"))
    written = evidence.run(
        scales=[0.01],
        turns=Turns(1, warm_up=0),
        queries=evidence.smoke_queries(),
        variants=VARIANTS,
        semantics="data",
        output=tmp_path,
        sizes=True,
        memory="2g",
        session=spark.newSession(),
    )
    known = json.loads((tmp_path / "sf0.01.json").read_text())
    for key, experiment in EXPERIMENTS.items():
        (only,) = known["experiments"][key]
        variants = [each["name"] for each in only["variants"]]
        assert variants == list(VARIANTS if experiment.rivals else VARIANTS[:4])
        assert all(each["refused"] is None and each["ratio"] > 0 and each["peak_bytes"] for each in only["variants"])
        assert only["size"]["ids"] > 0 < only["size"]["stored"]
        assert f"![{experiment.title[0].upper()}" in written.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--queries", "q1,q99"], "there is no query 'q99'"),
        (["--variants", "zip"], "there is no variant zip"),
        (["--scale", "one"], "'one' is not a number"),
        (["--scale", "0"], "0.0 is not a TPC-H scale factor"),
        (["--runs", "0"], "--runs"),
    ],
)
def test_wrong_options(arguments: list[str], message: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["bench", "--output", str(tmp_path / "out"), *arguments])
    assert result.exit_code != 0
    assert message in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()

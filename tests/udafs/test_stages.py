"""Rows of inner queries by number: dl_number, dl_frame, dl_relation, dl_compose; values that are read once."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Iterator

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from tests.spark_settings import INTERPRETED, configured
from tests.task_errors import REFUSED
from tests.tiers import every_day
from udafs.lineage_set import LineageSet

# Each function has two ways of its own: in generated code, and interpreted. Stages of a plan are Spark's.
SETTINGS = every_day(({}, {"spark.sql.adaptive.enabled": "false"}, INTERPRETED), ({}, INTERPRETED))


@pytest.fixture(params=SETTINGS, ids=("adaptive", "not adaptive", "interpreted"))
def sql(session: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    with configured(session, request.param):
        yield session


def one(session: SparkSession, query: str) -> object:
    (row,) = session.sql(query).collect()
    return row[0]


class TestNumbers:
    def test_a_number_says_what_a_row_is_made_of(self, sql: SparkSession) -> None:
        numbered = sql.sql(
            "SELECT dl_number(id % 3, dl_of(id % 2), CAST(NULL AS BIGINT)) AS n, id % 6 AS of FROM range(0, 60, 1, 4)"
        ).collect()
        assert len({row.n for row in numbered}) == 6
        assert len({(row.n, row.of) for row in numbered}) == 6
        assert all(row.n >= 0 for row in numbered)

    def test_order_and_nulls_count(self, sql: SparkSession) -> None:
        texts = ("1, 2", "2, 1", "1, NULL", "NULL, 1", "1", "dl_of(1), 2")
        assert len({one(sql, f"SELECT dl_number({text})") for text in texts}) == len(texts)

    def test_a_cte_with_numbers_is_computed_once(self, session: SparkSession) -> None:
        """That is what the rewritten text relies on to be cheap, though not to be right."""
        query = (
            "WITH s AS (SELECT *, dl_number(d) AS n FROM"
            " (SELECT id % 7 AS k, dlunion(id) AS d FROM range(100) GROUP BY 1))"
            " SELECT a.k, dl_size(dl_compose(a.n, (SELECT dl_relation(n, d) FROM s))) AS size FROM s AS a"
        )
        frame = session.sql(query)
        assert {row.size for row in frame.collect()} == {14, 15}
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert "ReusedExchange" in plan


class TestRelations:
    def test_rows_by_number(self, sql: SparkSession) -> None:
        """Over several partitions, in no order; a number that comes twice is one row."""
        found = sql.sql(
            "WITH s AS (SELECT id * 7919 % 1000 AS n, id * 7919 % 1000 + 5 AS id FROM range(0, 2000, 1, 5)),"
            " r AS (SELECT dl_relation(n, id) AS ids, dl_relation(n, dl_union(id, 1)) AS sets FROM s)"
            " SELECT dl_ids(dl_compose(17, ids)) AS a, dl_ids(dl_compose(dl_union(3, 999), ids)) AS b,"
            " dl_ids(dl_compose(17, sets)) AS c, dl_ids(dl_compose(dl_union(3, 999), sets)) AS d,"
            " dl_ids(dl_compose(CAST(NULL AS BIGINT), ids)) AS e, dl_ids(dl_compose(dl_union(NULL), sets)) AS f FROM r"
        ).first()
        assert found == ([22], [8, 1004], [1, 22], [1, 8, 1004], [], [])

    def test_rows_without_lineage(self, sql: SparkSession) -> None:
        rows = (
            "(SELECT n, id, CASE WHEN id = 10 THEN dl_of(id) END AS dl FROM VALUES (1L, 10L), (2L, NULL) AS t(n, id))"
        )
        for column in ("id", "dl"):
            found = f"SELECT dl_ids(dl_compose(dl_union(1, 2), dl_relation(n, {column}))) FROM {rows}"
            assert one(sql, found) == [10]
            assert one(sql, found.replace("dl_union(1, 2)", "2")) == []

    def test_no_rows(self, sql: SparkSession) -> None:
        assert one(sql, "SELECT dl_size(dl_compose(dl_union(NULL), dl_relation(id, id))) FROM range(0)") == 0
        with pytest.raises(REFUSED, match="row 4 of a stage is not there"):
            one(sql, "SELECT dl_compose(4, dl_relation(id, id)) FROM range(0)")

    def test_the_bytes_are_those_of_the_union(self, sql: SparkSession) -> None:
        """Whatever the encoding: by reference is never another answer."""
        for keys in (3, 400):
            same = one(
                sql,
                f"WITH s AS (SELECT id % {keys} AS n, dlunion(id) AS dl FROM range(5000) GROUP BY 1) SELECT bool_and("
                "dl_compose(n, (SELECT dl_relation(n, dl) FROM s)) = dl AND dl_compose(dl_union(n, 0), (SELECT"
                " dl_relation(n, dl) FROM s)) = dl_union(dl, (SELECT dl FROM s WHERE n = 0))) FROM s",
            )
            assert same is True

    def test_two_lineages_of_one_number_are_refused(self, sql: SparkSession) -> None:
        for lineage in ("id", "dl_of(id)"):
            with pytest.raises(REFUSED, match=r"two rows of a stage have the number \d by chance"):
                one(sql, f"SELECT dl_relation(id % 2, {lineage}) FROM range(0, 9, 1, 3)")


class TestFrames:
    def test_neighbours_overlap(self, sql: SparkSession) -> None:
        chance = random.Random(3)
        rows = [(p, place, chance.randint(place, 50)) for p in range(4) for place in range(1, 51)]
        values = ", ".join(f"({p}L, {place}L, {last}L, {p * 100 + place}L)" for p, place, last in rows)
        lookup = "dl_relation(id, id, dl_frame(p, place, last, last - place + 1, 0))"
        ids = sql.sql(
            f"WITH s AS (SELECT * FROM VALUES {values} AS t(p, place, last, id))"
            f" SELECT dl_ids(dl_compose(dl_union(103, 110, 120, 350), (SELECT {lookup} FROM s))) AS ids,"
            f" dl_ids(dl_compose(103, (SELECT {lookup} FROM s))) AS a"
        ).first()
        assert ids is not None
        last = {p * 100 + place: p * 100 + last for p, place, last in rows}
        wanted = {i for first in (103, 110, 120, 350) for i in range(first, last[first] + 1)}
        assert ids.ids == sorted(wanted)
        assert ids.a == list(range(103, last[103] + 1))

    def test_an_empty_frame(self, sql: SparkSession) -> None:
        frame = "dl_frame(1, id + 1, 0, 0, CAST(NULL AS BIGINT))"
        assert one(sql, f"SELECT dl_ids(dl_compose(2, dl_relation(id, id, {frame}))) FROM range(5)") == [2]


class TestBadInput:
    @pytest.mark.parametrize(
        "relation",
        [
            b"",
            b"\0\0\0\0\0",
            b"\7\0" + struct.pack("<i", 0),
            b"\0\0" + struct.pack("<i", -1),
            b"\0\0" + struct.pack("<i", 2**31 - 1),
            b"\0\0" + struct.pack("<iqq", 1, 1, 5)[:-1],
            b"\0\0" + struct.pack("<iqq", 1, 1, 5) + b"\0",
            b"\0\1" + struct.pack("<iqq", 1, 1, 5),
            b"\0\xff" + struct.pack("<iqq", 1, 1, 5),
            b"\1\0" + struct.pack("<iqi", 1, 1, -5),
            b"\1\0" + struct.pack("<iqi", 1, 1, 2**30),
            b"\1\0" + struct.pack("<iqqii", 2, 1, 2, 5, 2) + b"ab",
        ],
    )
    def test_bytes_that_are_no_relation(self, session: SparkSession, relation: bytes) -> None:
        for numbers in ("1", "2", "dl_union(1, 2)"):
            with pytest.raises(REFUSED, match=r"no relation|not there|corrupt lineage value"):
                one(session, f"SELECT dl_compose({numbers}, X'{relation.hex()}')")

    def test_frames_that_are_none(self, session: SparkSession) -> None:
        for frame in ("X'00'", "CAST(NULL AS BINARY)"):
            with pytest.raises(REFUSED, match="no frame"):
                one(session, f"SELECT dl_relation(id, id, {frame}) FROM range(3)")

    def test_places_of_rows_that_are_not_there(self, session: SparkSession) -> None:
        frame = "dl_frame(1, id + 1, 9, 3, 0)"
        with pytest.raises(REFUSED, match="place 7 of a window is not there"):
            one(session, f"SELECT dl_compose(1, dl_relation(id, id, {frame})) FROM range(3)")

    @pytest.mark.parametrize(
        "call", ["dl_relation(1)", "dl_relation('a', 1)", "dl_compose(1)", "dl_frame(1, 2)", "dl_number()"]
    )
    def test_wrong_arguments(self, session: SparkSession, call: str) -> None:
        with pytest.raises(AnalysisException):
            session.sql(f"SELECT {call} FROM range(3)")


EVEN = "FROM range(0, 20000, 2)"  # as a BDD a few bytes


class TestQuickValues:
    @pytest.mark.parametrize(
        "made",
        [
            "dlunion(id)",
            "dl_union(dlunion(id), 4)",
            "dlunion(id) FILTER (WHERE id >= 0)",
            "CASE WHEN count(*) > 0 THEN dl_union(dlunion(id)) END",
        ],
    )
    def test_the_same_ids_and_no_bdd(self, sql: SparkSession, made: str) -> None:
        (row,) = (
            sql.sql(f"SELECT {made} AS plain, dl_quick({made}) AS quick {EVEN}")
            .selectExpr(
                "dl_encoding(plain) AS plain", "dl_encoding(quick) AS quick", "dl_ids(plain) = dl_ids(quick) AS same"
            )
            .collect()
        )
        assert row.plain == "bdd"
        assert row.quick != "bdd"
        assert row.same

    def test_over_a_window(self, sql: SparkSession) -> None:
        rows = sql.sql(
            "SELECT dl_encoding(d) AS encoding, dl_size(d) AS n"
            f" FROM (SELECT dl_quick(dlunion(id) OVER ()) AS d {EVEN})"
        ).collect()
        assert {(row.encoding == "bdd", row.n) for row in rows} == {(False, 10_000)}

    def test_what_is_looked_up_is_written_as_the_session_wants_it(self, sql: SparkSession) -> None:
        stage = f"SELECT id % 4 AS k, dl_quick(dlunion(id)) AS d {EVEN} GROUP BY 1"
        numbered = f"WITH s AS (SELECT *, dl_number(d) AS n FROM ({stage}))"
        found = f"{numbered} SELECT k, dl_compose(n, (SELECT dl_relation(n, d) FROM s)) AS d FROM s"
        by_value = f"SELECT id % 4 AS k, dlunion(id) AS d {EVEN} GROUP BY 1"
        assert sorted(sql.sql(found).collect()) == sorted(sql.sql(by_value).collect())

    def test_a_value_that_is_only_asked_is_a_quick_one(self, sql: SparkSession) -> None:
        def settings(query: str) -> set[str]:
            plan = sql.sql(query)._jdf.queryExecution().optimizedPlan().toJSON()
            return set(re.findall(r'"setting":(\d)', plan))

        assert settings(f"SELECT dl_size(dlunion(id)) AS n, dl_contains(dl_union(dlunion(id)), 3) AS c {EVEN}") == {"3"}
        assert settings(f"SELECT dl_size(d) AS n, d FROM (SELECT dlunion(id) AS d {EVEN})") == {"0"}
        assert settings(f"SELECT dl_encoding(dlunion(id)) AS e {EVEN}") == {"0"}
        # One that is wanted for itself, too, is made once, and a question beside it is asked of that one.
        assert settings(f"SELECT dlunion(id) AS d, dl_size(dlunion(id)) AS n {EVEN}") == {"0"}
        assert settings(f"SELECT dlunion(id) AS d, dl_size(dlunion(id + 1)) AS n {EVEN}") == {"0", "3"}
        # So is one that a grouping makes for a question above it, unless somebody sees it.
        grouped = f"(SELECT id % 4 AS k, dlunion(id) AS d, dlunion(id + 1) AS e {EVEN} GROUP BY 1)"
        assert settings(f"SELECT k + 1, dl_size(d) + dl_size(e) AS n FROM {grouped}") == {"3"}
        assert settings(f"SELECT k + rand(), dl_size(d) + dl_size(e) AS n FROM (SELECT d, e, k FROM {grouped})") == {
            "3"
        }
        assert settings(f"SELECT k + 1, d, dl_size(d) + dl_size(e) AS n FROM {grouped}") == {"0", "3"}


class TestOnceRead:
    """A stage of which lineage is read in two places is computed once; one of which none is read is the query's own."""

    STAGE = f"SELECT id % 4 AS k, dlunion(id) AS __dl_t {EVEN} GROUP BY 1"
    NUMBERED = f"WITH s AS (SELECT *, dl_number(__dl_t) AS __dl___stage1 FROM ({STAGE}))"
    ALL = "(SELECT dlunion(__dl_t) FROM s)"
    ROWS = "FROM (SELECT id AS k FROM range(9)) AS r WHERE k IN (SELECT k FROM s)"

    def plan(self, sql: SparkSession, query: str) -> str:
        return str(sql.sql(query)._jdf.queryExecution().optimizedPlan().toString())

    def test_its_lineage_is_read(self, sql: SparkSession) -> None:
        query = f"{self.NUMBERED} SELECT k, {self.ALL} AS d {self.ROWS}"
        assert self.plan(sql, query).count("RepartitionByExpression") == 2  # one exchange, read again
        executed = sql.sql(query)
        rows = {row.k: sorted(LineageSet.from_bytes(row.d)) for row in executed.collect()}
        every = list(range(0, 20000, 2))
        assert rows == {0: every, 2: every}
        assert "ReusedExchange" in executed._jdf.queryExecution().executedPlan().toString()

    def test_its_copies_are_one_to_spark(self, session: SparkSession) -> None:
        """Adaptive execution may join from one side in a copy and from the other in the next."""
        frame = session.sql(f"{self.NUMBERED} SELECT k, {self.ALL} AS d {self.ROWS}")
        with configured(session, {"spark.sql.adaptive.enabled": "false"}):
            plan = frame._jdf.queryExecution().executedPlan()
        (stage,) = {
            line.split("EvaluatedOnce ")[1] for line in plan.toString().splitlines() if "EvaluatedOnce " in line
        }
        compared = plan.canonicalized().toString()
        assert f"AnyCopy {stage}" in compared
        assert compared.count("Range") == 1  # that of the rows: how the stage is made is not compared

    def test_its_lineage_is_not_read(self, sql: SparkSession) -> None:
        assert "RepartitionByExpression" not in self.plan(sql, f"{self.NUMBERED} SELECT k {self.ROWS}")
        both = f"{self.NUMBERED} SELECT x.k FROM s AS x JOIN s AS y ON x.k = y.k + 2"
        assert "RepartitionByExpression" not in self.plan(sql, both)


class TestAskedValues:
    """Lineage that is only asked is made where it is asked: not for rows that the question passes over."""

    UNITED = f"SELECT id % 4 AS k, dl_quick(dlunion(id)) AS d {EVEN} GROUP BY 1"
    STAGE = f"WITH s AS (SELECT *, dl_number(d) AS n FROM ({UNITED}))"
    COMPOSED = f"{STAGE} SELECT k, named_struct('t', dl_compose(n, (SELECT dl_relation(n, d) FROM s))) AS DL FROM s"
    GROUPED = f"SELECT id % 4 AS k, named_struct('t', dlunion(id), 'u', dlunion(id + 1)) AS DL {EVEN} GROUP BY 1"
    FEW = "CASE WHEN monotonically_increasing_id() % 8 < 100 THEN dl_size(DL.t) END AS n"

    @pytest.mark.parametrize("made", [COMPOSED, GROUPED], ids=("looked up", "grouped"))
    @pytest.mark.parametrize(
        ("asked", "moved"),
        [
            (["dl_size(DL.t) AS n"], True),
            ([FEW], True),
            (["dl_size(DL.t) AS n", "DL"], False),
            (["dl_size(DL.t) AS n", "dl_contains(DL.t, 2) AS two"], False),
            (["transform(array(1), x -> x + dl_size(DL.t) - 1)[0] AS n"], None),
        ],
        ids=("a question", "of some rows", "beside the value", "twice", "in a lambda"),
    )
    def test_it_is_the_same(self, sql: SparkSession, made: str, asked: list[str], moved: bool | None) -> None:
        lineage = sql.sql(made)
        sizes = {row.k: len(LineageSet.from_bytes(row.DL.t)) for row in lineage.collect()}
        frame = lineage.selectExpr("k", *asked)
        assert {row.k: row.n for row in frame.collect()} == sizes
        if moved is not None:  # else Spark itself moves one of the two
            assert ("named_struct" not in frame._jdf.queryExecution().optimizedPlan().toString()) == moved

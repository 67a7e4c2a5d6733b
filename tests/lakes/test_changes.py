"""UPDATE, DELETE and MERGE over both formats beside an interpreter: `python -m tests.lakes --changes` has more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forward_lineage import ForwardLineage
from tests.lakes.changed_tables import run_changes
from tests.lakes.engines import CATALOG, FORMATS
from udafs.errors import LineageError, NotTracedError, WrongSqlError


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(2))
def test_rows_and_lineage_are_those_of_the_interpreter(lineage: ForwardLineage, kind: str, seed: int) -> None:
    run_changes(lineage, kind, seed, 10)


@pytest.fixture
def kept(lineage: ForwardLineage, kind: str) -> Iterator[str]:
    """A table with lineage in `base`, of one row."""
    place = "spark_catalog.default.kept" if kind == "delta" else f"{CATALOG}.db.kept"
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW base AS SELECT 1L AS k, 'a' AS v")
    lineage.register("base", key="k")
    lineage.sql(f"CREATE TABLE {place} USING {kind} AS SELECT k, v FROM base")
    yield place
    lineage.spark.sql(f"DROP TABLE {place}")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("statement", "error", "said"),
    [
        ("UPDATE {} SET v = nope(k)", WrongSqlError, r"`nope`.* \(line 1, column AT\)\. Correct the SQL"),
        ("UPDATE {} SET v = upper(nope)", WrongSqlError, r"`nope`.* \(line 1, column AT\)\. Correct the SQL"),
        (
            "INSERT INTO {} REPLACE WHERE k = 1 SELECT k, v FROM base",
            NotTracedError,
            r"Run DELETE FROM … WHERE …, then",
        ),
        (
            "MERGE INTO {} t USING (SELECT 1L, 'b') s(k, v) ON t.k = s.k WHEN MATCHED THEN DELETE",
            NotTracedError,
            "form",
        ),
    ],
)
def test_refusals_say_where_and_what_to_do(
    lineage: ForwardLineage, kept: str, statement: str, error: type[LineageError], said: str
) -> None:
    text = statement.format(kept)
    with pytest.raises(error, match=said.replace("AT", str(text.find("nope") + 1))):
        lineage.sql(text)
    assert [row.v for row in lineage.sql(f"SELECT v FROM {kept}").collect()] == ["a"]

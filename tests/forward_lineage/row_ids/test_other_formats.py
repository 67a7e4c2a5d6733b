"""A file that is named like CSV, JSON or ORC, and is no Parquet, is refused with the call that reads it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forward_lineage import ForwardLineage, LineageError
from forward_lineage.row_ids.other_formats import refuse_other_formats
from udafs.errors import BadArgumentError


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sales.csv", 'format="csv", options={"header": True}'),
        ("sales.CSV.gz", 'format="csv", options={"header": True}'),
        ("sales.tsv", 'format="csv", options={"header": True, "sep": "\\t"}'),
        ("sales.jsonl", 'format="json"'),
        ("sales.orc", 'format="orc"'),
    ],
)
def test_the_call_that_works_is_named(tmp_path: Path, name: str, words: str) -> None:
    file = tmp_path / name
    file.write_text("a,b\n1,2\n")
    with pytest.raises(BadArgumentError) as refused:
        refuse_other_formats("sales", [str(file)])
    assert f'lineage.register("sales", path="{file}", {words}); in the shell --format' in str(refused.value)
    with pytest.raises(BadArgumentError, match="by its name, and no Parquet file"):
        refuse_other_formats("sales", [tmp_path])


def test_what_is_parquet_may_be_called_as_it_likes(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "sales.csv")
    (tmp_path / "_notes.txt").write_text("not read")
    refuse_other_formats("sales", [tmp_path, tmp_path / "sales.csv", str(tmp_path / "*.csv"), "s3a://bucket/x.csv"])
    refuse_other_formats("sales", [tmp_path / "missing.csv", "a\0b.csv"])


def test_registering_says_so(lineage: ForwardLineage, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("id,b\n1,2\n")
    for key in (None, "id"):
        with pytest.raises(
            LineageError, match=r"^.*sales.csv is CSV by its name, and no Parquet file. Say so: lineage"
        ):
            lineage.register("sales", path=tmp_path / "sales.csv", key=key)
    options = {"header": True}
    registered = lineage.register("sales", path=tmp_path / "sales.csv", format="csv", options=options)
    assert [name for name, _ in registered.columns] == ["id", "b"]


def test_a_data_frame_elsewhere(lineage: ForwardLineage) -> None:
    frame = lineage.spark.range(3)
    for arguments in ({"path": frame}, {"key": frame}):
        with pytest.raises(
            BadArgumentError, match=r'= is a DataFrame. Its rows are copied: lineage.register\("t", source'
        ):
            lineage.register("t", **arguments)  # type: ignore[arg-type]
    for given, word in ((frame, "source=frame"), ("some.parquet", "path=…"), (7, "source=…")):
        with pytest.raises(
            BadArgumentError, match=rf'without a name.* Say what it is: lineage.register\("t", {word}\)'
        ):
            lineage.register("t", given)
    with pytest.raises(BadArgumentError, match="its name is a DataFrame"):
        lineage.register(frame)  # type: ignore[arg-type]
    with pytest.raises(
        BadArgumentError, match=r"DataFrame is given, where the text of a statement is due.*source=frame"
    ):
        lineage.sql(frame)  # type: ignore[arg-type]
    assert lineage.register("t", source=frame).next_id == 3


def test_a_key_with_nulls_can_be_a_copy(lineage: ForwardLineage) -> None:
    lineage.spark.sql("CREATE OR REPLACE TEMP VIEW holes AS SELECT * FROM VALUES (1), (NULL) AS t(k)")
    for key in ("k", ["k"]):
        with pytest.raises(BadArgumentError, match=r'NULL in 1 row.*register\("another_name", source="holes"\)'):
            lineage.register("holes", key=key)
    assert lineage.register("another_name", source="holes").next_id == 2

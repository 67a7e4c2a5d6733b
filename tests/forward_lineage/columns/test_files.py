"""Which columns of a table's files may be read as they stand, and what is read then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import types as T  # noqa: N812

from forward_lineage.columns.files import Asked, as_they_stand, ids_by_position, of_files, whole_column
from forward_lineage.row_ids.data_files import DataFile
from forward_lineage.row_ids.manifest import Manifest, Provider
from udafs.errors import DamagedError

TEXT, LONG = T.StringType(), T.LongType()


def table(folder: Path, files: dict[str, dict[str, Any]], gap: int = 0, **how: Any) -> Manifest:
    listed, first = [], 0
    for name, columns in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path, row_group_size=2)
        rows = len(next(iter(columns.values())))
        listed.append(DataFile(str(path), 1, 1, 1, rows, "", first))
        first += rows + gap
    columns = tuple((name, "string") for name in pa.table(next(iter(files.values()))).column_names)
    said = {"name": "t", "provider": Provider.POSITION, "columns": columns, "relation": "", "row_id": ""}
    return Manifest(**{**said, "files": tuple(reversed(listed)), **how})


def test_columns_of_files(tmp_path: Path) -> None:
    manifest = table(
        tmp_path, {"a.parquet": {"x": ["1", None, "1"], "n": [1, 2, 3]}, "b.parquet": {"x": ["2"], "n": [4]}}
    )
    columns = as_they_stand(manifest, {"key": Asked("X", TEXT), "value": Asked("n", LONG, key=False)})
    assert columns == {"key": ("x", pa.string()), "value": ("n", pa.int64())}
    assert whole_column(manifest, "x", pa.string()).to_pylist() == ["1", None, "1", "2"]
    assert whole_column(manifest, "n", pa.int64()).to_pylist() == [1, 2, 3, 4]
    batches = list(of_files(manifest, columns))
    assert [(rows.start, rows.stop) for rows, _ in batches] == [(0, 2), (2, 3), (3, 4)]  # type: ignore[union-attr]
    assert [batch["value"].to_pylist() for _, batch in batches] == [[1, 2], [3], [4]]
    assert ids_by_position(manifest) == (None, 4)


def test_ids_with_a_gap(tmp_path: Path) -> None:
    ids, rows = ids_by_position(table(tmp_path, {"a.parquet": {"x": ["1", "2"]}, "b.parquet": {"x": ["3"]}}, gap=5))
    assert rows == 3
    assert ids is not None and ids.tolist() == [0, 1, 7]


@pytest.mark.parametrize(
    ("place", "columns", "asked", "how"),
    [
        ("a.parquet", {"x": ["1"]}, Asked(None, TEXT), {}),  # an expression
        ("a.parquet", {"x": ["1"]}, Asked("y", TEXT), {}),
        ("a.parquet", {"x": [1]}, Asked("x", TEXT), {}),  # another type than Spark says
        ("a.parquet", {"x": [0.0]}, Asked("x", T.DoubleType()), {}),  # two zeros that are one
        ("X=2/a.parquet", {"x": ["1"]}, Asked("x", TEXT), {}),  # the folder says what is in it
        ("a.parquet", {"x": ["1"], "X": ["2"]}, Asked("x", TEXT), {}),
        ("a.parquet", {"x": ["1"]}, Asked("x", TEXT), {"provider": Provider.KEY}),
    ],
)
def test_what_spark_has_to_read(
    tmp_path: Path, place: str, columns: dict[str, Any], asked: Asked, how: dict[str, Any]
) -> None:
    assert as_they_stand(table(tmp_path, {place: columns}, **how), {"key": asked}) is None


@pytest.mark.since("4.0", "collations")
def test_spark_has_to_read_what_has_a_collation(tmp_path: Path) -> None:
    asked = Asked("x", T.StringType("UTF8_LCASE"))
    assert as_they_stand(table(tmp_path, {"a.parquet": {"x": ["1"]}}), {"key": asked}) is None


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    manifest = table(tmp_path, {"a.parquet": {"x": ["1"]}})
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DamagedError, match=r"a\.parquet cannot be read"):
        whole_column(manifest, "x", pa.string())

"""The segment files that every reader must judge alike: ours and the reference of the page do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.relations import segment as segments
from forward_lineage.relations.bdd import BddRelation
from forward_lineage.relations.boxes import BoxRelation
from forward_lineage.relations.gather import GatherRelation
from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.segment import CorruptSegmentError, Form, Segment
from tests.conftest import REPOSITORY
from tests.forward_lineage.relations import make_vectors, reference_segment
from tests.forward_lineage.relations.forms import FORMS, MOST, Pairs, as_set, pair_sets
from tests.forward_lineage.relations.reference_segment import RefusedError

FORM_OF = {"bdd": BddRelation, "runs": RunsRelation, "boxes": BoxRelation, "gather": GatherRelation}
VECTORS = json.loads((make_vectors.FOLDER / "vectors.json").read_text(encoding="utf-8"))


def vectors(key: str) -> list[Any]:
    assert VECTORS[key]
    return [pytest.param(vector, id=vector["name"]) for vector in VECTORS[key]]


def data_of(vector: dict[str, Any]) -> bytes:
    return (make_vectors.FOLDER / f"{vector['name']}.lineage").read_bytes()


@pytest.mark.parametrize("vector", vectors("read"))
def test_what_must_be_read(vector: dict[str, Any]) -> None:
    data = data_of(vector)
    pairs = make_vectors.pairs_of(vector["pairs"])
    assert reference_segment.read(data) == (vector["first_row"], vector["rows"], pairs)
    segment = segments.decode(data)
    assert (segment.first_row, segment.rows) == (vector["first_row"], vector["rows"])
    assert isinstance(segment.relation, FORM_OF[vector["form"]])
    if vector["name"] != "runs-equal-sets-twice":  # answers as it should, but is not how we hold such a relation
        assert as_set(segment.relation) == set(pairs)
    assert list(zip(*(side.tolist() for side in segment.relation.pairs()), strict=True)) == pairs
    if vector["canonical"]:
        assert make_vectors.encoded(vector["first_row"], vector["rows"], vector["pairs"], vector["form"]) == data


@pytest.mark.parametrize("vector", vectors("refuse"))
def test_what_must_be_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(RefusedError, match=f"^{vector['fault']}$"):
        reference_segment.read(data_of(vector))
    with pytest.raises(CorruptSegmentError, match=r"^x .*\. Other results are not affected; save this one again\.$"):
        segments.decode(data_of(vector), "x")


@settings(max_examples=60)
@given(pairs=pair_sets(), form=st.sampled_from(["auto", "bdd", "runs"]), first_row=st.integers(0, 2**62))
def test_the_reference_reads_what_is_written(pairs: Pairs, form: Form, first_row: int) -> None:
    rows = MOST - first_row
    kept = {(row, row_id) for row, row_id in pairs if row < rows}
    data = segments.encode(Segment(first_row, rows, FORMS["runs"](kept)), form)
    assert reference_segment.read(data) == (first_row, rows, sorted(kept))


def test_the_files_are_those_that_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_vectors.FOLDER
    names = {f"{vector['name']}.lineage" for key in ("read", "refuse") for vector in VECTORS[key]}
    assert {path.name for path in folder.iterdir()} == names | {"vectors.json"}
    monkeypatch.setattr(make_vectors, "FOLDER", tmp_path)
    make_vectors.main()
    assert (tmp_path / "vectors.json").read_text() == (folder / "vectors.json").read_text()
    for name in names:
        data = (folder / name).read_bytes()
        assert make_vectors.is_compressed(data) or (tmp_path / name).read_bytes() == data, name


def test_every_fault_of_the_page_has_a_vector() -> None:
    page = (REPOSITORY / "docs" / "relations.md").read_text(encoding="utf-8")
    table = page.split("### What is refused")[1].split("\n\n")[2]
    faults = {line.split("|")[1].strip() for line in table.splitlines()[2:]}
    assert faults == {vector["fault"] for vector in VECTORS["refuse"]}

"""A column of lineage values becomes the relation of its rows."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.relations.runs import RunsRelation
from forward_lineage.relations.values import relation_of_values
from tests.forward_lineage.relations.forms import as_set
from tests.udafs import make_vectors
from tests.udafs.test_lineage_set import id_sets
from udafs.errors import CorruptLineageError
from udafs.lineage_set import LineageSet

values = st.one_of(st.none(), st.tuples(id_sets(), st.sampled_from(["auto", "set", "bdd", "roaring"])))


@settings(max_examples=60)
@given(st.lists(values, max_size=12), st.integers(0, 3), st.booleans())
def test_the_relation_of_a_column(column: list, times: int, large: bool) -> None:
    column = column + column[:times]
    data = [None if value is None else LineageSet(value[0]).to_bytes(value[1]) for value in column]
    array = pa.array(data, pa.large_binary() if large else pa.binary())
    relation = relation_of_values(array)
    pairs = {(row, row_id) for row, value in enumerate(column) if value is not None for row_id in value[0]}
    assert as_set(relation) == pairs
    plain = RunsRelation.from_pairs([row for row, _ in pairs], [row_id for _, row_id in pairs])
    for name in ("row", "set_of_row", "set_starts", "first", "last"):
        assert getattr(relation, name).tolist() == getattr(plain, name).tolist()


def test_chunks_and_slices() -> None:
    chunk = pa.array([LineageSet([row]).to_bytes() for row in range(5)])
    relation = relation_of_values(pa.chunked_array([chunk[2:], chunk[:2]]))
    assert as_set(relation) == {(0, 2), (1, 3), (2, 4), (3, 0), (4, 1)}


@pytest.mark.parametrize("column", [[], [None, None], [b"\x00\x00", None]])
def test_nothing_at_all(column: list) -> None:
    assert len(relation_of_values(pa.array(column, pa.binary()))) == 0


@pytest.mark.parametrize(("name", "keyword", "text"), make_vectors.MALFORMED, ids=lambda value: str(value)[:40])
def test_malformed_values(name: str, keyword: str, text: str) -> None:
    good = LineageSet([1, 2, 300]).to_bytes()
    column = pa.array([good, None, bytes.fromhex(text), good])
    with pytest.raises(
        CorruptLineageError, match=rf"^corrupt lineage value: {keyword}: .*, in row 2\. Compute the value again"
    ):
        relation_of_values(column)


@given(st.lists(st.binary(max_size=6).map(lambda body: b"\x00" + body), max_size=6))
def test_any_bytes_are_judged_as_one_by_one(column: list[bytes]) -> None:
    try:
        expected = [LineageSet.from_bytes(value) for value in column]
    except CorruptLineageError:
        with pytest.raises(CorruptLineageError):
            relation_of_values(pa.array(column, pa.binary()))
    else:
        found = relation_of_values(pa.array(column, pa.binary()))
        assert as_set(found) == {(row, row_id) for row, ids in enumerate(expected) for row_id in ids}

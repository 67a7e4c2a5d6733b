"""Which versions of saved results are still needed."""

from __future__ import annotations

import pytest

from forward_lineage.row_ids.manifest import Provider
from forward_lineage.store.library.clearing import Key, unneeded
from forward_lineage.store.library.saved_result import SavedResult, TracedTable


def saved(name: str, version: int, *made_of: Key, kept: bool = False) -> SavedResult:
    tables = tuple(TracedTable(parent.upper(), number, Provider.RESULT) for parent, number in made_of)
    return SavedResult(
        name=name, version=version, sql="", semantics="data", saved_at="", columns=(), schema={}, rows=0, row_files=(),
        tables=(TracedTable("a", 1, Provider.KEY), *tables), data="", keeps_numbers_of=1, kept=kept,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("there", "gone"),
    [
        ([], set()),
        ([saved("a", 1)], set()),
        ([saved("a", 1), saved("a", 2), saved("a", 10)], {("a", 1), ("a", 2)}),
        ([saved("a", 1), saved("a", 2, kept=True), saved("a", 3), saved("a", 4)], {("a", 3)}),
        ([saved("a", 1), saved("a", 2), saved("b", 1, ("a", 1))], set()),
        ([saved("a", 1), saved("a", 2), saved("b", 1, ("a", 1)), saved("b", 2, ("a", 2))], {("a", 1), ("b", 1)}),
        ([saved("a", 1), saved("a", 2), saved("b", 1, ("a", 1)), saved("b", 2), saved("c", 1, ("b", 1))], set()),
        ([saved("a", 1), saved("b", 1, ("a", 1)), saved("b", 2, ("gone", 7))], {("b", 1)}),
    ],
    ids=["none", "one", "newest", "kept", "parent", "released", "ancestor", "an ancestor that is not there"],
)
def test_what_nobody_needs(there: list[SavedResult], gone: set[Key]) -> None:
    assert unneeded({(each.name, each.version): each for each in there}) == gone


def test_of_a_dropped_result_only_what_others_were_made_of_stays() -> None:
    there = {("a", 1): saved("a", 1, kept=True), ("a", 2): saved("a", 2, kept=True), ("a", 3): None}
    assert unneeded(there) == {("a", 1), ("a", 2)}
    assert unneeded({**there, ("b", 1): saved("b", 1, ("a", 1))}) == {("a", 2)}

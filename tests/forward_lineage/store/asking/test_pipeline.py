"""Random pipelines of saved results against dictionaries of sets: backward, forward, compose, impact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.store.asking.pipeline import Pipeline, node_of
from forward_lineage.store.library.library import Library
from forward_lineage.store.library.saved_result import SavedResult, TracedTable
from tests.forward_lineage.store.shelf import ROWS, Pairs, put
from udafs.errors import LineageError
from udafs.lineage_set import LineageSet

BASES = ("sales", "store")
number = st.integers(0, ROWS - 1)
pairs_of_rows = st.sets(st.tuples(number, number), max_size=14)


@dataclass(frozen=True)
class Step:
    """A save: name, and the lineage in each base table and in each earlier step by place."""

    name: str
    bases: dict[str, Pairs]
    parents: dict[int, Pairs]


@st.composite
def pipelines(draw: st.DrawFn) -> list[Step]:
    """Up to six saves; names repeat, so that results are overwritten while others were made of them."""
    steps: list[Step] = []
    for _ in range(draw(st.integers(1, 6))):
        bases = draw(st.dictionaries(st.sampled_from(BASES), pairs_of_rows, max_size=2))
        newest = {step.name: at for at, step in enumerate(steps)}
        parents = draw(st.sets(st.sampled_from(sorted(newest.values())), max_size=3)) if steps else set()
        steps.append(Step(draw(st.sampled_from("abcd")), bases, {at: draw(pairs_of_rows) for at in sorted(parents)}))
    return steps


def reference(steps: list[Step]) -> list[dict[str, Pairs]]:
    """The lineage of every step in every base table: products over parents, unions over paths."""
    found: list[dict[str, Pairs]] = []
    for step in steps:
        whole = {base: set(step.bases.get(base, ())) for base in BASES}
        for at, own in step.parents.items():
            for base in BASES:
                whole[base] |= {(row, each) for row, m in own for other, each in found[at][base] if m == other}
        found.append(whole)
    return found


def saved_steps(library: Library, steps: list[Step]) -> list[SavedResult]:
    versions: list[SavedResult] = []
    for step in steps:
        parents = {versions[at].name: (versions[at].version, own) for at, own in step.parents.items()}
        versions.append(
            put(
                library, step.name,
                {**step.bases, **{name: own for name, (_, own) in parents.items()}},
                versions={name: version for name, (version, _) in parents.items()},
                results=frozenset(parents), cuts=(0, 5),
            )
        )  # fmt: skip
    return versions


@pytest.mark.slow
@settings(max_examples=60)
@given(steps=pipelines(), base=st.sampled_from(BASES), asked=st.sets(number, max_size=6))
def test_random_pipelines(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step], base: str, asked: set[int]
) -> None:
    library = Library(tmp_path_factory.mktemp("home"))
    versions = saved_steps(library, steps)
    expected = reference(steps)
    newest = {step.name: at for at, step in enumerate(steps)}
    assert {each.name: each.version for each in library.results()} == {
        n: versions[at].version for n, at in newest.items()
    }

    impact = Pipeline(library, library.results()).forward(base, lambda saved, edge: LineageSet(asked))
    for at in newest.values():
        saved, pairs = versions[at], expected[at][base]
        pipeline = Pipeline(library, [saved])
        rows = {row for row, each in pairs if each in asked}
        touched = impact.get(node_of(saved))
        assert set(touched.rows if touched else ()) == rows
        if touched:
            assert touched.path[0] == base and touched.path[-1] == saved.name
        if base in pipeline.tables():
            found = pipeline.backward(saved, LineageSet(asked), base)
            assert set(found.ids) == {each for row, each in pairs if row in asked}
            assert set(zip(*(side.tolist() for side in pipeline.relation(saved, base).pairs()), strict=True)) == pairs


def test_a_diamond_is_a_union_of_its_paths(tmp_path: Path) -> None:
    library = Library(tmp_path)
    put(library, "left", {"sales": {(0, 1)}})
    put(library, "right", {"sales": {(0, 2), (1, 3)}})
    sides = frozenset({"left", "right"})
    top = put(library, "top", {"left": {(0, 0)}, "right": {(0, 0), (1, 1)}, "sales": {(1, 9)}}, results=sides)
    pipeline = Pipeline(library, [top])
    assert list(pipeline.backward(top, LineageSet([0]), "sales").ids) == [1, 2]
    assert list(pipeline.backward(top, LineageSet([1]), "sales").ids) == [3, 9]
    touched = pipeline.forward("sales", lambda saved, edge: LineageSet([2, 9]))
    assert {node[0]: (list(each.rows), each.path) for node, each in touched.items()} == {
        "right": ([0], ("sales", "right")),
        "top": ([0, 1], ("sales", "top")),
    }


def test_a_result_made_of_its_own_older_self(tmp_path: Path) -> None:
    """A question for the result itself ends at the version before; the base table is reached through all."""
    library = Library(tmp_path)
    itself = frozenset({"total"})
    put(library, "total", {"sales": {(0, 1)}})
    put(library, "total", {"total": {(3, 0)}, "sales": {(3, 2)}}, results=itself)
    last = put(library, "total", {"total": {(5, 3)}, "sales": {(5, 4)}}, versions={"total": 2}, results=itself)
    pipeline = Pipeline(library, [last])
    assert list(pipeline.backward(last, LineageSet([5]), "sales").ids) == [1, 2, 4]
    reached = pipeline.backward(last, LineageSet([5]), "total")
    assert [(edge.version, list(ids)) for _, edge, ids in reached.edges] == [(2, [3])]
    assert [version.version for version in library.versions("total")] == [1, 2, 3]


def test_a_long_pipeline(tmp_path: Path) -> None:
    library = Library(tmp_path)
    put(library, "s0", {"sales": {(0, 7)}})
    for step in range(1, 60):
        put(library, f"s{step}", {f"s{step - 1}": {(step % 5, (step - 1) % 5)}}, results=frozenset({f"s{step - 1}"}))
    last = library.get("s59")
    assert list(Pipeline(library, [last]).backward(last, LineageSet([59 % 5]), "sales").ids) == [7]


def test_a_step_that_knows_values_only(tmp_path: Path) -> None:
    library = Library(tmp_path)
    put(library, "revenue", {"sales": {(0, 1)}})
    by_year = put(library, "by_year", {"revenue": {(0, 0)}}, results=frozenset({"revenue"}))
    edge = by_year.tables[0]
    values = TracedTable(edge.name, edge.version, edge.provider, edge.segments, ("year(day)",), "granules/0")
    granular = replace(by_year, tables=(values,))
    pipeline = Pipeline(library, [granular])
    message = (
        r"^by_year was saved with LINEAGE ON year\(day\) and knows values of revenue, not rows, so it cannot be traced "
        r"through revenue to sales. Save by_year without LINEAGE ON, or ask about revenue\.$"
    )
    for ask in (
        lambda: pipeline.backward(granular, LineageSet([0]), "sales"),
        lambda: pipeline.forward("sales", lambda saved, edge: LineageSet([1])),
        lambda: pipeline.relation(granular, "sales"),
    ):
        with pytest.raises(LineageError, match=message):
            ask()
    assert list(pipeline.backward(granular, LineageSet([0]), "revenue").ids) == [0]

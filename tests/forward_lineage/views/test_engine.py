"""Every way to answer a brush gives what going through all base rows gives.   [Smoke, §6.5.1]"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forward_lineage.relations.groups import BATCH
from forward_lineage.views.cubes import Limits
from forward_lineage.views.engine import Known, engine_of
from forward_lineage.views.engine_files import cubes_of
from forward_lineage.views.measures import ROWS, Measure, MeasurePart
from forward_lineage.views.membership import Dense
from tests.forward_lineage.views.random_views import LIMITS, Model, assert_counted, choices, models


@settings(max_examples=300)
@given(st.data(), models(), LIMITS)
def test_every_way_gives_the_same(data: st.DataObject, model: Model, limits: Limits) -> None:
    engine = model.engine(limits)
    engine_views = range(len(model.bars))
    choice = data.draw(choices(model, most=3))
    targets = [view for view in engine_views if view not in choice]
    before = [data.draw(choices(model, most=3)) for _ in range(2)]
    known = []
    for each in before:
        answered = engine.run(engine.plan(each, engine_views), engine_views)
        known.append(Known(each, answered))
        for view in engine_views:
            assert_counted(answered[view], model.counted(each, view))
    for group in ([each] for each in targets), (targets,):
        for asked in group:
            for plan in engine.plans(choice, asked, known):
                for view, counted in engine.run(plan, asked).items():
                    assert_counted(counted, model.counted(choice, view))


@given(models(), LIMITS)
def test_without_a_brush_all_rows_are_there(model: Model, limits: Limits) -> None:
    engine = model.engine(limits)
    for view in range(len(model.bars)):
        assert_counted(engine.totals.counted[view], model.counted({}, view))


@given(st.data(), models())
def test_a_membership_is_asked_in_both_directions(data: st.DataObject, model: Model) -> None:
    for view, count in enumerate(model.bars):
        membership = model.membership(view)
        chosen = np.array(data.draw(st.lists(st.booleans(), min_size=count + 1, max_size=count + 1)))
        left = model.left({view: chosen})
        found = [int(row) for rows in membership.rows_of(chosen) for row in rows]
        assert sorted(found) == sorted(left)
        everything = np.arange(model.rows)
        expected = [row in left for row in range(model.rows)]
        assert membership.holds(chosen, everything).tolist() == expected
        assert membership.holds(chosen, slice(0, model.rows)).tolist() == expected


@pytest.mark.parametrize("limits", [Limits(), Limits(cells=0), Limits(cells=1000, heavy=BATCH)])
def test_rows_come_in_batches(limits: Limits) -> None:
    random = np.random.default_rng(20)
    rows = 3 * BATCH + 17
    codes = [(np.minimum(random.geometric(0.4, rows), 12) - 1).astype(np.uint8), random.integers(0, 300, rows)]
    values = random.integers(-(10**9), 10**9, rows)
    memberships, parts = [Dense.of(codes[0], 12), Dense.of(codes[1], 300)], [(ROWS, MeasurePart("sum", 0))] * 2
    measures = (Measure(values),)
    engine = engine_of(memberships, parts, measures, cubes_of(memberships, parts, measures, limits))
    for view, bars in ((0, [0]), (0, [0, 1, 3]), (0, [5, 11]), (1, [7]), (1, range(0, 300, 2)), (1, range(40, 260))):
        chosen = np.zeros(memberships[view].bars + 1, np.bool_)
        chosen[list(bars)] = True
        left, other = chosen[codes[view]], 1 - view
        sums = np.zeros(memberships[other].bars, np.int64)
        np.add.at(sums, codes[other][left], values[left])
        counts = np.bincount(codes[other][left], minlength=sums.size)
        plans = engine.plans({view: chosen}, [other])
        for plan in plans:
            found = engine.run(plan, [other])[other]
            assert_counted(found, {ROWS: counts.tolist(), MeasurePart("sum", 0): sums.tolist()})
    ways = {plan.way for plan in plans}
    assert {"rows", "complement by rows"} <= ways
    assert ("cube" in ways) == (limits == Limits())

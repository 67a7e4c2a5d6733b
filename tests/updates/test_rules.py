"""A few queries and edits of `tests.updates.rules`, and that it catches rules which are disabled."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.tiers import every_day
from tests.updates.rules import ALL_SPOILED, outcomes


@pytest.mark.parametrize("seed", every_day(range(10), [1]))
def test_what_is_taken_for_untouched(seed: int) -> None:
    found = list(islice(outcomes(seed), 60))
    assert [fault for _, fault in found if fault is not None] == []
    assert sum(way == "untouched" for way, _ in found) > len(found) // 10
    assert sum(way.startswith("partly") for way, _ in found) > len(found) // 10


@pytest.mark.parametrize("rule", every_day(ALL_SPOILED, ["lineage", "keys that were"]))
def test_a_rule_that_is_disabled(rule: str) -> None:
    assert any(fault is not None for _, fault in islice(outcomes(1, rule), 3000))

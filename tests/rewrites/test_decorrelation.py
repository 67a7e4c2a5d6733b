"""Correlated subqueries that become joins: by which types their keys are compared."""

from __future__ import annotations

import pytest

from rewrites.environment import Semantics
from tests.rewrites.plain_tables import printed


def moved(equality: str) -> bool:
    sql = f"SELECT id FROM v WHERE EXISTS (SELECT 1 FROM w WHERE {equality} AND w.n > v.n)"
    return "dl_alike(" in printed(sql, Semantics.CONTROL)


@pytest.mark.parametrize("equality", ["w.wid = v.id", "w.k = v.k", "w.f = v.f"])
def test_keys_of_one_family_of_types_are_joined(equality: str) -> None:
    assert moved(equality)


@pytest.mark.parametrize("equality", ["w.k = v.id", "w.f = v.id"])
def test_keys_of_two_families_stay_where_they_are(equality: str) -> None:
    assert not moved(equality)

"""Mutants of our rules: each is another program, named the same every time, and only where something is decided."""

from __future__ import annotations

import ast

import pytest

from tests.mutations.rules.explained import explained
from tests.mutations.rules.sites import KINDS, all_mutants, chosen, described, function_of, source_of, spoilt

MUTANTS = chosen(2 * len(KINDS), seed=3)


def test_there_are_enough_of_every_kind() -> None:
    found = all_mutants()
    assert len(found) > 200 and {each.kind for each in found} == set(KINDS)
    assert len({each.name for each in found}) == len(found)
    assert chosen(30, 1) == chosen(30, 1) != chosen(30, 2)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_is_another_program(mutant) -> None:  # type: ignore[no-untyped-def]
    tree = spoilt(mutant)
    assert ast.dump(tree) != ast.dump(ast.parse(source_of(mutant.module).read_text(encoding="utf-8")))
    compile(tree, mutant.module, "exec")
    assert described(mutant).startswith(("-", "+"))


def test_where_a_mutant_is() -> None:
    inside = [each for each in MUTANTS if function_of(each) is not None]
    assert len(inside) > len(MUTANTS) / 2
    assert all(file.startswith("rewrites/") for file, _ in map(function_of, inside))  # type: ignore[misc]


def test_what_is_explained_is_still_there() -> None:
    for (module, change), each in explained().items():
        printed = [line.strip() for line in ast.unparse(ast.parse(source_of(module).read_text("utf-8"))).splitlines()]
        assert each.before in printed, change
        assert len(each.why.split()) > 5

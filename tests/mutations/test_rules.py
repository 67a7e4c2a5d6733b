"""Mutants of our rules: each is another program, named the same every time, and only where something is decided."""

from __future__ import annotations

import ast

import pytest

from tests.mutations.rules.explained import explained
from tests.mutations.rules.sites import KINDS, Mutant, all_mutants, chosen, described, function_of, source_of, spoilt

SOME = 2 * len(KINDS)


@pytest.fixture(scope="module")
def mutants() -> list[Mutant]:
    """Some of each kind; each process of the suite that collects this file would look for them."""
    return chosen(SOME, seed=3)


@pytest.mark.slow
def test_there_are_enough_of_every_kind() -> None:
    found = all_mutants()
    assert len(found) > 200 and {each.kind for each in found} == set(KINDS)
    assert len({each.name for each in found}) == len(found)
    assert chosen(30, 1) == chosen(30, 1) != chosen(30, 2)


@pytest.mark.parametrize("number", range(SOME))
def test_a_mutant_is_another_program(mutants: list[Mutant], number: int) -> None:
    mutant = mutants[number]
    tree = spoilt(mutant)
    assert ast.dump(tree) != ast.dump(ast.parse(source_of(mutant.module).read_text(encoding="utf-8")))
    compile(tree, mutant.module, "exec")
    assert described(mutant).startswith(("-", "+"))


def test_where_a_mutant_is(mutants: list[Mutant]) -> None:
    inside = [each for each in mutants if function_of(each) is not None]
    assert len(inside) > len(mutants) / 2
    assert all(file.startswith("rewrites/") for file, _ in map(function_of, inside))  # type: ignore[misc]


def test_what_is_explained_is_still_there() -> None:
    for (module, change), each in explained().items():
        printed = [line.strip() for line in ast.unparse(ast.parse(source_of(module).read_text("utf-8"))).splitlines()]
        assert each.before in printed, change
        assert len(each.why.split()) > 5

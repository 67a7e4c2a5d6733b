"""Every rule has one of the three shapes, says what it does in one form, and has fixtures of its own name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

from rewrites import rules
from rewrites.driver import BLOCK_RULES, QUERY_RULES, select_block
from rewrites.rules import name_of
from rewrites.rules.from_clause import SOURCE_RULES
from tests.golden.cases import FIXTURES, read

MODULES = [module.name for module in pkgutil.iter_modules(rules.__path__)]
# Fixtures that belong to no rule: what six modules beside the rules do, and what the front end refuses.
OTHERS = {"answers", "decorrelation", "lineage_on", "looked_at", "pipes", "recursive_ctes", "refusals"}
SHAPES = {
    "query": (QUERY_RULES, ["query", "env"]),
    "block": (BLOCK_RULES, ["block"]),
    "source": (SOURCE_RULES, ["node", "block"]),
}
PARTS = ("Requires:", "Ensures:", "Nulls:", "Raises:")


def test_every_module_is_a_rule_that_runs() -> None:
    run = [name_of(rule) for each, _ in SHAPES.values() for rule in each if rule is not select_block]
    assert sorted(run) == sorted(MODULES)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_rule_takes_what_its_shape_says(shape: str) -> None:
    each, parameters = SHAPES[shape]
    for rule in each:
        assert list(inspect.signature(rule).parameters) == parameters, name_of(rule)


@pytest.mark.parametrize("rule", MODULES)
def test_a_rule_says_what_it_needs_and_leaves(rule: str) -> None:
    text = importlib.import_module(f"rewrites.rules.{rule}").__doc__ or ""
    found = [line.split()[0] for line in text.splitlines() if line.startswith(PARTS)]
    assert found == list(PARTS)
    assert "→" in text or "   data" in text or "   the row's own" in text, "no algebra"


@pytest.mark.parametrize("rule", MODULES)
def test_a_rule_has_fixtures_of_its_own_name(rule: str) -> None:
    assert read(FIXTURES / f"{rule}.golden")


def test_fixtures_have_the_name_of_a_rule() -> None:
    assert {file.stem for file in FIXTURES.glob("*.golden")} == {*MODULES, *OTHERS}

"""Texts that the rules write.

Imported in processes that are mutants already: all of our rules are imported from here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from forward_lineage.frontend import parse, rewrite_statement
from forward_lineage.frontend.printing import FaithfulGenerator
from forward_lineage.frontend.rewriting import semantics_of
from rewrites.options import Options
from tests.golden import execution
from tests.golden.cases import SEMANTICS, read_all
from tests.golden.tables import catalog as golden_catalog
from tests.oracle.comparison import Setup, catalog
from tests.oracle.generation import Case
from tests.oracle.own_ids import known_values
from tests.oracle.printing import Printer
from udafs.errors import LineageError


@dataclass(frozen=True)
class Probe:
    """A query and semantics, by name; `ask` gives the text, or what is said instead."""

    name: str
    ask: Callable[[], str]


def golden_probes() -> Iterator[Probe]:
    """The fixtures, as the test of their texts reads them."""
    FaithfulGenerator.HAS_STAR_EXCEPT = True
    known = golden_catalog()
    for case in read_all():
        if case.bug is None:
            for semantics in SEMANTICS:
                yield Probe(f"golden {case.name}, {semantics}", lambda c=case, s=semantics: _golden(c, s, known))  # type: ignore[misc]


def _golden(case: Any, semantics: str, known: Any) -> str:
    found = execution.rewritten(case, semantics, known)
    return f"{type(found).__name__}: {found}" if isinstance(found, LineageError) else str(found.sql)


def oracle_probes(cases: list[Case]) -> Iterator[Probe]:
    for number, case in enumerate(cases):
        for semantics in SEMANTICS:
            yield Probe(f"oracle {number}, {semantics}", lambda n=number, c=case, s=semantics: _of_oracle(n, c, s))  # type: ignore[misc]


def names_of(number: int, case: Case) -> dict[str, str]:
    return {table: f"{table}{number}" for table in case[0]}


def setup_of(number: int, case: Case) -> Setup:
    names = names_of(number, case)
    return Setup(case, names, Printer(names).query(case[1].query))


def _of_oracle(number: int, case: Case, semantics: str) -> str:
    setup = setup_of(number, case)
    known = known_values if setup.own_ids else None
    try:
        options = Options(semantics_of(semantics), known=known)
        return rewrite_statement(parse(setup.text()), catalog(setup.names), options, text_only=True).sql
    except LineageError as refusal:
        return f"refused: {refusal}"


def told(probe: Probe) -> str:
    """What a probe says, short; an error of any kind is an answer, too."""
    try:
        text = probe.ask()
    except Exception as error:  # a mutant breaks in any way
        text = f"{type(error).__name__}: {error}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]

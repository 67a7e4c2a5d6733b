"""Stale cells of written sessions, and the examples in docstrings."""

from __future__ import annotations

import ast
import doctest
import random
from contextlib import suppress
from importlib import import_module

import pandas as pd
import pytest

from forward_lineage.cells.cell_flow import CellFlow, flow_of
from forward_lineage.cells.highlights import CellUse, refreshers
from forward_lineage.cells.notebook import Notebook
from forward_lineage.cells.runtime_values import RuntimeValues
from forward_lineage.cells.value_prints import Budget, print_of
from tests.forward_lineage.cells.scripted import SESSIONS, TOO_MANY, Scripted, found, played

ROOM = ("free_names", "cell_flow", "runtime_values", "value_prints", "symbols", "highlights", "notebook")


@pytest.mark.parametrize("name", ROOM)
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"forward_lineage.cells.{name}"))
    assert tried
    assert not failed


@pytest.mark.parametrize("name", SESSIONS)
def test_cells_that_are_out_of_date_are_found(name: str) -> None:
    session = SESSIONS[name]
    stale, fresh, _ = found(session)
    assert session.stale <= stale
    assert session.fresh <= stale | fresh  # what calls a function that is handed on may be stale instead
    assert (stale | fresh) - (session.stale | session.fresh) == TOO_MANY.get(name, set())


def test_recall_is_one_and_precision_is_what_the_docs_state() -> None:
    named = wanted = both = 0
    for session in SESSIONS.values():
        stale, fresh, _ = found(session)
        right = session.stale | session.fresh
        named, wanted, both = named + len(stale | fresh), wanted + len(right), both + len(right & (stale | fresh))
    assert both == wanted
    assert both / named >= 0.94


@pytest.mark.parametrize("name", SESSIONS)
def test_after_running_again_what_is_said_nothing_is_out_of_date(name: str) -> None:
    session = SESSIONS[name]
    texts = dict(session.cells)
    again = tuple((key, texts[key]) for key in found(session)[2])
    stale, fresh, rerun = found(Scripted((*session.cells, *again), frozenset(), frozenset()))
    assert (stale, fresh, rerun) == (set(), set(), ())


def test_refreshers_are_those_that_putting_cells_together_gives() -> None:
    """Theorem 7.1, against its left side: the live stale names that go when a cell runs before another."""
    chosen = random.Random(51)
    for _ in range(300):
        texts = {str(number): _text(chosen) for number in range(5)}
        stale_names = frozenset(chosen.sample("abcde", 2))
        flows = {key: flow_of(ast.parse(text)) for key, text in texts.items()}
        cells = {key: CellUse(flow.live, flow.dead, 1) for key, flow in flows.items()}
        stale = {key: names for key, cell in cells.items() if (names := cell.live & stale_names)}
        slow = {
            one
            for one in cells.keys() - stale.keys()
            for other, names in stale.items()
            if names - flow_of(ast.parse(f"{texts[one]}\n{texts[other]}")).live
        }
        assert refreshers(cells, stale) == slow, texts


def _text(chosen: random.Random, depth: int = 0) -> str:
    name, other, third = (chosen.choice("abcde") for _ in range(3))
    lines = [f"{name} = {other} + 1", f"{name} = 1", f"print({other})", f"{name} += {other}"]
    if depth < 2:
        inner = "\n".join(f"    {line}" for line in _text(chosen, depth + 1).splitlines())
        lines += [f"if {third}:\n{inner}", f"if {third}:\n{inner}\nelse:\n{inner}", f"for {name} in {other}:\n{inner}"]
        lines += [f"while {third}:\n{inner}\n    break", f"try:\n{inner}\nexcept KeyError:\n    {name} = 2"]
    return "\n".join(chosen.choice(lines) for _ in range(chosen.randint(1, 3)))


class Forgetful(dict[str, CellFlow]):
    """Knows nothing."""

    def __contains__(self, key: object) -> bool:
        return False


STATEMENTS = (
    *(
        "a = 1",
        "a = b",
        "b = [a, 1]",
        "c = f(a)",
        "c = fs[0](b)",
        "fs = [f, g]",
        "fs = [g, f]",
        "d = p.go(a)",
        "a = g(b)",
    ),
    *(
        "def f(x):\n    return (x, b)",
        "def f(x):\n    return 1",
        "def g(x):\n    return f(x)",
        "g = f",
        "f = g",
        "g = len",
    ),
    *("class P:\n    go = staticmethod(f)", "class P:\n    def go(self, x):\n        return c", "p = P()", "p.go = f"),
    *("fs[0] = g", "fs.append(f)", "_h = f", "d = _h(a)", "del g\ng = f", "P.go = g", "import math as f", "_h = g"),
)


@pytest.mark.parametrize("sessions", [15, pytest.param(300, marks=pytest.mark.long)])
def test_analyses_that_are_known_are_those_that_would_be_made(sessions: int) -> None:
    """A cell's analysis depends on the code that its names hold, which other cells may change."""
    chosen = random.Random(62)
    for _ in range(sessions):
        start = "a = c = 0\nb = [1]\ndef f(x):\n    return x\ng = _h = f\nfs = [f]\nclass P:\n    go = f\np = P()"
        cells = [("0", start), *((str(chosen.randrange(1, 9)), chosen.choice(STATEMENTS)) for _ in range(20))]
        ran: list[tuple[str, str]] = []
        known, anew = Notebook({"__name__": "__main__"}), Notebook({"__name__": "__main__"})
        for key, text in cells:
            ran.append((key, text))
            for notebook in (known, anew):
                notebook.begin(key, text)
                with suppress(TypeError, NameError, AttributeError, RecursionError):
                    exec(compile(text, "cell", "exec"), notebook._names)
                notebook.end()
                anew._flows = Forgetful()
            uses, made = (
                {key: each._use(cell, RuntimeValues(each._names)) for key, cell in each.cells.items()}
                for each in (known, anew)
            )
            assert uses == made, ran


FRAMES = {
    "numbers": {"a": [1, 2, 3]},
    "texts": {"a": ["x", "y", "z"]},
    "a zone": {"a": pd.date_range("2020", periods=3, tz="UTC")},
    "numbers or none": {"a": pd.array([10**9, None, 2], dtype="Int64")},
    "categories": {"a": pd.Categorical(["x", "y", "x"])},
    "periods": {"a": pd.period_range("2020", periods=3)},
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_print_the_same_until_they_change(name: str) -> None:
    """Elements of many of pandas' arrays are made whenever they are read: no two reads give the same objects."""
    index = pd.MultiIndex.from_tuples([(1, "a"), (2, "b"), (2, "c")])
    for frame in (pd.DataFrame(FRAMES[name]), pd.DataFrame(FRAMES[name]).set_index(index)):
        before = print_of(frame, Budget(5000))
        assert print_of(frame, Budget(5000)) == before
        assert print_of(frame["a"], Budget(5000)) == print_of(frame["a"], Budget(5000))
        frame.iloc[0, 0] = frame.iloc[1, 0]
        assert print_of(frame, Budget(5000)) != before


def test_a_cell_that_fails_halfway_leaves_what_it_did_not_reach() -> None:
    notebook = played(Scripted((("1", "a = 1"), ("2", "b = a"), ("1", "a = 2")), frozenset(), frozenset()))
    notebook.begin("2", "1 / 0\nb = a")
    notebook.end(failed=True)
    assert "b" in notebook.symbols.stale()

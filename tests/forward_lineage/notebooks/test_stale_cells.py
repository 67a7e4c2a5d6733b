"""Cells of a notebook that are out of date: because of other cells, and because rows changed outside of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from jupyter_core.utils import run_sync
from nbclient import NotebookClient

from forward_lineage import ForwardLineage
from forward_lineage.cells.highlights import Told
from forward_lineage.notebooks.ipyflow_door import IpyflowDoor
from forward_lineage.notebooks.watching import Watching
from tests.forward_lineage.notebooks.outside import CHANGES, Work
from tests.structure import REPOSITORY

LABEXTENSION = REPOSITORY / "forward_lineage" / "notebooks" / "labextension"
EVERY_DAY = ("a row that one of two results was made of", "a row that leaves what was selected")


@pytest.fixture
def work(lineage: ForwardLineage, tmp_path: Path) -> Iterator[Work]:
    made = Work(lineage, tmp_path)
    yield made
    made.close()


def check(work: Work, name: str, home: Any) -> None:
    """Change the data, look, run again what is said, and look again."""
    change = CHANGES[name]
    assert work.status()[1] == set()
    work.write(change.people, change.orders)
    if change.by is not None:
        change.by(ForwardLineage(work.lineage.spark, home))
    status, stale = work.status()
    assert stale == change.stale, f"{name}: {status!r}"
    for title in status.rerun:
        work.run(next(key for key, each in status.titles.items() if each == title))
    again, stale = work.status()
    assert stale == set(), f"{name}: {again!r}"


def test_a_cell_is_stale_when_rows_that_it_read_change(work: Work) -> None:
    for name in EVERY_DAY:
        check(work, name, work.lineage.home)


@pytest.mark.long
@pytest.mark.parametrize("name", [each for each in CHANGES if each not in EVERY_DAY])
def test_changes_outside_of_the_notebook(work: Work, name: str) -> None:
    check(work, name, work.lineage.home)


def test_a_notebook_is_warned_told_and_marked() -> None:
    cells = [
        "%load_ext forward_lineage",
        "a = 4",
        "b = a",
        "c = a + b",
        "a = 5",
        "c = a + b  # again",
        "%lineage status",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])  # type: ignore[no-untyped-call]
    client = NotebookClient(notebook, timeout=300, allow_errors=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{REPOSITORY}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        with client.setup_kernel():
            before = asked(client)
            for at, cell in enumerate(notebook["cells"]):
                client.execute_cell(cell, at)
            after = asked(client)
    assert before["status"] == "error"  # nothing is marked without the extension
    marks = list(after["data"]["application/json"].values())  # nbclient gives no ids of cells
    assert [mark["kind"] for mark in marks] == ["fresh", "stale", "stale"]
    assert marks[0]["said"] == "fresh: a changed after it ran; refresher: sets stale names anew"
    outputs = [cell["outputs"] for cell in notebook["cells"]]
    (warned,) = outputs[5]
    assert warned["data"]["text/plain"].startswith(
        "This cell uses b, made of what has changed since. Run first: [3] b = a"
    )
    (told,) = outputs[6]
    assert "[3] b = a: fresh: a changed after it ran" in told["data"]["text/plain"]
    assert "Run again: [3] b = a, then " in told["data"]["text/plain"]
    assert "<table>" in told["data"]["text/html"]


def asked(client: NotebookClient) -> Any:
    """Ask for marks in the words of the extension of JupyterLab."""
    (question,) = re.findall(r'const ASK = "(.+)";', (LABEXTENSION / "static" / "marks.js").read_text())
    assert client.kc is not None
    kernel = run_sync(client.kc.execute_interactive)
    reply = kernel("", silent=True, store_history=False, user_expressions={"marks": question}, timeout=60)
    return reply["content"]["user_expressions"]["marks"]


def test_the_extension_of_jupyterlab_is_where_it_says() -> None:
    told = json.loads((LABEXTENSION / "package.json").read_text())
    script = (LABEXTENSION / told["jupyterlab"]["_build"]["load"]).read_text()
    assert f"window._JUPYTERLAB.{told['name']} = " in script


def test_a_fault_of_the_watcher_does_not_reach_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = InteractiveShell()
    watching = Watching(shell)
    watching.start()
    try:
        monkeypatch.setattr(watching.notebook, "begin", lambda *_: 1 / 0)
        shell.run_cell("a = 4", store_history=True, cell_id="1").raise_error()
        assert shell.user_ns["a"] == 4
        assert "ZeroDivisionError" in repr(watching.status())
    finally:
        watching.stop()


class CellOfIpyflow:
    """A cell, as `OfIpyflow` has them."""

    def __init__(self) -> None:
        self.is_ready = False

    def set_ready(self, ready: bool) -> None:
        self.is_ready = ready


class OfIpyflow:
    """What we use of ipyflow, as release 0.0.231 has it: settings, cells, symbols, and the check of all cells."""

    LIVENESS_BASED, ANY_ORDER = "by liveness", "in any order"  # of its enums

    def __init__(self) -> None:
        self.mut_settings = SimpleNamespace(exec_schedule=self, flow_order=self)
        self.last_executed_cell_id: object = None
        self.mutated: list[str] = []
        self.cells = [CellOfIpyflow(), CellOfIpyflow()]
        self.global_scope = SimpleNamespace(all_symbols_this_indentation=lambda: map(self._symbol, "ab"))

    def _symbol(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(name=name, mutate=lambda: self.mutated.append(name))

    def current_cells_for_each_id(self) -> list[CellOfIpyflow]:
        return self.cells

    def check_and_link_multiple_cells(self) -> SimpleNamespace:
        assert (self.mut_settings.exec_schedule, self.mut_settings.flow_order) == ("by liveness", "in any order")
        self.cells[0].set_ready(True)
        return SimpleNamespace(
            waiting_cells={"its 3", "unknown"},
            ready_cells={"its 2"},
            ready_maker_links={"its 2": {"its 3"}, "its 1": ()},
        )


def test_cells_that_ipyflow_names_count_and_it_is_told_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = OfIpyflow()
    monkeypatch.setitem(sys.modules, "ipyflow", SimpleNamespace(flow=lambda: flow, cells=lambda: flow))
    shell = type("Shell", (InteractiveShell,), {"__module__": "ipyflow.shell"})()
    watching = Watching(shell)
    watching.start()
    try:
        for key in "123":
            flow.last_executed_cell_id = f"its {key}"
            shell.run_cell("a = 1", store_history=True, cell_id=key).raise_error()
        status = watching.status()
    finally:
        watching.stop()
    found = status.highlights
    assert (set(found.stale), set(found.fresh), set(found.refreshers)) == ({"3"}, {"2"}, {"2"})
    assert set(found.rerun) == {"2", "3"}
    assert "fresh: ipyflow says so" in repr(status)
    assert not flow.cells[0].is_ready, "its own marks are what they were"
    assert flow.mut_settings == SimpleNamespace(exec_schedule=flow, flow_order=flow)
    assert IpyflowDoor(shell).data_changed(["b", "other"]) == ("b",)
    assert flow.mutated == ["b"]


def test_ipyflow_is_never_needed() -> None:
    door = IpyflowDoor(InteractiveShell())
    door.cell_ran("1")
    assert (door.data_changed(["a"]), door.told()) == ((), Told())


def test_an_ipyflow_that_calls_things_otherwise_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipyflow", SimpleNamespace(flow=SimpleNamespace))
    shell = type("Shell", (InteractiveShell,), {"__module__": "ipyflow.shell"})()
    watching = Watching(shell)
    watching.start()
    try:
        for key, text in (("1", "a = 1"), ("2", "b = a"), ("1", "a = 2")):
            shell.run_cell(text, store_history=True, cell_id=key).raise_error()
        status = watching.status()
    finally:
        watching.stop()
    assert set(status.highlights.fresh) == {"2"}
    assert "ipyflow was not looked at: AttributeError" in repr(status)


@pytest.mark.long
def test_with_ipyflow_itself_all_written_sessions_are_right() -> None:
    pytest.importorskip("ipyflow")
    command = [sys.executable, "-m", "tests.forward_lineage.notebooks.with_ipyflow"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=REPOSITORY)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "cell", ["%time x = n + 1", "%%time\nx = n + 1", "%prun -s time x = n + 1", "%timeit -n 1 -r 1 n"]
)
def test_code_that_a_magic_runs_counts(cell: str) -> None:
    shell = InteractiveShell()
    watching = Watching(shell)
    watching.start()
    try:
        for key, text in (("1", "n = 1"), ("2", cell), ("1", "n = 2")):
            shell.run_cell(text, store_history=True, cell_id=key).raise_error()
        assert set(watching.status().highlights.fresh) == {"2"}
    finally:
        watching.stop()

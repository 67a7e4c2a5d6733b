"""Cells of a notebook that are out of date: because of other cells, and because rows changed outside of it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from jupyter_core.utils import run_sync
from nbclient import NotebookClient

from forward_lineage import ForwardLineage
from forward_lineage.notebooks import ipyflow_door
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


def test_ipyflow_is_told_where_it_runs_and_never_needed() -> None:
    assert ipyflow_door.data_changed(InteractiveShell(), ["a"]) == ()


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

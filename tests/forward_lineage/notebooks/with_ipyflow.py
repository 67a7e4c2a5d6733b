"""Written sessions with ipyflow, which has to be installed: ``python -m tests.forward_lineage.notebooks.with_ipyflow``.

It ends with 1 if a cell that is out of date is not found by ipyflow and us together, or if anything is out of date
after the cells have run again that are said to. What each finds alone stands beside it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.forward_lineage.cells.scripted import SESSIONS, Scripted

TOGETHER, ALONE, OURS = "ipyflow and ours", "ipyflow alone", "ours alone"


def main() -> int:
    """Play all sessions, each in a process of its own: a process has one ipyflow."""
    for name in ("IPython.core.interactiveshell", "ipyflow", "pandas", "forward_lineage.notebooks.watching"):
        import_module(name)  # once for all
    found = {name: _apart(session) for name, session in SESSIONS.items()}
    right = {name: session.stale | session.fresh for name, session in SESSIONS.items()}
    wanted = sum(map(len, right.values()))
    for way in (TOGETHER, ALONE, OURS):
        named = sum(len(each[way]) for each in found.values())
        both = sum(len(right[name] & set(each[way])) for name, each in found.items())
        print(f"{way}: recall {both} of {wanted}, precision {both} of {named}")
    missed = {name: sorted(right[name] - set(each[TOGETHER])) for name, each in found.items()}
    left = {name: each["left"] for name, each in found.items() if each["left"]}
    for name, each in found.items():
        if more := set(each[TOGETHER]) - right[name]:
            print(f"named though nothing has changed: {name}, {sorted(more)}")
    missed = {name: keys for name, keys in missed.items() if keys}
    print(f"missed: {missed}; out of date after running again what was said: {left}")
    return int(bool(missed or left or not all(each["mutates"] for each in found.values())))


def _apart(session: Scripted) -> dict[str, Any]:
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
            said = json.dumps(played(session))
        os.write(writes, said.encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as said:
        answer: dict[str, Any] = json.loads(said.read())
    os.waitpid(child, 0)
    return answer


def played(session: Scripted) -> dict[str, Any]:
    """Run a session in a shell with ipyflow as a kernel would, and look."""
    from IPython.core.interactiveshell import InteractiveShell  # noqa: PLC0415 - only in the process of its own

    from forward_lineage.notebooks.watching import Watching  # noqa: PLC0415

    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext ipyflow", silent=True).raise_error()
    settings = sys.modules["ipyflow"].flow().mut_settings
    settings.interface = type(settings.interface).JUPYTER  # ids of cells are texts
    watching = Watching(shell)
    watching.start()

    def run(key: str, text: str) -> None:
        shell.run_cell(text, store_history=True, cell_id=key).raise_error()

    def keys(highlights: Any) -> list[str]:
        return sorted({*highlights.stale, *highlights.fresh})

    for key, text in session.cells:
        run(key, text)
    told, texts = watching._ipyflow.told(), dict(session.cells)
    found = {TOGETHER: watching.status().highlights, ALONE: told, OURS: watching.notebook.highlights()}
    answer: dict[str, Any] = {way: keys(each) for way, each in found.items()}
    for key in watching.status().highlights.rerun:
        run(key, texts[key])
    answer["left"] = keys(watching.status().highlights)
    run("rows", "total = [3]")
    run("more", "more = total[0] + len(total)")
    before = "more" in keys(watching._ipyflow.told())
    shell.user_ns["door"] = watching._ipyflow
    run("status", "told = door.data_changed(['total'])")  # as `%lineage status` does, in a cell
    answer["mutates"] = not before and "more" in keys(watching._ipyflow.told())
    assert not watching.missed, watching.missed
    return answer


if __name__ == "__main__":
    sys.exit(main())

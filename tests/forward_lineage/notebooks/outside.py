"""A notebook over a table of customers and one of orders, and eight changes of them outside of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from forward_lineage import ForwardLineage
from forward_lineage.notebooks.stale_cells import Status
from forward_lineage.notebooks.watching import Watching

CUSTOMERS = {77: "Rome", 12: "Oslo", 5: "Oslo", 9: "Bern"}
CELLS = {
    "cities": 'cities = lineage.save("SELECT city, count(*) AS n FROM nb_people GROUP BY city", "nb_cities")',
    "oslo": 'oslo = lineage.save("SELECT id FROM nb_people WHERE city = \'Oslo\'", "nb_oslo")',
    "read": 'n = lineage.sql("SELECT id FROM nb_oslo").count()',
    "after": "more = n + 1",
    "orders": 'total = lineage.sql("SELECT sum(amount) AS s FROM nb_orders").collect()[0][0]',
    "aside": "aside = 3",
}


@dataclass(frozen=True)
class Change:
    """A change outside of the notebook.

    Attributes:
        people: customers from now on.
        orders: amounts of orders from now on.
        stale: the cells that it makes stale.
        by: what another session does.

    """

    people: dict[int, str]
    orders: tuple[int, ...]
    stale: frozenset[str]
    by: Callable[[ForwardLineage], Any] | None = None


def _change(stale: str, people: dict[int, str] = CUSTOMERS, orders: tuple[int, ...] = (5, 6)) -> Change:
    return Change(people, orders, frozenset(stale.split()))


def _save_other(lineage: ForwardLineage) -> None:
    lineage.save("SELECT id FROM nb_people WHERE city IN ('Oslo', 'Bern')", "nb_oslo")


CHANGES = {
    "a row that one of two results was made of": _change("cities", {**CUSTOMERS, 77: "Bonn"}),
    "a row that leaves what was selected": _change("cities oslo read after", {**CUSTOMERS, 12: "Rome"}),
    "a row that comes into what was selected": _change("cities oslo read after", {**CUSTOMERS, 4: "Oslo"}),
    "a row that comes elsewhere": _change("cities", {**CUSTOMERS, 4: "Rome"}),
    "a row that goes": _change("cities oslo read after", {77: "Rome", 12: "Oslo", 9: "Bern"}),
    "the same rows in another order": _change("", dict(reversed(CUSTOMERS.items()))),
    "rows of another table": _change("orders", orders=(5, 7)),
    "a result that another session saved": Change(CUSTOMERS, (5, 6), frozenset(("oslo", "read", "after")), _save_other),
}


class Work:
    """The notebook, in a shell of its own."""

    def __init__(self, lineage: ForwardLineage, folder: Path) -> None:
        self.lineage, self.folder = lineage, folder
        self.write(CUSTOMERS, (5, 6))
        options = {"header": "true", "inferSchema": "true"}
        for name in ("nb_people", "nb_orders"):
            lineage.register(name, path=f"{folder}/{name}.csv", format="csv", options=options, key="id")
        self.shell = InteractiveShell()
        self.watching = Watching(self.shell)
        self.watching.start()
        self.shell.user_ns["lineage"] = lineage
        for key in CELLS:
            self.run(key)

    def write(self, people: dict[int, str], orders: tuple[int, ...]) -> None:
        self._write("nb_people", ["id,city", *(f"{key},{city}" for key, city in people.items())])
        self._write("nb_orders", ["id,amount", *(f"{key},{amount}" for key, amount in enumerate(orders))])

    def _write(self, name: str, lines: list[str]) -> None:
        file, text = self.folder / f"{name}.csv", "\n".join([*lines, ""])
        if not file.exists() or file.read_text() != text:
            file.write_text(text)

    def run(self, key: str) -> None:
        self.shell.run_cell(CELLS[key], store_history=True, cell_id=key).raise_error()

    def status(self) -> tuple[Status, set[str]]:
        """Return the status, and the keys of the stale cells."""
        status = self.watching.status(refresh=True)
        assert not status.missed
        keys = {title: key for key, title in status.titles.items()}
        return status, {keys[title] for title in status.stale}

    def close(self) -> None:
        self.watching.stop()

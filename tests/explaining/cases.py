"""Generated tables, edits and queries, and what SQLite says of them."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Rows = dict[int, tuple[Any, ...]]
Tables = Mapping[str, Rows]
COLUMNS = {
    "customers": (("id", "INT"), ("segment", "STRING"), ("tier", "INT")),
    "orders": (("oid", "INT"), ("cust", "INT"), ("region", "STRING"), ("amount", "INT")),
}


@dataclass(frozen=True)
class Case:
    """A query of one block.

    Attributes:
        tables: behind FROM, in the order of the joins.
        how: the join: "", ``JOIN`` or ``LEFT JOIN``.
        on: its conditions.
        where: conditions.
        keys: group columns.
        aggregates: name → expression; () for a query without groups.
        having: a condition.

    """

    tables: tuple[str, ...]
    how: str
    on: tuple[str, ...]
    where: tuple[str, ...]
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, str], ...]
    having: str = ""

    @property
    def source(self) -> str:
        """FROM."""
        if len(self.tables) == 1:
            return self.tables[0]
        return f"{self.tables[0]} {self.how} {self.tables[1]} ON {' AND '.join(self.on)}"

    @property
    def condition(self) -> str:
        """WHERE."""
        return f" WHERE {' AND '.join(self.where)}" if self.where else ""

    @property
    def sql(self) -> str:
        """The query."""
        named = [*self.keys, *(f"{text} AS {name}" for name, text in self.aggregates)]
        group = f" GROUP BY {', '.join(self.keys)}" if self.keys and self.aggregates else ""
        having = f" HAVING {self.having}" if self.having else ""
        return f"SELECT {', '.join(named)} FROM {self.source}{self.condition}{group}{having}"


def some_tables(chance: random.Random) -> dict[str, Rows]:
    """Return tables of a few rows."""
    customers = {key: _customer(key, chance) for key in range(1, chance.randint(2, 6))}
    orders = {key: _order(key, chance) for key in range(1, chance.randint(3, 12))}
    return {"customers": customers, "orders": orders}


def _customer(key: int, chance: random.Random) -> tuple[Any, ...]:
    return key, chance.choice(["A", "B", None]), chance.randint(1, 3)


def _order(key: int, chance: random.Random) -> tuple[Any, ...]:
    amount = None if chance.random() < 0.15 else chance.randint(-5, 40)
    return key, chance.choice([1, 2, 3, 4, 5, 9, None]), chance.choice(["EU", "US"]), amount


def edited(tables: Tables, chance: random.Random) -> dict[str, Rows]:
    """Return tables in which some rows went, came or have other values."""
    found: dict[str, Rows] = {}
    for name, rows in tables.items():
        make = _customer if name == "customers" else _order
        kept = {key: make(key, chance) if chance.random() < 0.25 else row for key, row in rows.items()}
        kept = {key: row for key, row in kept.items() if chance.random() > 0.12}
        for key in range(max(rows, default=0) + 1, max(rows, default=0) + 1 + chance.choice([0, 0, 1, 2])):
            kept[key] = make(key, chance)
        found[name] = kept or dict(rows)
    return found


def a_case(chance: random.Random, *, groups: bool = True) -> Case:
    """Return a query."""
    joined = chance.random() < 0.75
    order = ["orders", "customers"] if chance.random() < 0.6 else ["customers", "orders"]
    tables = tuple(order) if joined else ("orders",)
    how = chance.choice(["JOIN", "JOIN", "LEFT JOIN"]) if joined else ""
    on = ["cust = id"] if joined else []
    if joined and chance.random() < 0.3:
        on.append(chance.choice(["amount > tier", "region = 'EU'", "tier < 3"]))
    choices = ["amount > 5", "region = 'EU'", "amount BETWEEN 0 AND 30", "oid <> 2"]
    choices += ["tier <= 2", "segment IS NOT NULL", "amount > tier", "segment = 'A'"] if joined else []
    where = tuple(chance.sample(choices, chance.choice([0, 1, 1, 2])))
    keys = chance.sample(["region", "segment", "tier"] if joined else ["region", "cust"], chance.choice([0, 1, 1, 2]))
    if not groups:
        columns = ("oid", "region", "amount", *(("id", "segment", "tier") if joined else ()))
        return Case(tables, how, tuple(on), where, columns, ())
    texts = ["sum(amount)", "count(*)", "avg(amount)", "count(amount)", "sum(amount) - 2 * count(*)", "min(amount)"]
    texts += ["sum(CASE WHEN region = 'EU' THEN amount ELSE 0 END)", "100.0 * sum(amount) / count(*)"]
    texts += ["sum(amount * tier)"] if joined else []
    aggregates = tuple((f"x{at}", text) for at, text in enumerate(chance.sample(texts, 4)))
    having = chance.choice(["", "", "", "count(*) > 1", "sum(amount) > 20"]) if keys else ""
    return Case(tables, how, tuple(on), where, tuple(keys), aggregates, having)


def undone(before: Tables, after: Tables, named: Sequence[tuple[str, int]]) -> dict[str, Rows]:
    """Return the later tables with some rows as they were."""
    found = {name: dict(rows) for name, rows in after.items()}
    for table, key in named:
        if key in before[table]:
            found[table][key] = before[table][key]
        else:
            found[table].pop(key, None)
    return found


def changed(before: Tables, after: Tables) -> dict[str, dict[str, set[int]]]:
    """Return for each table which rows went, came, differ."""
    return {
        name: {
            "gone": before[name].keys() - after[name].keys(),
            "came": after[name].keys() - before[name].keys(),
            "differs": {
                key for key in before[name].keys() & after[name].keys() if before[name][key] != after[name][key]
            },
        }
        for name in before
    }


def asked(tables: Tables, sql: str) -> list[tuple[Any, ...]]:
    """Return what SQLite answers."""
    connection = sqlite3.connect(":memory:")
    try:
        for name, rows in tables.items():
            columns = ", ".join(f"{column} {'TEXT' if kind == 'STRING' else kind}" for column, kind in COLUMNS[name])
            connection.execute(f"CREATE TABLE {name} ({columns})")
            marks = ", ".join("?" * len(COLUMNS[name]))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows.values())
        return connection.execute(sql).fetchall()
    finally:
        connection.close()

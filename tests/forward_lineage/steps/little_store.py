"""A stand-in for tables and saved rows: a table is a list of numbers, a query an expression of Python over tables."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from forward_lineage.steps.looking import SavedRows, place_of
from forward_lineage.steps.shelf import Record
from forward_lineage.steps.step import Step


@dataclass
class LittleStore:
    """Tables with versions, and saved rows."""

    tables: dict[str, list[int]] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[int]] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)

    def change(self, table: str, rows: list[int], version: int | None = None) -> None:
        """Give a table other rows, and so another version; an earlier one if its rows are back."""
        self.tables[table] = rows
        self.versions[table] = self.versions.get(table, 0) + 1 if version is None else version

    def version(self, table: str) -> str | None:
        return str(self.versions[table])

    def table(self, name: str) -> str:
        return name

    def read(self, place: str) -> str:
        return place

    def save(
        self, step: Step, query: str, reads: tuple[str, ...], *, once: bool, earlier: Sequence[Record] = ()
    ) -> SavedRows:
        place = place_of(step.name, once=once)
        names = {each.id for each in ast.walk(ast.parse(query)) if isinstance(each, ast.Name)}
        read = {name: self.versions[name] for name in sorted(names & set(self.tables))}
        self.places[place] = eval(query, {"sum": sum, "sorted": sorted}, {**self.tables, **self.places})
        self.queries.append(query)
        return SavedRows(place, 8 * len(self.places[place]), {"tables": read})

    def watched(self) -> AbstractContextManager[Sequence[str]]:
        return nullcontext(())

    def holds(self, record: Record) -> bool:
        its = record.environment.get("tables", {})
        there = not record.is_kept or record.place in self.places
        return there and all(self.versions.get(name) == version for name, version in its.items())

    def drop(self, place: str) -> None:
        del self.places[place]

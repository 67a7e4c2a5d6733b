"""Random UPDATE, DELETE and MERGE statements, and an interpreter of the rows and the lineage that they leave.

The interpreter knows nothing of ours and of Spark's: a table is a list of rows, each with a set of pairs (table, id).
It follows docs/semantics.md, section "UPDATE, DELETE and MERGE".

Columns are qualified as SQL can qualify them: by an alias, by the name of the table, or by more of its full name.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Values = dict[str, Any]
Lineage = frozenset[tuple[str, int]]
Row = tuple[Values, Lineage]
Expression = Callable[[Values, Values], Any]
"""Of the row of the target and that of the source; {} where there is none."""
COLUMNS = ("k", "v", "w")
DATABASE = "bases"
_NOTHING: Lineage = frozenset()


@dataclass(frozen=True)
class Base:
    """A base table with a row for each id.

    Attributes:
        name: of the table.
        rows: id → values.

    """

    name: str
    rows: dict[int, Values]

    def sql(self) -> str:
        """Its rows as a query."""
        listed = ", ".join(f"({key}L, {row['k']}L, {row['v']}L, {_text(row['w'])})" for key, row in self.rows.items())
        return f"SELECT * FROM VALUES {listed} AS listed(id, k, v, w)"

    def traced(self) -> list[Row]:
        """Its rows, each made of itself."""
        return [(row, frozenset([(self.name, key)])) for key, row in self.rows.items()]


@dataclass(frozen=True)
class Assignments:
    """SET, or the columns and values of an INSERT.

    Attributes:
        sql: as it stands behind SET or INSERT.
        values: by column; columns of an INSERT that are missing become NULL.
        reads_target: whether a value names a column of the target.

    """

    sql: str
    values: dict[str, Expression]
    reads_target: bool = False


@dataclass(frozen=True)
class Clause:
    """WHEN … THEN …; no assignments: DELETE."""

    condition: tuple[str, Expression] | None
    assignments: Assignments | None

    def holds(self, target: Values, source: Values) -> bool:
        return self.condition is None or self.condition[1](target, source) is True


@dataclass
class Changes:
    """A target, what its rows are made of, and statements that change it.

    Attributes:
        chance: decides.
        name: of the target.
        rows: what is in it now.
        bases: tables that sources read.
        made_of_both: whether the target was made of both; else the second is to be added to its lineage.
        spelling: decides how columns are qualified.

    """

    chance: random.Random
    name: str
    rows: list[Row]
    bases: tuple[Base, Base]
    made_of_both: bool
    spelling: random.Random

    def statement(self) -> str:
        """Return a statement, and change `rows` as it does."""
        way = self.chance.random()
        if way < 0.07:
            return self._update()
        return self._delete() if way < 0.12 else self._merge()

    # ------------------------------------------------------------ statements

    def _update(self) -> str:
        condition, holds = self._condition("t.", "")
        shift = self.chance.randrange(5)
        for at, (row, made_of) in enumerate(self.rows):
            if holds(row, {}) is True:
                self.rows[at] = {**row, "v": _plus(row["v"], shift), "w": "u"}, made_of
        return self._spelled(f"UPDATE {self.name}", f" SET v = t.v + {shift}, t.w = 'u' WHERE {condition}")

    def _delete(self) -> str:
        condition, holds = self._condition("t.", "")
        self.rows = [(row, made_of) for row, made_of in self.rows if holds(row, {}) is not True]
        return self._spelled(f"DELETE FROM {self.name}", f" WHERE {condition}")

    def _merge(self) -> str:
        with_, using, source, prefix = self._source()
        limit = self.chance.randrange(60)
        bounded = self.chance.random() < 0.25
        on = f"t.k = s.{prefix}k" + (f" AND t.v > {limit}" if bounded else "")

        def joins(target: Values, other: Values) -> bool:
            return target["k"] == other["k"] and (not bounded or _above(target["v"], limit) is True)

        matched = self._clauses("t.", f"s.{prefix}", lambda: self._changed(prefix))
        missing = self._clauses(None, f"s.{prefix}", lambda: self._inserted(prefix))
        alone = self._clauses("t.", None, self._changed_alone)
        while not (matched or missing or alone):
            missing = self._clauses(None, f"s.{prefix}", lambda: self._inserted(prefix))
        self._apply(source, joins, matched, missing, alone)
        written = [self._written("MATCHED", each) for each in matched]
        written += [
            self._written(self.chance.choice(["NOT MATCHED", "NOT MATCHED BY TARGET"]), each) for each in missing
        ]
        written += [self._written("NOT MATCHED BY SOURCE", each) for each in alone]
        return self._spelled(f"{with_}MERGE INTO {self.name}", f" ON {on}\n" + "\n".join(written), using)

    def _spelled(self, begin: str, end: str, using: str | None = None) -> str:
        """A statement in whose end columns of the target are `t.…`, those of the source `s.…`."""
        behind, target = self._named(self.name, "t", using)
        middle, source = f"{begin}{behind}", "s"
        if using is not None:
            behind, source = self._named(using, "s", self.name)
            middle += f" USING {using}{behind}"
        return middle + re.sub(r"\b[ts]\.", lambda found: {"t.": target, "s.": source}[found[0]] + ".", end)

    def _named(self, name: str, alias: str, other: str | None) -> tuple[str, str]:
        """Return the text behind a name and the qualifier of its columns: an alias, or the last parts of the name.

        One part is not enough where the other table has the same.
        """
        parts = [] if name.startswith("(") else name.split(".")
        is_shared = other is not None and other.split(".")[-1:] == parts[-1:]
        depths = range(2 if is_shared else 1, len(parts) + 1)
        if not depths or self.spelling.random() < 0.4:
            return f" AS {alias}", alias
        return "", ".".join(parts[-self.spelling.choice(depths) :])

    def _apply(
        self,
        source: list[Row],
        joins: Callable[[Values, Values], bool],
        matched: Sequence[Clause],
        missing: Sequence[Clause],
        alone: Sequence[Clause],
    ) -> None:
        before, after = self.rows, []
        for row, made_of in before:
            others = [each for each in source if joins(row, each[0])]
            assert len(others) <= 1, "a key comes once"
            other, brought = others[0] if others else ({}, _NOTHING)
            clause = next((each for each in (matched if others else alone) if each.holds(row, other)), None)
            if clause is None:
                after.append((row, made_of))
            elif clause.assignments is not None:
                to = clause.assignments
                replaced = bool(others) and set(to.values) == set(COLUMNS) and not to.reads_target
                values = {**row, **{name: value(row, other) for name, value in to.values.items()}}
                after.append((values, brought if replaced else made_of | brought))
        for other, brought in source:
            if any(joins(row, other) for row, _ in before):
                continue
            clause = next((each for each in missing if each.holds({}, other)), None)
            if clause is not None and clause.assignments is not None:
                values = {name: value({}, other) for name, value in clause.assignments.values.items()}
                after.append(({**dict.fromkeys(COLUMNS), **values}, brought))
        self.rows = after

    def _written(self, kind: str, clause: Clause) -> str:
        condition = f" AND {clause.condition[0]}" if clause.condition is not None else ""
        if clause.assignments is None:
            action = "DELETE"
        else:
            verb = "INSERT" if kind in ("NOT MATCHED", "NOT MATCHED BY TARGET") else "UPDATE SET"
            action = f"{verb} {clause.assignments.sql}"
        return f"WHEN {kind}{condition} THEN {action}"

    # ------------------------------------------------------------ what they are made of

    def _source(self) -> tuple[str, str, list[Row], str]:
        """WITH, what stands behind USING, its rows with columns k, v and w, and what these names begin with."""
        one, two = self.bases
        limit = self.chance.randrange(60)
        above = [(row, made_of) for row, made_of in two.traced() if row["v"] > limit]
        both = [
            ({"k": mine["k"], "v": mine["v"] + other["v"], "w": other["w"]}, made_of | others)
            for mine, made_of in one.traced()
            for other, others in two.traced()
            if mine["k"] == other["k"]
        ]
        own = [(row, made_of) for row, made_of in self.rows if _above(row["v"], limit) is True]
        plain = [({"k": 1, "v": 5, "w": "q"}, _NOTHING), ({"k": 20 + limit, "v": 6, "w": "r"}, _NOTHING)]
        all_rows = f"SELECT * FROM {one.name} UNION ALL SELECT * FROM {two.name}"
        sums = f"SELECT k, sum(v) AS v, max(w) AS w FROM ({all_rows}) GROUP BY k"
        joined = f"SELECT a.k, a.v + b.v AS v, b.w FROM {one.name} a JOIN {two.name} b ON a.k = b.k"
        of_own = f"SELECT k, sum(v) AS v, max(w) AS w FROM {self.name} WHERE v > {limit} GROUP BY k"
        chosen = f"SELECT * FROM {two.name} WHERE v > {limit}"
        values = f"SELECT * FROM VALUES (1L, 5L, 'q'), ({20 + limit}L, 6L, 'r') AS q(k, v, w)"
        renamed = f"SELECT k AS sk, v AS sv, w AS sw FROM {two.name} WHERE v > {limit}"
        return self.chance.choice(
            [
                ("", one.name, one.traced(), ""),
                ("", f"({chosen})", above, ""),
                (f"WITH c AS ({chosen})\n", "c", above, ""),
                ("", f"({joined})", both, ""),
                ("", f"({sums})", _grouped(one.traced() + two.traced()), ""),
                ("", f"({of_own})", _grouped(own), ""),
                ("", f"({values})", plain, ""),
                ("", f"({renamed})", above, "s"),
            ]
        )

    def _clauses(self, target: str | None, source: str | None, made: Callable[[], Assignments]) -> list[Clause]:
        found = []
        only_inserts = target is None
        for last in [False] * self.chance.choice([0, 0, 1, 2]) + [True] * self.chance.choice([0, 1]):
            deletes = not only_inserts and self.chance.random() < 0.25
            found.append(Clause(None if last else self._condition(target, source), None if deletes else made()))
        return found

    def _condition(self, target: str | None, source: str | None) -> tuple[str, Expression]:
        """One over the columns of the target, the source or both; None: there is none of them."""
        limit = self.chance.randrange(70)
        rest = self.chance.randrange(3)
        of_target: list[tuple[str, Expression]] = [
            (f"{target}v > {limit}", lambda t, s: _above(t["v"], limit)),
            (f"{target}w IS NULL", lambda t, s: t["w"] is None),
            (f"{target}k % 3 = {rest}", lambda t, s: t["k"] % 3 == rest),
            (f"CASE WHEN {target}k > 4 THEN {target}v > {limit} ELSE true END",
             lambda t, s: _above(t["v"], limit) if t["k"] > 4 else True),
        ]  # fmt: skip
        of_source: list[tuple[str, Expression]] = [
            (f"{source}v > {limit}", lambda t, s: _above(s["v"], limit)),
            (f"{source}k % 3 = {rest}", lambda t, s: s["k"] % 3 == rest),
        ]
        of_both: list[tuple[str, Expression]] = [(f"{target}v < {source}v", lambda t, s: _above(s["v"], t["v"]))]
        found = [*(of_target if target is not None else ()), *(of_source if source else ())]
        return self.chance.choice([*found, *(of_both if target and source else ())])

    def _changed(self, prefix: str) -> Assignments:
        found = [
            Assignments(f"v = s.{prefix}v", {"v": lambda t, s: s["v"]}),
            Assignments(f"t.v = t.v + s.{prefix}v", {"v": lambda t, s: _plus(t["v"], s["v"])}, True),
            Assignments(f"w = concat(s.{prefix}w, '!')", {"w": lambda t, s: None if s["w"] is None else s["w"] + "!"}),
            Assignments("w = 'n'", {"w": lambda t, s: "n"}),
            Assignments(
                f"k = s.{prefix}k, v = s.{prefix}v, w = s.{prefix}w", {name: _of_source(name) for name in COLUMNS}
            ),
            Assignments(
                f"t.k = s.{prefix}k, t.v = 7, `w` = 'c'", {"k": _of_source("k"), "v": _seven, "w": lambda t, s: "c"}
            ),
            Assignments(f"k = s.{prefix}k, v = s.{prefix}v, w = t.w", {**_KV, "w": lambda t, s: t["w"]}, True),
        ]
        if prefix:
            found += [
                Assignments("v = v + sv", {"v": lambda t, s: _plus(t["v"], s["v"])}, True),
                Assignments("k = sk, v = sv, w = sw", {name: _of_source(name) for name in COLUMNS}),
                Assignments("k = sk, v = sv, w = upper(w)", {**_KV, "w": lambda t, s: t["w"] and t["w"].upper()}, True),
            ]
        else:
            found += [Assignments("*", {name: _of_source(name) for name in COLUMNS})] * 3
        return self.chance.choice(found)

    def _changed_alone(self) -> Assignments:
        found = [
            Assignments("v = t.v + 1", {"v": lambda t, s: _plus(t["v"], 1)}, True),
            Assignments("w = 'alone', v = 0", {"w": lambda t, s: "alone", "v": lambda t, s: 0}),
            Assignments(
                "k = 9, v = 0, w = 'alone'", {"k": lambda t, s: 9, "v": lambda t, s: 0, "w": lambda t, s: "alone"}
            ),
        ]
        return self.chance.choice(found)

    def _inserted(self, prefix: str) -> Assignments:
        found = [
            Assignments(
                f"(k, v, w) VALUES (s.{prefix}k, s.{prefix}v, s.{prefix}w)",
                {name: _of_source(name) for name in COLUMNS},
            ),
            Assignments(
                f"(`v`, k) VALUES (s.{prefix}v * 2, s.{prefix}k)",
                {"k": _of_source("k"), "v": lambda t, s: _plus(s["v"], s["v"])},
            ),
            Assignments(
                f"(k, w) VALUES (s.{prefix}k, coalesce(s.{prefix}w, 'none'))",
                {"k": _of_source("k"), "w": lambda t, s: s["w"] or "none"},
            ),
        ]
        if not prefix:
            found += [Assignments("*", {name: _of_source(name) for name in COLUMNS})] * 2
        return self.chance.choice(found)

    def expected(self) -> Counter[tuple[Any, ...]]:
        """The rows as they are to be read back: values, then ids by base table."""
        one, two = self.bases
        return Counter(
            (
                *(row[name] for name in COLUMNS),
                *(tuple(sorted(i for of, i in made_of if of == each.name)) for each in (one, two)),
            )
            for row, made_of in self.rows
        )


def begun(chance: random.Random, name: str, spelling: random.Random) -> tuple[Changes, str]:
    """Return a target, and the query that makes its first rows: of one table or of two.

    The base tables are temporary views, or tables of a database, where one may be called like the target.
    """
    called = spelling.choice(["one_base", f"{DATABASE}.one_base", f"{DATABASE}.{name.rpartition('.')[2]}"])
    one = Base(called, {at: _values(chance, at) for at in range(10)})
    others = "two_base" if called == "one_base" else f"{DATABASE}.two_base"
    two = Base(others, {100 + at: _values(chance, at) for at in range(4, 14)})
    made_of_both = chance.random() < 0.5
    by_key = {row["k"]: made_of for row, made_of in two.traced()} if made_of_both else {}
    rows = [
        ({name: row[name] for name in COLUMNS}, made_of | by_key.get(row["k"], _NOTHING))
        for row, made_of in one.traced()
    ]
    query = f"SELECT o.k, o.v, o.w FROM {one.name} o" + (
        f" LEFT JOIN {two.name} b ON o.k = b.k" if made_of_both else ""
    )
    return Changes(chance, name, rows, (one, two), made_of_both, spelling), query


def _values(chance: random.Random, key: int) -> Values:
    return {"k": key, "v": chance.randrange(80), "w": chance.choice(["x", "y", None])}


def _grouped(rows: list[Row]) -> list[Row]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[0]["k"], []).append(row)
    return [
        (
            {
                "k": key,
                "v": sum(row["v"] for row, _ in group if row["v"] is not None),
                "w": max((row["w"] for row, _ in group if row["w"] is not None), default=None),
            },
            frozenset().union(*(made_of for _, made_of in group)),
        )
        for key, group in found.items()
    ]


def _text(value: str | None) -> str:
    return "CAST(NULL AS STRING)" if value is None else f"'{value}'"


def _of_source(name: str) -> Expression:
    return lambda t, s: s[name]


def _seven(_t: Values, _s: Values) -> int:
    return 7


_KV: dict[str, Expression] = {"k": _of_source("k"), "v": _of_source("v")}


def _plus(one: int | None, two: int | None) -> int | None:
    return None if one is None or two is None else one + two


def _above(value: int | None, limit: int | None) -> bool | None:
    return None if value is None or limit is None else value > limit

"""The rival of the paper: lineage by a reverse query, asked for afterwards.   [Cui, Widom, Wiener 2000; Zhang 2007, §5]

A view over base tables, σ, π, ⋈ and γ in one block, is traced by joining its *result* back: on the group's keys, or
on all columns where nothing is aggregated. `reverse-all` joins the whole result, `reverse-one` selects the base rows
of one result row. A block that aggregates over an aggregate cannot be traced in one step: the inner result is
materialised as an intermediate view, the outer one is traced to it and from there to the base tables. So is a result
that does not show its group's keys.

Given to the rival for nothing: the result itself lies in a Parquet file; base rows are answered by position, not
with all their columns; nothing is collected into sets; an intermediate view is kept in Spark's memory. Data lineage
only. Equal result rows cannot be told apart (bag semantics): each gets the base rows of all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from forward_lineage import LineageError
from forward_lineage.frontend.dialect import FaithfulSpark, print_sql
from rewrites.spark_functions import AGGREGATES

_KEYED = "__keyed"
RESULT = "__result"
"""The view that has the query's own result, its columns renamed `c1`, `c2`, …"""


@dataclass(frozen=True)
class ReverseQuery:
    """How the lineage of one query is computed from its result.

    Attributes:
        views: name and text of each intermediate view, to be materialised in this order.
        core: a query whose rows link a result row to base rows: columns `k1`, `k2`, … to be found in the result, and
            `<table>_id`, `<table>_id_2`, … where a table occurs again.
        on: for each `k`, the result's column `c…` that it equals, counted from 1.
        ids: the id columns of `core`, in order.
        width: columns of the result.

    """

    views: tuple[tuple[str, str], ...]
    core: str
    on: tuple[int, ...]
    ids: tuple[str, ...]
    width: int

    def every_row(self, nullable: Collection[int] = ()) -> str:
        """The query `reverse-all`: every row of the view `__result` with the ids of its base rows.

        Args:
            nullable: columns of the result that have NULLs; the others are joined with plain equality.

        """
        pairs = [(column, "<=>" if column in nullable else "=", key) for key, column in enumerate(self.on, start=1)]
        same = " AND ".join(f"r.c{column} {equal} b.k{key}" for column, equal, key in pairs)
        columns = ", ".join(
            [*(f"r.c{number}" for number in range(1, self.width + 1)), *(f"b.{name}" for name in self.ids)]
        )
        return f"SELECT {columns} FROM {RESULT} r JOIN ({self.core}) b{f' ON {same}' if same else ''}"

    def one_row(self, row: Sequence[object], types: Sequence[str]) -> tuple[str, dict[str, object]]:
        """The query `reverse-one`: the ids of the base rows of one row, its values as parameters.

        Args:
            row: the result row.
            types: Spark's types of the result's columns.

        Returns:
            the text, and the values of its parameters.

        """
        conditions, values = [], {}
        for key, column in enumerate(self.on, start=1):
            value = row[column - 1]
            if value is None:
                conditions.append(f"k{key} IS NULL")
                continue
            conditions.append(f"k{key} = CAST(:k{key} AS {types[column - 1]})")
            values[f"k{key}"] = value
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {', '.join(self.ids)} FROM ({self.core}){where}", values


def reverse_query(sql: str) -> ReverseQuery:
    """Derive the reverse query of a query over tables that have a column `<table>_id`.

    Raises:
        LineageError: the method, as it stands here, has no answer to the query's form.

    """
    tree = sqlglot.parse_one(sql, dialect=FaithfulSpark)
    if not isinstance(tree, exp.Select):
        raise LineageError(f"the reverse method traces SELECT, not {tree.key.upper()}")
    return _Derivation().top(tree)


@dataclass
class _Core:
    """One block, opened: what it selects from, where, and the base rows under each of its rows."""

    block: exp.Select
    ids: list[exp.Expr]  # `alias.<table>_id`, once an occurrence


@dataclass(frozen=True)
class _Aggregate:
    """An intermediate view: the block it was made from, opened, and its keys, which the view has as `__key0`, …"""

    below: _Core
    keys: list[exp.Expr]


@dataclass
class _Derivation:
    views: list[tuple[str, str]] = field(default_factory=list)
    aggregates: dict[str, _Aggregate] = field(default_factory=dict)  # views that FROM clauses may name

    def top(self, select: exp.Select) -> ReverseQuery:
        self._common_tables(select)
        outputs = [projection.unalias() for projection in select.expressions]
        if not _aggregates(select):
            core, links, on = self._open(select), outputs, range(1, len(outputs) + 1)
        else:
            keys = _keys(select)
            if all(key in outputs for key in keys):
                core, links, on = self._open(select), keys, [outputs.index(key) + 1 for key in keys]
            else:  # which group a result row is, it does not say: the intermediate view does
                on = range(1, len(outputs) + 1)
                shown = [f"c{number}" for number in on]
                self.aggregates |= self._keyed(select, _KEYED, shown)
                core = self._open(exp.select(*(exp.column(name, table=_KEYED) for name in shown)).from_(_KEYED))
                links = list(core.block.expressions)
        names = _id_names(core.ids)
        linked = [exp.alias_(link.copy(), f"k{number}") for number, link in enumerate(links, start=1)]
        named = [exp.alias_(each.copy(), name) for each, name in zip(core.ids, names, strict=True)]
        core.block.set("expressions", [*linked, *named])
        return ReverseQuery(tuple(self.views), print_sql(core.block), tuple(on), tuple(names), len(outputs))

    def _common_tables(self, select: exp.Select) -> None:
        """Materialise each CTE, and keep it under its own name."""
        with_ = select.args.get("with_")
        for cte in with_.expressions if with_ else ():
            if not (isinstance(cte.this, exp.Select) and _aggregates(cte.this)):
                raise LineageError("the reverse method, as it stands here, has no answer to a CTE without GROUP BY")
            self.aggregates |= self._keyed(cte.this, cte.alias, [column.name for column in cte.args["alias"].columns])
        select.set("with_", None)

    def _keyed(self, select: exp.Select, name: str, columns: Sequence[str] = ()) -> dict[str, _Aggregate]:
        """Plan an intermediate view: an aggregating block with its keys beside its columns."""
        keys = _keys(select)
        view = select.copy()
        view.set("order", None)
        names = columns or [each.alias_or_name for each in select.expressions]
        outputs = [exp.alias_(each.unalias().copy(), as_) for each, as_ in zip(view.expressions, names, strict=True)]
        view.set("expressions", [*outputs, *(exp.alias_(key.copy(), f"__key{n}") for n, key in enumerate(keys))])
        below = self._open(select)
        self.views.append((name, print_sql(view)))
        return {name: _Aggregate(below, keys)}

    def _open(self, select: exp.Select) -> _Core:
        """Turn a block into one whose rows stand for base rows: no grouping, no order, sources opened."""
        block = select.copy()
        for clause in ("group", "having", "order", "distinct", "limit", "with_"):
            block.set(clause, None)
        core = _Core(block, [])
        for source in [block.args["from_"].this, *(join.this for join in block.args.get("joins") or ())]:
            self._source(core, source)
        return core

    def _source(self, core: _Core, source: exp.Expr) -> None:
        if isinstance(source, exp.Table):
            name = source.alias_or_name
            if source.name in self.aggregates:
                self._through(core, name, self.aggregates[source.name])
            else:
                core.ids.append(exp.column(f"{source.name}_id", table=name))
        elif isinstance(source, exp.Subquery) and isinstance(source.this, exp.Select):
            columns = [column.name for column in source.args["alias"].columns]
            if _aggregates(source.this):
                keyed = self._keyed(source.this, source.alias, columns)
                source.replace(exp.to_table(source.alias))
                self._through(core, source.alias, keyed[source.alias])
            elif columns:
                raise LineageError(
                    "the reverse method, as it stands here, has no answer to renamed columns without GROUP BY"
                )
            else:
                inner = self._open(source.this)
                names = [f"__{source.alias}_{number}" for number in range(len(inner.ids))]
                for each, name in zip(inner.ids, names, strict=True):
                    inner.block.append("expressions", exp.alias_(each.copy(), name))
                source.set("this", inner.block)
                core.ids += [
                    _marked(exp.column(name, table=source.alias), each)
                    for name, each in zip(names, inner.ids, strict=True)
                ]
        else:
            raise LineageError(f"the reverse method, as it stands here, has no answer to {print_sql(source)}")

    def _through(self, core: _Core, view: str, traced: _Aggregate) -> None:
        """Join an intermediate view with what it was made from, on its keys."""
        name = f"__below_{view}"
        block = traced.below.block.copy()
        keys, origins = traced.keys, traced.below.ids
        ids = [f"id{number}" for number in range(len(origins))]
        block.set(
            "expressions",
            [exp.alias_(key.copy(), f"__key{number}") for number, key in enumerate(keys)]
            + [exp.alias_(each.copy(), id_) for each, id_ in zip(origins, ids, strict=True)],
        )
        same = [
            exp.NullSafeEQ(this=exp.column(f"__key{n}", table=view), expression=exp.column(f"__key{n}", table=name))
            for n in range(len(keys))
        ]
        core.block.append("joins", exp.Join(this=block.subquery(name), on=exp.and_(*same) if same else None))
        core.ids += [_marked(exp.column(id_, table=name), each) for id_, each in zip(ids, origins, strict=True)]


def _marked(column: exp.Column, origin: exp.Expr) -> exp.Column:
    """Keep which table's id a renamed column is."""
    column.meta["table_id"] = _table_id(origin)
    return column


def _table_id(column: exp.Expr) -> str:
    return str(column.meta.get("table_id") or column.name)


def _id_names(ids: Sequence[exp.Expr]) -> list[str]:
    names: list[str] = []
    for each in ids:
        name = _table_id(each)
        times = sum(known == name or known.startswith(f"{name}_") for known in names)
        names.append(f"{name}_{times + 1}" if times else name)
    return names


def _keys(select: exp.Select) -> list[exp.Expr]:
    group = select.args.get("group")
    return list(group.expressions) if group else []


def _aggregates(select: exp.Select) -> bool:
    """Say whether a block groups its rows, with or without keys."""
    return select.args.get("group") is not None or any(
        call.name.lower() in AGGREGATES and call.find_ancestor(exp.Select) is select
        for projection in select.expressions
        for call in projection.find_all(exp.Func)
    )

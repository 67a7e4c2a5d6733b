"""The surroundings of a query while it is rewritten: known tables, bound CTEs, enclosing blocks, traced tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from math import inf

from sqlglot import exp

from rewrites.granules import Granules
from rewrites.row_estimates import Estimator, unknown
from rewrites.scope import Columns, Scope
from rewrites.tables import BaseTable, Source, Tables
from rewrites.terms import Kind
from udafs.errors import Position


class Semantics(Enum):
    """The base rows that count.  [Zhang 2007, §3.4]

    DATA: the rows whose values are in the result row. CONTROL: also those that a predicate's subquery looked at.
    """

    DATA = "data"
    CONTROL = "control"


@dataclass(frozen=True)
class TracedQuery:
    """A rewritten query.

    Attributes:
        tree: the query. After the user's columns it yields one hidden column per entry of `hidden`, in that order, in
            every SELECT that makes its rows.
        columns: names of the user's columns.
        hidden: base table → how its lineage is carried.
        correlated: whether it mentions columns of an enclosing query.
        definition: of a CTE, what the user wrote; kept under control semantics.
        cte: of a CTE, its place in WITH.
        around: of a CTE, those that it sees.
        estimated: gives what is expected of its rows.
    """

    tree: exp.Query
    columns: Columns
    hidden: Mapping[str, Kind]
    correlated: bool = False
    definition: Definition | None = None
    cte: exp.CTE | None = None
    around: Mapping[str, TracedQuery] = field(default_factory=dict)
    estimated: Estimator = unknown


@dataclass(frozen=True)
class Definition:
    """A query as the user wrote it, which a name in FROM, or parentheses there, stand for.

    Attributes:
        query: not to be edited.
        env: what it can see.
        columns: the names that its columns get, if they get others.
        with_clause: the WITH clause that it is part of, in a query that has not been rewritten.
    """

    query: exp.Query
    env: Environment
    columns: tuple[str, ...] = ()
    with_clause: exp.With | None = None


@dataclass
class Names:
    """Numbers for the aliases that rules invent, one counter a statement.

    Attributes:
        taken: the names of the statement, and of the views in it, that look like ours, lower case.
        count: the last number given.
    """

    taken: set[str] = field(default_factory=set)
    count: int = 0

    def avoid(self, used: str) -> None:
        """Never give a name that somebody else uses."""
        if used.startswith("__"):
            self.taken.add(used.lower())

    def fresh(self, stem: str) -> str:
        """Return an alias that nothing else in the statement has, e.g. `__q1`."""
        self.count += 1
        alias = f"__{stem}{self.count}"
        return alias if alias not in self.taken else self.fresh(stem)


@dataclass(frozen=True)
class Choice:
    """How the lineage of a place in a statement travels, and what was expected.

    Attributes:
        at: where the user's text of it begins.
        by_value: whether its sets are copied.
        rows: that carry sets; None: not known.
        ids: in their sets, together.
        copied: ids that travelling by value copies.
        window: whether it is about the rows that windows see.
        inside: places below it whose sets are copied into these rows.
    """

    at: Position | None
    by_value: bool
    rows: float | None = None
    ids: float = 0.0
    copied: float = 0.0
    window: bool = False
    inside: frozenset[Position] = frozenset()

    @property
    def why(self) -> str:
        """What was expected, in words."""
        if self.rows is None:
            return "how many ids would be copied is not known"
        if self.copied == inf:
            return "rows that are met by one row only are copied once" if self.by_value else "how many is not known"
        return f"about {_round(self.copied)} ids would be copied of {_round(self.ids)} in {_round(self.rows)} rows"


def _round(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.0f}"


@dataclass(frozen=True)
class Stage:
    """An inner query that is evaluated once, whose rows are referred to by number; see `rewrites.stages`.

    Attributes:
        name: of its CTE, and of its column of numbers, as if it were a base table.
        query: all that it needs is in it; its hidden columns come last, and behind them the number.
        hidden: base table or other stage → how the lineage of its rows is carried.
        frames: further columns, each what a window frame is to a row; see `rewrites.window_frames`.
        at: where the user's text of it begins.
        choice: why it is one; None: nothing was estimated.
    """

    name: str
    query: exp.Query
    hidden: Mapping[str, Kind]
    frames: tuple[str, ...] = ()
    at: Position | None = None
    choice: Choice | None = None


Stages = dict[str, Stage]
"""Stages by name, each behind those that it refers to."""


@dataclass(frozen=True)
class Environment:
    """The names that a query can see.

    Attributes:
        tables: registered tables.
        semantics: data or control lineage.
        chosen: the only tables to trace, lower case; None: all.
        granules: table in lower case → the granularity that LINEAGE ON asks for.
        tracing: False inside a subquery whose rows are only looked at: it is made to run, but carries no lineage.
        ctes: CTE name in lower case → the rewritten CTE.
        captured: names of CTEs around the use of a view, lower case: its text does not mean them, but would be read so.
        outer: the block around this query; None at the top.
        on: the join of that block in whose ON this query stands, if it does.
        outermost: whether the query's columns are those of the result, beside `DL`.
        in_set_operation: whether rows of the query are rows of a side of UNION, INTERSECT or EXCEPT. There a correlated
            scalar subquery in a select list kills Spark 4.3 as soon as a condition stands above a grouping of the set
            operation: `UnionBase.rewriteConstraints` looks for the subquery's columns among those of the side.
        names: source of fresh aliases.
        rewrite: the driver's entry for nested queries, passed in so that rules need not import the driver.
        parse: reads the catalog's fragments of SQL, in the dialect of the front end.
        readings: base table → how often the statement reads it; counted under control semantics.
        stages: the inner queries that the result's lineage refers to; None: lineage travels by value.
        choices: for each place where a stage can be, whether it is one; None: wherever it can be it is, and nothing is
            estimated.
        apart: places that are stages if they can be, whatever is estimated.
        shares_answers: whether a subquery of the outermost block may be a stage, which lineage refers to by value.
        moves_conditions: whether conditions of correlated subqueries may be asked elsewhere, see `decorrelation`.
        found: what names of tables meant so far.
        texts: texts of views that were rewritten so far → which tables and views they name, see `rewrites.readings`.
        remembered: what has been found out about queries as the user wrote them, by their identity.
    """

    tables: Tables
    semantics: Semantics
    rewrite: Callable[[exp.Query, Environment], TracedQuery]
    parse: Callable[[str], exp.Expr]
    chosen: Collection[str] | None = None
    granules: Mapping[str, Granules] = field(default_factory=dict)
    tracing: bool = True
    ctes: Mapping[str, TracedQuery] = field(default_factory=dict)
    captured: frozenset[str] = frozenset()
    outer: Scope | None = None
    on: exp.Join | None = None
    outermost: bool = False
    in_set_operation: bool = False
    names: Names = field(default_factory=Names)
    readings: Mapping[str, int] = field(default_factory=dict)
    stages: Stages | None = None
    choices: list[Choice] | None = None
    apart: frozenset[Position] = frozenset()
    shares_answers: bool = False
    moves_conditions: bool = True
    found: dict[tuple[str, ...], Source | None] = field(default_factory=dict)
    texts: dict[str, Mapping[str, int]] = field(default_factory=dict)
    remembered: dict[int, tuple[exp.Query, object]] = field(default_factory=dict)

    def find(self, parts: tuple[str, ...]) -> Source | None:
        """Return the table or view of that name, None when there is none; asked once a statement."""
        if parts not in self.found:
            self.found[parts] = self.tables.find(parts)
        return self.found[parts]

    def traces(self, table: BaseTable) -> bool:
        """Say whether rows of this table are to be followed here."""
        return self.traces_name(table.name)

    def traces_name(self, table: str) -> bool:
        """Say whether rows of the base table of this name are to be followed here."""
        return self.tracing and (self.chosen is None or table.lower() in self.chosen)

    @property
    def counts_what_decides(self) -> bool:
        """Whether rows count that only decided, such as those of a predicate's subquery: under control semantics."""
        return self.tracing and self.semantics is Semantics.CONTROL

    def nested(self) -> Environment:
        """Return the environment of a query whose columns are not those of the result."""
        return replace(self, outermost=False) if self.outermost else self

    def of_view(self) -> Environment:
        """Return the environment of a view's text: it sees neither the CTEs nor the columns around its name."""
        return replace(self, ctes={}, outer=None, on=None, captured=self.captured.union(self.ctes))

    def inside(self, scope: Scope, on: exp.Join | None = None) -> Environment:
        """Return the environment of a subquery, in ON of a join or elsewhere, that may mention columns of `scope`.

        It refers to no stage: Spark knows no chance, and it takes a stage for chance, in LATERAL and in what it
        evaluates for each row.
        """
        return replace(self, outer=scope, on=on, in_set_operation=False, stages=None)

    def by_value(self) -> Environment:
        """Return the environment of a query that refers to no stage."""
        return replace(self, stages=None)

    def untraced(self) -> Environment:
        """Return the environment of a query whose rows are only looked at."""
        return replace(self, tracing=False)

    def with_cte(self, cte_name: str, query: TracedQuery) -> Environment:
        """Return the environment in which `cte_name` is bound; it shadows tables and outer CTEs of that name."""
        return replace(self, ctes={**self.ctes, cte_name.lower(): query})

"""One SELECT block while its rules run: what it reads, what its rows are made of, which clauses are answered for."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from rewrites import outermost
from rewrites.aliases import output_name
from rewrites.environment import Choice, Environment
from rewrites.lineage_functions import DL_NEAREST
from rewrites.refusals import refuse
from rewrites.row_estimates import BlockRows, Estimator, unknown
from rewrites.scope import Columns, Scope
from rewrites.spark_functions import AGGREGATES, GROUPING_MARKERS
from rewrites.terms import Kind, Lineage, merge

# Clauses that neither read other rows nor change what a row is made of.
_NEUTRAL = ("hint", "kind", *outermost.CLAUSES)
GROUPING_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_FOLDING = AGGREGATES | {DL_NEAREST}
_CALLED = {
    "connect": "CONNECT BY",
    "match": "MATCH_RECOGNIZE",
    "laterals": "LATERAL VIEW",
    "pivots": "PIVOT",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "prewhere": "PREWHERE",
    "into": "SELECT INTO",
    "operation_modifiers": "SELECT modifiers",
}


class Block:
    """State of the rewriting of one SELECT.

    Attributes:
        select: the user's tree, edited in place.
        env: what the block can see; also the environment of queries inside it.
        scope: what it reads.
        rows: lineage of a row of FROM … WHERE ….
        constants: contributions of uncorrelated subqueries to every row of FROM … WHERE …. It is one value for the
            whole query, added once a result row instead of once an input row.
        groups: contributions to a result row from outside its rows (subqueries in HAVING, in the select list of a
            group, windows).
        frames: windows whose frames are referred to, written out without a name.
        expected: what FROM, conditions and groups say of the result's rows; None: nothing is estimated.
        choice: what was chosen for its windows.
        columns: the names of the user's columns, once the select list is complete.
        hidden: base table → how its lineage is carried, once the select list is complete.
    """

    def __init__(self, select: exp.Select, env: Environment) -> None:
        self.select = select
        self.env = env.nested()
        self.outermost = env.outermost
        self.scope = Scope(env.outer, env.on)
        self.rows: Lineage = {}
        self.constants: Lineage = {}
        self.groups: Lineage = {}
        self.frames: list[exp.Window] = []
        self.expected: BlockRows | None = None
        self.choice: Choice | None = None
        self.columns: Columns = None
        self.hidden: dict[str, Kind] = {}
        self._claimed: set[str] = set(_NEUTRAL)

    def claim(self, *clauses: str) -> None:
        """Record that a rule answers for these clauses of the SELECT."""
        self._claimed.update(clauses)

    def unclaimed(self) -> list[str]:
        """Return the clauses of the SELECT that no rule has answered for."""
        return [clause for clause, value in self.select.args.items() if value and clause not in self._claimed]

    def refuse_unclaimed(self) -> None:
        """Check that every clause has been answered for.

        Raises:
            NotTracedError: there is a clause that no rule knows.
        """
        for clause in self.unclaimed():
            value = self.select.args[clause]
            node = value[0] if isinstance(value, list) else value
            called = _CALLED.get(clause, clause.rstrip("_").upper().replace("_", " "))
            place = node if isinstance(node, exp.Expr) else self.select
            refuse(place, f"{called} is not traced", "Rewrite the query without it, or run it without lineage.")

    def own_nodes(self, *roots: exp.Expr | None) -> Iterator[exp.Expr]:
        """Yield the nodes of the block's own expressions, not descending into nested queries (which are yielded)."""
        for root in roots or (self.select,):
            if root is not None:
                yield from root.walk(prune=lambda node: isinstance(node, exp.Query) and node is not self.select)

    @property
    def groups_rows(self) -> bool:
        """Whether a result row stands for a group of rows: GROUP BY, HAVING, or an aggregate function."""
        if self.select.args.get("group") or self.select.args.get("having"):
            return True
        order = self.select.args.get("order")
        return any(is_aggregate(node) for node in self.own_nodes(*self.select.expressions, order))

    @property
    def estimated(self) -> Estimator:
        """What gives what is expected of the result's rows."""
        return unknown if self.expected is None else self.expected.estimate

    def lineage(self) -> Lineage:
        """Return everything that has been collected so far."""
        return merge(self.rows, self.constants, self.groups)


def has_grouping_sets(group: exp.Expr | None) -> bool:
    """Say whether a GROUP BY makes several groups of a row: ROLLUP, CUBE, GROUPING SETS."""
    return group is not None and (
        any(group.args.get(each) for each in ("rollup", "cube", "grouping_sets"))
        or group.find(*GROUPING_SETS) is not None
    )


def keys_not_selected(select: exp.Select) -> Iterator[exp.Column]:
    """Yield what HAVING of GROUPING SETS names and the select list does not: Spark looks for it further out first."""
    having = select.args.get("having")
    if having is None or not has_grouping_sets(select.args.get("group")) or select.is_star:
        return
    selected = {output_name(projection).lower() for projection in select.expressions}
    for node in having.walk(prune=_looks_below_groups):
        if isinstance(node, exp.Column) and node.name.lower() not in selected:
            yield node


def _looks_below_groups(node: exp.Expr) -> bool:
    """Say whether what stands in an expression is found where the groups are made."""
    return isinstance(node, exp.Query) or is_aggregate(node)


def needs_groups(node: exp.Expr) -> bool:
    """Say whether a node stands for a value of groups: an aggregate, or `grouping(k)`, which reads no row."""
    return is_aggregate(node) or (isinstance(node, exp.Anonymous) and node.name.lower() in GROUPING_MARKERS)


def is_aggregate(node: exp.Expr) -> bool:
    """Say whether `node` is a call of an aggregate function over the rows of a group (not over a window)."""
    if not isinstance(node, exp.Anonymous) or node.name.lower() not in _FOLDING:
        return False
    wrapper: exp.Expr | None = node.parent
    inner: exp.Expr = node
    while (
        isinstance(wrapper, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup) and wrapper.this is inner
    ):
        inner, wrapper = wrapper, wrapper.parent
    return not (isinstance(wrapper, exp.Window) and wrapper.this is inner)

"""One rule an operator, a module each: its `apply` has one of three shapes. Order and reasons stand with the tuples.

QueryRule   a query as a whole: WITH, parentheses, UNION, SELECT DISTINCT, …   `rewrites.driver.QUERY_RULES`
BlockRule   a part of one SELECT: WHERE's subqueries, stars, groups, windows …  `rewrites.driver.BLOCK_RULES`
SourceRule  one item of FROM: a table, a view, a subquery, VALUES …            `rules.from_clause.SOURCE_RULES`

Every rule may take for granted that the tree is the front end's (`rewrites.own_trees`), and leaves what
`rewrites.invariants` checks when it is done. A rule leaves a query or source that is not its own unchanged, and says so
with None. A block rule that finds nothing of its own leaves the block unchanged.
"""

from __future__ import annotations

from typing import Protocol

from sqlglot import exp

from rewrites.block import Block
from rewrites.environment import Environment, TracedQuery
from rewrites.scope import FromItem


class QueryRule(Protocol):
    """Rewrites one kind of query."""

    def __call__(self, query: exp.Query, env: Environment) -> TracedQuery | None:
        """Return the query with its hidden columns; None, and nothing is done: it is of another kind."""


class BlockRule(Protocol):
    """Answers for some clauses of a SELECT: claims them, edits them, collects lineage in the block."""

    def __call__(self, block: Block) -> None:
        """Edit the block in place."""


class SourceRule(Protocol):
    """Rewrites one kind of source in FROM, in place."""

    def __call__(self, node: exp.Expr, block: Block) -> FromItem | None:
        """Return what the source is to the block around it; None, and nothing is done: it is of another kind."""


def name_of(rule: QueryRule | BlockRule | SourceRule) -> str:
    """Return the name of a rule, that of its module: `stars`; for another function than `apply` that of both."""
    function = getattr(rule, "__name__", type(rule).__name__)
    module = rule.__module__.rpartition(".")[2]
    return module if function == "apply" else f"{module}.{function}"

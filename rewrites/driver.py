"""The order of the rules, and the recursion over a query.   [Zhang 2007, §3.3]

A query goes in; the same query, each of whose rows also carries its lineage, comes out. A construct that no rule
answers for is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from rewrites import limits_of_exists, lineage_column, own_fragments, own_trees, window_frames, witnesses
from rewrites.block import Block
from rewrites.environment import Choice, Environment, Names, Semantics, Stages, TracedQuery
from rewrites.explanation import Step, explained
from rewrites.granules import Granules
from rewrites.invariants import BlockInvariants, check_query, check_result, user_columns
from rewrites.lineage_on import resolve
from rewrites.merged_columns import named_apart, names_what_was_merged
from rewrites.non_monotonic import Shape, shape_of
from rewrites.nondeterminism import mark
from rewrites.options import AS_USUAL, Options
from rewrites.qualifiers import by_alias
from rewrites.readings import Read, as_written, base_tables, names_in
from rewrites.refusals import bugs_reported, position_of, refuse
from rewrites.rules import (
    BlockRule,
    QueryRule,
    aggregation,
    anti_joins,
    ctes,
    distinct,
    distinct_apart,
    from_clause,
    having_apart,
    kept_out_rows,
    lateral_conditions,
    names,
    offset_blocks,
    one_pass,
    parentheses,
    projection,
    semi_joins,
    set_operations,
    skipped_rows,
    stars,
    subqueries,
    windows,
)
from rewrites.shared_files import named_once
from rewrites.stage_queries import Part, parted
from rewrites.stages import PLACE, asked, tables_of
from rewrites.tables import BaseTable, StoredTable, Tables
from rewrites.travel_costs import better_apart
from udafs.errors import Position

BLOCK_RULES: tuple[BlockRule, ...] = (
    skipped_rows.apply,  # first two: they read the block, or a part of it, once more, as the user wrote it
    anti_joins.apply,
    from_clause.apply,  # before the rest: everything else asks what there is in FROM and what a row is made of
    semi_joins.apply,  # before names: it copies conditions, whose names are resolved where they then stand
    names.apply,  # before subqueries: a bad name gets its own error, and only resolved names show correlation
    subqueries.apply,  # before aggregation: a predicate's rows belong to the rows that are grouped
    one_pass.apply,  # after subqueries, which put answers into the conditions that it copies
    lateral_conditions.apply,  # after names, and after subqueries, which may stand in them
    stars.apply,  # after subqueries, which may join one more source with hidden columns
    aggregation.apply,  # before windows: a window function sees groups, not rows
    windows.apply,  # last of those that add lineage
    distinct.apply,  # before projection: it groups what has been collected
    projection.apply,  # last: the select list is complete
)


def select_block(query: exp.Query, env: Environment) -> TracedQuery | None:
    """Run the rules of a block over one SELECT; VALUES as a query is SELECT * FROM VALUES."""
    if isinstance(query, exp.Values):
        query = exp.Select(expressions=[exp.Star()]).from_(query)
    if not isinstance(query, exp.Select):
        return None
    block = Block(query, env)
    invariants = BlockInvariants(block)
    for rule in BLOCK_RULES:
        rule(block)
        invariants.check(rule)
    invariants.check_end(BLOCK_RULES[-1])
    block.refuse_unclaimed()
    if block.frames:
        return window_frames.referred(block)
    return TracedQuery(query, block.columns, block.hidden, block.scope.correlated, estimated=block.estimated)


QUERY_RULES: tuple[QueryRule, ...] = (
    ctes.apply,  # first: what WITH binds is seen by all of the query
    offset_blocks.apply,  # before the rules of what is no block
    parentheses.apply,
    set_operations.apply,
    distinct_apart.apply,  # before the block: it takes DISTINCT away from blocks that cannot group themselves
    having_apart.apply,  # before the block, which cannot compute what such a HAVING reads; after DISTINCT is taken away
    kept_out_rows.apply,  # before the block, whose conditions it writes once more; after HAVING is taken apart
    select_block,
)


@dataclass(frozen=True)
class RewrittenQuery:
    """A query whose last column is `DL`.

    Attributes:
        tree: the query.
        tables: the traced base tables, in the order of the fields of `DL`; when empty there is no such column.
        granules: base table → what its ids stand for, where LINEAGE ON asked for values instead of rows.
        steps: how lineage travels.
        parts: the statement in parts, if that was asked for and it has stages.
        sources: the tables that are read, by whatever name.
        shape: of rows that are to be stored, under control semantics: what may change in them.
        read: which tables and views its text, and those of the views, name.
    """

    tree: exp.Query
    tables: tuple[str, ...]
    granules: Mapping[str, Granules]
    steps: tuple[Step, ...] = ()
    parts: tuple[Part, ...] = ()
    sources: tuple[BaseTable | StoredTable, ...] = ()
    shape: Shape | None = None
    read: Read = field(default_factory=Read)


def rewrite(
    query: exp.Query,
    tables: Tables,
    parse: Callable[[str], exp.Expr],
    options: Options = AS_USUAL,
    *,
    lineage_on: Sequence[exp.Expr] | None = None,
) -> RewrittenQuery:
    """Rewrite a whole query; the tree given is edited.

    Args:
        query: SELECT, set operation or parenthesised query, as our front end parsed it.
        tables: the registered tables.
        parse: reads the catalog's fragments of SQL, in the dialect of the front end.
        options: how.
        lineage_on: the expressions of LINEAGE ON, which says which tables are traced and how finely; None: no such
            clause.

    Raises:
        BadArgumentError: a tree that another parser made.
        NotTracedError: a construct that is not traced.
        NotRegisteredError, WrongSqlError: an unknown name.
    """
    statement = _Statement(tables, parse, options)
    if options.by_reference and not _takes_any_rows(query):
        stages: Stages = {}
        copies = [each.copy() for each in lineage_on] if lineage_on is not None else None
        choices: list[Choice] | None = [] if options.weighs else None
        rewritten = statement.rewrite(query.copy(), copies, stages, choices)
        apart = better_apart(choices or ())
        if apart:
            stages, copies = {}, [each.copy() for each in lineage_on] if lineage_on is not None else None
            rewritten = statement.rewrite(query.copy(), copies, stages, [], apart)
        if not asked(rewritten.tree, stages):
            return rewritten
    return statement.rewrite(query, lineage_on, None)


@dataclass(frozen=True)
class _Statement:
    """Facts about a statement besides its text; see `rewrite`."""

    tables: Tables
    parse: Callable[[str], exp.Expr]
    options: Options

    def rewrite(
        self,
        query: exp.Query,
        lineage_on: Sequence[exp.Expr] | None,
        stages: Stages | None,
        choices: list[Choice] | None = None,
        apart: frozenset[Position] = frozenset(),
    ) -> RewrittenQuery:
        """Rewrite its query, with lineage by reference to new stages or, where these are None, by value."""
        options, used = self.options, Names()
        parse = own_trees.accepting(self._parse, used)
        for tree in (query, *(lineage_on or ())):
            own_trees.accept(mark(tree, options.by_chance), used)
        written = names_in(query)
        env = Environment(self.tables, options.semantics, rewrite_query, parse, outermost=True, names=used)
        by_alias(query, env)
        if options.semantics is Semantics.CONTROL:
            limits_of_exists.take_away(query)
        named_apart(query, used)
        if names_what_was_merged(query):
            stages = None  # Spark loses it where its relation is read in another place, such as a stage
        only = None if options.chosen is None else frozenset(table.lower() for table in options.chosen)
        granules = {each.table.name.lower(): each for each in options.granules}
        if granules:
            own_fragments.mark(query, granules, self.tables)
            witnesses.mark(query, granules, self.tables)
        if lineage_on is not None:
            granules = resolve(lineage_on, query, self.tables, parse, options.known)
        if lineage_on is not None or granules:
            only = frozenset(granules)
        env = replace(
            env,
            chosen=only,
            granules=granules,
            stages=stages,
            shares_answers=stages is not None and options.in_parts is None,
            choices=choices if stages is not None else None,
            apart=apart,
            moves_conditions=options.moves_conditions,
        )
        shape = None
        if options.semantics is Semantics.CONTROL:
            shape = shape_of(query, env) if options.to_store else None
            env = replace(env, readings=base_tables(query, env))
        traced = rewrite_query(query, env)
        made = {} if stages is None else stages
        parts = () if options.in_parts is None or not made else parted(traced, used, made, options.in_parts)
        result = lineage_column.folded(traced, used, made)
        check_result(result, traced)
        return RewrittenQuery(
            named_once(result, used),
            tuple(tables_of(traced.hidden, made)),
            {each.table.name: each for each in granules.values()},
            explained(result, traced.hidden, made, env.choices or ()),
            tuple(parts),
            tuple(each for each in env.found.values() if isinstance(each, BaseTable | StoredTable)),
            shape,
            as_written(written, env.found, env.texts),
        )

    def _parse(self, text: str) -> exp.Expr:
        return mark(self.parse(text), self.options.by_chance)


def _takes_any_rows(query: exp.Query) -> bool:
    """Say whether Spark chooses which rows a LIMIT takes: it would choose others where a stage spreads the rows."""
    return any(
        (node.args.get("limit") or node.args.get("offset")) and not node.args.get("order")
        for node in query.find_all(exp.Query)
    )


def rewrite_query(query: exp.Query, env: Environment) -> TracedQuery:
    """Rewrite a query, nested or not; its hidden columns are appended to its select list.

    Raises:
        LineageError: see `rewrite`.
    """
    # Looked for now: rules put in trees that were read from other texts.
    placed = next((node for node in query.walk() if "line" in node.meta), query)
    query.meta.setdefault(PLACE, position_of(placed))
    with bugs_reported(lambda: position_of(placed)):
        users = user_columns(query)
        for rule in QUERY_RULES:
            traced = rule(query, env)
            if traced is not None:
                check_query(traced, users, rule)
                return traced
    return refuse(query, f"{type(query).__name__.upper()} as a query is not traced", "Use SELECT … FROM.")

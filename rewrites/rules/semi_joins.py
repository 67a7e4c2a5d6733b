"""LEFT SEMI and LEFT ANTI JOIN: the row is the left one; the right side only decided.   [Zhang 2007, §3.4]

V ⋉ W   data: V's lineage, the block as it is.
        control: + the right rows that matched, i.e. those that EXISTS (SELECT * FROM W WHERE on) would see
V ▷ W   V's lineage under both: no right row matched.
Subqueries in ON count with the right rows that matched, as they do in WHERE of that EXISTS.
Requires: FROM is rewritten: `block.scope` says which sides are seen by the ON of a SEMI or ANTI JOIN alone.
Ensures:  user columns unchanged; at most one more source in FROM, of no columns of the user's.
Nulls:    a NULL key matches nothing: no right row is added.
Raises:   NotTracedError if the sides of USING are ambiguous. Also if a later RIGHT or FULL JOIN pads the left side, and
          a padded row may match, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from rewrites import hoisting
from rewrites.block import Block
from rewrites.conditions import conjuncts, is_strict, subqueries_in
from rewrites.environment import TracedQuery
from rewrites.refusals import refuse
from rewrites.rules.subqueries import COUNTED, make_run
from rewrites.scope import FromItem
from rewrites.terms import Lineage, as_one, column, hidden_column, merge, name, named, over_rows


def apply(block: Block) -> None:
    """Under control semantics add the rows that matched."""
    if not block.env.counts_what_decides:
        return
    for join, left, right in list(_semi_joins(block)):
        _add_matched_rows(join, left, right, block)


def _semi_joins(block: Block) -> Iterator[tuple[exp.Join, list[FromItem], list[FromItem]]]:
    """Yield each semi join with the sources on its left and on its right."""
    items = block.scope.from_items
    for join in {id(item.only_on): item.only_on for item in items if item.only_on is not None}.values():
        places = [place for place, item in enumerate(items) if item.only_on is join]
        if join.kind == "SEMI":
            left = [item for item in items[: places[0]] if item.in_star]
            yield join, left, [items[place] for place in places]


def _add_matched_rows(join: exp.Join, left: list[FromItem], right: list[FromItem], block: Block) -> None:
    saying, of_left, asked = _looked_through(join, block)
    if all(item.nullable for item in right) and not _never_of_padding(join, saying, left, block):
        what = "a SEMI JOIN below RIGHT or FULL JOIN, whose ON may hold for a row padded with NULLs, is not traced"
        refuse(join, f"{what} under control semantics", "Put what is joined so far into a subquery in FROM.")
    if not all(item.nullable for item in right):  # then what ON says of the left side alone holds for every row here
        saying = [each for each in saying if not any(each is other for other in of_left)]
    matching = merge(*(replace(item, traced=True).lineage() for item in right), asked)
    if matching:
        matches = exp.Select().from_(join.this.copy()).where(_condition(join, saying, left, right, block))
        hoisting.refuse_unrepeatable(matches)
        block.rows = merge(block.rows, hoisting.correlated(_all_of(matches, matching, block), block))


def _never_of_padding(join: exp.Join, saying: list[exp.Expr], left: list[FromItem], block: Block) -> bool:
    """Say whether nothing matches a left row that is all NULLs: an outer join has put it in place of none."""
    about_left = (each for each in saying if any(_is_of(left, node, join, block) for node in _own_columns(each)))
    return bool(join.args.get("using")) or any(map(is_strict, about_left))


def _is_of(items: list[FromItem], node: exp.Column, join: exp.Join, block: Block) -> bool:
    return all(any(meant is item for item in items) for meant in block.scope.meant(node, join))


def _all_of(matches: exp.Select, matching: Lineage, block: Block) -> exp.Select:
    """Return a one-row query: the union of `matching` over all rows of `matches`."""
    # What a subquery reads of each row is no argument of an aggregate to Spark while the rows are correlated.
    if any(isinstance(term.value, exp.Subquery | exp.Bracket) for terms in matching.values() for term in terms):
        rows = {table: as_one(terms) for table, terms in matching.items()}
        matches.set("expressions", [named(one.value, hidden_column(table)) for table, one in rows.items()])
        hidden = {table: one.kind for table, one in rows.items()}
        return hoisting.all_rows(TracedQuery(matches, (), hidden, correlated=True), block.env.names.fresh("s"))
    unions = [named(as_one(over_rows(terms)).value, hidden_column(table)) for table, terms in matching.items()]
    matches.set("expressions", unions)
    return matches


def _looked_through(join: exp.Join, block: Block) -> tuple[list[exp.Expr], list[exp.Expr], Lineage]:
    """Return the condition of ON on the right rows that match, and the rows that its subqueries read for each of those.

    In conjuncts: all of them, then those that mention nothing of the right side. Left out is one whose subqueries
    mention the left row: it holds for every row that is left. (Spark knows no subquery in a subquery that mentions a
    row two blocks out.)
    """
    saying: list[exp.Expr] = []
    of_left: list[exp.Expr] = []
    asked: Lineage = {}
    on = join.args.get("on")
    for conjunct in conjuncts(on):
        sides = {_is_right(item, join) for node in _own_columns(conjunct) for item in block.scope.meant(node, join)}
        about_left = False
        for query in subqueries_in(conjunct):
            mentioned, lineage = _asked_in_on(query, join, block)
            asked = merge(asked, lineage)
            about_left = about_left or False in mentioned
            sides |= mentioned
        if about_left and True in sides:
            what = "a subquery in ON of a semi join, in one condition with the other side, is not traced"
            refuse(conjunct, f"{what} under control semantics", "Write the semi join as WHERE EXISTS (SELECT …).")
        if about_left:
            continue
        saying.append(conjunct)
        if True not in sides:
            of_left.append(conjunct)
    return saying, of_left, asked


def _is_right(item: FromItem, join: exp.Join) -> bool:
    return item.only_on is join


def _own_columns(conjunct: exp.Expr) -> list[exp.Column]:
    own = conjunct.walk(prune=lambda inner: isinstance(inner, exp.Query))
    return [node for node in own if isinstance(node, exp.Column)]


def _asked_in_on(query: exp.Query, join: exp.Join, block: Block) -> tuple[set[bool], Lineage]:
    """Return which sides a subquery mentions (True: the right one), and what it reads of each right row, if of any."""
    inner = query.this if isinstance(query, exp.Subquery) else query
    block.scope.mentioned.clear()
    traced = block.env.rewrite(inner.copy(), block.env.inside(block.scope, join))
    mentioned = {_is_right(item, join) for item in block.scope.mentioned}
    if True not in mentioned or not traced.hidden:
        return mentioned, {}  # of the left row, or of none: `subqueries` collects it
    hoisting.refuse_unrepeatable(query)
    query.meta[COUNTED] = True
    return mentioned, hoisting.for_each_row(hoisting.all_rows(traced, block.env.names.fresh("s")))


def _condition(
    join: exp.Join, saying: list[exp.Expr], left: list[FromItem], right: list[FromItem], block: Block
) -> exp.Expr:
    using = join.args.get("using") or []
    if using:
        pairs = [(_owner(key.name, left, join), _owner(key.name, right, join)) for key in using]
        return exp.and_(*(exp.EQ(this=one, expression=other) for one, other in pairs))
    if not saying:
        return exp.true()
    condition = exp.and_(*(conjunct.copy() for conjunct in saying), copy=False)
    return _standing_alone(condition, [*left, *right], join, block)


def _standing_alone(on: exp.Expr, items: list[FromItem], join: exp.Join, block: Block) -> exp.Expr:
    """Make a condition mean the same behind all of FROM: other sources there may have the bare names too."""
    holder = exp.Where(this=on)
    for query in list(subqueries_in(holder)):
        make_run(query, block, join)
    on = holder.this
    for node in list(on.walk(prune=lambda inner: isinstance(inner, exp.Query))):
        if isinstance(node, exp.Column) and not node.table:
            owners = [item for item in items if item.has(node.name)]
            if len(owners) == 1:
                node.set("table", name(owners[0].alias))
    return on


def _owner(key: str, items: list[FromItem], join: exp.Join) -> exp.Column:
    owners = [item for item in items if item.has(key)]
    if len(owners) != 1:
        refuse(join, f"{key} stands in several relations on one side of this SEMI JOIN", "Use ON.")
    return column(owners[0].alias, key)

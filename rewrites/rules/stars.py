"""Keep hidden columns out of every star: `*`, `t.*`, `struct(*)`, `count(DISTINCT t.*)`.

SELECT *  →  SELECT * EXCEPT (a.__dl_t, b.__dl_u)
Requires: all sources of FROM are known, those that other rules have joined included.
Ensures:  Spark itself expands the star, so that USING, semi joins and struct columns mean what they always mean. A
          `count(*)` counts rows and stays, like a star over sources without lineage.
Nulls:    `count(DISTINCT *)` skips rows with a NULL in the user's columns, whatever the hidden ones are.
Raises:   nothing.
"""

from __future__ import annotations

from sqlglot import exp

from rewrites.block import Block
from rewrites.scope import FromItem
from rewrites.sources import joins
from rewrites.terms import column, hidden_column, name

_COUNTS = ("count", "try_count")


def apply(block: Block) -> None:
    """Except the hidden columns from the stars of the block."""
    for node in list(block.own_nodes()):
        if isinstance(node, exp.Star) and not counts_rows(node) and not isinstance(node.parent, exp.Dot):
            hidden = _hidden_below(node, block)
            if hidden:
                node.set("except_", [*(node.args.get("except_") or []), *hidden])


def star_of(item: exp.Expr) -> exp.Star | None:
    """Return the star of an item of a select list that is one: `*`, `t.*`, or `t.a.b.c.*`, the fields of a struct."""
    star = item.this if isinstance(item, exp.Column) else item.expression if isinstance(item, exp.Dot) else item
    return star if isinstance(star, exp.Star) else None


def columns_of(item: exp.Expr, block: Block) -> list[str | None] | None:
    """Return the names that a star of the select list stands for; None where only Spark knows them."""
    star = star_of(item)
    sources = _sources_of(item, block)
    if star is None or star.args.get("replace") or not sources or any(source.columns is None for source in sources):
        return None
    excepted = {column.name.lower() for column in star.args.get("except_") or []}
    seen = [known for source in sources for known in source.columns or ()]
    opened = [known for known in seen if known is None or known.lower() not in excepted]
    return _merged_by_using(opened, block) if isinstance(item, exp.Star) else opened


def _sources_of(item: exp.Expr, block: Block) -> list[FromItem]:
    if isinstance(item, exp.Column):
        one = block.scope.source_of_star(item)
        return [one] if one is not None else []
    if isinstance(item, exp.Dot):
        return []
    return [source for source in block.scope.from_items if source.in_star]


def _merged_by_using(opened: list[str | None], block: Block) -> list[str | None] | None:
    """USING makes one column of two, and puts it first, before those of the USING before it.

    None where more than two have the name, or NATURAL is left.
    """
    joined = joins(block.select)
    using = [identifier.name for join in reversed(joined) for identifier in join.args.get("using") or []]
    names = [known.lower() for known in opened if known is not None]
    if any(names.count(key.lower()) > 2 for key in using) or any(join.method == "NATURAL" for join in joined):
        return None
    merged = {key.lower() for key in using}
    return [*using, *(known for known in opened if known is None or known.lower() not in merged)]


def counts_rows(star: exp.Star) -> bool:
    """Say whether a star is that of `count(*)`."""
    parent = star.parent
    return isinstance(parent, exp.Anonymous) and parent.name.lower() in _COUNTS and len(parent.expressions) == 1


def _hidden_below(star: exp.Star, block: Block) -> list[exp.Expr]:
    qualified = star.parent if isinstance(star.parent, exp.Column) else None
    sources = [source for source in block.scope.from_items if source.in_star]
    if qualified is None:
        return [column(source.alias, each) for source in sources for each in _not_shown(source)]
    source = block.scope.source_of_star(qualified)  # none: the fields of a struct column
    return [exp.Column(this=name(each)) for each in _not_shown(source)] if source is not None else []


def _not_shown(source: FromItem) -> list[str]:
    return [*map(hidden_column, source.hidden), *([source.beside] if source.beside else [])]

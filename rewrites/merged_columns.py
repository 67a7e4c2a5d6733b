"""One side's column of those that USING or NATURAL JOIN merges gets a name of its own.

    SELECT g.k, * FROM s JOIN g USING (k)
    →  SELECT g.__side_k AS k, * EXCEPT (g.__side_k) FROM s JOIN (SELECT *, k AS __side_k FROM g) AS g USING (k)

Spark keeps such a column aside of the columns that it selects, and may lose it. That happens where the relation is read
in another place of the statement, too, below some groupings, and in a CTE that it evaluates once. The lineage of a
query reads its relations more often than the query. Under another name it is a column like any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from rewrites.aliases import listed
from rewrites.block import has_grouping_sets, is_aggregate
from rewrites.environment import Names
from rewrites.qualifiers import reads_file_metadata
from rewrites.rules.stars import counts_rows
from rewrites.sources import Place, merges, merging, places
from rewrites.terms import column, derived_table, name, named

_OF_A_READING = ("sample", "pivots", "joins", "laterals")
_APART = "__side_"
_LEFT_STAYS = ("", "LEFT")
_SEEN_BY_ON_ALONE = ("SEMI", "ANTI")


def named_apart(query: exp.Query, names: Names) -> None:
    """Give all such columns names of their own, in a query as the user wrote it, which is edited.

    It does not change where Spark names a result after an expression with such a column in it. Nor does it where a
    source has no single name, or its columns are given by position.
    """
    for select in list(query.find_all(exp.Select)):
        if merging(select):
            given: set[str] = set()  # two sources may not have one name for it: NATURAL would merge that, too
            for place in places(select):
                _name_apart(place, select, names, given)


def names_what_was_merged(query: exp.Query) -> bool:
    """Say whether such a column is left."""
    return any(
        any(True for _ in _aside(place, select))
        for select in query.find_all(exp.Select)
        if merging(select)
        for place in places(select)
    )


def _name_apart(place: Place, select: exp.Select, names: Names, given: set[str]) -> None:
    nodes = list(_aside(place, select))
    if not nodes or not _can_be_wrapped(place, select) or any(_names_a_result(node, select) for node in nodes):
        return
    if {node.name.lower() for node in nodes} & set(_named_in_the_shade(place, select)):
        return
    alias = place.node.alias_or_name
    columns: dict[str, exp.Expr] = {}
    selected = [node.name.lower() for node in nodes if _is_item(node, select)]
    for node in nodes:
        apart = _APART + node.name.lower()
        if apart in given:
            apart = f"{apart}_of_{alias.lower()}"
        if apart in names.taken:
            return
        columns.setdefault(apart, node.this)
        renamed = column(alias, apart)
        renamed.meta.update(node.meta)
        if _is_item(node, select):
            node.replace(named(renamed, node.name))
        elif _is_found_among(selected, node, select):
            node.replace(exp.Column(this=node.this.copy()))
        else:
            node.replace(renamed)
    given.update(columns)
    _except_from_stars(alias, columns, select)
    items = [exp.Star(), *(named(exp.Column(this=known.copy()), apart) for apart, known in columns.items())]
    wrapped = exp.Select(expressions=items).from_(place.node.copy(), copy=False)
    place.node.replace(derived_table(wrapped, alias))


def _is_item(node: exp.Expr, select: exp.Select) -> bool:
    return node.parent is select and node.arg_key == "expressions"


def _is_found_among(selected: Iterable[str], node: exp.Column, select: exp.Select) -> bool:
    """Say whether it is a key in HAVING of GROUPING SETS that is selected: Spark finds no other there."""
    if node.name.lower() not in selected or not has_grouping_sets(select.args.get("group")):
        return False
    around = node.parent
    while around is not None and not isinstance(around, exp.Having | exp.Query) and not is_aggregate(around):
        around = around.parent
    return isinstance(around, exp.Having) and around.parent is select


def _aside(place: Place, select: exp.Select) -> Iterator[exp.Column]:
    """Yield what names a column of a source that a join of the SELECT has, or may have, merged with another one."""
    alias = place.node.alias_or_name.lower()
    if not alias or _is_what_stays(place, select):
        return
    joined = merging(select)
    for node in select.find_all(exp.Column):
        if node.table.lower() != alias or isinstance(node.this, exp.Star) or not _is_of(select, node, alias):
            continue
        if not node.name.startswith(_APART) and any(merges(join, node.name) for join in joined):
            yield node


def _named_in_the_shade(place: Place, select: exp.Select) -> Iterator[str]:
    """Yield columns named where a query inside has a source of that name, too: it may lack them, and ours is meant."""
    alias = place.node.alias_or_name.lower()
    for node in select.find_all(exp.Column):
        if node.table.lower() == alias and not _is_of(select, node, alias):
            yield node.name.lower()


def _is_what_stays(place: Place, select: exp.Select) -> bool:
    """Say whether the merged column is that of this source: the first one, of joins that keep all of the left side."""
    first = next(iter(places(select)))
    return place.node is first.node and all(join.side in _LEFT_STAYS for join in merging(select))


def _is_of(select: exp.Select, node: exp.Expr, alias: str) -> bool:
    """Say whether a name that stands in a SELECT, perhaps in a query inside it, is that of a source of its own."""
    inner = node.find_ancestor(exp.Select)
    while inner is not None and inner is not select:
        if any(place.node.alias_or_name.lower() == alias for place in places(inner)):
            return False
        inner = inner.find_ancestor(exp.Select)
    return inner is not None


def _can_be_wrapped(place: Place, select: exp.Select) -> bool:
    source = place.node
    if not isinstance(source, exp.Table | exp.Subquery) or listed(source) or any(map(source.args.get, _OF_A_READING)):
        return False
    if place.join is not None and place.join.kind in _SEEN_BY_ON_ALONE:
        return False
    alias = source.alias_or_name.lower()
    if any(join.method == "NATURAL" for join in merging(select)) and _is_called_around(select, alias):
        return False  # NATURAL does not say what it merges: the name may be one of a column of that source
    through_database = (node.args.get("db") and node.table.lower() == alias for node in select.find_all(exp.Column))
    return not reads_file_metadata(source) and not any(through_database)  # a subquery has neither


def _is_called_around(select: exp.Select, alias: str) -> bool:
    """Say whether a query around a SELECT has a source of this name, too."""
    around = select.find_ancestor(exp.Select)
    while around is not None:
        if any(place.node.alias_or_name.lower() == alias for place in places(around)):
            return True
        around = around.find_ancestor(exp.Select)
    return False


def _names_a_result(node: exp.Expr, select: exp.Select) -> bool:
    """Say whether Spark makes a name of an item of a select list, the outer one's or another, with the node in it."""
    item = node
    while item.parent is not None and item.parent is not select:
        if isinstance(item.parent, exp.Select) and _is_unnamed(item, node):
            return True
        item = item.parent
    return _is_unnamed(item, node)


def _is_unnamed(item: exp.Expr, node: exp.Expr) -> bool:
    return item.arg_key == "expressions" and item is not node and not isinstance(item, exp.Alias)


def _except_from_stars(alias: str, columns: Iterable[str], select: exp.Select) -> None:
    for star in list(select.find_all(exp.Star)):
        qualified = star.parent if isinstance(star.parent, exp.Column) else None
        if qualified is None:
            if star.find_ancestor(exp.Select) is not select or counts_rows(star):
                continue
            excepted = [column(alias, each) for each in columns]
        elif qualified.name == "*" and qualified.table.lower() == alias and _is_of(select, qualified, alias):
            excepted = [exp.Column(this=name(each)) for each in columns]
        else:
            continue
        star.set("except_", [*(star.args.get("except_") or []), *excepted])

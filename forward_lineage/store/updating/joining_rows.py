"""Find the new rows that could join: the places of a query where new rows of a table can only add rows.

    SELECT item, sum(n) FROM sales JOIN shops USING (shop) WHERE n > 3 GROUP BY item
    probe of `sales`:   SELECT 1 FROM <new rows> AS sales JOIN shops USING (shop) WHERE n > 3

FROM and WHERE give the *joined rows*. All that comes after them (GROUP BY, DISTINCT, windows, ORDER
BY) is made of the joined rows alone. So if these are the same rows as before, so is the result. They are, if

1. no joined row of before was made of a row that went or changed. Each of them is in the lineage of a row of the
   result: nothing behind WHERE that is allowed here leaves any out. So the lineage tells.
2. no row that came or changed joins now. A joined row that has such a row has it in at least one of the places where
   the table is read. A probe for each place, that reads only such rows there and all present rows elsewhere, finds it.

Both need that more rows of the table in that place give more joined rows, never fewer: an inner join does, and the left
side of an outer one; NOT EXISTS, HAVING, LIMIT and others do not. What is not known to, is refused here. Where rows of
before are at hand, see `touched_rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from forward_lineage.frontend import print_sql
from forward_lineage.frontend.joins import EXISTENCE, OF_JOIN, join_form, join_words, table_name
from forward_lineage.frontend.row_values import is_of_one_row


class NotProvableError(Exception):
    """The class of a query for which nothing is proven. Its text is the reason, as a clause."""


@dataclass(frozen=True)
class Probe:
    """A place where new rows of a table could join.

    Attributes:
        table: the table's name in the query, in lower case.
        sql: gives a row for each that does, of a relation called `PLACE` that stands for the table.
        within: the same for a subquery that mentions the query around it: a row for each of that query's joined rows
            for which the subquery has new ones. None: it is in no expression.
        both: whether `PLACE` has rows that went, too, and rows that differ as they were; see `touched_rows`.

    """

    table: str
    sql: str
    within: str | None = None
    both: bool = False


#: Parts of a SELECT that are made of the joined rows alone, and lose none of them.
KEEP_ALL = {"expressions", "from_", "joins", "where", "group", "order", "distinct", "hint", "windows", "with_"}
#: What gives the joined rows, with the names that it reads.
OF_JOINED_ROWS = ("with_", "from_", "joins", "where")
_IN_WORDS = {
    **{"having": "HAVING", "qualify": "QUALIFY", "limit": "LIMIT", "offset": "OFFSET", "laterals": "LATERAL VIEW"},
    **{"with_": "WITH", "pivots": "PIVOT", "sample": "TABLESAMPLE"},
}
_KEEPS_ALL_ROWS: type[exp.SetOperation] = exp.Union
GENERATORS = {
    *("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack", "json_tuple"),
}
PLACE = "__fl_rows_that_came__"
"""What stands in a probe for the rows of a table that came or changed."""
KEYS = "__fl_keys__"
"""What stands for the relation of the keys of touched parts, in the columns that `key_column` names."""
_HERE = "here"  # a mark on a node
INTEGERS = ("tinyint", "smallint", "int", "bigint")
"""From the narrowest to the widest."""
_COMPARABLE = {*INTEGERS, "string", "date", "boolean"}
Fits = Callable[[str, Sequence[int]], bool]
"""Tells whether columns can be keys, given a text that selects them first, and then what they are computed of."""


def is_comparable(kind: str) -> bool:
    """Tell whether equal values of a type are the same to every operator, and whether their order is known."""
    return kind in _COMPARABLE or kind.startswith("decimal(")


def key_column(number: int) -> str:
    """Return the name of a column of keys."""
    return f"__fl_k{number}"


def names_read(tree: exp.Expr) -> set[str]:
    """Return the names of the tables and views in a query, in lower case; of its own WITH clause none.

    Raises:
        NotProvableError: something else is read, whose rows are not known.

    """
    own = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    found: set[str] = set()
    if any(word.name.lower() == "_metadata" for word in tree.find_all(exp.Identifier)):
        raise NotProvableError("it reads _metadata of files, which may be moved without a change of rows")
    for table in tree.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            if table.this.name.lower() != "range":
                raise NotProvableError("it reads a table function")
            continue
        found.add(table_name(table))
    return found - own


def probes(tree: exp.Expr, changed: Collection[str]) -> list[Probe]:
    """Return a probe for each place in which a query reads a table that changed.

    Args:
        tree: the query; it is not changed.
        changed: names of tables, in lower case.

    Raises:
        NotProvableError: new rows in one of the places may do more than join, or rows that went more than be missing.

    """
    names = {name.lower() for name in changed}
    return list(_of_query(tree, names))


def _of_query(tree: exp.Expr, changed: set[str]) -> Iterator[Probe]:
    if not mentions(tree, changed):
        return
    if isinstance(tree, exp.Subquery):
        refuse_parts(tree, {"this"})
        yield from _of_query(tree.this, changed)
    elif isinstance(tree, _KEEPS_ALL_ROWS):
        refuse_parts(tree, {"this", "expression", "distinct", "order", "by_name"})
        yield from _of_query(tree.this, changed)
        yield from _of_query(tree.expression, changed)
    elif isinstance(tree, exp.Select):
        yield from _of_select(tree, changed)
    else:
        raise NotProvableError(f"{tree.key.upper()} may lose rows")


def _of_select(select: exp.Select, changed: set[str]) -> Iterator[Probe]:
    return (probe for probe, _ in probed_places(select, changed))


def probed_places(
    select: exp.Select, changed: set[str], also: Collection[str] = ()
) -> Iterator[tuple[Probe, exp.Table]]:
    """Yield the places of a SELECT where a table that changed is read, each with its probe.

    Args:
        select: the SELECT; it is not changed.
        changed: names of tables, in lower case.
        also: parts of it that do no harm although they lose rows.

    Raises:
        NotProvableError: as for `probes`.

    """
    check_select(select, changed, also)
    for selected in select.expressions:
        if any(each.name.lower() in GENERATORS for each in selected.find_all(exp.Anonymous)):
            raise NotProvableError("it makes rows of a value, as explode does")
    found = [place for source in sources(select) for place in places(source, changed)]
    for place in found:
        yield _probe(select, place), place


def _probe(select: exp.Select, place: exp.Table) -> Probe:
    copied, there = copied_with(select, place)
    read_instead(there, PLACE)
    return Probe(table_name(place), print_sql(_one_for_each(copied)))


def _one_for_each(select: exp.Select) -> exp.Select:
    """A SELECT that gives a row for each joined row of another; it takes its parts over."""
    kept = {part: select.args.get(part) for part in OF_JOINED_ROWS}
    return exp.Select(expressions=[exp.Literal.number(1)], **kept)


def check_names(select: exp.Expr, changed: set[str]) -> None:
    """Queries of WITH are read by their names, and means one thing."""
    named = select.args.get("with_")
    if named is None:
        return
    if named.args.get("recursive"):
        raise NotProvableError("it has WITH RECURSIVE")
    own = [each.alias.lower() for each in named.expressions]
    if changed & set(own):
        raise NotProvableError("WITH gives the name of a table that changed to something else")
    for place, each in enumerate(named.expressions):
        # A probe reads all that WITH names. Within WITH, a name that is given later means a table of that name.
        if any(table_name(table) in own[place:] for table in each.this.find_all(exp.Table)):
            raise NotProvableError("a name that WITH gives means something else in a part of it")


def copied_with(select: exp.Select, place: exp.Table) -> tuple[exp.Select, exp.Table]:
    """Copy a SELECT, and return the copy of a place in it, too."""
    place.meta[_HERE] = True
    copied = select.copy()
    del place.meta[_HERE]
    there = next(table for table in copied.find_all(exp.Table) if table.meta.get(_HERE))
    return copied, there


def read_instead(place: exp.Table, name: str) -> None:
    """Let a place in a query read another relation, which is called what the table was called there."""
    alias = place.args.get("alias") or exp.TableAlias(this=place.parts[-1].copy())
    place.replace(exp.Table(this=exp.to_identifier(name), alias=alias.copy()))


def check_select(select: exp.Select, changed: set[str], also: Collection[str] = ()) -> None:
    """Rows that changed are read behind FROM only, in places where more rows give more."""
    refuse_parts(select, KEEP_ALL | set(also))
    check_names(select, changed)
    if mentions(select.args.get("with_"), changed):
        raise NotProvableError("WITH reads a table that changed")
    refuse_subqueries(select, changed)
    for join in select.args.get("joins") or ():
        if mentions(join.args.get("on"), changed):
            raise NotProvableError("it asks a subquery about a table that changed")
        check_join(join, changed, {table_name(table) for table in join.this.find_all(exp.Table)})


def refuse_subqueries(select: exp.Select, changed: set[str]) -> None:
    """A subquery in an expression, whose value for a row may be another than before, in any direction."""
    elsewhere = (
        each for part in ("expressions", "where", "group", "order", "distinct") for each in _parts(select, part)
    )
    if any(mentions(each, changed) for each in elsewhere):
        raise NotProvableError("it asks a subquery about a table that changed")


def check_join(join: exp.Join, changed: set[str], read: set[str]) -> None:
    """More rows on the left give more; on the right, where these names are read, an inner join does."""
    refuse_parts(join, OF_JOIN)
    form = join_form(join)
    if form not in ("INNER", "LEFT", *EXISTENCE) or (form != "INNER" and read & changed):
        raise NotProvableError(f"a table that changed is in {join_words(join)}")


def places(source: exp.Expr, changed: set[str]) -> Iterator[exp.Table]:
    """The places in something behind FROM where a table that changed is read."""
    if not mentions(source, changed):
        return
    if isinstance(source, exp.Table):
        refuse_parts(source, {"this", "db", "catalog", "alias"})
        yield source
    elif isinstance(source, exp.Subquery) and isinstance(source.this, exp.Select):
        refuse_parts(source, {"this", "alias"})
        inner = source.this
        check_select(inner, changed)
        refuse_parts(inner, {"expressions", "from_", "joins", "where", "hint"})
        if not all(map(is_of_one_row, inner.expressions)):
            raise NotProvableError("a subquery in FROM selects more than values of a row")
        for each in sources(inner):
            yield from places(each, changed)
    else:
        raise NotProvableError("a table that changed is behind FROM in a way that is not looked into")


def sources(select: exp.Select) -> Iterator[exp.Expr]:
    """Yield what stands behind FROM, with what is joined."""
    if select.args.get("from_"):
        yield select.args["from_"].this
    for join in select.args.get("joins") or ():
        yield join.this


def mentions(node: exp.Expr | None, changed: set[str]) -> bool:
    """Tell whether a table that changed is read somewhere in a part of a query."""
    return node is not None and any(table_name(table) in changed for table in node.find_all(exp.Table))


def _parts(node: exp.Expr, name: str) -> list[exp.Expr]:
    found = node.args.get(name)
    return [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, exp.Expr)]


def refuse_parts(node: exp.Expr, known: Collection[str]) -> None:
    """Refuse what has other parts than these, or others than are known."""
    for name, value in node.args.items():
        if value and name not in known:
            raise NotProvableError(f"it has {_IN_WORDS.get(name, name.strip('_').upper())}")

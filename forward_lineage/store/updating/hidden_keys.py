"""Keys of groups and partitions that are not selected: told from the rows that these were made of.

    SELECT count(*) FROM sales JOIN shops s USING (shop) GROUP BY s.city
    keys of rows of `shops`:   SELECT <number>, s.city FROM <rows of shops> AS s

All joined rows of a group have the same keys. So if these are computed of one table, each row of this table that is in
the lineage of the group has the group's keys. Nothing has to be stored for it. docs/updating.md has the proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from forward_lineage.frontend import print_sql
from forward_lineage.frontend.joins import table_name
from forward_lineage.frontend.row_values import is_of_one_row
from forward_lineage.store.updating import joining_rows as joined
from forward_lineage.store.updating.joining_rows import PLACE, Fits, NotProvableError, key_column
from forward_lineage.store.updating.touched_rows import known_form

NUMBER = "__fl_number"
"""The column of the ids of rows, in the relation that stands for the table."""


@dataclass(frozen=True)
class HiddenKeys:
    """Keys that are computed of the rows of one table. Each row is in the parts of one key alone.

    Attributes:
        table: the table's name in the query, in lower case.
        keys: them.
        sql: gives the number of each row and its keys, of a relation called `PLACE` with the column `NUMBER`.

    """

    table: str
    keys: tuple[exp.Expr, ...]
    sql: str


def hidden_keys(tree: exp.Expr, select: exp.Select, common: Sequence[exp.Expr], fits: Fits) -> HiddenKeys:
    """Return the keys of the parts of a query, of the table of which most of them are.

    Args:
        tree: the query; it is not changed.
        select: the SELECT that it is.
        common: what all joined rows of a part have in common.
        fits: see `Fits`.

    Raises:
        NotProvableError: the rows of no table tell.

    """
    keys = [each for each in common if is_of_one_row(each) and each.find(exp.Column)]
    merged = _merged(select)
    found: list[tuple[exp.Table, list[exp.Expr]]] = []
    for place in _kept_places(select):
        if _is_read_once(tree, place):
            found.append((place, [each for each in keys if _is_of(each, place, merged, fits)]))
    if not any(known for _, known in found):
        raise NotProvableError("its parts have no key that is selected, or computed of a table that is read once")
    place, known = max(found, key=lambda each: len(each[1]))
    return HiddenKeys(table_name(place), tuple(known), _text(place, known))


def _merged(select: exp.Select) -> set[str] | None:
    """The columns that USING makes one of two; None: it is not known which."""
    joins = select.args.get("joins") or []
    if any(join.args.get("method") for join in joins):
        return None
    return {each.name.lower() for join in joins for each in join.args.get("using") or ()}


def _kept_places(select: exp.Select) -> Iterator[exp.Table]:
    """The tables of which each joined row has a row."""
    forms = ["INNER", *map(known_form, select.args.get("joins") or ())]
    if {"RIGHT", "FULL"} & set(forms):
        raise NotProvableError("it has a RIGHT or FULL JOIN, and its keys may be missing")
    for source, form in zip(joined.sources(select), forms, strict=True):
        if (
            form == "INNER"
            and isinstance(source, exp.Table)
            and set(filter(source.args.get, source.args))
            <= {
                *("this", "db", "catalog", "alias"),
            }
        ):
            yield source


def _is_read_once(tree: exp.Expr, place: exp.Table) -> bool:
    """Whether rows of a table are in the lineage because of one place alone."""
    name = table_name(place)
    own = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    return name not in own and sum(table_name(table) == name for table in tree.find_all(exp.Table)) == 1


def _is_of(key: exp.Expr, place: exp.Table, merged: set[str] | None, fits: Fits) -> bool:
    """Whether a key is computed of a row of a table, by columns that mean nothing else."""
    columns = list(key.find_all(exp.Column))
    for column in columns:
        if column.table:
            if column.args.get("db") or column.table.lower() != place.alias_or_name.lower():
                return False
        elif merged is None or column.name.lower() in merged:
            return False
    alias = place.args.get("alias")
    if alias is not None and alias.columns:
        return False
    items = [exp.alias_(each.copy(), f"c{i}") for i, each in enumerate([key, *columns])]
    return fits(print_sql(exp.Select(expressions=items, from_=exp.From(this=place.copy()))), ())


def _text(place: exp.Table, keys: Sequence[exp.Expr]) -> str:
    select = exp.Select(from_=exp.From(this=place.copy()))
    joined.read_instead(select.args["from_"].this, PLACE)
    named = [exp.alias_(each.copy(), key_column(i)) for i, each in enumerate(keys)]
    select.set("expressions", [exp.column(NUMBER), *named])
    return print_sql(select)

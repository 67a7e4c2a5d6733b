"""The SQL functions of lineage values: their names are spelled here and nowhere else in `rewrites`.

Their meaning is in `udafs/scala/session/Registry.scala`, which registers them, and how rules use them in
`rewrites.terms`.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

DLUNION: Final = "dlunion"
"""(id or set, over rows) → set: the aggregate; NULL is no row, over no rows the empty set.  [Zhang 2007, §3.3]"""
DL_UNION: Final = "dl_union"
"""(ids and sets of one row …, or an array of them) → set; NULL is the empty set."""
DL_OF: Final = "dl_of"
"""(id) → set of one; NULL → the empty set."""
DL_SIZE: Final = "dl_size"
"""(set) → how many ids."""
DL_IDS: Final = "dl_ids"
"""(set) → its ids as an array, ascending."""
DL_CONTAINS: Final = "dl_contains"
"""(set, id) → whether it is in it."""
DL_INTERSECTS: Final = "dl_intersects"
"""(set, set) → whether they have an id in common."""
DL_INTERSECTION: Final = "dl_intersection"
"""(set, set) → the ids that are in both."""
DL_ROW_ID: Final = "dl_row_id"
"""(path of a manifest, `_metadata`) → id of a Parquet row, by its position in the registered files."""
DL_PARQUET: Final = "dl_parquet"
"""(path) → the rows that parquet.`path` has, as a relation."""
DL_NUMBER: Final = "dl_number"
"""(id or set, …) → BIGINT: a number for a row of a stage, computed from its lineage; Spark takes it for chance."""
DL_FRAME: Final = "dl_frame"
"""(partition, place, place of the frame's last row, size, sum of hashes) → what a window frame is to a row."""
DL_RELATION: Final = "dl_relation"
"""(number, id or set, frame …; over rows) → the rows of a stage by number, for `dl_compose` in the same query."""
DL_COMPOSE: Final = "dl_compose"
"""(number or set of numbers, relation) → set: the union of the lineage of these rows; NULL is no row."""
DL_STORED: Final = "dl_stored"
"""(set, table, check[, ids that are gone]) → the set that the table keeps beside a row, refused if it does not hold."""
DL_INTO: Final = "dl_into"
"""(struct of sets, table, check) → the struct, refused if the table means something else by its lineage."""
DL_QUICK: Final = "dl_quick"
"""(set, as an expression) → the same set, made to be read once, soon."""
DL_NEAREST: Final = "dl_nearest"
"""(row, as a struct, distance; over rows) → the row of a group that is nearest, as `min_by` takes it."""
DL_ALIKE: Final = "dl_alike"
"""(key, value) → true; refused, as the query is analysed, where several keys may equal one value."""
DL_MOVED: Final = "dl_moved"
"""(column) → the column, compared elsewhere than the user does; refused where that would be another comparison."""
DL_ENCODING: Final = "dl_encoding"
"""(set) → the name of its encoding."""

DL_GRANULE: Final = "dl_granule"
"""(value, type, least, most) → id from 0: NULL, then the values of a type whose values are integers, in order."""
DL_GRANULE_VALUE: Final = "dl_granule_value"
"""(id, type, least) → the value that has it."""
DL_ROW_GRANULE: Final = "dl_row_granule"
"""(id of a row, file) → id of the granule that the row lies in, from a file that says it of every row."""
DL_LISTED: Final = "dl_listed"
"""(string, list) → its place in the list from 1; 0 for NULL."""
DL_LISTED_VALUE: Final = "dl_listed_value"
"""(place, list) → the string that has it."""

DL_FRAGMENT: Final = "dl_fragment"
"""(value, bounds) → which range it is in: 0 for NULL, then from 1."""
DL_RANGE: Final = "dl_range"
"""(number of a range, bounds, type) → struct (from, until), NULL: without end."""
DL_IN_RANGES: Final = "dl_in_ranges"
"""(value, bounds, fragments) → whether it is in one of some ranges."""

DL_MAY_OCCUR: Final = "dl_may_occur"
"""(path of a filter, value, …) → whether the tuple may occur in a version of a table; false is proven."""
DL_MAY_BE_IN: Final = "dl_may_be_in"
"""(path of a filter, `_metadata`, value, …) → whether the tuple may occur in a file; false is proven."""

DL_STAR_EXCEPT = "dl_star_except"
"""(star, column, …), of string literals → the columns of a star but for some, where Spark reads no `* EXCEPT`."""
DL_CALENDAR_INTERVAL = "dl_calendar_interval"
"""(string literal) → the interval that it says, where Spark's SQL writes none of that type."""

NAMES = (
    DLUNION, DL_UNION, DL_OF, DL_SIZE, DL_IDS, DL_CONTAINS, DL_INTERSECTS, DL_NUMBER, DL_FRAME, DL_RELATION,
    DL_COMPOSE, DL_QUICK, DL_INTERSECTION, DL_STORED, DL_INTO, DL_GRANULE, DL_GRANULE_VALUE, DL_ROW_GRANULE, DL_LISTED,
    DL_LISTED_VALUE, DL_FRAGMENT, DL_RANGE, DL_IN_RANGES, DL_ROW_ID, DL_NEAREST, DL_MAY_OCCUR, DL_MAY_BE_IN,
    DL_ENCODING, DL_ALIKE, DL_MOVED, DL_STAR_EXCEPT, DL_CALENDAR_INTERVAL,
)  # fmt: skip
"""All of them, in the order in which they are registered."""


def dlunion(value: exp.Expr) -> exp.Anonymous:
    """Return the union over rows of an id or a set."""
    return exp.Anonymous(this=DLUNION, expressions=[value])


def dl_union(*values: exp.Expr) -> exp.Anonymous:
    """Return the union of the ids and sets of one row."""
    return exp.Anonymous(this=DL_UNION, expressions=list(values))


def dl_of(row_id: exp.Expr) -> exp.Anonymous:
    """Return the set of one id."""
    return exp.Anonymous(this=DL_OF, expressions=[row_id])


def dl_number(*lineage: exp.Expr) -> exp.Anonymous:
    """Return the number of a row of a stage, by what it is made of."""
    return exp.Anonymous(this=DL_NUMBER, expressions=list(lineage))


def dl_frame(partition: exp.Expr, place: exp.Expr, last: exp.Expr, size: exp.Expr, content: exp.Expr) -> exp.Anonymous:
    """Return what a window frame is to a row: places count from 1 in the partition, in the window's order."""
    return exp.Anonymous(this=DL_FRAME, expressions=[partition, place, last, size, content])


def dl_relation(number: exp.Expr, lineage: exp.Expr, *frames: exp.Expr) -> exp.Anonymous:
    """Return the rows of a stage, over which it aggregates, by number."""
    return exp.Anonymous(this=DL_RELATION, expressions=[number, lineage, *frames])


def is_dl_relation(node: exp.Expr) -> bool:
    """Say whether a node makes a lookup of the rows of a stage."""
    return isinstance(node, exp.Anonymous) and node.name == DL_RELATION


def dl_compose(numbers: exp.Expr, relation: exp.Expr) -> exp.Anonymous:
    """Return the union of the lineage of the rows of a stage that a number, or a set of numbers, names."""
    return exp.Anonymous(this=DL_COMPOSE, expressions=[numbers, relation])


def make_quick(tree: exp.Expr) -> None:
    """Have the sets that a tree makes be quick ones: none of them is seen, all are read once."""
    for node in list(tree.find_all(exp.Anonymous)):
        whole: exp.Expr = node
        while isinstance(whole.parent, exp.Filter | exp.Window) and whole.parent.this is whole:
            whole = whole.parent
        if node.name in (DLUNION, DL_UNION) and not _is_inside(whole, tree):
            quick = exp.Anonymous(this=DL_QUICK)
            whole.replace(quick)
            quick.set("expressions", [whole])


def _is_inside(node: exp.Expr, tree: exp.Expr) -> bool:
    """Say whether a node is an argument of what is quick already."""
    while node is not tree and node.parent is not None and not isinstance(node, exp.Query):
        node = node.parent
        if isinstance(node, exp.Anonymous) and node.name == DL_QUICK:
            return True
    return False


def dl_intersection(one: exp.Expr, other: exp.Expr) -> exp.Anonymous:
    """Return the ids that are in two sets."""
    return exp.Anonymous(this=DL_INTERSECTION, expressions=[one, other])


def added_later(field: exp.Expr, lineage: exp.Expr) -> exp.Case:
    """Return a field of a `DL` that is older than the field: where a row has lineage at all, NULL is the empty set."""
    return exp.Case(ifs=[exp.If(this=exp.Is(this=lineage, expression=exp.Null()).not_(), true=dl_union(field))])


def dl_stored(value: exp.Expr, table: str, check: str, gone: str | None = None) -> exp.Anonymous:
    """Return the lineage that a table keeps beside a row; `gone`: ids that do not hold any more."""
    said = [exp.Literal.string(each) for each in (table, check, gone) if each is not None]
    return exp.Anonymous(this=DL_STORED, expressions=[value, *said])


def dl_into(lineage: exp.Expr, table: str, check: str) -> exp.Anonymous:
    """Return the lineage of rows that are inserted into a table, which must mean the same by it."""
    return exp.Anonymous(this=DL_INTO, expressions=[lineage, exp.Literal.string(table), exp.Literal.string(check)])


def dl_parquet(path: str) -> exp.Anonymous:
    """Return the relation of the Parquet files under a path, or that a pattern names."""
    return exp.Anonymous(this=DL_PARQUET, expressions=[exp.Literal.string(path)])


def is_dlunion(node: exp.Expr) -> bool:
    """Say whether a node is a union over rows."""
    return isinstance(node, exp.Anonymous) and node.name == DLUNION


def dl_granule(value: exp.Expr, type_name: str, least: int, most: int) -> exp.Anonymous:
    """Return the id of a value that is an integer by its type, between bounds."""
    arguments = [value, exp.Literal.string(type_name), exp.Literal.number(least), exp.Literal.number(most)]
    return exp.Anonymous(this=DL_GRANULE, expressions=arguments)


def dl_granule_value(row_id: exp.Expr, type_name: str, least: int) -> exp.Anonymous:
    """Return the value to which `dl_granule` gives an id."""
    arguments = [row_id, exp.Literal.string(type_name), exp.Literal.number(least)]
    return exp.Anonymous(this=DL_GRANULE_VALUE, expressions=arguments)


def dl_row_granule(row_id: exp.Expr, file: str) -> exp.Anonymous:
    """Return the granule of the row that has an id, as a file says it."""
    return exp.Anonymous(this=DL_ROW_GRANULE, expressions=[row_id, exp.Literal.string(file)])


def dl_listed(value: exp.Expr, values: bytes) -> exp.Anonymous:
    """Return the place of a string in a list, in the form that `dl_listed` reads."""
    return exp.Anonymous(this=DL_LISTED, expressions=[value, exp.HexString(this=values.hex().upper())])


def dl_listed_value(place: exp.Expr, values: bytes) -> exp.Anonymous:
    """Return the string to which `dl_listed` gives a place."""
    return exp.Anonymous(this=DL_LISTED_VALUE, expressions=[place, exp.HexString(this=values.hex().upper())])


def dl_fragment(value: exp.Expr, bounds: bytes) -> exp.Anonymous:
    """Return which range a value is in, of those whose bounds are packed so."""
    return exp.Anonymous(this=DL_FRAGMENT, expressions=[value, exp.HexString(this=bounds.hex().upper())])


def dl_range(fragment: exp.Expr, bounds: bytes, type_name: str) -> exp.Anonymous:
    """Return the range to which `dl_fragment` gives a number, as a struct of two values of a type."""
    arguments = [fragment, exp.HexString(this=bounds.hex().upper()), exp.Literal.string(type_name)]
    return exp.Anonymous(this=DL_RANGE, expressions=arguments)

"""The meaning of lineage is written with it: CREATE TABLE … AS puts it beside the rows, INSERT asks for it.

CREATE TABLE t AS Q    →  CREATE TABLE t TBLPROPERTIES ('forward_lineage.meaning' = '…') AS Q'
INSERT INTO t Q        →  INSERT INTO t SELECT …, dl_into(<lineage>, 't', <check>) AS DL …
INSERT INTO t VALUES … →  INSERT INTO t (…, DL) VALUES (…, <the empty lineage>) …

So a text may be rewritten today and run by somebody else tomorrow. It makes a table that says what its ids mean, and
puts no rows into one that means something else by them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from forward_lineage.frontend.dialect import print_sql
from forward_lineage.stored_tables import PROPERTY, Kept, Meaning, check_fields, check_insert, check_of, row_ids_of
from rewrites.aliases import output_name, table_name
from rewrites.driver import RewrittenQuery
from rewrites.environment import Semantics
from rewrites.lineage_functions import dl_into
from rewrites.tables import StoredTable, Tables
from rewrites.terms import LINEAGE_COLUMN, derived_table, lineage_struct, named
from udafs.lineage_set import LineageSet


@dataclass(frozen=True)
class FilledTable:
    """What is known of the table that an INSERT fills.

    Attributes:
        columns: of an INSERT by position, those that the user's rows fill, if they are known. The rewritten one names
            them, and `DL`, at any place in the table.
        fields: those of its `DL`, where they are known: rows get empty lineage in what they are not made of.
        meaning: what it says of the lineage in it, "" if it says nothing; None: what the tables of names know.

    """

    columns: Sequence[str] = ()
    fields: Sequence[str] = ()
    meaning: str | None = None


def meaning_of(result: RewrittenQuery, semantics: Semantics) -> Meaning:
    """Return what the lineage of a rewritten query means.

    Raises:
        NotTracedError: two of its sources mean other rows by the same ids.
    """
    tables = tuple(row_ids_of(table, result.sources) for table in result.tables)
    granularity = "granules" if result.granules else "rows"
    if result.shape is None:
        return Meaning(tables, semantics.value, granularity)
    fleeting = None if result.shape.fleeting is None else tuple(sorted(result.shape.fleeting))
    return Meaning(tables, semantics.value, granularity, result.shape.open, fleeting)


def as_inserted(tree: exp.Expr, query: exp.Query, meaning: Meaning, filled: Sequence[str]) -> Meaning:
    """Return the meaning of rows by the columns of the table that they go into: by position, these have other names.

    Args:
        tree: the command; what is no INSERT keeps the names.
        query: its rewritten query.
        meaning: of its lineage.
        filled: the columns of the target that the user's rows fill, where they are known.
    """
    if not isinstance(tree, exp.Insert) or not meaning.fleeting or tree.args.get("by_name"):
        return meaning
    listed = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
    columns = [each.name for each in listed] or filled
    same = [output_name(item).lower() for item in query.selects[:-1]] == [column.lower() for column in columns]
    return meaning if same else replace(meaning, fleeting=None)


def write_meaning(tree: exp.Expr, query: exp.Query, meaning: Meaning, tables: Tables, filled: FilledTable) -> None:
    """Write into a command what the lineage of its rows means; a query or a view stays as it is.

    Rows that go into a table get the fields of its `DL`, in its order: structs go by position. Those of base tables
    that the rows are not made of are empty.

    Args:
        tree: the command, its query not put back yet; edited.
        query: its rewritten query, whose last column is `DL`; edited.
        meaning: of its lineage.
        tables: what names mean.
        filled: the table that an INSERT fills.

    Raises:
        NotTracedError: the target means something else by its lineage, or has none of a base table.
    """
    if isinstance(tree, exp.Create) and str(tree.args.get("kind")).upper() == "TABLE":
        if tree.args.get("properties") is None:
            tree.set("properties", exp.Properties(expressions=[]))
        said = exp.Property(this=exp.Literal.string(PROPERTY), value=exp.Literal.string(meaning.text()))
        tree.args["properties"].append("expressions", said)
    elif isinstance(tree, exp.Insert):
        target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
        parts = table_name(target)
        if parts:
            called, lineage = ".".join(parts), query.selects[-1]
            into, fields = filled.meaning, filled.fields
            known = tables.find(parts) if into is None else None
            if isinstance(known, StoredTable):
                into, fields = known.meaning, known.lineage
            if fields:
                check_fields(meaning.names(), fields, called)
                lineage.set("this", _filled(lineage.this, meaning.names(), fields))
            if into:
                check_insert(meaning, Kept(called, (), into).meaning(), called)
            lineage.set("this", dl_into(lineage.this, _called(target), check_of(into or meaning.text())))


def write_empty_lineage(tree: exp.Expr, filled: Sequence[str], fields: Sequence[str]) -> None:
    """Have rows of an INSERT that are made of no base row say so, unless they bring a `DL` of their own.

    Args:
        tree: a statement whose query is traced to no table; edited.
        filled: the columns of the target that the user's rows fill.
        fields: those of the target's `DL`; () if it has none.
    """
    if not isinstance(tree, exp.Insert) or not fields:
        return
    by_name, schema = bool(tree.args.get("by_name")), tree.this if isinstance(tree.this, exp.Schema) else None
    names = [each.name for each in schema.expressions] if schema is not None else list(filled)
    rows = tree.expression
    widths = {len(_items(each)) for each in rows.expressions} if isinstance(rows, exp.Values) else {_width(rows)}
    if LINEAGE_COLUMN.lower() in map(str.lower, names) or widths not in ({len(names)}, {None}):
        return  # it is filled by hand
    if isinstance(rows, exp.Values):
        every = [exp.Tuple(expressions=[*_items(each), _empty(fields)]) for each in rows.expressions]
        rows.set("expressions", every)
    else:
        star = exp.Select(expressions=[exp.Star(), named(_empty(fields), LINEAGE_COLUMN)])
        tree.set("expression", star.from_(derived_table(rows, "q"), copy=False))
    if not by_name:
        columns = [*(exp.to_identifier(each, quoted=True) for each in names), exp.to_identifier(LINEAGE_COLUMN)]
        tree.set("this", exp.Schema(this=tree.this if schema is None else schema.this, expressions=columns))


def _items(row: exp.Expr) -> list[exp.Expr]:
    """Return the values of a row of VALUES."""
    return list(row.expressions) if isinstance(row, exp.Tuple) else [row]


def _width(query: exp.Query) -> int | None:
    """Return how many columns a query has; None where a star stands for some."""
    return None if any(item.is_star for item in query.selects) else len(query.selects)


def _filled(struct: exp.Expr, traced: Sequence[str], fields: Sequence[str]) -> exp.Expr:
    """Return the lineage of rows (`lineage_struct`) with the fields of a target."""
    values = dict(zip(map(str.lower, traced), struct.expressions[1::2], strict=True))
    return _struct({field: values.get(field.lower()) for field in fields})


def _empty(fields: Sequence[str]) -> exp.Expr:
    return _struct(dict.fromkeys(fields))


def empty_set() -> exp.HexString:
    """Return the lineage of what is made of no row of a table, as it is stored."""
    return exp.HexString(this=LineageSet([]).to_bytes().hex().upper())


def _struct(fields: Mapping[str, exp.Expr | None]) -> exp.Expr:
    """Return a value of `DL`; None is the empty set."""
    struct: exp.Expr = lineage_struct({field: value or empty_set() for field, value in fields.items()}).this
    return struct


def _called(target: exp.Table) -> str:
    return print_sql(exp.Table(**{part: target.args.get(part) for part in ("this", "db", "catalog")}).copy())

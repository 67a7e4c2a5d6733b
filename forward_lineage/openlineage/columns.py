"""Column lineage: the columns of tables that a column of a query is computed from.

By value: columns in the expression, through subqueries, CTEs and views. Not the columns that decide which rows there
are (WHERE, ON, GROUP BY, HAVING), nor the rows themselves, which the store knows. Read from the front end's tree, by
Spark's rules for names. A column beyond them is not guessed: it is unknown, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from forward_lineage.frontend.parsing import read_fragment
from forward_lineage.openlineage.scopes import (
    NOTHING,
    Column,
    Made,
    NotKnownError,
    Seen,
    Unknown,
    joined,
    meaning,
    starred,
    together,
)
from rewrites.aliases import listed, output_name, table_name
from rewrites.tables import BaseTable, Source, View

Find = Callable[[Sequence[str]], Source | None]
Ctes = Mapping[str, list[Column]]
Around = tuple[list[Seen], ...]
"""What is in sight in a block, and in those around it."""


def column_lineage(query: exp.Expr, find: Find, wanted: Sequence[str]) -> dict[str, Made]:
    """Return what each column of a query is computed from.

    Args:
        query: the front end's tree of a query.
        find: says what a name in FROM means.
        wanted: the columns that Spark gives the result, in order.

    Returns:
        an entry for each name; one that several columns have is unknown.

    """
    try:
        found = ColumnLineageReader(find).query(query, {}, ())
    except NotKnownError as reason:
        return dict.fromkeys(wanted, Unknown(str(reason)))
    named = zip(found, wanted, strict=False)
    if len(found) != len(wanted) or any(each.name and each.name.lower() != name.lower() for each, name in named):
        return dict.fromkeys(wanted, Unknown("the columns were read in another way than Spark reads them"))
    twice = {name for name in wanted if sum(name.lower() == other.lower() for other in wanted) > 1}
    lineage: dict[str, Made] = {name: each.made for each, name in zip(found, wanted, strict=True)}
    return lineage | dict.fromkeys(twice, Unknown("several columns have this name"))


class ColumnLineageReader:
    """Reads queries.

    Args:
        find: says what a name in FROM means.

    """

    def __init__(self, find: Find) -> None:
        self._find = find

    def query(self, node: exp.Expr, ctes: Ctes, around: Around) -> list[Column]:
        """Return the columns of a query, in order.

        Raises:
            NotKnownError: they are not known.

        """
        ctes = self._with(node, ctes, around)
        if isinstance(node, exp.Select):
            return self._select(node, ctes, around)
        if isinstance(node, exp.SetOperation):
            return self._both(node, ctes, around)
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            return self.query(node.this, ctes, around)
        if isinstance(node, exp.Values):
            return [Column(each.name, each.made) for each in self._values(node)]
        raise NotKnownError(f"a query of the form {node.key.upper()}")

    def _with(self, node: exp.Expr, ctes: Ctes, around: Around) -> Ctes:
        clause = node.args.get("with_")
        if clause is None:
            return ctes
        if clause.args.get("recursive"):
            raise NotKnownError("a recursive CTE")
        known = dict(ctes)
        for cte in clause.expressions:
            known[cte.alias.lower()] = _renamed(self.query(cte.this, known, around), listed(cte))
        return known

    def _both(self, node: exp.SetOperation, ctes: Ctes, around: Around) -> list[Column]:
        if node.args.get("by_name"):
            raise NotKnownError("UNION BY NAME")
        left, right = (self.query(side, ctes, around) for side in (node.this, node.expression))
        if len(left) != len(right):
            raise NotKnownError("a set operation whose sides have different columns")
        if not isinstance(node, exp.Union):  # the rows are those of the left side
            return left
        return [replace(one, made=together((one.made, other.made))) for one, other in zip(left, right, strict=True)]

    # ------------------------------------------------------------ a block

    def _select(self, node: exp.Select, ctes: Ctes, around: Around) -> list[Column]:
        if node.args.get("kind") or node.args.get("match"):
            raise NotKnownError("a SELECT of another kind")
        seen = self._from(node, ctes, around)
        block = _Block(self, node, ctes, (seen, *around))
        return [column for item in node.expressions for column in block.item(item)]

    def _from(self, node: exp.Select, ctes: Ctes, around: Around) -> list[Seen]:
        clause = node.args.get("from_")
        seen = self._relation(clause.this, ctes, around, []) if clause is not None else []
        seen = self._joins(node, seen, ctes, around)
        for lateral in node.args.get("laterals") or ():
            seen = [*seen, *self._view(lateral, ctes, (seen, *around))]
        return seen

    def _joins(self, node: exp.Expr, seen: list[Seen], ctes: Ctes, around: Around) -> list[Seen]:
        for join in node.args.get("joins") or ():
            seen = joined(seen, self._relation(join.this, ctes, around, seen), join)
        return seen

    def _relation(self, node: exp.Expr, ctes: Ctes, around: Around, before: list[Seen]) -> list[Seen]:
        """The columns that an item of FROM brings into sight; one in LATERAL sees those before it."""
        if node.args.get("pivots"):
            raise NotKnownError("PIVOT or UNPIVOT")
        if isinstance(node, exp.Table):
            found = self._table(node, ctes)
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            found = _under(node, self.query(node, ctes, around))
        elif isinstance(node, exp.Subquery) and not node.alias:  # joins in parentheses
            found = self._relation(node.this, ctes, around, before)
        elif isinstance(node, exp.Values):
            found = self._values(node)
        elif isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery):
            found = _under(node, self.query(node.this, ctes, (before, *around)))
        else:
            raise NotKnownError(f"{node.key.upper()} in FROM")
        return self._joins(node, found, ctes, around)

    def _table(self, node: exp.Table, ctes: Ctes) -> list[Seen]:
        parts = table_name(node)
        if not parts:
            if isinstance(node.this, exp.Anonymous) and node.this.name.lower() == "range":
                return _under(node, [Column("id", NOTHING)])
            raise NotKnownError("a table function")
        cte = ctes.get(parts[0].lower()) if len(parts) == 1 else None
        columns = self._named(parts) if cte is None else cte
        return _under(node, columns, tuple(part.lower() for part in parts))

    def _named(self, parts: tuple[str, ...]) -> list[Column]:
        meant = self._find(parts)
        if isinstance(meant, BaseTable):
            return [Column(name, frozenset({(meant.name, name)})) for name in meant.columns]
        if isinstance(meant, View):
            return _renamed(self.query(read_fragment(meant.sql), {}, ()), meant.columns)
        raise NotKnownError(f"{'.'.join(parts)}, a table that is not registered")

    @staticmethod
    def _values(node: exp.Values) -> list[Seen]:
        first = node.expressions[0] if node.expressions else exp.Tuple()
        width = len(first.expressions) if isinstance(first, exp.Tuple) else 1
        if node.find(exp.Query):
            raise NotKnownError("a query in VALUES")
        return _under(node, [Column(f"col{at + 1}", NOTHING) for at in range(width)])

    def _view(self, node: exp.Lateral, ctes: Ctes, around: Around) -> list[Seen]:
        """LATERAL VIEW: its columns are made of what is in its function's arguments."""
        names = listed(node)
        if not names:
            raise NotKnownError("LATERAL VIEW without names of columns")
        made = _Block(self, exp.Select(), ctes, around).made(node.this)
        return [Seen((node.alias.lower(),), name, made) for name in names]


class _Block:
    """The select list of a block.

    Args:
        reader: reads its subqueries.
        node: the block.
        ctes: what is in sight by WITH.
        around: what is in sight by FROM, here first.

    """

    def __init__(self, reader: ColumnLineageReader, node: exp.Select, ctes: Ctes, around: Around) -> None:
        self._reader, self._ctes, self._around = reader, ctes, around
        self._aliases: dict[str, Made] = {}
        self._windows = {window.name.lower(): window for window in node.args.get("windows") or ()}

    def item(self, item: exp.Expr) -> Iterator[Column]:
        """Yield the columns of an item of the select list."""
        star = item.this if isinstance(item, exp.Column) else item
        if isinstance(star, exp.Star):
            yield from self._star(star, [part.name for part in item.parts[:-1]] if isinstance(item, exp.Column) else [])
        elif isinstance(item, exp.Aliases):
            made = self.made(item.this)
            yield from (Column(name.name, made) for name in item.expressions)
        else:
            made = self.made(item.this if isinstance(item, exp.Alias) else item)
            if isinstance(item, exp.Alias):
                self._aliases[item.alias.lower()] = made
            yield Column(output_name(item), made)

    def _star(self, star: exp.Star, item: Sequence[str]) -> Iterator[Column]:
        if any(star.args.get(each) for each in ("replace", "rename")):
            raise NotKnownError("* with REPLACE or RENAME")
        without = star.args.get("except_") or ()
        if any(isinstance(each, exp.Column) and each.table for each in without):
            raise NotKnownError("* EXCEPT a name of several parts")
        left_out = {each.name.lower() for each in without}
        seen = starred(self._around[0], item)
        return (Column(each.name, each.made) for each in seen if each.name.lower() not in left_out)

    def made(self, node: exp.Expr, bound: frozenset[str] = frozenset()) -> Made:
        """Return what an expression is computed from.

        Args:
            node: the expression.
            bound: the parameters of the lambda functions around it, in lower case.

        """
        match node:
            case exp.Column():
                return self._column(node, bound)
            case exp.Star():
                return self._whole_row(node)
            case exp.Query() | exp.Exists():
                return self._subquery(node)
            case exp.In() if node.args.get("query"):
                return self._subquery(exp.Exists())
            case exp.Lambda():
                return self.made(node.this, bound | {name.name.lower() for name in node.expressions})
            case _:
                return together([*self._children(node, bound), *self._of_window(node, bound)])

    def _of_window(self, node: exp.Expr, bound: frozenset[str]) -> Iterable[Made]:
        """The parts of a window in the clause WINDOW."""
        name = node.args.get("alias") if isinstance(node, exp.Window) else None
        if name is None:
            return []
        window = self._windows.get(name.name.lower())
        return [Unknown(f"the window {name.name}")] if window is None else self._children(window, bound)

    def _children(self, node: exp.Expr, bound: frozenset[str]) -> Iterable[Made]:
        return [self.made(child, bound) for child in node.iter_expressions()]

    def _column(self, node: exp.Column, bound: frozenset[str]) -> Made:
        parts = [part.name for part in node.parts]
        if isinstance(node.this, exp.Star):
            return Unknown(f"{node.sql()} in an expression")
        if parts[0].lower() in bound:
            return NOTHING  # what it runs over stands beside the lambda function
        here, *outer = self._around
        found = meaning(here, parts)
        if found is not None:
            return found
        beyond = next((each for seen in outer if (each := meaning(seen, parts)) is not None), None)
        alias = self._aliases.get(parts[0].lower())
        if alias is not None and beyond is not None:
            return Unknown(f"{'.'.join(parts)} may be one of several columns")
        made = beyond if alias is None else alias
        return Unknown(f"{'.'.join(parts)} is no column that is known here") if made is None else made

    def _subquery(self, node: exp.Expr) -> Made:
        if not isinstance(node, exp.Query):
            return Unknown("a predicate with a subquery in the select list")
        try:
            columns = self._reader.query(node, self._ctes, self._around)
        except NotKnownError as reason:
            return Unknown(str(reason))
        return columns[0].made if len(columns) == 1 else Unknown("a subquery with several columns")

    def _whole_row(self, node: exp.Star) -> Made:
        """In ``count(*)`` a star has no value of any column; in other functions it is all columns."""
        function = node.parent
        if isinstance(function, exp.Count) or (
            isinstance(function, exp.Anonymous) and function.name.lower() == "count"
        ):
            return NOTHING
        return together(each.made for each in starred(self._around[0]))


def _under(node: exp.Expr, columns: list[Column], name: tuple[str, ...] = ()) -> list[Seen]:
    """Columns under the alias of an item of FROM, or its own name."""
    item = (node.alias.lower(),) if node.alias else name
    return [Seen(item, each.name, each.made) for each in _renamed(columns, listed(node))]


def _renamed(columns: list[Column], names: Sequence[str]) -> list[Column]:
    if not names:
        return columns
    if len(names) != len(columns):
        raise NotKnownError("a list of column names of another length")
    return [replace(each, name=name) for each, name in zip(columns, names, strict=True)]

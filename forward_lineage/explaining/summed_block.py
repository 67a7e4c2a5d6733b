"""The outermost block of a saved query, taken apart into what each joined row adds to each group.

The query behind it, `joined_rows`, is the same without GROUP BY and what follows: for each joined row the keys of its
group, the value that each aggregate takes of it, and the values that differences are added up by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from forward_lineage.explaining.linear_forms import Form, FormReader, NotLinearError
from forward_lineage.frontend import parse, print_sql
from forward_lineage.spark.names import quoted
from rewrites.block import has_grouping_sets, is_aggregate
from rewrites.refusals import position_of
from udafs.errors import BadArgumentError, LineageError, NotTracedError

_OF_NAME = {"this", "db", "catalog", "alias"}
_INNER = ("", "INNER", "CROSS", "OUTER")  # of a join without a side
_KEPT = ("with_", "hint", "from_", "joins", "where", "laterals")


@dataclass(frozen=True)
class SummedBlock:
    """A SELECT with groups.

    Attributes:
        select: its tree.
        columns: names of the result's columns, in order.
        keys: places of the columns that say which group a row is.
        forms: place of a column → how it adds up; others do not, see `reasons`.
        reasons: place of a column → why nothing of a difference in it belongs to a row.
        aggregates: what is added up of each joined row.

    """

    select: exp.Select
    columns: tuple[str, ...]
    keys: tuple[int, ...]
    forms: Mapping[int, Form]
    reasons: Mapping[int, str]
    aggregates: tuple[exp.Expr, ...]

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the key columns."""
        return tuple(self.columns[place] for place in self.keys)

    @property
    def pads(self) -> bool:
        """Whether an outer join pads rows."""
        return any(str(join.args.get("side") or "") for join in self.select.args.get("joins") or ())

    @property
    def is_plain(self) -> bool:
        """Whether it reads nothing but tables that are named in FROM, joined by inner joins."""
        joins = self.select.args.get("joins") or ()
        if self.pads or self.select.args.get("with_") or self.select.args.get("laterals"):
            return False
        tables = list(self.select.find_all(exp.Table))
        parts = sum(1 for _ in self.select.find_all(exp.Query, exp.Join))
        return (
            len(tables) == len(joins) + 1
            and parts == len(joins) + 1  # no subquery
            and all({name for name, value in each.args.items() if value} <= _OF_NAME for each in tables)
            and all(
                not join.args.get("method") and str(join.args.get("kind") or "").upper() in _INNER for join in joins
            )
        )

    def joined_rows(self, by: Sequence[str], only: Sequence[Sequence[str]] | None = None) -> str:
        """Return the query of joined rows: columns k0…, a0…, b0….

        Args:
            by: expressions over the rows.
            only: values of the keys, as SQL, of the groups that are wanted; None: all.

        Raises:
            LineageError: an expression cannot be read.

        """
        kept = {part: value for part in _KEPT if (value := self.select.args.get(part))}
        items = [self._item(place) for place in self.keys]
        named = [
            *((f"k{at}", item) for at, item in enumerate(items)),
            *((f"a{at}", each) for at, each in enumerate(self.aggregates)),
            *((f"b{at}", _expression(each)) for at, each in enumerate(by)),
        ]
        listed = [exp.alias_(each.copy(), name) for name, each in named] or [exp.alias_(exp.Literal.number(1), "one")]
        made = exp.Select(expressions=listed, **{part: _copied(value) for part, value in kept.items()})
        if only is not None and items:
            made.where(_is_one_of(items, only), copy=False)
        return print_sql(made)

    def _item(self, place: int) -> exp.Expr:
        item: exp.Expr = self.select.expressions[place].unalias()
        return item


def summed_block(sql: str, columns: Sequence[str]) -> SummedBlock | None:
    """Read the outermost block of a query; None if it makes no groups.

    Args:
        sql: the query.
        columns: of its result.

    Raises:
        NotTracedError: its groups are not those of plain GROUP BY, or not to be told by the result's columns.

    """
    tree = parse(sql).tree
    if not isinstance(tree, exp.Select) or not _groups(tree):
        return None
    group = tree.args.get("group")
    if has_grouping_sets(group):
        raise _refused(tree, "ROLLUP, CUBE or GROUPING SETS: a base row is in several groups")
    if len(tree.expressions) != len(columns) or tree.is_star:
        raise _refused(tree, "a star among the columns of groups")
    reader, forms, reasons = FormReader(), {}, {}
    keys = [at for at, item in enumerate(tree.expressions) if not _folds(item)]
    for at, item in enumerate(tree.expressions):
        if at in keys:
            continue
        try:
            forms[at] = reader.read(item)
        except NotLinearError as error:
            reasons[at] = str(error)
    if group is not None and not group.args.get("all"):
        _check_selected(tree, group, keys)
    return SummedBlock(tree, tuple(columns), tuple(keys), forms, reasons, tuple(reader.aggregates))


def keys_of(sql: str, columns: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns that tell the rows of a query apart, by its text: those of GROUP BY, or all of DISTINCT.

    Returns:
        None if the text does not say.

    """
    try:
        tree = parse(sql).tree
        block = summed_block(sql, columns)
    except LineageError:
        return None
    if block is not None:
        return block.key_names
    distinct = isinstance(tree, exp.Select) and tree.args.get("distinct") is not None
    union = isinstance(tree, exp.SetOperation) and tree.args.get("distinct") is not False
    return tuple(columns) if distinct or union else None


def _groups(tree: exp.Select) -> bool:
    if tree.args.get("group") or tree.args.get("having"):
        return True
    return any(is_aggregate(node) for item in tree.expressions for node in _own(item))


def _expression(text: str) -> exp.Expr:
    tree = parse(f"SELECT {text}").tree
    parts = {name for name, value in tree.args.items() if value}
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1 or parts != {"expressions"}:
        raise BadArgumentError(f"{text!r} is no expression", instead="Name columns of the tables that the query reads.")
    item: exp.Expr = tree.expressions[0].unalias()
    return item


def _own(node: exp.Expr) -> Iterator[exp.Expr]:
    return node.walk(prune=lambda each: isinstance(each, exp.Query))


def _folds(item: exp.Expr) -> bool:
    """Whether the value of an item is of the group's rows, or of other groups; else it is a key."""
    return any(is_aggregate(node) or isinstance(node, exp.Window | exp.Query) for node in _own(item))


def _check_selected(tree: exp.Select, group: exp.Group, keys: Sequence[int]) -> None:
    items = [tree.expressions[at] for at in keys]
    names = {item.alias_or_name.lower() for item in items}
    written = {_bare(item.unalias()) for item in items}
    for each in group.expressions:
        if isinstance(each, exp.Literal) and not each.is_string:
            continue
        if isinstance(each, exp.Column) and not each.table and each.name.lower() in names:
            continue
        if _bare(each) not in written:
            raise _refused(each, f"GROUP BY {print_sql(each)}, which is no column of the result")


def _bare(node: exp.Expr) -> str:
    """An expression without qualifiers, in lower case."""
    copied = node.copy()
    for column in copied.find_all(exp.Column):
        column.set("table", None)
        column.set("db", None)
    return print_sql(copied).lower()


def _refused(node: exp.Expr, what: str) -> NotTracedError:
    return NotTracedError(what, at=position_of(node), instead="Lineage of the rows is told all the same.")


def _copied(value: object) -> object:
    return [each.copy() for each in value] if isinstance(value, list) else value.copy()  # type: ignore[attr-defined]


def _is_one_of(items: Sequence[exp.Expr], only: Sequence[Sequence[str]]) -> exp.Expr:
    rows = [
        exp.and_(*(exp.NullSafeEQ(this=exp.paren(item.copy()), expression=_expression(value)) for item, value in pairs))
        for pairs in (list(zip(items, values, strict=True)) for values in only)
    ]
    return exp.paren(exp.or_(*rows)) if rows else exp.false()


def visible(select: exp.Select) -> str:
    """Return the names of what stands in FROM, for messages."""
    found = [select.args["from_"].this] if select.args.get("from_") else []
    found += [join.this for join in select.args.get("joins") or ()]
    return ", ".join(quoted(each.alias_or_name) for each in found)

"""Parts of a query to run again when some rows of its tables changed: the rules of a partial update, as SQL.

Two classes have a rule. docs/updating.md has the proofs.

    SELECT o_id, amount FROM orders JOIN customers USING (c_id) WHERE city = 'Oslo'       joined rows, as they are
    rows that came in `orders`:   SELECT o_id, amount FROM <new rows> AS orders JOIN customers …

    SELECT city, count(*) FROM orders JOIN customers USING (c_id) GROUP BY city           parts of joined rows
    keys of rows that came:       SELECT DISTINCT city FROM <new rows> AS orders JOIN customers …
    the touched groups:           SELECT city, count(*) FROM orders … WHERE EXISTS (<keys> with that city) GROUP BY city

A *key* is a column of the result whose value can be told from each joined row that a row of the result was made of. A
result falls apart by its keys: the part with some keys is made of the joined rows with these keys, and of no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from forward_lineage.frontend import print_sql
from forward_lineage.frontend.joins import table_name
from forward_lineage.frontend.row_values import has_aggregates, is_of_one_row
from forward_lineage.store.updating import joining_rows as joined
from forward_lineage.store.updating import touched_rows as touched
from forward_lineage.store.updating.hidden_keys import HiddenKeys, hidden_keys
from forward_lineage.store.updating.joining_rows import KEYS, PLACE, Fits, NotProvableError, Probe, key_column
from forward_lineage.store.updating.names_put_in_place import with_names_in_place
from forward_lineage.store.updating.sources_in_parts import Source, expanded, with_sources

_EACH = "__fl_key"  # a row of it
_NUMBER, _EARLIER = "number", "earlier"  # marks on nodes


@dataclass(frozen=True)
class Added:
    """A place in a query of joined rows, where new rows of a table join.

    Attributes:
        probe: gives a row for each joined row.
        sql: gives the rows of the result that are made of these.
        block: the number of the SELECT that the place is in; others are behind UNION ALL.
        kept: tables of which `sql` reads, in earlier places, only rows that did not come, as `touched_rows.kept` says.

    """

    probe: Probe
    sql: str
    block: int
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Keyed:
    """A query whose result falls apart by keys.

    Attributes:
        columns: the places of the keys in the result.
        probes: give the keys of joined rows that came or are touched, a probe for each place.
        sql: gives the parts of the result whose keys are in the relation `KEYS`.
        what: what a part is, in plural: ``groups``.
        hidden: of a result that has no such columns, where its keys are found.
        sources: the queries within it that the probes read as tables.

    """

    columns: tuple[int, ...]
    probes: tuple[Probe, ...]
    sql: str
    what: str
    hidden: HiddenKeys | None = None
    sources: tuple[Source, ...] = ()

    @property
    def names(self) -> list[str]:
        """The columns of the relation of its keys."""
        return [key_column(i) for i in range(len(self.columns) or len(self.hidden.keys if self.hidden else ()))]


Replacement = tuple[Added, ...] | Keyed


def replacement(
    tree: exp.Expr, changed: Collection[str], went: Collection[str] | None = None, fits: Fits = lambda *_: True
) -> Replacement:
    """Return how the touched rows of a result are made again.

    Args:
        tree: the query; it is not changed.
        changed: names of tables, in lower case.
        went: tables whose rows went or differ, and can still be read as they were; None: some cannot.
        fits: see `Fits`.

    Raises:
        NotProvableError: no rule is known for the query.

    """
    names = {name.lower() for name in changed}
    inline = with_names_in_place(tree, names)
    blocks = list(_blocks(inline, names, any_side=went is not None))
    if _keeps_all(inline) and not any(_falls_apart(block) for block in blocks):
        try:
            return tuple(each for number, block in enumerate(blocks) for each in _added(block, number, names))
        except NotProvableError:
            if went is None:
                raise
    return keyed_replacement(tree, names, went, fits)


def keyed_replacement(
    tree: exp.Expr, changed: Collection[str], went: Collection[str] | None = None, fits: Fits = lambda *_: True
) -> Keyed:
    """Return the same by keys, also where rows could be added as such; see `replacement`."""
    names = {name.lower() for name in changed}
    if went is None:
        return _keyed(tree, list(_blocks(tree, names, any_side=False)), names, went, fits)
    went = set(went)

    def in_parts(
        query: exp.Expr, changed: set[str], sources: Sequence[Source]
    ) -> tuple[Sequence[Probe], Sequence[str], str]:
        found = _with_sources(query, changed, went, lambda sql, _: fits(sql, ()), sources)
        return found.probes, found.names, found.sql

    outer, sources = with_sources(tree, names, in_parts)
    found = _with_sources(outer, names | {each.name for each in sources}, went, fits, sources)
    return replace(found, sql=expanded(found.sql, sources), sources=sources)


def _with_sources(tree: exp.Expr, changed: set[str], went: set[str], fits: Fits, sources: Sequence[Source]) -> Keyed:
    """A query in which others stand as tables."""
    blocks = list(_blocks(tree, changed, any_side=True))
    differ = went | {each.name for each in sources}
    found = _keyed(tree, blocks, changed, differ, lambda sql, columns: fits(expanded(sql, sources), columns))
    if found.hidden is not None and sources:
        raise NotProvableError("its keys are not selected, and it groups in FROM")
    return found


def without_limit(tree: exp.Expr) -> exp.Expr | None:
    """Return a query that gives its first rows in an order as one that gives them all; None: it is no such query."""
    if not (tree.args.get("limit") and tree.args.get("order")) or tree.args.get("offset"):
        return None
    copied = tree.copy()
    copied.set("limit", None)
    copied.set("order", None)
    return copied


def _unwrapped(tree: exp.Expr) -> exp.Expr:
    while isinstance(tree, exp.Subquery):
        tree = tree.this
    return tree


def _keeps_all(tree: exp.Expr) -> bool:
    """Whether a query is SELECTs behind UNION ALL."""
    tree = _unwrapped(tree)
    if isinstance(tree, exp.SetOperation):
        all_of = isinstance(tree, exp.Union) and not tree.args.get("distinct")
        return all_of and _keeps_all(tree.this) and _keeps_all(tree.expression)
    return True


def _blocks(tree: exp.Expr, changed: set[str], *, any_side: bool) -> Iterator[exp.Select]:
    """The SELECTs of a query whose rows are rows of the result, or decide with others which are.

    What stands behind EXCEPT, or beside INTERSECT, and reads nothing that changed, is left as it is. With `any_side`,
    what changed may stand behind EXCEPT.
    """
    if isinstance(tree, exp.Subquery):
        joined.refuse_parts(tree, {"this"})
        yield from _blocks(tree.this, changed, any_side=any_side)
    elif isinstance(tree, exp.SetOperation):
        joined.refuse_parts(tree, {"this", "expression", "distinct"})
        takes_away, both = isinstance(tree, exp.Except), isinstance(tree, exp.Intersect)
        if takes_away and not any_side and joined.mentions(tree.expression, changed):
            raise NotProvableError("a table that changed is behind EXCEPT")
        for side in (tree.this, tree.expression):
            stays = side is tree.expression if takes_away else both
            if not (stays and not joined.mentions(side, changed)):
                yield from _blocks(side, changed, any_side=any_side)
    elif isinstance(tree, exp.Select):
        yield tree
    else:
        raise NotProvableError(f"no rule tells which of its rows {tree.key.upper()} touches")


def _falls_apart(select: exp.Select) -> bool:
    """Whether rows of the result are made of several joined rows, or look at others."""
    parts = ("group", "distinct", "having", "qualify", "windows")
    return has_aggregates(select) or any(_windows(select)) or any(select.args.get(part) for part in parts)


# ------------------------------------------------------------ joined rows, as they are


def _added(select: exp.Select, number: int, changed: set[str]) -> Iterator[Added]:
    if not all(map(is_of_one_row, select.expressions)):
        raise NotProvableError("it selects more than values of a row")
    yield from added_rows(select, number, changed)


def added_rows(select: exp.Select, number: int, changed: set[str]) -> Iterator[Added]:
    """Yield the places of a SELECT where rows that came join, each with what the SELECT makes of these alone.

    Args:
        select: the SELECT; it is not changed.
        number: its number in the query.
        changed: names of tables, in lower case.

    Raises:
        NotProvableError: new rows in one of the places may do more than join.

    """
    if not joined.mentions(select, changed):
        return
    earlier: list[exp.Table] = []
    for probe, place in joined.probed_places(select, changed):
        copied = _counted_once(select, place, earlier)
        copied.set("order", None)
        of_rows = _of_joined_rows(copied, [exp.Literal.number(1)], distinct=False)
        read = frozenset(table_name(each) for each in earlier)
        yield Added(Probe(probe.table, print_sql(of_rows)), print_sql(copied), number, read)
        earlier.append(place)


def _counted_once(select: exp.Select, place: exp.Table, earlier: Sequence[exp.Table]) -> exp.Select:
    """A SELECT over rows that came in a place, but for joined rows that have such a row in an earlier one, too."""
    for each in earlier:
        each.meta[_EARLIER] = True
    copied = _with_place(select, place)
    for each in earlier:
        del each.meta[_EARLIER]
    for table in list(copied.find_all(exp.Table)):
        if _EARLIER in table.meta:
            joined.read_instead(table, read_earlier(table_name(table)))
    return copied


def read_earlier(name: str) -> str:
    """Return what an earlier place reads of a table."""
    return touched.kept(name)


def _with_place(select: exp.Select, place: exp.Table) -> exp.Select:
    copied, there = joined.copied_with(select, place)
    joined.read_instead(there, PLACE)
    return copied


# ------------------------------------------------------------ parts with keys


def _keyed(
    tree: exp.Expr, blocks: list[exp.Select], changed: set[str], went: Collection[str] | None, fits: Fits
) -> Keyed:
    if went is None and _loses_groups(tree, blocks):
        raise NotProvableError("a group that INTERSECT or EXCEPT kept out may be another one when rows go")
    if not blocks:  # WITH alone reads it, under a name that nothing reads
        raise NotProvableError("no SELECT of it reads a table that changed")
    known = [_keys(block) for block in blocks]
    what = _what(blocks[0]) if len(blocks) == 1 else "values"
    columns = _fitting(blocks, known, changed, fits)
    keys, hidden = [[each[column] for column in columns] for each in known], None
    if not any(key.find(exp.Column) for each in keys for key in each):
        hidden = _hidden(tree, blocks, went, fits, what)
        columns, keys = [], [list(hidden.keys)]
    probes: list[Probe] = []
    for block, each in zip(blocks, keys, strict=True):
        named = [exp.alias_(key.copy(), key_column(i)) for i, key in enumerate(each)]
        if joined.mentions(block, changed):
            if went is None:
                probes += _probes_of_new(block, named, changed)
            else:
                probes += touched.probes_for_keys(block, named, changed, went, fits)
    return Keyed(tuple(columns), tuple(probes), print_sql(_restricted(tree, blocks, keys)), what, hidden)


def _hidden(
    tree: exp.Expr, blocks: list[exp.Select], went: Collection[str] | None, fits: Fits, what: str
) -> HiddenKeys:
    """The keys of a query that selects none."""
    tree = _unwrapped(tree)
    common: list[exp.Expr] = []
    if isinstance(tree, exp.Select):
        group, windows = tree.args.get("group"), [window.args.get("partition_by") or [] for window in _windows(tree)]
        of_all = [each for each in windows[0] if all(each in others for others in windows)] if windows else []
        common = of_all if group is None else group.expressions
    if not common:
        raise NotProvableError(f"none of its columns says which of its {what} a row is in")
    if tree.args.get("distinct"):
        raise NotProvableError("it selects no keys, and equal rows of its parts are one")
    if tree.args.get("group") is None and _needs_old_rows(went):
        raise NotProvableError("which partition a row that went was in is not selected")
    return hidden_keys(tree, blocks[0], common, fits)


def _needs_old_rows(went: Collection[str] | None) -> bool:
    """Whether a row that went cannot be asked which others were in its partition."""
    return went is None


def _fitting(blocks: list[exp.Select], keys: list[dict[int, exp.Expr]], changed: set[str], fits: Fits) -> list[int]:
    """The columns that are keys: all that may be if they fit, else those that do."""
    columns = sorted(set.intersection(*(set(each) for each in keys)))

    def fit(some: list[int]) -> bool:
        return all(
            fits(_inputs(block, [known[c] for c in some], changed), some)
            for block, known in zip(blocks, keys, strict=True)
        )

    return columns if not columns or fit(columns) else [column for column in columns if fit([column])]


def _probes_of_new(block: exp.Select, named: list[exp.Expr], changed: set[str]) -> Iterator[Probe]:
    for probe, place in joined.probed_places(block, changed):
        source = _with_place(block, place)
        yield Probe(probe.table, print_sql(_of_joined_rows(source, named, distinct=True)))


def _restricted(tree: exp.Expr, blocks: list[exp.Select], keys: list[list[exp.Expr]]) -> exp.Expr:
    """The query over those joined rows alone whose keys are among those of `KEYS`."""
    for number, block in enumerate(blocks):
        block.meta[_NUMBER] = number
    copied = tree.copy()
    for block in blocks:
        del block.meta[_NUMBER]
    for block in list(copied.find_all(exp.Select)):
        if _NUMBER in block.meta:
            among, where = _among(keys[block.meta[_NUMBER]]), block.args.get("where")
            condition = among if where is None else exp.and_(exp.paren(where.this.copy()), among)
            block.set("where", exp.Where(this=condition))
            block.set("order", None)
    return copied


def _inputs(block: exp.Select, keys: list[exp.Expr], changed: set[str]) -> str:
    """The keys, and what they are computed of: of no table whose rows may be missing."""
    columns = [column for each in keys for column in each.find_all(exp.Column)]
    items = [exp.alias_(each.copy(), f"c{i}") for i, each in enumerate([*keys, *columns])]
    if not touched.may_be_missing(block, changed):
        return print_sql(_of_joined_rows(block, items, distinct=False))
    rows = touched.preserved(block)
    rows.set("expressions", items)
    return print_sql(rows)


def _what(select: exp.Select) -> str:
    if select.args.get("group"):
        return "groups"
    if any(_windows(select)):
        return "partitions"
    return "distinct rows" if select.args.get("distinct") else "values"


def _keys(select: exp.Select) -> dict[int, exp.Expr]:
    """The keys among the columns of a result, by place."""
    group, windows = select.args.get("group"), list(_windows(select))
    if group is not None:
        joined.refuse_parts(group, {"expressions"})
        if not all(map(is_of_one_row, group.expressions)):
            raise NotProvableError("it groups by more than values of a row")
    elif has_aggregates(select) or select.args.get("having"):
        raise NotProvableError("all its rows are one group")
    if windows and (group is not None or select.args.get("distinct")):
        raise NotProvableError("its windows look at groups")
    if isinstance(select.args.get("distinct"), exp.Distinct):
        joined.refuse_parts(select.args["distinct"], set())
    found: dict[int, exp.Expr] = {}
    for place, item in enumerate(select.expressions):
        if item.is_star:
            raise NotProvableError("it selects *")
        plain = item.unalias()
        if is_of_one_row(plain) and _in_each(plain, windows):
            found[place] = plain
    return found


def _loses_groups(tree: exp.Expr, blocks: list[exp.Select]) -> bool:
    """Whether a group may be in no saved row, and be one when it has lost rows."""
    made = any(block.args.get("group") or any(_windows(block)) for block in blocks)
    return made and tree.find(exp.Intersect, exp.Except) is not None


def _in_each(key: exp.Expr, windows: list[exp.Window]) -> bool:
    return all(key in window.args.get("partition_by", ()) for window in windows)


def _windows(select: exp.Select) -> Iterator[exp.Window]:
    for each in (*select.expressions, *filter(None, [select.args.get("qualify")])):
        for window in each.find_all(exp.Window):
            joined.refuse_parts(window, {"this", "partition_by", "order", "spec", "over"})
            yield window


def _among(keys: list[exp.Expr]) -> exp.Expr:
    """The condition that the keys of a joined row are among those of `KEYS`."""
    equal = [
        exp.NullSafeEQ(this=exp.column(key_column(i), table=_EACH), expression=exp.paren(each.copy()))
        for i, each in enumerate(keys)
    ]
    table = exp.Table(this=exp.to_identifier(KEYS), alias=exp.TableAlias(this=exp.to_identifier(_EACH)))
    query = exp.Select(
        expressions=[exp.Literal.number(1)], from_=exp.From(this=table), where=exp.Where(this=exp.and_(*equal))
    )
    return exp.Exists(this=query)


def _of_joined_rows(select: exp.Select, items: list[exp.Expr], *, distinct: bool) -> exp.Select:
    copied = select.copy()
    kept = {part: copied.args.get(part) for part in joined.OF_JOINED_ROWS}
    found = exp.Select(expressions=[each.copy() for each in items], **kept)
    if distinct:
        found.set("distinct", exp.Distinct())
    return found

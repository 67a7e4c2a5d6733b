"""Find the joined rows that changes touch, wherever a table stands: with old rows at hand, both sides are looked at.

Write D for a table as it was and D′ for what it is now. The probes of this module read two relations for it:

    PLACE        the rows that came, and those that went or differ, as they were and as they are      Δ
    both(name)   all rows of now, and those that went or differ as they were                          U = D ∪ D′

    SELECT shop FROM shops s LEFT JOIN sales USING (shop) GROUP BY shop HAVING count(n) > 3
    probe of `sales`:   SELECT DISTINCT shop FROM shops s JOIN <Δ of sales> AS sales USING (shop)

Each probe reads Δ in one place, and U in all others. All else is the same over D, over U and over D′: a joined row
without a row of Δ, with the same partners in outer joins, and the same rows in each subquery. So it does not matter
whether rows take others away: NOT EXISTS, the other side of an outer join, HAVING.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from sqlglot import exp

from forward_lineage.frontend import print_sql
from forward_lineage.frontend.joins import EXISTENCE, OF_JOIN, join_form, join_words, table_name
from forward_lineage.frontend.row_values import has_aggregates, is_of_one_row
from forward_lineage.store.updating import joining_rows as joined
from forward_lineage.store.updating.joining_rows import PLACE, Fits, NotProvableError, Probe

_AFTER = joined.KEEP_ALL | {"having", "qualify", "limit", "offset", "laterals", "sort", "cluster", "distribute"}
"""Parts that are made of the joined rows, whatever they do to them."""
_OF_PARTS = joined.KEEP_ALL | {"having", "qualify"}
"""Of these those that look at one part of the result at a time, where it has keys."""
_IN = "__fl_in"
_OF_ROWS = (exp.In, exp.Exists, exp.From, exp.Join, exp.SetOperation, exp.CTE, exp.Subquery)
"""What asks a subquery for rows, not for a value."""


def both(name: str) -> str:
    """Return what stands in a probe for the old rows of a table, and the new ones."""
    return f"__fl_both_{name.lower().encode().hex()}"


def before(name: str) -> str:
    """Return what stands in a probe for the rows of a table as they were."""
    return f"__fl_before_{name.lower().encode().hex()}"


def kept(name: str) -> str:
    """Return what stands in a query for the rows of a table that did not come or differ."""
    return f"__fl_kept_{name.lower().encode().hex()}"


# ------------------------------------------------------------ of whole queries


def telling_probes(tree: exp.Expr, changed: Collection[str], went: Collection[str] | None) -> list[Probe]:
    """Return probes that tell whether a query gives what it gave, where no saved row was made of a row that went.

    Args:
        tree: the query; it is not changed.
        changed: names of tables, in lower case.
        went: tables whose rows went or differ, and can still be read as they were; None: some cannot.

    Raises:
        NotProvableError: no probes are known to tell.

    """
    if went is not None and not went:
        return probes_of_both(tree, changed, went)
    try:
        return joined.probes(tree, changed)  # of new rows alone
    except NotProvableError:
        if went is None:
            raise
        return probes_of_both(tree, changed, went)


def probes_of_both(tree: exp.Expr, changed: Collection[str], went: Collection[str]) -> list[Probe]:
    """Return a probe for each place in which a query reads a table that changed; if none finds rows, nothing changed.

    Args:
        tree: the query; it is not changed.
        changed: names of tables, in lower case.
        went: tables whose rows went or differ.

    Raises:
        NotProvableError: a table is read where no probe looks.

    """
    names = set(changed)
    _check_text(tree, names)
    found: list[Probe] = []
    for select in tree.find_all(exp.Select):
        places = [each for each in joined.sources(select) if isinstance(each, exp.Table)]
        places = [place for place in places if table_name(place) in names]
        if places:
            joined.refuse_parts(select, _AFTER)
        for place in places:
            joined.refuse_parts(place, {"this", "db", "catalog", "alias"})
            found.append(_probe_of_select(select, place, tree.args.get("with_"), went))
    _check_all_found(tree, names, len(found))
    return found


def _check_text(tree: exp.Expr, changed: set[str]) -> None:
    if tree.find(exp.TableSample):
        raise NotProvableError("it has TABLESAMPLE")
    joined.check_names(tree, changed)
    if any(each.parent is not tree for each in tree.find_all(exp.With)):
        raise NotProvableError("it has WITH in a subquery")


def _check_all_found(node: exp.Expr, changed: set[str], found: int) -> None:
    if found < sum(table_name(table) in changed for table in node.find_all(exp.Table)):
        raise NotProvableError("a table that changed is read in a way that is not looked into")


def _probe_of_select(select: exp.Select, place: exp.Table, named: exp.With | None, went: Collection[str]) -> Probe:
    probe = _joined_with(select, place)
    within = _within(select, probe)
    texts = [None if each is None else _text(each, named, went) for each in (probe, within)]
    assert texts[0] is not None, "there always is one"
    return Probe(table_name(place), texts[0], texts[1], both=True)


def _text(probe: exp.Select, named: exp.With | None, went: Collection[str]) -> str:
    probe = probe.copy()
    probe.set("with_", named.copy() if named is not None else None)
    read_both(probe, went)
    return print_sql(probe)


def read_both(query: exp.Expr, went: Collection[str]) -> None:
    """Let a query read the old rows of tables besides, except where it compares a value of then and of now."""
    for table in list(query.find_all(exp.Table)):
        if table_name(table) in went and not _is_compared(table):
            joined.read_instead(table, both(table_name(table)))


def _joined_with(select: exp.Select, place: exp.Table) -> exp.Select:
    """A SELECT that gives a row for each joined row that a row of a place is in, or changes.

    Where such a row only changes whether another has a partner, all behind that join is left out.
    """
    copied, there = joined.copied_with(select, place)
    joined.read_instead(there, PLACE)
    source, joins, where = copied.args["from_"], copied.args.get("joins") or [], copied.args.get("where")
    at = next(i for i, each in enumerate(joined.sources(select)) if each is place)
    kept: list[exp.Expr] = []
    for number, join in enumerate(joins, 1):
        form = known_form(join)
        stays = {"INNER", "RIGHT"} if number == at else {"INNER", "LEFT", "SEMI"}
        if number < at or form in stays:
            kept.append(join)
            continue
        if form == "FULL":
            source, kept = (exp.From(this=join.this), []) if number == at else (source, kept)
        else:
            kept.append(_as_inner(join))
        where = None
        break
    return exp.Select(expressions=[exp.Literal.number(1)], from_=source, joins=kept, where=where)


def known_form(join: exp.Join) -> str:
    """Return the form of a join, ``SEMI`` for both that only ask.

    Raises:
        NotProvableError: it is none that is known.

    """
    joined.refuse_parts(join, OF_JOIN)
    form = join_form(join)
    if form is None:
        raise NotProvableError(f"a table that changed is in {join_words(join)}")
    return "SEMI" if form in EXISTENCE else form


def _as_inner(join: exp.Join) -> exp.Join:
    join = join.copy()
    join.set("side", None)
    join.set("kind", None)
    return join


# ------------------------------------------------------------ of parts with keys


def probes_for_keys(
    block: exp.Select,
    keys: Sequence[exp.Expr],
    changed: Collection[str],
    went: Collection[str],
    fits: Fits = lambda *_: True,
) -> list[Probe]:
    """Return probes that give the keys of all joined rows of a SELECT that changes touch.

    Args:
        block: the SELECT; it is not changed.
        keys: what is to be selected of a joined row: computed of `preserved` sources alone where `may_be_missing`.
        changed: names of tables, in lower case.
        went: tables whose rows went or differ.
        fits: tells whether Spark knows a text by itself, and compares what it gives.

    Raises:
        NotProvableError: a table is read where no probe looks.

    """
    names = set(changed)
    joined.refuse_parts(block, _OF_PARTS)
    joined.check_names(block, names)
    elsewhere = ("with_", "qualify", "group", "order", "distinct")
    if any(joined.mentions(block.args.get(part), names) for part in elsewhere):
        raise NotProvableError("a table that changed is asked for whole parts of it")
    found: list[Probe] = []
    for at, source in enumerate(joined.sources(block)):
        for place in joined.places(source, names):
            found.append(_probe(place, _of_source(block, at, place), keys, block, went))
    for part in ("where", "expressions"):
        found += _of_subqueries(block, part, keys, names, went)
    for place, rows in _of_having(block, names, fits):
        found.append(_probe(place, rows, keys, block, went))
    _check_all_found(block, names, len(found))
    return found


def may_be_missing(block: exp.Select, changed: Collection[str]) -> bool:
    """Tell whether a SELECT joins a table that changed in such a way that a joined row may be there without it."""
    return any(
        known_form(join) != "INNER" and joined.mentions(join.this, set(changed))
        for join in block.args.get("joins") or ()
    )


def preserved(block: exp.Select) -> exp.Select:
    """Return the joined rows of a SELECT without what outer, semi and anti joins look up; nothing is selected yet."""
    copied = block.copy()
    joins = [join for join in copied.args.get("joins") or () if known_form(join) == "INNER"]
    return exp.Select(from_=copied.args.get("from_"), joins=joins, with_=copied.args.get("with_"))


def _probe(
    place: exp.Table, rows: exp.Select, keys: Sequence[exp.Expr], block: exp.Select, went: Collection[str]
) -> Probe:
    rows.set("expressions", [each.copy() for each in keys])
    rows.set("distinct", exp.Distinct())
    return Probe(table_name(place), _text(rows, block.args.get("with_"), went), both=True)


def _of_source(block: exp.Select, at: int, place: exp.Table) -> exp.Select:
    """The joined rows that a row of a place behind FROM is in, or changes."""
    copied, there = joined.copied_with(block, place)
    joined.read_instead(there, PLACE)
    joins = copied.args.get("joins") or []
    forms = [known_form(join) for join in joins]
    if {"RIGHT", "FULL"} & set(forms):
        raise NotProvableError("it has a RIGHT or FULL JOIN, and its keys may be missing")
    if at == 0 or forms[at - 1] == "INNER":
        return exp.Select(from_=copied.args["from_"], joins=joins, where=copied.args.get("where"))
    kept = [*joins[: at - 1], _as_inner(joins[at - 1])]
    kept += [join for join, form in zip(joins[at:], forms[at:], strict=True) if form == "INNER"]
    sources = [
        copied.args["from_"].this,
        *(join.this for join, form in zip(joins, forms, strict=True) if form == "INNER"),
    ]
    known = {each.alias_or_name.lower() for each in sources}
    conditions = [each for each in _plain(copied) if _reads_only(each, known)]
    where = exp.Where(this=exp.and_(*conditions)) if conditions else None
    return exp.Select(from_=copied.args["from_"], joins=kept, where=where)


def _reads_only(condition: exp.Expr, sources: set[str]) -> bool:
    return all(column.table.lower() in sources for column in condition.find_all(exp.Column))


def _plain(select: exp.Select) -> list[exp.Expr]:
    """The conditions of a WHERE, which all hold for a row that matters, that ask no subquery."""
    where = select.args.get("where")
    return [] if where is None else [each for each in _conjuncts(where.this) if not each.find(exp.Select)]


def _of_subqueries(
    block: exp.Select, part: str, keys: Sequence[exp.Expr], changed: set[str], went: Collection[str]
) -> Iterator[Probe]:
    """Probes for subqueries in an expression: the joined rows around them for which they have other rows."""
    value = block.args.get(part)
    for node in value if isinstance(value, list) else [value] if value is not None else []:
        for select in node.find_all(exp.Select):
            for source in joined.sources(select):
                if isinstance(source, exp.Table) and table_name(source) in changed:
                    joined.refuse_parts(select, _AFTER)
                    joined.refuse_parts(source, {"this", "db", "catalog", "alias"})
                    yield _probe(source, _around_subquery(block, select, source, changed), keys, block, went)


def _of_having(block: exp.Select, changed: set[str], fits: Fits) -> Iterator[tuple[exp.Table, exp.Select]]:
    """The places in subqueries of HAVING: of a value that mentions nothing around it, all joined rows if it changed."""
    having = block.args.get("having")
    for select in having.find_all(exp.Select) if having is not None and joined.mentions(having, changed) else ():
        whole = _compared(select)
        if whole is None or not fits(print_sql(select), ()):
            raise NotProvableError("HAVING asks for more than a value of a table that changed")
        for source in joined.sources(select):
            for place in joined.places(source, changed):
                yield place, _with_conditions(block, [_differs(whole, changed)])


def _around_subquery(block: exp.Select, select: exp.Select, place: exp.Table, changed: set[str]) -> exp.Select:
    whole = _compared(select)
    if whole is not None and _around(select) is block:
        return _with_conditions(block, [_differs(whole, changed)])
    found = _within(select, _joined_with(select, place), upto=block)
    if found is None:
        raise NotProvableError("a subquery about a table that changed cannot be asked for a row around it")
    return found


def _within(select: exp.Select, probe: exp.Select, upto: exp.Select | None = None) -> exp.Select | None:
    """The joined rows of the queries around a subquery for which a probe of it finds rows.

    Conditions beside it that ask no subquery hold for whatever row it may matter to.
    """
    around, inner = _around(select), select
    found: exp.Select | None = None
    while around is not None:
        found = _with_conditions(around, [_matches(inner, found or probe)])
        if around is upto:
            return found
        inner = around
        around = _around(inner)
    return None if upto is not None else found


def _with_conditions(around: exp.Select, more: Sequence[exp.Expr]) -> exp.Select:
    copied = around.copy()
    where = exp.Where(this=exp.and_(*_plain(copied), *more))
    parts = {part: copied.args.get(part) for part in ("from_", "joins")}
    return exp.Select(expressions=[exp.Literal.number(1)], where=where, **parts)


def _matches(select: exp.Select, probe: exp.Select) -> exp.Expr:
    """That a subquery has a row which a probe of it finds: behind IN, one whose value may be equal to what is asked."""
    asks = select.parent.parent if isinstance(select.parent, exp.Subquery) else select.parent
    if not isinstance(asks, exp.In) or not _selects_of_rows(select):
        return exp.Exists(this=probe)
    asked = asks.this.expressions if isinstance(asks.this, exp.Tuple) else [asks.this.unnest()]
    if len(asked) != len(select.expressions):
        return exp.Exists(this=probe)
    probe = probe.copy()
    names = [f"{_IN}_{i}" for i in range(len(asked))]
    probe.set(
        "expressions",
        [exp.alias_(each.unalias().copy(), name) for each, name in zip(select.expressions, names, strict=True)],
    )
    equal = [
        exp.EQ(this=exp.paren(each.copy()), expression=exp.column(name, table=_IN))
        for each, name in zip(asked, names, strict=True)
    ]
    differs = exp.NullSafeEQ(this=exp.paren(exp.and_(*equal)), expression=exp.false())
    source = exp.Subquery(this=probe, alias=exp.TableAlias(this=exp.to_identifier(_IN)))
    return exp.Exists(
        this=exp.Select(
            expressions=[exp.Literal.number(1)],
            from_=exp.From(this=source),
            where=exp.Where(this=exp.not_(exp.paren(differs))),
        )
    )


def _selects_of_rows(select: exp.Select) -> bool:
    """Whether what a SELECT gives is a value of each joined row that it is made of, so that others do not matter."""
    parts = ("qualify", "limit", "offset", "laterals")
    group = select.args.get("group")
    grouped = (
        not select.args.get("having") if group is None else set(filter(group.args.get, group.args)) == {"expressions"}
    )
    return (
        grouped
        and not any(select.args.get(part) for part in parts)
        and all(known_form(join) == "INNER" for join in select.args.get("joins") or ())
        and not has_aggregates(select)
        and all(is_of_one_row(each) and not each.is_star for each in select.expressions)
    )


# ------------------------------------------------------------ one value, then and now


def _compared(select: exp.Select) -> exp.Subquery | None:
    """The subquery that a SELECT is, if it gives one value in a condition: this is compared with the value of then."""
    subquery = select.parent
    if not isinstance(subquery, exp.Subquery) or isinstance(subquery.parent, _OF_ROWS):
        return None
    above = subquery.find_ancestor(exp.Where, exp.Select, exp.Join, exp.Having)
    in_where = isinstance(above, exp.Where | exp.Having)
    one_row = has_aggregates(select) and not select.args.get("group")
    return subquery if in_where and one_row and len(list(select.find_all(exp.Select))) == 1 else None


def _is_compared(table: exp.Table) -> bool:
    select = table.find_ancestor(exp.Select)
    return select is not None and _compared(select) is not None


def _differs(value: exp.Subquery, changed: set[str]) -> exp.Expr:
    """That a subquery has another value now, bit by bit; of floating point numbers no two sums are sure to be equal."""
    then, now = value.copy(), value.copy()
    for table in list(then.find_all(exp.Table)):
        if table_name(table) in changed:
            joined.read_instead(table, before(table_name(table)))
    texts = [exp.cast(each, "string") for each in (then, now)]
    kind = exp.Anonymous(this="typeof", expressions=[now.copy()])
    floats = exp.In(this=kind, expressions=[exp.Literal.string(each) for each in ("double", "float")])
    same = exp.NullSafeEQ(this=texts[0], expression=texts[1])
    return exp.paren(exp.or_(exp.not_(exp.paren(same)), floats))


# ------------------------------------------------------------ queries around


def _around(select: exp.Select) -> exp.Select | None:
    """The SELECT that has a SELECT in an expression; None: it is behind FROM, or the query itself."""
    node: exp.Expr = select
    while node.parent is not None:
        above = node.parent
        if isinstance(above, exp.Select):
            # HAVING may mean a column of the result by a name that is one of the tables', too.
            return above if node.arg_key in ("where", "expressions") else None
        if isinstance(above, exp.CTE | exp.From | exp.Join):
            return None
        node = above
    return None


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.this)
        yield from _conjuncts(condition.expression)
    elif isinstance(condition, exp.Paren):
        yield from _conjuncts(condition.this)
    else:
        yield condition.copy()

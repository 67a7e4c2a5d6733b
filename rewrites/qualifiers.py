"""Names that go through a database or a catalog, and names of `_metadata`: each through an alias of FROM alone.

    SELECT d1.t.a, d2.t.b.x FROM d1.t JOIN d2.t  →  SELECT __t1.a, __t2.b.x FROM d1.t AS __t1 JOIN d2.t AS __t2
    SELECT default.t.* FROM t                    →  SELECT t.* FROM t AS t

Spark resolves a name of several parts where it stands: as a column behind the longest qualifier that a source has, then
behind shorter ones, then as a field of a column; then the same in the query around. `GROUP BY all` is by a column of
that name first. A rewritten table is a subquery,
which has an alias and no database; and most rules read one part of a qualifier. So this is done first, in the query as
the user wrote it. `_metadata` is a column of files that no star shows and no subquery hands on: the table is marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from sqlglot import exp

from rewrites.aliases import listed, output_name, table_name
from rewrites.environment import Environment
from rewrites.refusals import refuse
from rewrites.sources import means_cte, places
from rewrites.tables import FILE_METADATA, BaseTable, StoredTable
from rewrites.terms import name

_ALL = "all"
_MARK = "file metadata is read"
_MOST_PARTS = 4  # of a name that the parser makes a column; what follows is the field of one to it


def by_alias(query: exp.Query, env: Environment) -> None:
    """Let all names of a query, which is edited, go through one alias at most; mark tables whose `_metadata` is read.

    Args:
        query: as the user wrote it.
        env: what the names of its tables mean.

    Raises:
        NotTracedError: `_metadata` may be that of several sources.
    """
    if any(map(_says_more, query.find_all(exp.Column, exp.Group))):
        _Names(env).resolve(query)


def reads_file_metadata(table: exp.Expr) -> bool:
    """Say whether the query names `_metadata` of a table; copies of its node know it too."""
    return bool(table.meta.get(_MARK))


def _says_more(node: exp.Expr) -> bool:
    if isinstance(node, exp.Column):
        return len(node.parts) > 2 or FILE_METADATA in _lower(_parts(node))
    return bool(node.args.get("all"))


def _reads_two_of_a_name(select: exp.Select) -> bool:
    named = [place.node.alias_or_name.lower() for place in places(select) if place.node.alias_or_name]
    return len(named) > len(set(named))


def _parts(node: exp.Column) -> list[str]:
    return [part.name for part in parts_of(node)]


def parts_of(node: exp.Column) -> list[exp.Expr]:
    """Return the parts of a name, the fifth one of `catalog.a.b.t.k` or `catalog.a.b.t.*`, too."""
    around, parts = node.parent, list(node.parts)
    if len(parts) == _MOST_PARTS and isinstance(around, exp.Dot) and around.this is node:
        return [*parts, around.expression]
    return parts


def _is_star(node: exp.Column) -> bool:
    return isinstance(parts_of(node)[-1], exp.Star)


def _lower(parts: Sequence[str]) -> list[str]:
    return [part.lower() for part in parts]


@dataclass(eq=False)
class _Source:
    """What stands in FROM.

    Attributes:
        node: its tree.
        qualifier: the names that its columns may be qualified with, in lower case; the last one alone is enough.
        columns: in lower case; None: not known.
        of_files: whether it may have `_metadata`.
        table: whether it is a table, or a view, that has no alias.
        alias: the one that it gets.
        apart: whether nothing else has that one.
    """

    node: exp.Expr
    qualifier: tuple[str, ...]
    columns: frozenset[str] | None = None
    of_files: bool = False
    table: bool = False
    alias: str = ""
    apart: bool = False

    def is_called(self, parts: Sequence[str]) -> bool:
        return bool(parts) and list(self.qualifier[-len(parts) :]) == _lower(parts)

    def has(self, column: str) -> bool | None:
        if column.lower() == FILE_METADATA and reads_file_metadata(self.node):
            return True
        return None if self.columns is None else column.lower() in self.columns


@dataclass
class _Reference:
    """A name that a source is known by: its node, and how many of its parts are the qualifier."""

    node: exp.Column
    depth: int
    sources: list[_Source]
    hidden: bool  # a query between has a source of that name


@dataclass
class _Names:
    """The names of one query; what is found is written into its tree when all of them are known."""

    env: Environment
    known: dict[int, list[_Source]] = field(default_factory=dict)

    def resolve(self, query: exp.Query) -> None:
        nodes = list(query.find_all(exp.Column))
        for node in nodes:
            if FILE_METADATA in _lower(_parts(node)):
                self._mark_files(node)
        for group in [each for each in query.find_all(exp.Group) if each.args.get("all")]:
            self._group_by_all(group, query)
        references = [found for node in nodes if (found := self._reference(node)) is not None]
        for reference in references:
            self._give_alias(reference)
        for select in query.find_all(exp.Select):
            if _reads_two_of_a_name(select):
                self._tell_apart(self._sources(select))
        for reference in references:
            _write(reference)
        for source in (each for found in self.known.values() for each in found if each.alias):
            source.node.set("alias", exp.TableAlias(this=name(source.alias)))

    def _group_by_all(self, group: exp.Group, query: exp.Query) -> None:
        """To Spark, GROUP BY ALL is by the column of that name, where a source has one."""
        around = group.parent
        assert isinstance(around, exp.Select), "grammar"
        has = [each.has(_ALL) for each in self._sources(around)]
        if any(has):
            group.set("all", None)
            group.set("expressions", [exp.Column(this=exp.to_identifier(_ALL, quoted=True))])
        elif None in has and self._may_have_all(query):
            what = "GROUP BY ALL, where a column may be called all, is not traced"
            refuse(around.expressions[0], what, "Name the columns; write the one in backticks: GROUP BY `all`.")

    def _may_have_all(self, query: exp.Query) -> bool:
        if any(node.name.lower() == _ALL for node in query.find_all(exp.Identifier)):
            return True
        sources = (self._source(node) for node in query.find_all(exp.Table))
        return any(each.has(_ALL) for each in sources)

    def _give_alias(self, reference: _Reference) -> None:
        for source in reference.sources if reference.depth > 1 else []:
            if reference.hidden:
                self._set_apart(source)
            elif source.table and not source.alias:
                source.alias = source.node.name

    def _tell_apart(self, sources: list[_Source]) -> None:
        called = [source.qualifier[-1] for source in sources]
        for source in sources:
            if called.count(source.qualifier[-1]) > 1:
                self._set_apart(source)

    def _set_apart(self, source: _Source) -> None:
        if source.table and not source.apart:
            source.alias, source.apart = self.env.names.fresh("t"), True

    def _reference(self, node: exp.Column) -> _Reference | None:
        parts, hidden = _parts(node), False
        if _is_star(node):
            return self._star(node, parts[:-1])
        for select in _selects_around(node):
            sources = self._sources(select)
            for depth in range(len(parts) - 1, 0, -1):
                found = [
                    each for each in sources if each.is_called(parts[:depth]) and each.has(parts[depth]) is not False
                ]
                if found:
                    return _Reference(node, depth, found, hidden)
            if any(each.has(parts[0]) is not False for each in sources):
                return None  # a column, whose fields follow
            hidden = hidden or self._hides(sources, parts)
        return None

    def _hides(self, sources: list[_Source], parts: list[str]) -> bool:
        """Say whether a name would mean one of these sources once nothing but a table's own name qualifies it."""
        return any(each.qualifier[-1:] == (part.lower(),) for each in sources for part in parts[1:-1])

    def _star(self, node: exp.Column, qualifier: list[str]) -> _Reference | None:
        """`t.*` is the star of all that is called so; else that of a column's fields."""
        for select in _selects_around(node):
            found = [each for each in self._sources(select) if each.is_called(qualifier)]
            if found:
                return _Reference(node, len(qualifier), found, hidden=False)
            for depth in range(len(qualifier) - 1, 0, -1):
                called = [each for each in self._sources(select) if each.is_called(qualifier[:depth])]
                found = [each for each in called if each.has(qualifier[depth]) is not False]
                if found:
                    return _Reference(node, depth, found, hidden=False)
        return None

    def _mark_files(self, node: exp.Column) -> None:
        """Find the table whose files are meant: in each block columns of that name come first, as in Spark."""
        parts = _parts(node)
        at = _lower(parts).index(FILE_METADATA)
        for select in _selects_around(node):
            called = [each for each in self._sources(select) if at == 0 or each.is_called(parts[:at])]
            files = [each for each in called if each.of_files]
            others = [each.has(FILE_METADATA) for each in called if not each.of_files]
            if any(others) or (called and not files and (at or None in others)):
                return
            if len(files) + others.count(None) > 1:
                what = f"{FILE_METADATA} may be that of several sources"
                refuse(node, what, f"Say which: {files[0].qualifier[-1]}.{FILE_METADATA}, for example.")
            if files:
                files[0].node.meta[_MARK] = True
                return

    def _sources(self, select: exp.Select) -> list[_Source]:
        if id(select) not in self.known:
            found = [self._source(place.node) for place in places(select)]
            views = [_Source(each, (each.alias.lower(),)) for each in select.args.get("laterals") or [] if each.alias]
            self.known[id(select)] = [each for each in found if each.qualifier] + views
        return self.known[id(select)]

    def _source(self, node: exp.Expr) -> _Source:
        parts = table_name(node)
        called = (node.alias.lower(),) if node.alias else ()
        if not parts or (len(parts) == 1 and means_cte(node)):
            return _Source(node, called or tuple(_lower(parts)), _selected(node))
        meant, listing, pivoted = self.env.find(parts), listed(node), bool(node.args.get("pivots"))
        columns = listing or (meant.columns if meant is not None and not pivoted else None)
        of_files = isinstance(meant, BaseTable | StoredTable) and not listing and not pivoted
        return _Source(
            node,
            called or tuple(_lower(self.env.tables.qualifier(parts))),
            None if columns is None else frozenset(_lower(columns)),
            of_files and FILE_METADATA not in _lower(columns or ()),
            table=not node.alias and not pivoted,
        )


def _selected(node: exp.Expr) -> frozenset[str] | None:
    """The columns of a subquery that names them all."""
    select = node.this if isinstance(node, exp.Subquery) else None
    names = [output_name(each).lower() for each in select.expressions] if isinstance(select, exp.Select) else [""]
    return None if listed(node) or not all(names) or "*" in names else frozenset(names)


def _selects_around(node: exp.Expr) -> Iterator[exp.Select]:
    """Yield the SELECTs whose sources a name may be of, the innermost first.

    A relation in FROM sees none of those beside it, unless it is LATERAL.
    """
    inside, around = node, node.parent
    apart = lateral = False
    while around is not None:
        if isinstance(around, exp.Select):
            if not apart:
                yield around
            apart = lateral = False
        elif isinstance(around, exp.Lateral):
            lateral = True
        elif isinstance(around, exp.From | exp.CTE) or (isinstance(around, exp.Join) and inside.arg_key == "this"):
            apart = not lateral
        inside, around = around, around.parent


def _write(reference: _Reference) -> None:
    node, sources, depth = reference.node, reference.sources, reference.depth
    if len(sources) == 1:
        if sources[0].alias:
            _qualify(node, sources[0].alias, depth)
    elif _is_star(node) and depth == len(parts_of(node)) - 1:
        _open_star(node, sources)
    elif any(each.alias for each in sources) and all(each.has(_parts(node)[depth]) for each in sources):
        written = [".".join(table_name(each.node)) or each.node.alias for each in sources]
        what = f"{node.sql(dialect='spark')} may be a column of {' or '.join(written)}"
        refuse(node, what, "Give the tables aliases.")


def _qualify(node: exp.Column, alias: str, depth: int) -> None:
    """Put an alias in place of the qualifier, `depth` parts of the name."""
    parts = list(node.parts)
    qualifier = name(alias)
    qualifier.meta.update(parts[0].meta)  # where it stands
    if depth == _MOST_PARTS:
        assert node.parent is not None, "a fifth part follows"
        node.parent.replace(exp.Column(this=parts_of(node)[-1], table=qualifier))
        return
    written = [qualifier, *parts[depth:]]
    for key, part in zip_longest(("this", "table", "db", "catalog"), reversed(written)):
        node.set(key, part)


def _open_star(node: exp.Column, sources: list[_Source]) -> None:
    """Write `t.*` of two tables of that name as a star for each, where it is an item of a select list."""
    if not any(each.alias for each in sources):
        return
    star, listing = node.this, node.parent
    if not isinstance(listing, exp.Select) or star.args.get("except_") or star.args.get("replace"):
        refuse(node, f"{node.sql(dialect='spark')} is the star of several tables", "Give the tables aliases.")
    items: list[exp.Expr] = []
    for item in listing.expressions:
        for source in sources if item is node else ():
            of_one = node.copy()
            items.append(of_one)
            _qualify(of_one, source.alias or source.node.alias_or_name, len(node.parts) - 1)
        items += [] if item is node else [item]
    listing.set("expressions", items)

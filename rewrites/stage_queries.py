"""A statement in parts: each stage a query of its own, whose rows somebody keeps for the parts that read them.

    WITH __stage1 AS (…) SELECT …, dl_compose(…) AS DL FROM s JOIN __stage1 …
    →  __stage1:  SELECT …, named_struct('s', …) AS DL FROM …
       result:    SELECT …, named_struct('s', …, '__stage1', <numbers of its rows>) AS DL FROM s JOIN <prefix>__stage1 …

Nothing is composed: `DL` of a part speaks of base tables and of rows of earlier parts, by their numbers. A reader of
`<prefix>__stage1` must find the part's columns there, then `Part.unread`, then a BIGINT `Part.number`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from rewrites import lineage_column, outermost
from rewrites.aliases import table_name
from rewrites.environment import Names, Stage, Stages, TracedQuery
from rewrites.stages import named_in
from rewrites.terms import as_set, column, derived_table, hidden_column, lineage_struct, name, named

_OF_ALL_ROWS = {"expressions", "from_", "with_", *outermost.SPREADING}


@dataclass(frozen=True)
class Part:
    """A query of a statement that is carried out in parts.

    Attributes:
        name: of the stage; None for the result.
        query: its columns, then `DL`, a struct of lineage values, then for each of `frames` a BINARY, of `dl_frame`.
        keys: the fields of `DL`: base tables, and names of earlier parts.
        frames: names of the columns that say what window frames are to a row: stretches of rows of this part.
        unread: names of columns that its readers leave out, as of a stage that carries its own lineage.
        number: name of the column in which its readers find the numbers of its rows.
    """

    name: str | None
    query: exp.Query
    keys: tuple[str, ...]
    frames: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    number: str = ""


def parted(traced: TracedQuery, names: Names, stages: Stages, prefix: str) -> list[Part]:
    """Return a statement in parts, each behind those that it reads, the result last; one where nothing is a stage.

    Args:
        traced: the rewritten statement, whose `DL` is not made yet; it stays as it is.
        names: gives fresh ones.
        stages: its stages; some may be of parts that no rule has kept.
        prefix: put before the name of a stage where its rows are read, so that it is nobody else's.
    """
    read_as = {each: prefix + each for each in stages}
    parts = [_only_stage(traced, names, stages, read_as) or _result(traced, names, read_as)]
    for stage in reversed(stages.values()):
        if any(named_in(part.query, read_as[stage.name]) for part in parts):
            parts.insert(0, _part(stage, read_as))
    return parts


def _result(traced: TracedQuery, names: Names, read_as: Mapping[str, str]) -> Part:
    result = lineage_column.folded(replace(traced, tree=traced.tree.copy()), names, {})
    return Part(None, _reading(result, read_as), tuple(traced.hidden))


def _only_stage(traced: TracedQuery, names: Names, stages: Stages, read_as: Mapping[str, str]) -> Part | None:
    """Return a result that has all rows of one stage and nothing else, such as windows at the top, as that stage.

    So its rows are kept once. Where rows are cut off, frames may be of rows that are not there.
    """
    tree = traced.tree.copy()
    stage = stages.get(next(iter(traced.hidden)))
    if stage is None or not isinstance(tree, exp.Select) or not tree.args.get("from_"):
        return None
    clauses = {clause for clause, value in tree.args.items() if value}
    source = tree.args["from_"].this
    if clauses - _OF_ALL_ROWS or not isinstance(source, exp.Table) or source.name != stage.name:
        return None
    star, _ = tree.expressions
    number = hidden_column(stage.name)
    star.set("except_", [each for each in star.args["except_"] if each.name != number])
    source.replace(derived_table(stage.query.copy(), stage.name))
    hidden = [named(exp.column(name(each), copy=False), each) for each in map(hidden_column, stage.hidden)]
    tree.set("expressions", [star, *hidden])
    result = lineage_column.folded(replace(traced, tree=tree, hidden=stage.hidden), names, {})
    result.set("expressions", [*result.selects, *(exp.column(name(hidden_column(each))) for each in stage.frames)])
    return Part(None, _reading(result, read_as), tuple(stage.hidden), stage.frames)


def _part(stage: Stage, read_as: Mapping[str, str]) -> Part:
    unread = tuple(map(hidden_column, (*stage.hidden, *stage.frames)))
    alias = stage.name
    lineage = {key: as_set(column(alias, hidden_column(key)), kind) for key, kind in stage.hidden.items()}
    frames = [column(alias, hidden_column(each)) for each in stage.frames]
    everything = exp.Star(except_=[column(alias, each) for each in unread])
    query = exp.Select(expressions=[everything, lineage_struct(lineage), *frames])
    query = query.from_(derived_table(_reading(stage.query.copy(), read_as), alias), copy=False)
    return Part(stage.name, query, tuple(stage.hidden), stage.frames, unread, hidden_column(stage.name))


def _reading(query: exp.Query, read_as: Mapping[str, str]) -> exp.Query:
    """Let a query read stages by other names; the tree given is edited."""
    for table in list(query.find_all(exp.Table)):
        parts: Sequence[str] = table_name(table)
        if len(parts) == 1 and parts[0] in read_as:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=name(parts[0])))
            table.set("this", name(read_as[parts[0]]))
    return query

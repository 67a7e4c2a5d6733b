"""The meaning of a name in a statement; ambiguous and unknown names are not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from forward_lineage.sketches.safety.algebra import Column, Ref, Scalar
from forward_lineage.sketches.safety.verdicts import UnprovenError, unproven


@dataclass(frozen=True)
class Source:
    """Something in FROM: its name, and its columns by name."""

    alias: str
    columns: tuple[Column, ...]


@dataclass
class Names:
    """The names of a block.

    Attributes:
        sources: what stands in FROM.
        outer: the names of the block around it.
        merged: columns of USING and NATURAL JOIN, by name.
        aliases: names that the select list has given so far.
    """

    sources: list[Source] = field(default_factory=list)
    outer: Names | None = None
    merged: dict[str, Scalar] = field(default_factory=dict)
    aliases: dict[str, Scalar] = field(default_factory=dict)

    def meaning(self, node: exp.Column, *, aliases: str) -> Scalar:
        """Return what a name means.

        Args:
            node: the name.
            aliases: what names of the select list do: ``first`` (ORDER BY), ``last``, or ``same``: they must mean what
                the column of that name means (HAVING).
        """
        name, qualifier = node.name.lower(), node.table.lower()
        if node.args.get("db") is not None:
            unproven("a name of three parts", node)
        alias = None if qualifier else self.aliases.get(name)
        if alias is not None and aliases == "first":
            return alias
        names: Names | None = self
        while names is not None:
            found = names._own(name, qualifier, node)
            if found is not None:
                if alias is not None and aliases == "same" and alias != found and names is self:
                    unproven(f"{node.name} is a column and a name of the select list", node)
                return found
            if names is self and alias is not None:
                return alias
            names = names.outer
        raise UnprovenError(f"{node.sql()} is no column that is known", node)

    def _own(self, name: str, qualifier: str, node: exp.Column) -> Scalar | None:
        if not qualifier and name in self.merged:
            return self.merged[name]
        found = [
            column
            for source in self.sources
            if qualifier in ("", source.alias)
            for column in source.columns
            if column.name is not None and column.name.lower() == name
        ]
        if len(found) > 1:
            unproven(f"{node.sql()} may be several columns", node)
        return Ref(found[0], family=found[0].family) if found else None

    def star(self, qualifier: str, node: exp.Expr) -> list[tuple[str | None, Scalar]]:
        """Return the columns that a star stands for."""
        if any(each.args.get("db") is not None for each in node.find_all(exp.Column)):
            unproven("a star of a name of several parts", node)
        merged: list[tuple[str | None, Scalar]] = [] if qualifier else list(self.merged.items())
        sources = [source for source in self.sources if qualifier in ("", source.alias)]
        if not sources:
            unproven("a star of something that is not in FROM", node)
        return merged + [
            (column.name, Ref(column, family=column.family))
            for source in sources
            for column in source.columns
            if qualifier or (column.name or "").lower() not in self.merged
        ]


def common_names(left: Sequence[Source], right: Sequence[Source]) -> list[str]:
    """Return the names that both sides of a NATURAL JOIN have."""
    there = {(column.name or "").lower() for source in right for column in source.columns}
    found = [(column.name or "").lower() for source in left for column in source.columns]
    return [name for name in dict.fromkeys(found) if name and name in there]

"""Which column a name means: the innermost scope that knows it, where it must be unique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Column:
    """A column of a scope. A hidden one (USING, NATURAL) is reached by its qualifier only and no star shows it."""

    name: str | None
    qualifier: str | None
    kind: str = ""
    hidden: bool = False

    def answers(self, name: str, qualifier: str | None) -> bool:
        if self.name != name:
            return False
        return not self.hidden if qualifier is None else self.qualifier == qualifier

    def hide(self) -> Column:
        return replace(self, hidden=True)


Scope = tuple[Column, ...]


class AmbiguousError(Exception):
    """Two columns of one scope answer to the name."""


def resolve(scopes: Sequence[Scope], name: str, qualifier: str | None) -> tuple[int, int] | None:
    """Scope (0 = innermost) and position of the column, None when no scope has it."""
    for level, scope in enumerate(scopes):
        found = [i for i, column in enumerate(scope) if column.answers(name, qualifier)]
        if len(found) > 1:
            raise AmbiguousError(f"{qualifier}.{name}")
        if found:
            return level, found[0]
    return None

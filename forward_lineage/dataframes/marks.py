"""The rows that a function of `mapInPandas` or `mapInArrow` looks at: only its author knows, and says it with a mark.

Such a function is given the batches of a partition, and may keep what it has seen. How rows lie in partitions and
batches is nobody's promise, so without a mark the lineage of its rows would be chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

from udafs.errors import BadArgumentError

How = Literal["row_by_row", "all_so_far"]

Function = Callable[[Iterator[Any]], Iterator[Any]]
"""Batches of a partition, data frames of pandas or record batches of Arrow, to batches of the same kind."""


class Marked:
    """A function over batches that says what its rows are made of; called, it does what the function does.

    Spark keeps a function's name in its plans, and nothing else that could be read there: so the name has the mark.
    """

    how: ClassVar[How]

    def __init__(self, function: Function) -> None:
        if not callable(function) or isinstance(function, Marked):
            raise BadArgumentError(
                f"{self.how}(…) is a mark of a function, not of {type(function).__name__}",
                instead=f"frame.mapInPandas({self.how}(function), schema), with one mark.",
            )
        self.function = function
        self.__name__ = f"{self.how}({getattr(function, '__name__', type(function).__name__)})"
        self.__doc__ = function.__doc__

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Call the function."""
        return self.function(batches)


class _RowByRow(Marked):
    how = "row_by_row"


class _AllSoFar(Marked):
    how = "all_so_far"


def row_by_row(function: Function) -> Marked:
    """Say that row n of what a function gives for a batch is made of row n of the batch, and of no other row.

    It is checked that a function gives as many rows as it was given before it asks for the next batch. The order of the
    rows is its promise. docs/dataframes.md

    Args:
        function: of `mapInPandas` or `mapInArrow`.

    Returns:
        The function, to be given to these.

    Raises:
        BadArgumentError: no function, or one that is marked already.

    """
    return _RowByRow(function)


def all_so_far(function: Function) -> Marked:
    """Say that each row of what a function gives may be made of all rows that it was given before, in its partition.

    So its lineage depends on how rows lie in partitions and batches, as its rows may do. docs/dataframes.md

    Args:
        function: of `mapInPandas` or `mapInArrow`.

    Returns:
        The function, to be given to these.

    Raises:
        BadArgumentError: no function, or one that is marked already.

    """
    return _AllSoFar(function)


def mark_of(name: str) -> How | None:
    """Return the mark that a function's name in a plan has; None: it has none."""
    return next((kind.how for kind in (_RowByRow, _AllSoFar) if name.startswith(f"{kind.how}(")), None)

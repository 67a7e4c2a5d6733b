"""Calls about arrays: saved with their lineage, read back, and made of saved rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import numpy.typing as npt

from forward_lineage.session.components import Parts
from forward_lineage.store.asking.ancestors import refuse_both
from udafs.errors import BadArgumentError, NotSavedError

if TYPE_CHECKING:  # most sessions do without arrays, and importing them takes as long as a question
    from pyspark.sql import DataFrame

    from forward_lineage.arrays import TrackedArray
    from forward_lineage.arrays.cells import Chosen
    from forward_lineage.store.arrays.saving import SavedArrays


class ArrayCalls:
    """The calls of `ForwardLineage` about arrays. docs/arrays.md describes tracked arrays."""

    _parts: Parts
    save: Callable[..., Any]

    def array(self, name: str, version: int | None = None) -> TrackedArray:
        """Return a saved array, tracked: what you make of it and save knows that it was made of this version.

        Args:
            name: under which it was saved.
            version: one that was kept; the newest when not given.

        Raises:
            LineageError: there is no such array or version, or its file is damaged.

        Examples:
            >>> import numpy as np
            >>> weights = lineage.save(np.arange(3.0), "weights")
            >>> lineage.array("weights") * 2
            TrackedArray([0., 2., 4.])

        """
        return arrays_of(self._parts).read(name, version)

    def to_array(
        self,
        result: str | DataFrame,
        columns: Sequence[str] | None = None,
        version: int | None = None,
        *,
        name: str | None = None,
    ) -> TrackedArray:
        """Return columns of a saved result, or of a DataFrame, as a tracked matrix: axis 0 is its rows, axis 1 columns.

        Each cell was made of its row, whichever column it is in. NULL becomes NaN in columns of floating-point numbers.
        The array has the type that holds all columns.

        Args:
            result: its name; or a DataFrame, of `sql` or a plain one of registered tables. It is computed once, rows
                together with their lineage, and saved as `name`.
            columns: names of columns, in order; all when not given.
            version: one that was kept; the newest when not given.
            name: under which a DataFrame is saved.

        Raises:
            LineageError: there is no such result or column; or a DataFrame cannot be saved, see `save`. A column has
                no numbers, or NULL where no NaN can stand; then you are told the cast to write.

        Examples:
            >>> import numpy as np
            >>> amounts = lineage.to_array("by_item", columns=["amount"])
            >>> shares = lineage.save(amounts / amounts.sum(), "shares")
            >>> lineage.array("shares")
            TrackedArray([[0.78571429],
                          [0.21428571]], name='shares')
            >>> lineage.backward_ids("shares", cells=np.s_[1])
            LineageSet({1, 2, 3})

        """
        if not isinstance(result, str):
            if name is None or version is not None:
                raise BadArgumentError(
                    "rows of a DataFrame are saved with their lineage, as a new version of a result",
                    instead='Write lineage.to_array(frame, columns, name="features").',
                )
            return array_of_result(self._parts, self.save(result, name).name, columns)
        if name is not None:
            raise BadArgumentError(
                f"name= is for a DataFrame, and {result} is saved already", instead="Leave name= out."
            )
        return array_of_result(self._parts, result, columns, version)


def array_of_result(parts: Parts, name: str, columns: Sequence[str] | None, version: int | None = None) -> TrackedArray:
    """Return columns of a saved result as `ArrayCalls.to_array` does, its rows in the order of `ResultCalls.result`."""
    saved = parts.library.get(name, version)
    array = arrays_of(parts).of_result(saved.name, columns, saved.version)
    return array[saved.places_of(parts.questions.numbers_in_order(saved))] if saved.order else array


def save_as_table(parts: Parts, array: Any, name: str | None, columns: Sequence[str] | None) -> None:
    """Save the rows of an array as a result, under a name that means nothing else.

    Raises:
        BadArgumentError: there is no name, or the columns are not those of the array.
        NameTakenError: the name is in use.
        LineageError: as for `save`.

    """
    if name is None:
        raise BadArgumentError("an array is a table under a name", instead='Write lineage.table(array, "scores_t").')
    parts.saver.check_free(name)
    from forward_lineage.store.arrays.table_of_array import save_table  # noqa: PLC0415 - see above

    save_table(parts.tables.spark, parts.library, array, name, columns)
    parts.result_tables.bring_up_to_date()


def arrays_of(parts: Parts) -> SavedArrays:
    """Return the arrays of a session's home."""
    from forward_lineage.store.arrays.saving import SavedArrays  # noqa: PLC0415 - see above

    return SavedArrays(parts.library, parts.tables.registrations)


def is_array(given: object) -> TypeGuard[TrackedArray | npt.NDArray[Any]]:
    """Tell whether something that is to be saved is an array."""
    tracked = sys.modules.get("forward_lineage.arrays.tracked")
    return isinstance(given, np.ndarray) or (tracked is not None and isinstance(given, tracked.TrackedArray))


def chosen_numbers(
    parts: Parts, name: str, said: str, numbers: Iterable[int] | None, cells: Chosen
) -> Iterable[int] | None:
    """Return the numbers of rows that are meant by numbers or, of a saved array, by cells.

    Args:
        parts: of the session.
        name: of the saved array.
        said: what the argument with numbers is called.
        numbers: of rows.
        cells: an index or slices as between brackets, a mask, or places; None: not given.

    Raises:
        BadArgumentError: both are given, or there are no such cells.
        NotSavedError: the name is not that of a saved array.

    """
    if cells is None:
        return numbers
    refuse_both(said, numbers, "cells=", cells)
    from forward_lineage.arrays.cells import Cells, chosen  # noqa: PLC0415 - see above
    from forward_lineage.store.library.saved_array import SavedArray  # noqa: PLC0415

    saved = parts.library.saved(name)
    if not isinstance(saved, SavedArray):
        raise NotSavedError(f"{saved.name} is no saved array, so it has no cells", instead=f"Give where= or {said}.")
    return Cells(chosen(saved.shape, cells)).numbers()


def refuse_query_options(options: dict[str, Any]) -> None:
    """Refuse arguments of `save` that say something of a query.

    Args:
        options: by name; what is false was not given.

    Raises:
        BadArgumentError: there is one.

    """
    for name in (name for name, given in options.items() if given):
        raise BadArgumentError(f"{name}= is about queries, and an array is saved", instead="Leave it out.")

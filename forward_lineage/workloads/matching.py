"""The form that answers a question: one that is provably over the same rows, groups and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from forward_lineage.spark.planning import Arguments
from forward_lineage.workloads.comparable_values import bounds, check_comparable, value_of
from forward_lineage.workloads.form_builder import Made
from forward_lineage.workloads.forms import Form
from forward_lineage.workloads.shape import Call, Compared, Shape
from forward_lineage.workloads.totals import kind_of

_NEEDS = {"sum": "total", "avg": "total", "min": "least", "max": "most"}


@dataclass(frozen=True, eq=False)
class Match:
    """A form that answers a question, and how.

    Attributes:
        made: the form.
        shape: what is asked.
        compared: what chooses its entries.
        schema: of the answer.
        values: by attribute its different values, and how many of them are NULL.

    """

    made: Made
    shape: Shape
    compared: tuple[Compared, ...]
    schema: pa.Schema
    values: Mapping[str, tuple[list[object], int]]

    def bounds(self, args: Arguments) -> dict[str, tuple[int, int]] | None:
        """Return, for each attribute that is compared, the first place of its values and the one behind the last.

        Returns:
            None when no row can meet the conditions.

        Raises:
            OtherKindError: Spark has to say what is equal.

        """
        found: dict[str, tuple[int, int]] = {}
        for each in self.compared:
            value = value_of(each.with_what, args)
            if value is None:
                return None  # nothing is equal to NULL, nor less, nor more
            check_comparable(self.made.form.attributes[each.expression].type, value)
            low, high = bounds(*self.values[each.expression], each.operator, value)
            before = found.get(each.expression, (low, high))
            found[each.expression] = max(low, before[0]), max(min(high, before[1]), low, before[0])
        return found


def match(made: Made, shape: Shape, schema: pa.Schema) -> Match | str:
    """Tell whether a form answers questions of a shape.

    Args:
        made: the form.
        shape: what is asked; of the form's result and table.
        schema: of the answer, as Spark says.

    Returns:
        how it does, or why not.

    """
    fixed = set(made.plan.fixed)
    asked = {*shape.fixed, *(each.text for each in shape.compared)}
    if not fixed <= asked:
        return f"it is made for questions with {min(fixed - asked)}"
    left = set(shape.fixed) - fixed
    compared = tuple(each for each in shape.compared if each.text not in fixed)
    left |= {each.expression for each in compared} - made.form.attributes.keys()
    left |= set(shape.keys) - made.form.keys.keys()
    if left:
        return f"it knows nothing of {min(left)}"
    missing = [call for call in shape.calls if not _has(made.form, call)]
    if missing:
        return f"it has no {missing[0].function}({missing[0].argument})"
    for item, field in zip(shape.items, schema, strict=True):
        expected = made.form.keys[item].type if isinstance(item, str) else kind_of(made.form, item, field.type)
        if expected != field.type:
            return f"{field.name} is of type {field.type}, not {expected}"
    return Match(made, shape, compared, schema, _values(made.form, compared))


def _has(form: Form, call: Call) -> bool:
    if call.argument is None:
        return True
    sums = form.measures.get(call.argument)
    return sums is not None and (call.function == "count" or getattr(sums, _NEEDS[call.function]) is not None)


def _values(form: Form, compared: Sequence[Compared]) -> dict[str, tuple[list[object], int]]:
    texts = {each.expression for each in compared}
    return {text: (form.attributes[text].to_pylist(), form.attributes[text].null_count) for text in texts}

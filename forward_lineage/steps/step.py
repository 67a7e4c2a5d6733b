"""A step: a function that is computed once for what it depends on, and read again afterwards."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, overload

from udafs.errors import BadArgumentError

Returns = Literal["value", "query", "array", "model"]


@dataclass(frozen=True)
class Step:
    """A function as a step of a pipeline.

    Attributes:
        function: what it does; its parameters name what it reads.
        name: what other steps call it.
        returns: ``"value"``; ``"query"`` for a query, as a text or DataFrame, whose rows are the result; ``"array"`` or
            ``"model"`` for an array or a model that is saved with its lineage.
        chance: whether its result is another one each time.
        pure: packages that its author vouches for.

    """

    function: Callable[..., Any]
    name: str
    returns: Returns = "value"
    chance: bool = False
    pure: tuple[str, ...] = ()
    reads: tuple[str, ...] = field(init=False)
    defaults: dict[str, Any] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        parameters = inspect.signature(self.function).parameters.values()
        for each in parameters:
            if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD, each.POSITIONAL_ONLY):
                raise BadArgumentError(
                    f"step {self.name} has a parameter {each}", instead="Name each thing that it reads."
                )
        object.__setattr__(self, "reads", tuple(each.name for each in parameters))
        defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
        object.__setattr__(self, "defaults", defaults)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function as it is; nothing is kept."""
        return self.function(*arguments, **named)


@overload
def step(function: Callable[..., Any], /) -> Step: ...


@overload
def step(
    *, name: str | None = None, returns: Returns = "value", chance: bool = False, pure: Collection[str] = ()
) -> Callable[[Callable[..., Any]], Step]: ...


def step(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    returns: Returns = "value",
    chance: bool = False,
    pure: Collection[str] = (),
) -> Step | Callable[[Callable[..., Any]], Step]:
    """Make a function a step: ``@step``, or ``@step(returns="query")``.

    A parameter is another step, a parameter of the run, a default, or else a table.

    Args:
        function: what the step does.
        name: letters, digits and _; the function's name when not given.
        returns: ``"query"`` if the function returns a query, as a text or DataFrame; its rows are saved with lineage.
            ``"array"`` if it returns an array of numpy's, tracked or plain. ``"model"`` if it returns what
            `forward_lineage.models.fit` does. Both are saved with their lineage.
        chance: say so if the result is left to chance, the clock or files; then it runs again each time.
        pure: packages that you vouch for: their functions depend on their arguments and their version alone.

    Raises:
        BadArgumentError: the name cannot be one, or a parameter has no name.

    Examples:
        >>> @step
        ... def total(amounts):
        ...     return sum(amounts)
        >>> total.name, total.reads, total([1, 2])
        ('total', ('amounts',), 3)

    """

    def made(of: Callable[..., Any]) -> Step:
        called = name or str(getattr(of, "__name__", ""))
        if not re.fullmatch(r"[A-Za-z]\w*", called, re.ASCII):
            raise BadArgumentError(f"{called!r} is not the name of a step", instead="Use letters, digits and _.")
        if returns not in get_args(Returns):
            raise BadArgumentError(f"returns={returns!r}", instead='Give "value", "query", "array" or "model".')
        return Step(of, called, returns, chance, tuple(pure))

    return made if function is None else made(function)

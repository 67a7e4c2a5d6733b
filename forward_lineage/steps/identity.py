"""One digest of all that the result of a function depends on; or the reasons why there is none.

The digest is of the function's code, of all that it calls and of the globals that it reads, transitively, of its
defaults and closures, its parameters, its inputs, and of the versions of Python and of the packages it reaches.
**A step that reaches anything unknown has a reason, and runs again.** So no list of dangers has to be kept up. There
are lists of known things (`packages`, `known_values`).

Three things are taken on trust: the files of an installed version are those of that version and nobody patches a
package from inside; an object's text (`str`, `repr`) is not its address; a set has no order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from forward_lineage.steps.encoding import Encoder
from forward_lineage.steps.packages import python_version, settings_of_process
from forward_lineage.steps.reached_code import put_value


@dataclass(frozen=True)
class Identity:
    """The identity of a step's result.

    Attributes:
        digest: 64 hexadecimal digits; None if something it depends on is not known.
        reasons: what is not known, in words.
        versions: of the packages that were reached, by module.

    """

    digest: str | None
    reasons: tuple[str, ...]
    versions: dict[str, str]


def identity_of(
    function: Callable[..., Any],
    parameters: Mapping[str, object] | None = None,
    inputs: Mapping[str, str | None] | None = None,
    *,
    pure: Collection[str] = (),
    also: Collection[str] = (),
) -> Identity:
    """Return the identity of a function's result.

    Args:
        function: of Python, with a name or without.
        parameters: the values that it is called with, by name; values of other types are other parameters.
        inputs: what else it reads: name → identity or version; None if that is not known.
        pure: packages that you vouch for: their functions depend on their arguments and their version alone.
        also: texts that belong to it, such as the name of the step.

    Examples:
        >>> rate = 3
        >>> def scaled(x):
        ...     return x * rate
        >>> one = identity_of(scaled, {"x": 1})
        >>> one == identity_of(scaled, {"x": 1}), one == identity_of(scaled, {"x": "1"})
        (True, False)

    """
    encoder = Encoder(pure=frozenset(pure), parameters=dict(parameters or {}), root=function)
    encoder.put("identity 2", python_version(), settings_of_process(), *sorted(also))
    try:
        _put_all(encoder, function, inputs or {})
    except RecursionError:
        encoder.give_up("what it reaches is nested too deeply, or holds itself in a set")
    known = not encoder.reasons
    return Identity(encoder.digest() if known else None, tuple(encoder.reasons), dict(encoder.versions))


def _put_all(encoder: Encoder, function: Callable[..., Any], inputs: Mapping[str, str | None]) -> None:
    encoder.within(_name_of(function), lambda: put_value(encoder, function))
    for name, value in sorted(encoder.parameters.items()):
        encoder.put("parameter", name)
        encoder.within(f"parameter {name}", lambda value=value: put_value(encoder, value))  # type: ignore[misc]
    for name, version in sorted(inputs.items()):
        encoder.put("input", name, version or "")
        if version is None:
            encoder.give_up(f"it reads {name}, which runs again")
    for module, version in sorted(encoder.versions.items()):
        encoder.put("version", module, version)


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", None) or type(function).__name__)

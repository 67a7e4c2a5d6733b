"""From a call of numpy's to tracked arrays: run it on plain ones, ask its rule, and wrap what came out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from forward_lineage.arrays.buffers import Buffer
from forward_lineage.arrays.calls import Call, CaptureRule, Input, Output, Values
from forward_lineage.arrays.graph import Edge, Node
from forward_lineage.arrays.handles import Handle
from forward_lineage.arrays.registry import COMPOSED, METADATA, RULES, UFUNC_METHODS, WRITES, name_of
from forward_lineage.arrays.shapes import Steps, aligned
from forward_lineage.arrays.values import kept
from udafs.errors import InternalError, NotTracedError

Frozen = dict[int, Input]
#: Arrays that compute as `ndarray` does.
_PLAIN = (np.ndarray, np.memmap, np.recarray)


def call_function(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Do what ``__array_function__`` asks for."""
    if function in METADATA:
        return function(*plain(args), **plain(kwargs))
    if function in COMPOSED:
        return COMPOSED[function](*args, **kwargs)
    name = name_of(function)
    rule = RULES.get(function)
    if rule is None:
        raise without_rule(name)
    given = bound(function, args, kwargs)
    if given.get("overwrite_input") or (given.get("copy") is False and name == "numpy.nan_to_num"):
        raise NotTracedError(f"{name} would write into its input as well", instead="Leave that argument out.")
    targets = _targets(name, given.get("out") if function not in WRITES else given[WRITES[function]])
    frozen = unshared(frozen_inputs((args, kwargs)), targets)
    plainly = plain({key: frozen[id(each)].values if id(each) in frozen else each for key, each in given.items()})
    with _restored(targets):
        result = function(*plain(args), **plain(kwargs))
        outputs = [Output(each.shown) for each in targets] if function in WRITES else _outputs(result)
        call = Call(name, given, plainly, outputs, frozen)
        _ask(rule, call, targets)
    if not targets:
        return wrapped(call, result)
    for target, output in zip(targets, outputs, strict=True):
        target.write(output.node(name))
    return given.get("out")


def _targets(name: str, out: Any) -> list[Handle]:
    """The arrays that a call is to write into, of which each has to be tracked."""
    targets = [] if out is None else list(out) if isinstance(out, tuple) else [out]
    for each in targets:
        if not isinstance(each, Handle):
            raise NotTracedError(
                f"{name} would write into an array that is not tracked",
                instead="Give a tracked array as out, for example forward_lineage.arrays.constant(np.empty(shape)).",
            )
    return targets


@contextmanager
def _restored(targets: Sequence[Handle]) -> Iterator[None]:
    """Where a rule refuses what has been written already, the arrays hold what they held before."""
    before = [each.shown.copy() for each in targets]
    try:
        yield
    except Exception:
        for each, values in zip(targets, before, strict=True):
            each.shown[...] = values
        raise


def _ask(rule: CaptureRule, call: Call, besides: Sequence[Any]) -> None:
    """Ask a rule; a tracked array that it says nothing about would lose its lineage.

    `besides` are arrays that the caller takes care of.
    """
    rule(call)
    told = {id(source.array) for output in call.outputs for source in output.sources} | set(map(id, besides))
    for each in call.everything():
        if id(each.array) not in told and call.outputs:
            where = [str(key) for key, argument in call.given.items() if argument is each.array]
            raise NotTracedError(
                f"{call.name} with a tracked array {'as ' + where[0] if where else 'among its arguments'}",
                instead="Its rule does not say what that one decides: give the plain array, x.values, or register the "
                "operation.",
            )


def call_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Do what ``__array_ufunc__`` asks for."""
    name = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    rule = UFUNC_METHODS.get("gufunc" if ufunc.signature and method == "__call__" else method)
    if rule is None:
        raise without_rule(name)
    out, where = kwargs.get("out"), kwargs.get("where", True)
    if where is not True and out is None and method == "__call__":
        raise NotTracedError(
            f"{name} with where=… and no out leaves cells that hold anything", instead="Give an out, or use np.where."
        )
    given: dict[Any, Any] = {**dict(enumerate(inputs)), **kwargs, "ufunc": ufunc}
    frozen = frozen_inputs((inputs, kwargs))
    outs = tuple(out) if out is not None else ()
    targets = _targets(name, tuple(each for each in outs if each is not None))
    before = {id(each): each.node for each in targets}
    masked = np.array(plain(where)) if where is not True and method == "__call__" else None
    if method == "at":
        return _at(ufunc, name, inputs, rule)
    plainly = plain(given)
    if method != "__call__" or ufunc.signature:  # a rule that looks at values, or refuses
        frozen = unshared(frozen, targets)
        plainly = plain({key: frozen[id(each)].values if id(each) in frozen else each for key, each in given.items()})
    with _restored([] if plainly["ufunc"].signature is None and method == "__call__" else targets):
        result = getattr(ufunc, method)(*plain(inputs), **plain(kwargs))
        call = Call(name, given, plainly, _outputs(result), frozen)
        _ask(rule, call, [*targets, *([where] if method == "__call__" else [])])
    if not outs:
        return wrapped(call, result)
    return _written_ufunc(call, outs, before, masked)


def _at(ufunc: np.ufunc, name: str, inputs: Sequence[Any], rule: CaptureRule) -> None:
    (target,) = _targets(name, inputs[0])
    before = unshared(frozen_inputs(inputs), [target])
    given: dict[Any, Any] = {**dict(enumerate(inputs)), "ufunc": ufunc}
    plainly = {key: before[id(each)].values if id(each) in before else plain(each) for key, each in given.items()}
    with _restored([target]):
        ufunc.at(*plain(inputs))
        call = Call(name, given, plainly, [Output(target.shown)], before)
        _ask(rule, call, [target])
    target.write(call.out.node(name))


def _written_ufunc(call: Call, outs: Sequence[Any], before: Mapping[int, Node], masked: Values | None) -> Any:
    done: list[Any] = []
    for target, output in zip(outs, call.outputs, strict=True):
        if target is None:
            done.append(_wrapped(call, output))
            continue
        if masked is not None:
            _keep_where_not(call, output, before[id(target)], masked)
        target.write(output.node(call.name))
        done.append(target)
    return done[0] if len(done) == 1 else tuple(done)


def _keep_where_not(call: Call, output: Output, before: Node, masked: Values) -> None:
    """Cells where the mask is false are what they were; the mask decided of all."""
    mask = np.broadcast_to(masked, output.shape)
    on: Steps = kept(mask)(output.shape, output.shape)
    output.edges = [Edge(e.source, e.steps if e.control else on + e.steps, e.control) for e in output.edges]
    output.edges.append(Edge(before, kept(~mask)(output.shape, output.shape)))
    output.control(call.maybe("where"), aligned)


def wrapped(call: Call, result: Any) -> Any:
    """The results of a call as tracked arrays, in the container in which numpy gives them."""
    made = iter([_wrapped(call, output) for output in call.outputs])

    def filled(place: Any) -> Any:
        if not isinstance(place, (tuple, list)):
            return next(made)
        parts, container = [filled(each) for each in place], type(place)
        return container(*parts) if hasattr(place, "_fields") else container(parts)

    return filled(result)


def _wrapped(call: Call, output: Output) -> Handle:
    for source in call.everything():
        if _shows(output.values, source):
            return _view(call, output, source)
    if any(np.may_share_memory(output.values, each) for each in _arrays(call.plain)):
        output.values = output.values.copy()  # a view of a plain array, whose owner may write into it unseen
    return call.kind(output.values, Buffer(output.node(call.name)))


def _arrays(given: Any) -> Iterator[Values]:
    """All plain arrays in some arguments."""
    if isinstance(given, np.ndarray):
        yield given
    elif isinstance(given, (list, tuple)):
        for each in given:
            yield from _arrays(each)
    elif isinstance(given, dict):
        yield from _arrays(list(given.values()))


def _shows(values: Values, source: Input) -> bool:
    # What numpy makes anew lies elsewhere, so overlapping bounds are enough.
    return bool(values.size) and source.array is not None and np.may_share_memory(values, source.array.shown)


def _view(call: Call, output: Output, source: Input) -> Handle:
    """An array that shows memory of an input; of two that show the same memory, the one that it was made of."""
    assert source.array is not None
    for edge, mine in zip(output.edges, output.sources, strict=True):
        if mine.array is not None and mine.array.buffer is source.array.buffer and not edge.control:
            deciding = tuple(each for each in output.edges if each.control)
            return mine.array.showing(output.values, edge.steps, call.name, deciding)
    raise InternalError(f"{call.name} returned a view of an array that its rule does not name")


def carried(array: Handle, values: Values, operation: str) -> Handle:
    """The same cells as other values, e.g. of another type; a view where the values are."""
    if values.size and np.may_share_memory(values, array.shown):
        return array.showing(values, (), operation)
    return array.alike(values, Node(values.shape, [Edge(array.node, ())], operation=operation))


def without_rule(name: str) -> NotTracedError:
    """Return the error for an operation without a rule."""
    return NotTracedError(
        f"{name} has no rule that says which cells its result is made of",
        instead="Compute it over x.values and tell the lineage: forward_lineage.arrays.register_operation"
        "(name, in_arrays, out, capture=…).",
    )


# ------------------------------------------------------------ arguments


def plain(given: Any) -> Any:
    """The same with plain arrays in place of tracked ones, in lists, tuples and dicts, too."""
    if isinstance(given, Handle):
        return given.shown
    if isinstance(given, tuple):
        made = tuple(map(plain, given))
        return type(given)(*made) if hasattr(given, "_fields") else made
    if isinstance(given, list):
        return list(map(plain, given))
    if isinstance(given, dict):
        return {key: plain(each) for key, each in given.items()}
    return given


def frozen_inputs(given: Any) -> dict[int, Input]:
    """Every tracked array in some arguments, as it is before anything is written."""
    found: dict[int, Input] = {}
    open_ends = [given]
    while open_ends:
        each = open_ends.pop()
        if isinstance(each, Handle):
            found[id(each)] = Input(each.shown, each.node, each)
        elif isinstance(each, (list, tuple)):
            open_ends.extend(each)
        elif isinstance(each, dict):
            open_ends.extend(each.values())
        elif isinstance(each, np.ndarray):
            refuse_kin(each)
    return found


def refuse_kin(array: Values) -> None:
    """Refuse arrays with rules of their own (masked, `matrix`, with units): what numpy makes of them would differ."""
    if type(array) not in _PLAIN:
        raise NotTracedError(
            f"{type(array).__name__}, an array with rules of its own, together with tracked arrays",
            instead="Make it a plain one first: array.filled(…) of a masked array, np.asarray(array) of others.",
        )


def unshared(frozen: Frozen, targets: Sequence[Handle]) -> Frozen:
    """The inputs with values of their own where a call is about to write into what they show."""
    return {
        key: Input(each.values.copy(), each.node, each.array)
        if any(np.may_share_memory(each.values, target.shown) for target in targets)
        else each
        for key, each in frozen.items()
    }


def bound(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments by their names, defaults filled in; raises what numpy would of wrong ones."""
    made = _signature(function).bind(*args, **kwargs)
    made.apply_defaults()
    return dict(made.arguments)


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _outputs(result: Any) -> list[Output]:
    """What came out, in order; `histogramdd` gives an array and a list of arrays."""
    if isinstance(result, (tuple, list)):
        return [output for each in result for output in _outputs(each)]
    return [] if result is None else [Output(np.asarray(result))]

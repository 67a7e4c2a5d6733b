"""Functions, classes, objects and modules as a digest: all that is reached from a function when it runs."""

from __future__ import annotations

import _abc  # type: ignore[import-not-found]
import builtins
import enum
import importlib
import importlib.util
import inspect
import sys
from abc import ABCMeta
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

from forward_lineage.steps.code_reading import CodeFacts, GlobalRead, Import, all_codes, read_code
from forward_lineage.steps.encoding import Encoder, put_code, put_plain, put_sequence, put_unordered
from forward_lineage.steps.known_values import put_known
from forward_lineage.steps.packages import (
    BUILTINS,
    OUTSIDE_OF_IMPORTED,
    OUTSIDE_OF_PACKAGES,
    SEEDED,
    UNKNOWN_MODULES,
    is_known,
    is_library_file,
    is_library_module,
    leads_outside,
    version_of,
)
from forward_lineage.steps.step import Step

_NOT_OF_A_CLASS = {
    *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__abstractmethods__", "_abc_impl"),
    *("__firstlineno__", "__static_attributes__", "__annotate__", "__annotate_func__", "__annotations_cache__"),
    *("__dataclass_params__", "__type_params__", "__orig_bases__", "__parameters__", "__annotations__"),
}
#: What Python notes of an enum that its members, bases and functions say already; and of a member.
_OF_ENUMS = {
    *("_generate_next_value_", "_use_args_", "_member_names_", "_member_map_", "_value2member_map_", "_member_type_"),
    *("_unhashable_values_", "_unhashable_values_map_", "_hashable_values_", "_flag_mask_", "_singles_mask_"),
    *("_all_bits_", "_inverted_", "_value_repr_"),
}
_OF_MEMBERS = {"_value_", "_name_", "__objclass__", "_sort_order_", "_inverted_"}
_MISSING = object()
_CONTAINERS: tuple[type, ...] = (list, dict, set, frozenset, tuple, str, bytes, int, float, bytearray)


def put_value(encoder: Encoder, value: Any) -> None:
    """Feed a value of any type; what is not known becomes a reason of the encoder."""
    if put_plain(encoder, value):
        return
    if isinstance(value, Step):
        if value.chance:
            encoder.give_up(f"step {value.name} says that its result is left to chance")
        put_value(encoder, value.function)  # called as a function, it is one
    elif isinstance(value, type):
        _put_class(encoder, value)
    elif isinstance(value, ModuleType):
        _put_module(encoder, value)
    elif isinstance(value, FunctionType):
        _put_function(encoder, value)
    elif isinstance(value, MethodType):
        put_sequence(encoder, "method", (value.__func__, value.__self__), put_value)
    elif not (put_known(encoder, value, put_value) or _put_library_object(encoder, value)):
        _put_instance(encoder, value)


# ------------------------------------------------------------ functions


def _put_function(encoder: Encoder, function: FunctionType) -> None:
    is_library = is_library_file(function.__code__.co_filename)
    if (
        is_library
        and is_library_module(function.__module__ or "")
        and _is_found_there(function, function.__module__ or "", function.__qualname__)
    ):
        _put_reference(encoder, function)
        return
    if not encoder.is_first(function):
        return
    encoder.put("function", function.__name__)
    put_code(encoder, function.__code__)
    put_value(encoder, function.__defaults__)
    put_value(encoder, function.__kwdefaults__)
    put_value(encoder, {name: each for name, each in vars(function).items() if name != "__wrapped__"})
    _put_annotations(encoder, function.__annotations__)
    put_sequence(encoder, "closure", function.__closure__ or (), _put_cell)
    if is_library:  # made by one of a package's, as the methods of a dataclass are
        _put_known_module(encoder, str(function.__globals__.get("__name__")))
    else:
        _put_all_reads(encoder, function)


def _put_all_reads(encoder: Encoder, function: FunctionType) -> None:
    codes = [(code, read_code(code)) for code in all_codes(function.__code__)]
    whole_packages = any(_is_whole_library(function, each) for _, facts in codes for each in facts.imports)
    for code, facts in codes:
        _put_reads(encoder, function, code, facts, whole_packages)


def _put_annotations(encoder: Encoder, annotations: dict[str, Any]) -> None:
    """Feed annotations, as text where they are not known: they only matter to who asks for them."""
    for name, value in annotations.items():
        encoder.put("annotation", name)
        if encoder.gives_up_in(lambda value=value: put_value(encoder, value)):  # type: ignore[misc]
            encoder.put(repr(value))


def _put_cell(encoder: Encoder, cell: Any) -> None:
    try:
        value = cell.cell_contents if isinstance(cell, CellType) else cell
    except ValueError:
        encoder.put("empty cell")  # a recursive function before it has its name
        return
    put_value(encoder, value)


def _put_reads(encoder: Encoder, function: FunctionType, code: CodeType, facts: CodeFacts, whole: bool) -> None:
    name = code.co_name
    for read in facts.reads:
        said = ".".join((read.name, *read.attributes))
        encoder.within(said, lambda read=read: _put_read(encoder, function, read))  # type: ignore[misc]
    for attribute, line in facts.attributes:
        if leads_outside(attribute) or (whole and attribute in OUTSIDE_OF_IMPORTED | UNKNOWN_MODULES):
            encoder.give_up(f"line {line} of {name} reads .{attribute}, which may lead outside")
    for line in facts.computed:
        encoder.give_up(f"line {line} of {name} computes the name of an attribute")
    for assigned, line in facts.assigned:
        encoder.give_up(f"line {line} of {name} assigns the global {assigned}, which is not kept with its result")
    for each in facts.imports:
        _put_import(encoder, function, each)


def _put_read(encoder: Encoder, function: FunctionType, read: GlobalRead) -> None:
    """Feed what a global means now, as far as its attributes lead through modules."""
    space = function.__globals__
    value = space.get(read.name, getattr(builtins, read.name, _MISSING))
    path = [read.name]
    attributes = list(read.attributes)
    if isinstance(value, ModuleType):
        path = [value.__name__]
    while attributes and isinstance(value, ModuleType):
        value = _attribute_of_module(value, attributes[0])
        path.append(attributes.pop(0))
        if isinstance(value, ModuleType):
            path = [value.__name__]
    if ".".join(path) in SEEDED:
        _put_seeded(encoder, function, read, ".".join(path))
        return
    if value is _MISSING:
        _put_missing(encoder, function, path)
        return
    if (
        len(path) > 1
        and path[-1] in OUTSIDE_OF_PACKAGES
        and is_library_module(path[0])
        and path[0].partition(".")[0] not in encoder.pure
    ):
        encoder.give_up(f"line {read.line} reads {'.'.join(path)}, which leads outside")
        return
    encoder.put("read", ".".join(attributes))
    if read.name in ("getattr", "hasattr") and value is getattr(builtins, read.name):
        return  # what it reads is among the attributes, or computed
    if function.__name__ == "__hash__" and value is hash:
        return  # for sets and keys of dicts, which do not show it
    put_value(encoder, value)
    for attribute in attributes:
        if leads_outside(attribute):
            encoder.give_up(f"line {read.line} reads {read.name}.{'.'.join(read.attributes)}, which may lead outside")


def _put_missing(encoder: Encoder, function: FunctionType, path: list[str]) -> None:
    encoder.put("missing", ".".join(path))
    module = sys.modules.get(path[0]) if len(path) > 1 else sys.modules.get(str(function.__globals__.get("__name__")))
    if module is not None and "__getattr__" in vars(module):
        encoder.give_up(f"{'.'.join(path)} is computed by the __getattr__ of its module")


def _attribute_of_module(module: ModuleType, name: str) -> Any:
    if name in vars(module):
        return vars(module)[name]
    return getattr(module, name, _MISSING) if is_library_module(module.__name__) else _MISSING


def _put_seeded(encoder: Encoder, function: FunctionType, read: GlobalRead, name: str) -> None:
    how, what = read.first
    seed = what
    if how == "global":
        seed = function.__globals__.get(str(what))
    elif how == "local":
        seed = encoder.parameters.get(str(what)) if _is_parameter(encoder, function, str(what)) else None
    if how == "other" or type(seed) is not int:
        encoder.give_up(f"line {read.line} calls {name} without a number as its seed")
    _put_version(encoder, name.partition(".")[0])
    encoder.put("seeded", name, str(seed))


def _is_parameter(encoder: Encoder, function: FunctionType, name: str) -> bool:
    """Return whether a local name is a parameter of the step itself, as it was called."""
    if function is not encoder.root:
        return False
    inner = [code for code in all_codes(function.__code__) if code is not function.__code__]
    rebound = any(name in code.co_varnames for code in inner) or name in read_code(function.__code__).bound
    return not rebound and name in inspect.signature(function).parameters


def _put_import(encoder: Encoder, function: FunctionType, each: Import) -> None:
    module = _imported(encoder, function, each)
    if module is None:
        encoder.put("missing module", each.module)
        return
    if not each.names:
        if is_library_module(module.__name__):
            _put_known_module(encoder, module.__name__)
        else:
            put_value(encoder, sys.modules[module.__name__.partition(".")[0]])
            put_value(encoder, module)
        return
    for name in each.names:
        value = getattr(module, name, _MISSING)
        if value is _MISSING:
            value = _submodule(f"{module.__name__}.{name}")
        vouched = module.__name__.partition(".")[0] in encoder.pure
        if name in OUTSIDE_OF_PACKAGES and is_library_module(module.__name__) and not vouched:
            encoder.give_up(f"line {each.line} imports {name} from {module.__name__}, which leads outside")
        elif value is None:
            encoder.put("missing", name)
        elif isinstance(value, ModuleType) and is_library_module(value.__name__):
            _put_known_module(encoder, value.__name__)
        else:
            encoder.within(name, lambda value=value: put_value(encoder, value))  # type: ignore[misc]


def _imported(encoder: Encoder, function: FunctionType, each: Import) -> ModuleType | None:
    package = function.__globals__.get("__package__") or ""
    try:
        name = importlib.util.resolve_name("." * each.level + each.module, package)
        return importlib.import_module(name)
    except ImportError:
        return None
    except Exception as error:
        encoder.give_up(f"line {each.line} imports {each.module}, which fails: {type(error).__name__}")
        return None


def _submodule(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _is_whole_library(function: FunctionType, each: Import) -> bool:
    return not each.level and (not each.names or any(_is_module(f"{each.module}.{name}") for name in each.names))


def _is_module(name: str) -> bool:
    return name in sys.modules


# ------------------------------------------------------------ packages


def _put_reference(encoder: Encoder, value: Any) -> None:
    """Feed a function or class of a package: where it is found there, and the package's version."""
    module = str(getattr(value, "__module__", None) or "")
    name = str(getattr(value, "__qualname__", None) or getattr(value, "__name__", ""))
    if not _is_found_there(value, module, name):
        encoder.give_up(f"{module}.{name} is not what its package has under that name")
    elif not is_known(module, encoder.pure):
        encoder.give_up(f"{module}.{name} is of a package whose functions may read more than their arguments")
    elif module.partition(".")[0] not in encoder.pure and OUTSIDE_OF_PACKAGES & {*module.split("."), *name.split(".")}:
        encoder.give_up(f"{module}.{name} leads outside")
    else:
        encoder.put("reference", module, name)
        _put_version(encoder, module)


def _is_found_there(value: Any, module: str, name: str) -> bool:
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, _MISSING)
    return found is value


def _put_version(encoder: Encoder, module: str) -> None:
    top = module.partition(".")[0]
    version = version_of(top)
    if version is None:
        encoder.give_up(f"package {top} has no version")
    else:
        encoder.versions[top] = version


def _put_known_module(encoder: Encoder, module: str) -> None:
    if is_known(module, encoder.pure):
        encoder.put("module", module)
        _put_version(encoder, module)
    else:
        encoder.give_up(f"it uses {module}, whose functions may read more than their arguments")


def _put_module(encoder: Encoder, module: ModuleType) -> None:
    if is_library_module(module.__name__):
        encoder.give_up(f"module {module.__name__} is used as a value")
        return
    if not encoder.is_first(module):
        return
    encoder.put("module")
    for name, value in sorted(vars(module).items()):
        if not (name.startswith("__") and name.endswith("__")):
            encoder.put(name)
            encoder.within(name, lambda value=value: put_value(encoder, value))  # type: ignore[misc]


def _put_library_object(encoder: Encoder, value: Any) -> bool:
    """Feed a function that is not Python's bytecode, or a marker that a package has; return whether it is one."""
    kind, name = type(value), str(getattr(value, "__name__", ""))
    owner = value.__self__ if isinstance(value, BuiltinFunctionType) else None
    if owner is not None and not isinstance(owner, ModuleType):
        put_sequence(encoder, f"bound {name}", (owner,), put_value)
        if leads_outside(name):
            encoder.give_up(f"{name} may lead outside")
        return True
    if isinstance(value, WrapperDescriptorType | MethodDescriptorType):
        return _put_method_of_python(encoder, value)
    if isinstance(value, BuiltinFunctionType) and value.__module__ == "builtins":
        if name in BUILTINS and getattr(builtins, name, None) is value:
            encoder.put("builtin", name)
        else:
            encoder.give_up(f"{name} may read or change more than its arguments")
        return True
    if isinstance(value, BuiltinFunctionType) or kind.__name__ in (
        "_ArrayFunctionDispatcher",
        "cython_function_or_method",
    ):
        _put_reference(encoder, value)
        return True
    if kind.__name__ == "ufunc" and kind.__module__ == "numpy":
        return _put_ufunc(encoder, value)
    return _put_marker(encoder, value)


def _put_method_of_python(encoder: Encoder, value: Any) -> bool:
    """Feed a method as its class has it, such as `str.upper`; return whether it is of a class of Python's own."""
    if value.__objclass__.__module__ != "builtins":
        return False
    encoder.put("method", value.__objclass__.__name__, value.__name__)
    if leads_outside(value.__name__):
        encoder.give_up(f"{value.__objclass__.__name__}.{value.__name__} may lead outside")
    return True


def _put_ufunc(encoder: Encoder, value: Any) -> bool:
    name = value.__name__
    if getattr(sys.modules["numpy"], name, None) is not value:
        return False
    encoder.put("ufunc", name)
    _put_version(encoder, "numpy")
    return True


def _put_marker(encoder: Encoder, value: Any) -> bool:
    """Feed an object without a state that a known package has under a name, such as `dataclasses.MISSING`."""
    module = type(value).__module__
    if isinstance(value, enum.Enum) or not is_known(module, encoder.pure) or not is_library_module(module):
        return False
    if getattr(value, "__dict__", None) or type(value).__basicsize__ > object.__basicsize__ + 16:
        return False
    for name, other in vars(sys.modules[module]).items():
        if other is value:
            encoder.put("marker", module, name)
            _put_version(encoder, module)
            return True
    return False


# ------------------------------------------------------------ classes and objects


def _put_class(encoder: Encoder, kind: type) -> None:
    if kind.__module__ == "builtins" and getattr(builtins, kind.__name__, None) is kind:
        encoder.put("builtin", kind.__name__)
        if not (kind.__name__ in BUILTINS or issubclass(kind, BaseException)):
            encoder.give_up(f"{kind.__name__} may read or change more than its arguments")
        return
    if kind is type(None) or kind.__module__ == "builtins":
        encoder.put("builtin", kind.__name__)
        return
    if _is_of_library(kind):
        _put_reference(encoder, kind)
        return
    if not encoder.is_first(kind):
        return
    encoder.put("class", kind.__qualname__)
    put_value(encoder, type(kind))
    put_sequence(encoder, "bases", kind.__bases__, put_value)
    if issubclass(kind, enum.Enum):
        members = kind.__members__.items()
        put_sequence(
            encoder, "members", ((name, each.value, _own_of_member(each)) for name, each in members), put_value
        )
    _put_annotations(encoder, vars(kind).get("__annotations__", {}))
    if isinstance(kind, ABCMeta):
        put_unordered(encoder, "registered", [each() for each in _abc._get_dump(kind)[0]], put_value)
    for name, value in sorted(_own_of_class(kind), key=lambda each: each[0]):
        encoder.put(name)
        encoder.within(f"{kind.__name__}.{name}", lambda value=value: put_value(encoder, value))  # type: ignore[misc]


def _is_of_library(kind: type) -> bool:
    """Return whether a class is a package's: its module is, and is not a user's class that says so."""
    if not is_library_module(kind.__module__):
        return False
    functions = (each for each in vars(kind).values() if isinstance(each, FunctionType))
    mine = [each for each in functions if not is_library_file(each.__code__.co_filename)]
    return not mine or all(each.__code__.co_filename.startswith("<") for each in mine)


def _own_of_class(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(kind).items():
        if name in _NOT_OF_A_CLASS or isinstance(value, GetSetDescriptorType | MemberDescriptorType):
            continue
        if issubclass(kind, enum.Enum) and (name in _OF_ENUMS or name in kind.__members__):
            continue
        yield name, value


def _own_of_member(member: enum.Enum) -> dict[str, Any]:
    """Return what somebody has said of a member of an enum beside its name and value."""
    return {name: each for name, each in sorted(vars(member).items()) if name not in _OF_MEMBERS}


def _put_instance(encoder: Encoder, value: Any) -> None:
    kind = type(value)
    if isinstance(value, enum.Enum):
        encoder.put("member", value.name)
        put_value(encoder, kind)
        return
    bases = [each for each in kind.__mro__ if each is not object]
    mine = [each for each in bases if not _is_of_library(each) and each.__module__ != "builtins"]
    rest = [each for each in bases if each not in mine]
    if (
        not mine
        or any(_is_compiled(each) for each in mine)
        or any(each not in _CONTAINERS and not _is_plain_base(each) for each in rest)
    ):
        encoder.give_up(f"a value of {kind.__module__}.{kind.__qualname__} is not known through and through")
        return
    if not encoder.is_first(value):
        return
    encoder.put("instance")
    put_value(encoder, kind)
    for each in rest:
        if each in _CONTAINERS:
            put_value(encoder, _content(each, value))
    put_value(encoder, dict(sorted(getattr(value, "__dict__", {}).items())))
    for name, slot in _slots(kind):
        encoder.put(name)
        put_value(encoder, slot.__get__(value, kind) if _is_set(slot, value) else "no value")


def _content(kind: Any, value: Any) -> Any:
    """Return the content of an object of a user's subclass of a type of Python's, as Python's type."""
    plain: dict[Any, Any] = {str: str.__str__, int: int.__int__, float: float.__float__, dict: dict.items}
    if kind in plain:
        content = plain[kind](value)
        return list(content) if kind is dict else content
    return kind(kind.__iter__(value))


def _is_compiled(kind: type) -> bool:
    """Return whether a class is of a module in C, whose objects may hold what Python cannot see."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return file.endswith(tuple(EXTENSION_SUFFIXES))


def _is_plain_base(kind: type) -> bool:
    return kind.__module__ in ("abc", "typing", "collections.abc") and kind.__basicsize__ <= object.__basicsize__ + 16


def _slots(kind: type) -> Iterator[tuple[str, Any]]:
    for each in kind.__mro__:
        for name, slot in sorted(vars(each).items()):
            if isinstance(slot, MemberDescriptorType):
                yield name, slot


def _is_set(slot: Any, value: Any) -> bool:
    try:
        slot.__get__(value)
    except AttributeError:
        return False
    return True

"""Packages: whether code is of one, its version, and whether its functions depend on their arguments alone.

A package counts as *known* if its functions depend on their arguments and on its version alone, but for the names in
`OUTSIDE`. All others may read files, clocks, settings or chance; a step that reaches them runs again, unless its author
vouches for the package (``pure=``).
"""

from __future__ import annotations

import locale
import os
import platform
import re
import site
import sys
import sysconfig
import time
from functools import cache
from importlib import metadata
from pathlib import Path


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Modules whose functions depend on their arguments alone, by full name; those in them that do not are in `OUTSIDE`.
KNOWN = _words(
    """
    abc array base64 binascii bisect cmath collections collections.abc contextlib _collections _collections_abc copy
    dataclasses datetime _datetime enum fractions functools _functools hashlib _hashlib _sha2 _sha1 _md5 _blake2 _sha3
    heapq _heapq html itertools json json.decoder json.encoder keyword logging math numbers operator _operator re
    statistics string struct _struct textwrap types typing typing_extensions unicodedata warnings zlib __future__
    _bisect _statistics _json _abc
    numpy numpy.linalg numpy.fft numpy.ma numpy.ma.core numpy.ma.extras numpy.polynomial numpy.strings numpy.char
    numpy.dtypes numpy.exceptions numpy.typing
    pyarrow pyarrow.compute pyarrow.lib pyarrow.types pyarrow._compute
    forward_lineage.models forward_lineage.models.model
    pyspark.sql.functions pyspark.sql.functions.builtin pyspark.sql.types pyspark.sql.window pyspark.sql.column
    """
)

#: Names that lead out of known modules: to files, clocks, chance, settings, other people's frames. Wherever such an
#: attribute is read of something that is not known beforehand, it is taken for the one that leads out.
OUTSIDE = _words(
    """
    default_rng RandomState SeedSequence seed sample samples sampleBy randomSplit shuffle rand randn randstr uuid
    now today utcnow fromtimestamp utcfromtimestamp timestamp astimezone localtime current_timestamp current_date
    localtimestamp curdate unix_timestamp current_timezone current_user user session_user current_database
    current_catalog current_schema monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length reflect java_method try_reflect
    open read readline readlines read_text read_bytes write write_text write_bytes exists is_file is_dir iterdir glob
    rglob stat lstat cwd home resolve absolute expanduser unlink mkdir touch rename samefile
    load save savez savez_compressed savetxt loadtxt genfromtxt fromfile fromregex tofile memmap
    open_memmap DataSource ctypeslib ctypes seterr set_printoptions setbufsize
    parquet csv fs dataset feather orc flight ipc memory_map OSFile input_stream output_stream read_csv read_table
    write_table set_cpu_count set_memory_pool substrait gandiva
    call_function call_udf get_function function_registry list_functions register_scalar_function
    register_vector_function register_aggregate_function register_tabular_function
    cpu_count io_thread_count total_allocated_bytes default_memory_pool runtime_info
    sparkSession sparkContext readStream writeStream readwriter conf catalog
    environ getenv modules attrgetter methodcaller file_digest get_type_hints get_annotations
    f_globals f_locals f_back f_code f_builtins gi_frame gi_code cr_frame ag_frame tb_frame tb_next
    cache_info cache_clear purge getLogger basicConfig get_referrers register_at_fork getcontext setcontext localcontext
    handlers hasHandlers
    """
)

#: The same of packages, by themselves or imported inside a function. Elsewhere a seeded generator is asked for it.
OUTSIDE_OF_IMPORTED = frozenset(("random",))

#: Both, where it is known that a package is meant.
OUTSIDE_OF_PACKAGES = OUTSIDE | OUTSIDE_OF_IMPORTED

#: Modules that known modules bring along, by attributes: ``logging.os``. The same holds of these names.
UNKNOWN_MODULES = sys.stdlib_module_names - KNOWN

#: Generators of chance that are none if they are given a number, by full name.
SEEDED = frozenset(("numpy.random.default_rng", "numpy.random.RandomState", "random.Random"))

#: Attributes with two underscores at each end that say no more than other attributes do.
PLAIN_DUNDERS = frozenset(
    f"__{name}__"
    for name in _words(
        """
    name qualname class init new call len length_hint iter next reversed contains getitem setitem delitem missing enter
    exit repr str bytes format bool int float complex index round trunc floor ceil eq ne lt le gt ge add radd iadd sub
    rsub isub mul rmul imul matmul rmatmul imatmul truediv rtruediv itruediv floordiv rfloordiv ifloordiv mod rmod imod
    divmod rdivmod pow rpow ipow and rand iand or ror ior xor rxor ixor lshift rlshift ilshift rshift rrshift irshift
    neg pos abs invert setattr delattr post_init init_subclass set_name module build_class
    """
    )
)

#: Functions of Python's own whose results depend on their arguments alone.
BUILTINS = _words(
    """
    abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod enumerate filter float
    format frozenset hex int isinstance issubclass iter len list map max memoryview min next object oct
    ord pow print property range repr reversed round set slice sorted staticmethod str sum super tuple type zip
    __build_class__ aiter anext
    """
)


_OURS = frozenset(("forward_lineage", "udafs", "rewrites"))  # a version of ours is one, also where it is not installed


@cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    sites = [paths["purelib"], paths["platlib"], *site.getsitepackages(), site.getusersitepackages()]
    here = Path(__file__).resolve().parents[2]
    folders = [*sites, paths["stdlib"], paths["platstdlib"], *(str(here / each) for each in _OURS)]
    return tuple(sorted({f"{Path(each).resolve()}/" for each in folders}, key=len, reverse=True))


@cache
def is_library_file(file: str) -> bool:
    """Return whether a file, as a code object names it, is Python's or an installed package's, not the user's."""
    if file.startswith("<frozen "):
        return True
    if file.startswith("<"):
        return False
    return str(Path(file).resolve()).startswith(_library_folders())


def is_library_module(name: str) -> bool:
    """Return whether a module is Python's or an installed package's."""
    module = sys.modules.get(name)
    if name == "__main__":
        return False
    if module is None:
        return name.partition(".")[0] in sys.stdlib_module_names
    if name.partition(".")[0] in _OURS:
        return True
    file = getattr(module, "__file__", None)
    if file is None:  # built into Python, or a namespace
        return name.partition(".")[0] in sys.stdlib_module_names
    return is_library_file(file)


def is_known(module: str, pure: frozenset[str]) -> bool:
    """Return whether functions of a module depend on their arguments and its version alone.

    Args:
        module: full name.
        pure: packages that the step's author vouches for.

    """
    top = module.partition(".")[0]
    return top in pure or module in KNOWN or (top == "numpy" and module.startswith(("numpy._core", "numpy.lib")))


def leads_outside(name: str) -> bool:
    """Return whether an attribute of something unknown may lead to files, clocks, chance or other people's frames."""
    is_dunder = name.startswith("__") and name.endswith("__") and len(name) > 4
    return name in OUTSIDE or (is_dunder and name not in PLAIN_DUNDERS)


@cache
def version_of(module: str) -> str | None:
    """Return the versions on which functions of a module depend: its package's, and those of all that it requires.

    Returns:
        None if it has no version.

    """
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return python_version()
    names = _distributions().get(top, ())
    versions = sorted({version for name in names for version in _with_required(name)})
    if versions:
        return " ".join(versions)
    said = getattr(sys.modules.get(top), "__version__", None)
    return f"{top} {said}" if isinstance(said, str) else None


@cache
def python_version() -> str:
    """Return what runs: Python's version and kind, how it optimises, and the kind of machine."""
    which = (platform.python_implementation(), platform.python_version(), platform.machine())
    return f"{' '.join(which)} optimize={sys.flags.optimize}"


def settings_of_process() -> str:
    """Return what functions of Python and numpy read besides: the time zone, how numbers and arrays become text."""
    import numpy as np  # noqa: PLC0415 - a digest must not depend on whether somebody has imported it

    zone = (os.environ.get("TZ"), time.tzname, time.timezone)
    language = [locale.setlocale(each) for each in (locale.LC_NUMERIC, locale.LC_TIME)]
    return repr((zone, language, sorted(np.get_printoptions().items()), sorted(np.geterr().items())))


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


@cache
def _with_required(distribution: str) -> frozenset[str]:
    """Return names and versions of an installed package and of all that it requires."""
    found: dict[str, str] = {}
    waiting = [distribution]
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        try:
            its = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # an optional one
        found[name] = its.version
        required = [each for each in its.requires or () if "extra ==" not in each]
        waiting.extend(match[0] for each in required if (match := re.match(r"[A-Za-z0-9._-]+", each)))
    return frozenset(f"{name} {version}" for name, version in found.items())

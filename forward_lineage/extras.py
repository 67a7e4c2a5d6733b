"""Packages that come with an extra of forward_lineage: imported when they are first used, not before."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from udafs.errors import SetupError


def import_extra(module: str, extra: str, needed_by: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: its dotted name.
        extra: the extra of forward_lineage that brings the package.
        needed_by: what cannot be done without it, with its verb: "sketches need".

    Raises:
        SetupError: it is not installed, or cannot be loaded here; names the extra.

    Examples:
        >>> import_extra("json", "sketches", "sketches need").dumps([1])
        '[1]'

    """
    try:
        return import_module(module)
    except ImportError as error:
        raise SetupError(
            f"{needed_by} {module.partition('.')[0]}: {error}",
            instead=f"Run: pip install 'forward_lineage[{extra}]'",
        ) from None

"""A name of a registered table, or the error that says which there are."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING

from forward_lineage.row_ids.manifest import Manifest
from forward_lineage.row_ids.registration_store import Registrations
from udafs.errors import NotRegisteredError, listed

if TYPE_CHECKING:
    from sqlglot import exp


def registered(registrations: Registrations, name: str) -> Manifest:
    """Return the newest version of a table's registration.

    Raises:
        NotRegisteredError: there is none.
        DamagedError: its manifest cannot be read.

    """
    manifest = registrations.latest(name)
    if manifest is None:
        raise not_registered(name, [each.name for each in registrations.readable()[0]])
    return manifest


def not_registered(name: str, known: Sequence[str], node: exp.Expr | None = None) -> NotRegisteredError:
    """Say that a table is not registered, and which are: those whose names look like it, else the first of all.

    Args:
        name: the table.
        known: names of registered tables.
        node: where a query names it.

    """
    at = None
    if node is not None:
        from rewrites.refusals import position_of  # noqa: PLC0415 - there already, as a query was read

        at = position_of(node)
    spelled = {each.lower(): each for each in known}
    close = [spelled[each] for each in get_close_matches(name.lower(), spelled, n=3)]
    return NotRegisteredError(
        f"table {name} is not registered",
        at=at,
        instead=f'Call lineage.register("{name}", …). Registered: {listed(close or known) or "nothing yet"}.',
    )

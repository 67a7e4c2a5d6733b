"""How a result is saved, noted for another time; and saved like that again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from forward_lineage.dataframes.frame_to_sql import Frames
from forward_lineage.spark.planning import Arguments
from forward_lineage.store.library.rerun import Rerun
from forward_lineage.store.library.saved_result import SavedResult
from forward_lineage.store.saving.saver import Wish
from forward_lineage.store.saving.scope import Scope
from forward_lineage.workloads.saving import Foreseen

if TYPE_CHECKING:
    from forward_lineage.session.components import Parts


def noted_rerun(frames: Frames, query: DataFrame | str, args: Arguments, wish: Wish, foreseen: Foreseen) -> Rerun:
    """Note how a result is saved.

    Args:
        frames: DataFrames as statements.
        query: what is saved: a text, or a DataFrame with `DL`.
        args: values of its parameters.
        wish: how it is saved.
        foreseen: what is made beforehand.

    """
    if not isinstance(query, str):
        return Rerun(refused="it was saved from a DataFrame with DL, which may have been filtered or changed")
    if args:
        return Rerun(refused="its query has parameters, whose values are not kept")
    if len(frames.told(query)) > 1:
        return Rerun(refused="its DataFrame has functions of Python, which are not kept")
    scope = wish.scope
    said: dict[str, Any] = {
        "keep_versions": wish.keep_versions,
        "encoding": None if wish.encoding == "auto" else wish.encoding,
        "tables": None if scope.tables is None else list(scope.tables),
        "where": dict(scope.where),
        "capture": None if scope.when == "now" else scope.when,
        "workload": list(foreseen.workload),
        "partition_by": _plain(foreseen.partition_by),
        "cube": _plain(foreseen.cube),
    }
    return Rerun({key: value for key, value in said.items() if value})


def save_and_tell(parts: Parts, query: DataFrame | str, wish: Wish, foreseen: Foreseen) -> SavedResult:
    """Save a result, and tell of it: other tools, and the session's queries."""
    with parts.runs.saving(query, wish.name) as told:
        saved = parts.saver.save(query, wish, foreseen, told.reads)
        told.has_saved(saved)
    parts.result_tables.bring_up_to_date()
    return saved


def save_again(parts: Parts, saved: SavedResult, rerun: Rerun) -> SavedResult:
    """Run the query of a result once more, and save it with the arguments of then. No newer version may be there.

    Raises:
        LineageError: as for `ForwardLineage.save`; another session saved it meanwhile.

    """
    said = rerun.options
    scope = Scope.of(said.get("tables"), said.get("where"), said.get("capture", "now"))
    foreseen = Foreseen(said.get("workload", ()), said.get("partition_by"), said.get("cube"))
    keeps, encoding = bool(said.get("keep_versions")), said.get("encoding", "auto")
    wish = Wish(saved.name, saved.semantics, "overwrite", keeps, encoding, scope, rerun, saved.version)
    return save_and_tell(parts, saved.sql, wish, foreseen)


def _plain(attributes: Any) -> Any:
    """Attributes as JSON has them: a list, or lists by table."""
    if isinstance(attributes, Mapping):
        return {str(table): _plain(each) for table, each in attributes.items()}
    return attributes if attributes is None or isinstance(attributes, str) else list(attributes)

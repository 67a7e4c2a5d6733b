"""The facts needed to make a result's rows again, noted when they are saved and in force when they are made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from forward_lineage.frontend.consuming import find_calls
from forward_lineage.results import DECIDED_BY
from forward_lineage.row_ids.secrets import gives_away
from forward_lineage.spark.errors import spark_errors
from forward_lineage.spark.plan_facts import unrepeatable_parts
from forward_lineage.spark.planning import Planner
from forward_lineage.spark.settings import configured, settings_in_force
from forward_lineage.store.library.capture_state import Recipe
from forward_lineage.tracing.statements import TracedStatement

_OURS = "spark.sql."


def recipe_of(spark: SparkSession, traced: TracedStatement, meaning: Mapping[str, Any]) -> Recipe:
    """Note what the rows of a query are made with.

    Args:
        spark: the session.
        traced: the query.
        meaning: of its `DL`.

    """
    return Recipe(_settings(spark), views_digest(traced), _refused(spark, traced, meaning))


def views_digest(traced: TracedStatement) -> str:
    """Return a digest of the views that a query reads, and their texts."""
    return hashlib.sha256(repr(sorted(traced.rewritten.read.views.items())).encode()).hexdigest()


@contextmanager
def settings_of_then(spark: SparkSession, recipe: Recipe) -> Iterator[None]:
    """Let the session have the settings of the time when a result was saved, while the block runs."""
    now = _settings(spark)
    added = {key: value for key, value in now.items() if key not in recipe.settings}
    for key in added:
        spark.conf.unset(key)
    try:
        with configured(spark, {key: str(value) for key, value in recipe.settings.items()}):
            yield
    finally:
        for key, value in added.items():
            spark.conf.set(key, value)


def _settings(spark: SparkSession) -> dict[str, str]:
    """The settings that hold in this session and can be set for another; secrets are left alone."""
    mine = {key: value for key, value in sorted(settings_in_force(spark).items()) if key.startswith(_OURS)}
    return {key: value for key, value in mine.items() if spark.conf.isModifiable(key) and not gives_away(key, value)}


def _refused(spark: SparkSession, traced: TracedStatement, meaning: Mapping[str, Any]) -> str | None:
    """Say why the rows of a query cannot be made again, so that they could be known to be the same."""
    calls = find_calls(traced.sql)
    if calls:
        return f"it reads {calls[0].call.function}(…), which was answered when it was saved"
    read = (*meaning["tables"], *meaning.get(DECIDED_BY, ()))
    trusted = [table["name"] for table in read if table.get("trusted")]
    if trusted:
        return f"it reads {trusted[0]}, which is taken on trust: nobody would notice that it changed"
    planner, text = Planner(spark), traced.rewritten.user_sql
    planner.plan(text, through=bool(traced.rewritten.through))
    if planner.users_function:
        return (
            f"it calls {planner.users_function}, a function of the session's, which may do something else another time"
        )
    with spark_errors(text):
        chance = unrepeatable_parts(spark.sql(text))
    return f"its rows depend on {chance[0]}" if chance else None

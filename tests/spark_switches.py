"""Settings that must not matter: rows are plain Spark's under the same setting, lineage is always the same.

Turned over random queries by `python -m tests.oracle --settings N`, over the golden fixtures by
`python -m tests.golden.under_settings`, over TPC-H by `python -m tests.tpch_queries.neutrality`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from forward_lineage.spark.settings import configured
from tests.spark_settings import DEFAULTS

Settings = Mapping[str, str]

EXCLUDED_RULES = "spark.sql.optimizer.excludedRules"
# No setting of Spark's: tables of a case are kept in Spark's cache.
CACHED_TABLES = "tests.cached_tables"
BY_REFERENCE = "spark.forward_lineage.by_reference"

_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer."
_PRUNE_AND_PUSH = (
    *("ColumnPruning", "CollapseProject", "PushDownPredicates", "CombineFilters", "LimitPushDown", "TransposeWindow"),
    *("PushdownPredicatesAndPruneColumnsForCTEDef", "RemoveRedundantAliases", "RemoveNoopOperators"),
    *("EliminateOuterJoin", "InferFiltersFromConstraints", "PushPredicateThroughJoin", "CollapseWindow"),
)
_SIMPLIFY = (
    *("ConstantFolding", "FoldablePropagation", "BooleanSimplification", "SimplifyConditionals", "SimplifyCasts"),
    *("NullPropagation", "OptimizeIn", "PruneFilters", "ConvertToLocalRelation", "PropagateEmptyRelation"),
    *(
        "SimplifyBinaryComparison",
        "SimplifyExtractValueOps",
        "CombineConcats",
        "ReorderJoin",
        "UnwrapCastInBinaryComparison",
    ),
)


def _without(rules: tuple[str, ...]) -> str:
    return ",".join(f"{_OPTIMIZER}{rule}" for rule in rules)


_NO_BROADCAST = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
}
JOINS: dict[str, Settings] = {
    "no broadcast": _NO_BROADCAST,
    "sort-merge joins": {**_NO_BROADCAST, "spark.sql.join.preferSortMergeJoin": "true"},
    "shuffled hash joins": {
        **_NO_BROADCAST,
        "spark.sql.join.preferSortMergeJoin": "false",
        "spark.sql.shuffledHashJoinFactor": "1",
        "spark.sql.join.forceApplyShuffledHashJoin": "true",
    },
}
RULES: dict[str, Settings] = {
    "no pruning, no pushing": {EXCLUDED_RULES: _without(_PRUNE_AND_PUSH)},
    "no simplifying": {EXCLUDED_RULES: _without(_SIMPLIFY)},
}
COSTS: dict[str, Settings] = {
    "costs": {
        "spark.sql.cbo.enabled": "true",
        "spark.sql.cbo.planStats.enabled": "true",
        "spark.sql.cbo.joinReorder.enabled": "true",
        "spark.sql.cbo.starSchemaDetection": "true",
    }
}
NAMES: dict[str, Settings] = {"case-sensitive": {"spark.sql.caseSensitive": "true"}}
OURS: dict[str, Settings] = {"by value": {BY_REFERENCE: "false"}, "weighed": {BY_REFERENCE: "auto"}}

SWITCHES: dict[str, Settings] = {
    "AQE": {"spark.sql.adaptive.enabled": "true"},
    "generated code": {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "CODEGEN_ONLY"},
    "no ANSI": {"spark.sql.ansi.enabled": "false"},
    **JOINS,
    "2 partitions": {"spark.sql.shuffle.partitions": "2", "spark.sql.leafNodeDefaultParallelism": "2"},
    "7 partitions": {"spark.sql.shuffle.partitions": "7", "spark.sql.leafNodeDefaultParallelism": "3"},
    **NAMES,
    **RULES,
    **COSTS,
    "cached tables": {CACHED_TABLES: "true"},
    **OURS,
    "constraints": {"spark.sql.constraintPropagation.enabled": "true"},
    "sort aggregation": {
        "spark.sql.execution.useHashAggregateExec": "false",
        "spark.sql.execution.useObjectHashAggregateExec": "false",
        "spark.forward_lineage.hash_aggregation": "false",
    },
    "Kolkata": {"spark.sql.session.timeZone": "Asia/Kolkata"},
    "Spark's defaults": {**DEFAULTS, "spark.sql.shuffle.partitions": "4"},
}


@contextmanager
def turned(spark: SparkSession, name: str) -> Iterator[None]:
    """The session under a setting; rules that are left out already stay so."""
    settings = dict(SWITCHES[name])
    if EXCLUDED_RULES in settings and (before := spark.conf.get(EXCLUDED_RULES, "")):
        settings[EXCLUDED_RULES] += f",{before}"
    try:
        with configured(spark, settings):
            yield
    finally:
        spark.catalog.clearCache()

"""Facts about Spark's built-in functions that the rules need: the kind of each name.

A function call in a tree is a name and arguments. The name alone decides whether it folds rows together, opens rows up
or must stay where it is. All names are in lower case. The lists are those of Spark 4.3;
`tests/rewrites/test_spark_functions.py` compares them with the function registry of a live session.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


AGGREGATES = _names(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg
    bool_and bool_or collect_list collect_set collect_union corr count count_if count_min_sketch covar_pop
    covar_samp every first first_value histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    kurtosis last last_value listagg max max_by mean measure median min min_by mode percentile percentile_approx
    percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer var_pop var_samp variance vector_avg vector_sum
    """
)
"""Fold many rows into one; with OVER they fold the rows of a frame."""

GROUPING_MARKERS = frozenset({"grouping", "grouping_id"})
"""Say which grouping set a row belongs to; they stand where aggregates stand but read no row."""

GROUPING_ID = "grouping__id"
"""A name that Spark takes for `grouping_id()`, as Hive does."""

WINDOW_ONLY = _names("counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number")
"""Only valid with OVER."""

TIME_WINDOWS = _names("session_window window")
"""Group rows by time; each adds a column of its own name, which other clauses may mention: `window.start`."""

GENERATORS = _names("explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack")
"""Open one row into several: valid as a whole item of a select list and in LATERAL VIEW."""

TABLE_VALUED = GENERATORS | _names(
    "collations python_worker_logs range sql_keywords variant_explode variant_explode_outer"
)
"""Valid in FROM."""

NONDETERMINISTIC = _names(
    """
    dl_number input_file_block_length input_file_block_start input_file_name java_method monotonically_increasing_id
    rand randn random randstr reflect shuffle spark_partition_id try_reflect uniform uuid
    """
)
"""May give another value when the same row is evaluated again, or in another place of the plan."""

UNIT_FIRST = _names("date_add date_diff dateadd datediff timediff timestampadd timestampdiff")
"""With three arguments the first is a bare unit (``MONTH``), not a column."""

UNITS = _names("year quarter month week day dayofyear hour minute second millisecond microsecond")
"""The units that may stand first in a call of `UNIT_FIRST`."""

BARE_CONSTANTS = _names(
    "current_date current_path current_time current_timestamp current_user localtime session_user user"
)
"""Functions that may be written without parentheses, where no column of that name is in reach."""

"""The functions that may be reasoned about: deterministic, and the same in whatever order rows are read.

A list of allowed functions: a user's function may do anything. Left out are `rand`, `uuid` and their like; `first`,
`any_value`, `collect_list`, `max_by`, `mode`, `string_agg`, which choose by the order of rows; sketches and
approximations, whose state depends on how partial results are merged.
"""

from __future__ import annotations

from forward_lineage.sketches.safety.facts import Family

SAME = "same"
"""The family of the first argument that is not NULL."""


def _named(family: str, text: str) -> dict[str, str]:
    return dict.fromkeys(text.split(), family)


FUNCTIONS: dict[str, str] = {
    **_named(SAME, "coalesce nvl ifnull nullif nvl2 if greatest least abs negative positive mod pmod"),
    **_named(
        "string",
        """
        substring substr upper lower ucase lcase trim ltrim rtrim btrim concat concat_ws replace translate lpad rpad
        left right initcap reverse repeat split_part regexp_replace regexp_extract substring_index overlay md5 sha1
        sha2 sha hex base64 date_format char chr space string
        """,
    ),
    **_named(
        "int",
        """
        length char_length character_length octet_length bit_length instr locate position year month day dayofmonth
        dayofweek dayofyear weekday weekofyear quarter hour minute datediff date_diff sign_of ascii crc32 hash xxhash64
        levenshtein extract datepart date_part size cardinality find_in_set bigint int smallint tinyint shiftleft
        """,
    ),
    **_named(
        "float",
        """
        sqrt cbrt exp ln log log2 log10 log1p expm1 pow power sin cos tan asin acos atan atan2 sinh cosh tanh degrees
        radians sign signum double float months_between
        """,
    ),
    **_named("date", "date_add date_sub dateadd add_months last_day next_day to_date trunc date make_date"),
    **_named("timestamp", "to_timestamp date_trunc timestamp from_unixtime"),
    **_named("bool", "isnan startswith endswith contains regexp_like rlike like isnull isnotnull boolean"),
    **_named("other", "round bround ceil ceiling floor decimal array struct named_struct split element_at map"),
}
"""Name → family of what it returns, or `SAME`."""

MONOTONE_AGGREGATES = {"count", "count_if", "sum", "min", "max", "bool_or", "bool_and"}
"""Of these it may be known how they change when a group has fewer rows."""

OTHER_AGGREGATES = frozenset({"avg", "bit_and", "bit_or", "bit_xor", "median", "percentile"})
"""Of these it is only known that the same rows, in whatever order, give the same value."""

FLOATING_AGGREGATES = frozenset(
    """
    stddev stddev_pop stddev_samp std variance var_pop var_samp skewness kurtosis corr
    covar_pop covar_samp regr_avgx regr_avgy regr_intercept regr_r2 regr_slope regr_sxx
    regr_sxy regr_syy
    """.split()  # noqa: SIM905 - a list of words is read like one
)
"""They add up floating-point numbers: the last digits depend on the order of rows."""

AGGREGATE_SYNONYMS = {"mean": "avg", "any": "bool_or", "some": "bool_or", "every": "bool_and"}

RANKINGS = frozenset({"rank", "dense_rank", "row_number", "percent_rank", "cume_dist", "ntile"})


def family_of(name: str, arguments: list[Family]) -> Family | None:
    """Return the family of what a function gives; None: nothing is known of it."""
    found = FUNCTIONS.get(name)
    if found != SAME:
        return found  # type: ignore[return-value]
    behind = arguments[1:] if name in ("if", "nvl2") else arguments
    families = set(behind) or {"other"}
    return behind[0] if len(families) == 1 and behind else _common(families)


def _common(families: set[Family]) -> Family:
    """The family of a value that may be any of several."""
    if families <= {"int", "decimal"}:
        return "decimal"
    return "float" if families <= {"int", "decimal", "float"} else "other"


def common(families: list[Family]) -> Family:
    """Return the family of values that come from several expressions."""
    found = set(families)
    return families[0] if len(found) == 1 else _common(found) if found else "other"

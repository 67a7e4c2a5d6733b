"""`SELECT … WITH ERROR 0.05 CONFIDENCE 0.999999`: how SQL asks for an approximate answer, and what it gets as rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T  # noqa: N812

from forward_lineage.approximate.aggregate_query import AggregateQuery
from forward_lineage.approximate.answer import ApproximateAnswer
from forward_lineage.frontend.lexing import Token, lex, meaningful
from forward_lineage.predicates.reading import columns_of, read_condition
from forward_lineage.predicates.unsupported import Doubtful
from rewrites.tables import LINEAGE_COLUMN
from udafs.errors import LineageError, WrongSqlError

CONFIDENCE = 1 - 1e-15
_WRITTEN = "Write SELECT … WITH ERROR 0.05 CONFIDENCE 0.999."


@dataclass(frozen=True)
class RequestedError:
    """A query that asks for an approximate answer.

    Attributes:
        sql: without the words that ask.
        error: the greatest relative error.
        confidence: the probability that all intervals hold.

    """

    sql: str
    error: float
    confidence: float


def requested_error(sql: str) -> RequestedError | None:
    """Return what a statement asks for behind WITH ERROR; None: it does not.

    The words are found among tokens, like LINEAGE ON: a number cannot follow WITH ERROR in Spark's own SQL.

    Raises:
        WrongSqlError: numbers are missing, or nothing or more than that is behind them.

    Examples:
        >>> requested_error("SELECT avg(amount) FROM sales WITH ERROR 0.1 CONFIDENCE .99;")
        RequestedError(sql='SELECT avg(amount) FROM sales', error=0.1, confidence=0.99)
        >>> requested_error("WITH error AS (SELECT 1) SELECT * FROM error")

    """
    try:
        words = meaningful(lex(sql))
    except LineageError:
        return None  # said when it is read
    while words and words[-1].text == ";":
        words.pop()
    at = _begin(words)
    if at is None:
        return None
    said = words[at + 2 :]
    error = _number(said[0])
    confidence = CONFIDENCE
    if len(said) > 1:
        confidence = _number(said[2]) if len(said) == 3 and said[1].word == "CONFIDENCE" else None  # type: ignore[assignment]
    if error is None or confidence is None:
        raise WrongSqlError(f"`{sql[words[at].start : words[-1].end]}` is not understood", instead=_WRITTEN)
    return RequestedError(sql[: words[at - 1].end], error, confidence)


def _begin(words: list[Token]) -> int | None:
    for at in range(len(words) - 3, 0, -1):
        if (words[at].word, words[at + 1].word) == ("WITH", "ERROR") and _number(words[at + 2]) is not None:
            return at
    return None


def _number(token: Token) -> float | None:
    try:
        found = float(token.text)
    except ValueError:
        return None
    return found if math.isfinite(found) and not token.word else None


def columns_read(query: AggregateQuery) -> list[str]:
    """Return the columns that a scramble must have for a query, but for keys."""
    found = [each.column for each in query.aggregates if each.column is not None]
    if query.condition is not None:
        try:
            found += sorted(columns_of(read_condition(query.condition)))
        except Doubtful:
            return found  # said when it is answered
    return list(dict.fromkeys(name.lower() for name in found))


def frame_of(spark: SparkSession, answer: ApproximateAnswer, query: AggregateQuery) -> DataFrame:
    """Return an answer as rows of Spark, with `DL`: for each row the rows that chance chose for it."""
    manifest = answer.manifest
    kinds = {name.lower(): kind for name, kind in manifest.columns}
    fields = []
    for name, is_key, place in query.shown:
        if is_key:
            fields.append(T.StructField(name, _type(kinds[query.keys[place]])))
        else:
            fields += [T.StructField(each, T.DoubleType()) for each in (name, f"{name}_low", f"{name}_high")]
    fields += [T.StructField("certified", T.BooleanType())]
    fields += [T.StructField(name, T.LongType()) for name in ("rows_read", "blocks_read", "rounds")]
    fields.append(T.StructField(LINEAGE_COLUMN, T.StructType([T.StructField(manifest.name, T.BinaryType())])))
    rows = []
    for place, row in enumerate(answer.rows):
        values = [float(each) if isinstance(field.dataType, T.DoubleType) and isinstance(each, int) else each
                  for field, each in zip(fields, (*row.values(), answer.rounds), strict=False)]  # fmt: skip
        rows.append((*values, (bytearray(answer.backward(place).to_bytes()),)))
    return spark.createDataFrame(rows, T.StructType(fields))


def _type(kind: str) -> T.DataType:
    return T.StringType() if "char" in kind else T.DataType.fromDDL(kind)

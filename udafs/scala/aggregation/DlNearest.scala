package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions.{Expression, RuntimeReplaceableAggregate}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, MinBy}
import org.apache.spark.sql.catalyst.trees.BinaryLike

/**
 * DL_NEAREST, one row of a group: `min_by`, by a name that tells the rules of lineage that nothing of the other rows is in the result.
 *
 * Input: a row (STRUCT), how far it is (any type with an order).  Output: the row that is nearest, as `min_by` takes it; NULL of no row.
 * Nulls: a row whose distance is NULL is none.
 */
case class DlNearest(row: Expression, distance: Expression)
    extends AggregateFunction
    with RuntimeReplaceableAggregate
    with BinaryLike[Expression] {

  override def left: Expression = row
  override def right: Expression = distance
  override def prettyName: String = "dl_nearest"
  override lazy val replacement: Expression = MinBy(row, distance)
  override def checkInputDataTypes(): TypeCheckResult = replacement.checkInputDataTypes()

  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): DlNearest =
    copy(row = newLeft, distance = newRight)
}

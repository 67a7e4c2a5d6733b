package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.LeftOuter
import org.apache.spark.sql.catalyst.plans.logical._

/**
 * An as-of join, which SQL has no word for: each row beside the nearest of those that may match, found in a lateral subquery by
 * `dl_nearest`. Spark's optimiser makes a subquery in the select list of it, with the same aggregate over the same rows.
 */
private object NearestRow {
  def apply(join: AsOfJoin): LogicalPlan = {
    refuseOthers(join)
    val condition = seenFrom(join, (join.condition.toSeq :+ join.asOfCondition).reduce(And(_, _)))
    // Computed below the aggregate, in which SQL takes no columns of both sides.
    val distance = Alias(seenFrom(join, join.orderExpression), "distance")()
    val candidates = Project(join.right.output :+ distance, Filter(condition, join.right))
    val row = CreateNamedStruct(join.right.output.zipWithIndex.flatMap { case (column, place) => Seq(Literal(field(place)), column) })
    val nearest = Alias(DlNearest(row, distance.toAttribute).toAggregateExpression(), "nearest")()
    val around = Seq(condition, distance).flatMap(_.collect { case OuterReference(column) => column }).distinct
    val both = LateralJoin(join.left, LateralSubquery(Aggregate(Nil, Seq(nearest), candidates), around), join.joinType, None)
    val matched = if (join.joinType == LeftOuter) both else Filter(IsNotNull(nearest.toAttribute), both)
    val columns = join.right.output.zipWithIndex.map { case (column, place) =>
      Alias(GetStructField(nearest.toAttribute, place, Some(field(place))), column.name)(exprId = column.exprId)
    }
    Project(join.left.output ++ columns, matched)
  }

  private def field(place: Int): String = s"f$place"

  private def seenFrom(join: AsOfJoin, expression: Expression): Expression = expression.transform {
    case column: AttributeReference if join.left.outputSet.contains(column) => OuterReference(column)
  }

  private def refuseOthers(join: AsOfJoin): Unit = {
    if (AsOfJoins.isSorted(join)) {
      NotWritten.refuse(
        "an as-of join that sorts both sides, as ASOF JOIN in SQL does",
        "Join with a LATERAL subquery that has ORDER BY and LIMIT 1, in SQL; or save what stands below it and register that.")
    }
    if (join.expressions.exists(_.exists(_.isInstanceOf[PlanExpression[_]])))
      NotWritten.refuse("a subquery in the condition of an as-of join", "Filter the rows before the join.")
  }
}

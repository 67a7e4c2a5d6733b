package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeMap}
import org.apache.spark.sql.catalyst.expressions.NamedExpression.newExprId
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * dlunion(dl_union(a, b))  →  dl_union(dlunion(a), dlunion(b))
 *
 * What rows unite for the grouping above them, such as an id and the set that their key has in a subquery, would be made a value for
 * each row, in its smallest form, only to be taken apart again.
 */
object UnionsOfUnions extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case grouping: Aggregate if grouping.child.isInstanceOf[Project] =>
      val Project(columns, rows) = grouping.child
      val unions = AttributeMap(columns.collect { case made @ Alias(union: DlUnionAll, _) if canSplit(union) => made.toAttribute -> union })
      val apart = split(grouping, unions)
      if (apart.fastEquals(grouping)) grouping
      else {
        val kept = columns.filter(column => apart.references.contains(column.toAttribute))
        val more = apart.references -- columns.map(_.toAttribute)
        apart.copy(child = Project(kept ++ more.toSeq, rows))
      }
  }

  /** Lists of ids and of sets are no argument of dlunion. */
  private def canSplit(union: DlUnionAll): Boolean = union.deterministic && union.hasNoLists

  private def split(grouping: Aggregate, unions: AttributeMap[DlUnionAll]): Aggregate =
    grouping.transformExpressions {
      case whole @ AggregateExpression(DlUnion(read: Attribute, setting, _, _), _, false, _, _) if unions.contains(read) =>
        DlUnionAll(unions(read).children.map(each => whole.copy(DlUnion(each, Encoding.Quick), resultId = newExprId)), setting)
    }.asInstanceOf[Aggregate]
}

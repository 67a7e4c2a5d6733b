package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{LeafExpression, Predicate, Unevaluable}
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationDef, Filter, LogicalPlan, WithCTE}

/**
 * Puts CTEs where they are read, as Spark decides it, but for some. Up to 4.2 Spark leaves alone only those with chance in them:
 * so while it decides, there is chance in those.
 */
private[forwardlineage] object StagesApart {
  def inlined(plan: LogicalPlan, isApart: CTERelationDef => Boolean): LogicalPlan =
    InlineCTE()(plan.transformDownWithSubqueries {
      case WithCTE(child, stages) if stages.exists(isUnmarked(isApart)) =>
        WithCTE(child, stages.map(stage => if (isUnmarked(isApart)(stage)) stage.copy(child = Filter(Apart, stage.child)) else stage))
    }).transformDownWithSubqueries { case Filter(Apart, stage) => stage }

  private def isUnmarked(isApart: CTERelationDef => Boolean)(stage: CTERelationDef): Boolean = isApart(stage) && (stage.child match {
    case Filter(Apart, _) => false
    case _ => true
  })
}

/** Is never there when a query runs. */
private case object Apart extends LeafExpression with Predicate with Unevaluable {
  override lazy val deterministic: Boolean = false
  override def nullable: Boolean = false
}

package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationDef, LogicalPlan, WithCTE}

/** Puts CTEs where they are read, as Spark decides it, but for some. From 4.3 on a CTE itself can say so. */
private[forwardlineage] object StagesApart {
  def inlined(plan: LogicalPlan, isApart: CTERelationDef => Boolean): LogicalPlan = {
    val marked = plan.collectWithSubqueries { case stage: CTERelationDef if isApart(stage) && !stage.forceSkipInline => stage.id }.toSet
    if (marked.isEmpty) InlineCTE()(plan) else told(InlineCTE()(told(plan, marked, isApart = true)), marked, isApart = false)
  }

  private def told(plan: LogicalPlan, stages: Set[Long], isApart: Boolean): LogicalPlan = plan.transformDownWithSubqueries {
    case WithCTE(child, defined) if defined.exists(stage => stages(stage.id) && stage.forceSkipInline != isApart) =>
      WithCTE(child, defined.map(stage => if (stages(stage.id)) stage.copy(forceSkipInline = isApart) else stage))
  }
}

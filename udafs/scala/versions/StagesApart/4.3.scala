package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationDef, LogicalPlan, WithCTE}

/** Puts CTEs where they are read, as Spark decides it, but for some. From 4.3 on a CTE itself can say so. */
private[forwardlineage] object StagesApart {
  def inlined(plan: LogicalPlan, isApart: CTERelationDef => Boolean): LogicalPlan =
    InlineCTE()(plan.transformDownWithSubqueries {
      case WithCTE(child, stages) if stages.exists(stage => isApart(stage) && !stage.forceSkipInline) =>
        WithCTE(child, stages.map(stage => if (isApart(stage)) stage.copy(forceSkipInline = true) else stage))
    })
}

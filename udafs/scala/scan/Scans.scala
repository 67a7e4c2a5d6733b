package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.datasources.LogicalRelation

private object Scans {

  /** Whether Spark plans it as one scan. */
  def isScan(plan: LogicalPlan): Boolean = plan match {
    case Filter(condition, child) => !SubqueryExpression.hasInOrCorrelatedExistsSubquery(condition) && isScan(child)
    case _: LogicalRelation => true
    case _ => false
  }
}

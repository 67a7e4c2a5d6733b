package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.{Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan}
import org.apache.spark.sql.execution.datasources.LogicalRelation

private object Scans {

  /** The conditions of what Spark plans as one scan. */
  def conditions(scan: LogicalPlan): Seq[Expression] = scan.collect { case Filter(condition, _) => condition }

  /** Whether Spark plans it as one scan. */
  def isScan(plan: LogicalPlan): Boolean = plan match {
    case Filter(condition, child) => !SubqueryExpression.hasInOrCorrelatedExistsSubquery(condition) && isScan(child)
    case _: LogicalRelation => true
    case _ => false
  }
}

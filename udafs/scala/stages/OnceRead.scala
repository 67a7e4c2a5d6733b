package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.CTE

/**
 * Puts a stage where it is read, if that is one place in the end: lineage that nobody selects has been taken away by then.
 *
 * Spark shares what several places of a plan read, by an exchange of all its rows, and decides that before it knows which columns
 * are needed. A stage is read by the query, and by the lookup of its lineage.
 */
object OnceRead extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = if (plan.containsPattern(CTE)) InlineCTE()(plan) else plan
}

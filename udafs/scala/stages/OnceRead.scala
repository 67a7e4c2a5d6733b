package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.plans.logical.{CTERelationRef, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.CTE

/**
 * Puts a stage where it is read, if in the end that is one place, or nobody reads lineage of it: what nobody selects has been
 * taken away by then.
 *
 * Spark shares what several places of a plan read, by an exchange of all its rows, and decides that before it knows which columns
 * are needed. A stage is read by the query, and by the lookup of its lineage. Where only its number is gone, it seems to hold no
 * chance any more; it is shared all the same.
 */
object OnceRead extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = if (plan.containsPattern(CTE)) inlined(plan) else plan

  private def inlined(plan: LogicalPlan): LogicalPlan = {
    val read = plan.collectWithSubqueries { case reading: CTERelationRef => reading.cteId }
    val several = read.diff(read.distinct).toSet
    StagesApart.inlined(plan, stage => several(stage.id) && stage.child.output.exists(HiddenColumns.is))
  }
}

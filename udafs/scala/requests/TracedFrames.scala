package org.apache.spark.sql.forwardlineage

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Whether the lineage in a DataFrame is still that of its rows. */
private[sql] object TracedFrames {
  private val Key = "forward_lineage" // of the metadata of `DL`

  /** What may be done to a result: every row that is left is still made of the same base rows. */
  private val Harmless = Set(
    "Project", "Filter", "Sort", "GlobalLimit", "LocalLimit", "Offset", "Tail", "SubqueryAlias", "Sample", "Generate", "Repartition",
    "RepartitionByExpression", "RebalancePartitions", "UnresolvedHint", "ResolvedHint", "CollectMetrics")

  /** The first operator, from the top, above the lineage that does more than that. */
  @tailrec
  def changedBy(plan: LogicalPlan): Option[String] = plan.children.find(hasLineage) match {
    case None => None
    case Some(_) if !Harmless(plan.nodeName) => Some(plan.nodeName)
    case Some(below) => changedBy(below)
  }

  private def hasLineage(plan: LogicalPlan): Boolean =
    plan.output.exists(each => each.name == StoredLineage.Column && each.metadata.contains(Key))
}

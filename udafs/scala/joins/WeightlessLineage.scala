package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildSide}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy}

/**
 * Broadcasts the side of a join that Spark would broadcast of the query as the user wrote it.
 *
 * Spark guesses the size of a side by the width of its columns, and `__dl_…` is one more: of a key alone it makes half as much
 * again. A side that was just small enough is not, and then both sides are shuffled and sorted, as many rows as they have
 * (TPC-H Q8, scale factor 10: 60 million of `lineitem`, 1.7 of the query's time). What is broadcast instead is at most so much
 * larger than Spark's limit as the lineage is wider than the rest.
 */
object WeightlessLineage extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join @ Join(_, _, _, _, JoinHint.NONE) if join.children.exists(_.output.exists(HiddenColumns.is)) =>
      Planning.broadcastSide(without(join)) match {
        case side @ Some(wanted) if side != Planning.broadcastSide(join) => planned(join.copy(hint = asked(wanted)))
        case _ => Nil
      }
    case _ => Nil
  }

  private def planned(join: Join): Seq[SparkPlan] = SparkSession.active.sessionState.planner.JoinSelection(join)

  private def asked(side: BuildSide): JoinHint = {
    val hint = Some(HintInfo(Some(BROADCAST)))
    if (side == BuildLeft) JoinHint(hint, None) else JoinHint(None, hint)
  }

  private def without(join: Join): Join = join.copy(left = without(join.left), right = without(join.right))

  /** The plan as it is guessed at without lineage; not one that runs: what needs a column that is gone is left in. */
  private def without(plan: LogicalPlan): LogicalPlan = {
    val children = plan.children.map(without)
    plan match {
      case project: Project => project.copy(project.projectList.filterNot(HiddenColumns.is), children.head)
      case aggregate: Aggregate =>
        aggregate.copy(aggregateExpressions = aggregate.aggregateExpressions.filterNot(HiddenColumns.is), child = children.head)
      case union: Union if children.map(_.output.size).distinct.size > 1 => union // one side has other names for it
      case other => other.withNewChildren(children)
    }
  }
}

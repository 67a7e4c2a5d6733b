package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationDef, Filter, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.catalyst.trees.TreePattern.CTE

/**
 * Predicates are pushed into a CTE as it stands, never into what it was before.
 *
 * Into a CTE that is evaluated once for all its uses Spark pushes what all of these ask of its rows, and takes away the columns that none
 * reads (`PushdownPredicatesAndPruneColumnsForCTEDef`). It keeps the CTE's plan of before in the CTE, and when another predicate comes, puts
 * that one back. What the kept plan reads of other CTEs, though, is no part of the query meanwhile: these have lost columns, and have
 * those that are left in another order, while the kept plan reads them by position as they were. The query gets one column for another,
 * or a column that is not there. Stages read each other, so that a query without any chance would come to it.
 *
 * This rule stands behind that of Spark, and makes it forget the plan. Predicates that were pushed before, which Spark would push
 * again then, are remembered, and taken back.
 */
object PlansAsTheyStand extends Rule[LogicalPlan] {
  private val Pushed = TreeNodeTag[Seq[Expression]]("predicates that were pushed into the CTE")

  override def apply(plan: LogicalPlan): LogicalPlan = if (plan.containsPattern(CTE) && carriesLineage(plan)) asItStands(plan) else plan

  private def asItStands(plan: LogicalPlan): LogicalPlan = plan.transformDownWithSubqueries {
    case cte: CTERelationDef if cte.originalPlanWithPredicates.nonEmpty => forgetful(cte, cte.originalPlanWithPredicates.get._2)
  }

  private def forgetful(cte: CTERelationDef, predicates: Seq[Expression]): CTERelationDef = {
    val known = cte.getTagValue(Pushed).getOrElse(Nil)
    val plain = cte.copy(originalPlanWithPredicates = None)
    val result = cte.child match {
      case Filter(_, rows) if isWeaker(predicates, known) => plain.copy(child = rows)
      case _ => plain
    }
    result.setTagValue(Pushed, if (predicates.isEmpty || isWeaker(predicates, known)) known else predicates)
    result
  }

  /** Whether rows of which one of the known predicates is true are rows of which one of the others is, seen by what these are. */
  private def isWeaker(predicates: Seq[Expression], known: Seq[Expression]): Boolean =
    predicates.nonEmpty && known.nonEmpty && known.forall(one => predicates.exists(_.semanticEquals(one)))

  /** Whether there is any in the plan; CTEs that have lost it were seen here before. Queries that are none of ours stay as Spark plans them. */
  def carriesLineage(plan: LogicalPlan): Boolean = plan.collectWithSubqueries { case cte: CTERelationDef => cte }.exists { cte =>
    cte.getTagValue(Pushed).isDefined || (cte.child +: cte.originalPlanWithPredicates.map(_._1).toSeq).exists(_.output.exists(HiddenColumns.is))
  }
}

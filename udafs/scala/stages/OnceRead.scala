package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.plans.logical.{CTERelationDef, CTERelationRef, LogicalPlan, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.CTE

/**
 * Puts a stage where it is read, if that is one place, or nobody reads lineage of it: what nobody selects has been taken away by then.
 *
 * Spark shares what several places of a plan read, by an exchange of all its rows, and decides that before it knows which columns
 * are needed. A stage is read by the query, and by the lookup of its lineage. Where only its number is gone, it seems to hold no
 * chance any more; it is shared all the same.
 *
 * It runs with Spark's rules for operators, so that a query whose lineage nobody reads is planned as without, and once more at the end.
 */
object OnceRead extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _: Subquery => plan // what it reads is defined around it
    case _ if plan.containsPattern(CTE) => inlined(plan)
    case _ => plan
  }

  private def inlined(plan: LogicalPlan): LogicalPlan = {
    val read = plan.collectWithSubqueries { case reading: CTERelationRef => reading.cteId }
    val several = read.diff(read.distinct).toSet
    val isApart = (stage: CTERelationDef) => several(stage.id) && stage.output.exists(HiddenColumns.is)
    val defined = plan.collectWithSubqueries { case stage: CTERelationDef => stage }
    if (defined.forall(isApart)) plan
    else {
      val known = defined.map(stage => stage.id -> stage).toMap
      StagesApart.inlined(plan, isApart).transformDownWithSubqueries { case stage: CTERelationDef => asBefore(stage, known) }
    }
  }

  /** Spark copies what it leaves where it is, without what is remembered of it. */
  private def asBefore(stage: CTERelationDef, known: Map[Long, CTERelationDef]): CTERelationDef = {
    known.get(stage.id).foreach(stage.copyTagsFrom)
    stage
  }
}

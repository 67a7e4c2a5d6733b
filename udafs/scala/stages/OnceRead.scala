package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationDef, CTERelationRef, LogicalPlan, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.{CTE, PLAN_EXPRESSION}

/**
 * Puts a stage where it is read, if that is one place, or nobody reads lineage of it: what nobody selects has been taken away by then.
 *
 * Spark shares what several places of a plan read, by an exchange of all its rows, and decides that before it knows which columns
 * are needed. A stage is read by the query, and by the lookup of its lineage. Where only its number is gone, it seems to hold no
 * chance any more; it is shared all the same.
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
    val known = defined.map(stage => stage.id -> stage).toMap
    if (PlansAsTheyStand.carriesLineage(plan)) checkColumns(plan, known)
    if (defined.forall(isApart)) plan
    else {
      StagesApart.inlined(plan, isApart).transformDownWithSubqueries { case stage: CTERelationDef => asBefore(stage, known) }
    }
  }

  /** From here on Spark goes by position: what is read of a stage has to be what the stage has. */
  private def checkColumns(plan: LogicalPlan, known: Map[Long, CTERelationDef]): Unit = {
    val read = plan.collectWithSubqueries { case reading: CTERelationRef => reading }
    if (read.exists(reading => known.get(reading.cteId).exists(stage => !isReadAsItIs(reading.output, stage.output))))
      LineageErrors.refuse("Spark reads other columns of a stage than it has. This is a bug of forward_lineage: please report the " +
        "query. SET spark.forward_lineage.by_reference = false carries lineage without stages.")
  }

  private def isReadAsItIs(read: Seq[Attribute], there: Seq[Attribute]): Boolean = read.size == there.size &&
    read.zip(there).forall { case (one, other) => one.name.equalsIgnoreCase(other.name) && one.dataType.sameType(other.dataType) }

  /** Spark copies what it leaves where it is, without what is remembered of it. */
  private def asBefore(stage: CTERelationDef, known: Map[Long, CTERelationDef]): CTERelationDef = {
    known.get(stage.id).foreach(stage.copyTagsFrom)
    stage
  }
}

/**
 * The same, as soon as columns are gone: Spark's rules for operators go on with what was put in place, and a query whose lineage nobody
 * reads is planned as without.
 *
 * Not where a stage has a subquery in an expression. Of a condition that was taken out of one, Spark renames in a copy of the stage what
 * stands in the subquery, and not the condition; when all are joins, at the end, nothing is left to be renamed.
 */
object OnceReadEarly extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (plan.containsPattern(CTE) && !hasSubqueries(plan)) OnceRead(plan) else plan

  private def hasSubqueries(plan: LogicalPlan): Boolean =
    plan.collectWithSubqueries { case stage: CTERelationDef => stage }.exists(_.containsPattern(PLAN_EXPRESSION))
}

package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.plans.logical.{CTERelationDef, CTERelationRef, LogicalPlan, Subquery, WithCTE}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.CTE

import scala.collection.mutable

/**
 * In 4.0 and 4.1 Spark makes one subquery of several that compute several things of the same rows, and a CTE of that one, in front of the
 * plan. If the subqueries read a CTE that the plan defines further down, as under the projection that every result has, it comes before
 * what it reads, and Spark's own rules for CTEs fail: "key not found".
 */
private[forwardlineage] object MergedSubqueries {
  val repair: Option[Rule[LogicalPlan]] = Some(DefinedFirst)
}

/**
 * Defines all CTEs in front of the plan, each behind those that it reads. Of a plan that begins with its CTEs Spark merges no subqueries.
 *
 *   π(WITH s … q)  →  WITH s … π(q)
 */
private object DefinedFirst extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _: Subquery => plan // its CTEs may be those of the query around it
    case WithCTE(below, definitions) if !(below +: definitions).exists(defines) => plan
    case _ if defines(plan) => inFront(plan)
    case _ => plan
  }

  private def defines(plan: LogicalPlan): Boolean =
    plan.containsPattern(CTE) && plan.collectWithSubqueries { case defining: WithCTE => defining }.nonEmpty

  private def inFront(plan: LogicalPlan): LogicalPlan = {
    val as = mutable.HashMap.empty[Long, CTERelationDef] // as they stand
    val found = mutable.LinkedHashMap.empty[Long, CTERelationDef] // without those that stand in them
    var isOne = true // a view that is read twice has its CTEs twice, of which Spark may make two different ones
    def without(part: LogicalPlan): LogicalPlan = part.transformDownWithSubqueries { case WithCTE(below, definitions) =>
      for (each <- definitions) as.put(each.id, each) match {
        case Some(other) => isOne &&= other == each
        case None => found(each.id) = each.copy(child = without(each.child))
      }
      without(below)
    }
    val reading = without(plan)
    if (isOne) WithCTE(reading, inOrder(found)) else plan
  }

  private def inOrder(found: mutable.LinkedHashMap[Long, CTERelationDef]): Seq[CTERelationDef] = {
    val placed = mutable.LinkedHashMap.empty[Long, CTERelationDef]
    def place(id: Long): Unit = for (each <- found.get(id) if !placed.contains(id)) {
      each.child.collectWithSubqueries { case reading: CTERelationRef => reading.cteId }.foreach(place)
      placed(id) = each
    }
    found.keys.foreach(place)
    placed.values.toSeq
  }
}

package org.apache.spark.sql.forwardlineage

import scala.collection.mutable

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.analysis.{DeduplicateRelations, MultiInstanceRelation}
import org.apache.spark.sql.catalyst.expressions.{Attribute, PlanExpression, SortOrder}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, CTERelationDef, CTERelationRef, Join, JoinHint, LogicalPlan, Subquery, UnaryNode, WithCTE}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.{CTE, TreePattern}

import Sessions.Dataset

/**
 * A query with stages of its own: whoever has it twice in a plan has its stages twice, too.
 *
 * Where a DataFrame is joined with itself, Spark gives the columns of one side new ids, and leaves its CTEs the ids that they have. Then a
 * plan has two CTEs of one id and of different columns, and Spark's rules, which go by the id, take the one for the other: they prune
 * columns that are needed.
 *
 * This node stands above the CTEs, and sees to it that a copy has CTEs of its own: where Spark asks it for one, and where Spark has made one
 * of what is below. That is told by the ids of columns, which nothing else changes.
 */
case class StagedQuery(child: LogicalPlan) extends UnaryNode with MultiInstanceRelation {
  import StagedQuery._

  override def output: Seq[Attribute] = child.output
  override def maxRows: Option[Long] = child.maxRows
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  /**
   * As the user's query is. The numbers of stages claim chance, so that Spark evaluates a stage once for all its uses, and have none: whoever
   * reads a frame in LATERAL, in JOIN … ON or in GROUP BY would be refused for it.
   */
  override lazy val deterministic: Boolean = !hasChance(child)

  /** So that rules for CTEs come here, were all of them put in place. */
  final override val nodePatterns: Seq[TreePattern] = Seq(CTE)

  override def newInstance(): LogicalPlan = AnalysisHelper.allowInvokingTransformsInAnalyzer {
    val renewed = DeduplicateRelations(Join(child, child, Inner, None, JoinHint.NONE)).children(1)
    apart(renewed)
  }

  /**
   * A copy is the same query: what is cached of the one is read by the other. Where Spark compares expressions of GROUP BY, it has put CTEs
   * in place, and left those that nobody reads: they may read what is not defined any more, and do not matter.
   */
  override protected def doCanonicalize(): LogicalPlan = AnalysisHelper.allowInvokingTransformsInAnalyzer {
    StagedQuery(numbered(withoutUnread(child), _.toLong).canonicalized)
  }

  override protected def withNewChildInternal(newChild: LogicalPlan): StagedQuery =
    if (newChild.output.map(_.exprId) == output.map(_.exprId)) copy(child = newChild)
    else AnalysisHelper.allowInvokingTransformsInAnalyzer(apart(newChild))
}

object StagedQuery {
  private val Recursive = Set("UnionLoop", "UnionLoopRef") // of newer versions; both begin with the id of their CTE

  /** A frame that may be joined with itself: itself where it has no stages. */
  def around(frame: Dataset[Row]): Dataset[Row] = {
    val plan = frame.queryExecution.analyzed
    val staged = !plan.isInstanceOf[StagedQuery] && plan.collectWithSubqueries { case stage: CTERelationDef => stage }.exists(isStage)
    if (staged) AnalysedFrames.frame(frame.sparkSession, StagedQuery(plan)) else frame
  }

  private def isStage(cte: CTERelationDef): Boolean = cte.output.exists(HiddenColumns.is)

  private def hasChance(plan: LogicalPlan): Boolean = plan.exists(_.expressions.exists(_.exists {
    case subquery: PlanExpression[_] => hasChance(subquery.plan.asInstanceOf[LogicalPlan])
    case _: DlNumber => false
    case each => Chance.begins(each)
  }))

  private def apart(query: LogicalPlan): StagedQuery = StagedQuery(renumbered(query))

  /** The same with CTEs that no other plan has. */
  def renumbered[Plan <: LogicalPlan](query: Plan): Plan = numbered(query, _ => CTERelationDef.newId).asInstanceOf[Plan]

  /** The same without CTEs that nothing reads but others of that kind. */
  private def withoutUnread(plan: LogicalPlan): LogicalPlan = plan.transformDownWithSubqueries { case WithCTE(query, defined) =>
    val kept = defined.foldRight(Seq.empty[CTERelationDef]) { (cte, later) =>
      if ((query +: later).exists(reads(_, cte.id))) cte +: later else later
    }
    if (kept.isEmpty) query else WithCTE(query, kept)
  }

  private def reads(plan: LogicalPlan, id: Long): Boolean = plan.collectWithSubqueries { case read: CTERelationRef => read.cteId }.contains(id)

  /** The same with other ids of its CTEs, given by their places. */
  private def numbered(plan: LogicalPlan, id: Int => Long): LogicalPlan = {
    val defined = plan.collectWithSubqueries { case cte: CTERelationDef => cte.id }.distinct
    val ids = defined.zipWithIndex.map { case (old, place) => old -> id(place) }.toMap
    plan.transformDownWithSubqueries {
      case cte: CTERelationDef => cte.copy(id = ids(cte.id))
      case read: CTERelationRef => read.copy(cteId = ids.getOrElse(read.cteId, read.cteId))
      case loop if Recursive(loop.nodeName) => renamed(loop, ids)
    }
  }

  private def renamed(loop: LogicalPlan, ids: Map[Long, Long]): LogicalPlan = {
    val parts = loop.productIterator.toArray.map(_.asInstanceOf[AnyRef])
    parts(0) match {
      case id: java.lang.Long => loop.makeCopy(Long.box(ids.getOrElse(id, id.longValue)) +: parts.tail).asInstanceOf[LogicalPlan]
      case _ => loop
    }
  }
}

/** To Spark's rules a query with stages is what it is made of: its copies have been told apart when a plan is optimised. */
object StagedQueries extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (plan.containsPattern(CTE)) plan.transformDownWithSubqueries { case StagedQuery(query) => query } else plan
}

/**
 * The same for queries that no such node stands above: a text that you rewrote and run by hand, a view that is read once as a DataFrame, which
 * is then joined with itself. Of CTEs that are defined twice, those of the second place get ids of their own, and what reads them there does.
 *
 * What is cached has been put in place by then: it is found by the ids that copies share.
 */
object CopiesApart extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _: Subquery => plan // what it reads is defined around it
    case _ if plan.containsPattern(CTE) && isDefinedTwice(plan) && PlansAsTheyStand.carriesLineage(plan) => apart(plan)
    case _ => plan
  }

  private def isDefinedTwice(plan: LogicalPlan): Boolean = {
    val ids = plan.collectWithSubqueries { case cte: CTERelationDef => cte.id }
    ids.distinct.size < ids.size
  }

  private def apart(plan: LogicalPlan): LogicalPlan = {
    val seen = mutable.Set.empty[Long]
    plan.transformDownWithSubqueries { case query: WithCTE =>
      val own = if (query.cteDefs.exists(cte => seen(cte.id))) StagedQuery.renumbered(query) else query
      seen ++= own.cteDefs.map(_.id)
      own
    }
  }
}

package org.apache.spark.sql.forwardlineage

import scala.collection.mutable

import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions.{Expression, PlanExpression, UserDefinedExpression}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.Origin
import org.apache.spark.sql.execution.datasources.HadoopFsRelation
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/**
 * What an analysed query reads, and which functions of the user's it leaves to chance, each with the views that it stands in,
 * outermost first. The bodies of functions written in SQL count as the text around them.
 */
final private class Readings {

  /** A path: the names of views, then that of a view, a table, or whatever else rows come from; each reading has one. */
  val relations: mutable.Buffer[Seq[String]] = mutable.Buffer()

  /** A path: the names of views, then that of a function of the user's; each call has one. */
  val functions: mutable.Buffer[Seq[String]] = mutable.Buffer()

  /** Those that may give another value for the same row. */
  val chances: mutable.Buffer[Seq[String]] = mutable.Buffer()

  /** The functions of the user's that a view's text names: one of their name may do something else another time. */
  val named: mutable.Buffer[String] = mutable.Buffer()

  private val seen = mutable.Set[Origin]() // a subquery that Spark copies, as for GROUP BY 1, was written once

  def look(plan: LogicalPlan): Readings = look(plan, Nil, inText = false)

  private def look(plan: LogicalPlan, views: Seq[String], inText: Boolean): Readings = {
    plan match {
      case view: View =>
        val inside = views :+ view.desc.identifier.table
        relations += inside
        look(view.child, inside, inText = !view.isTempViewStoringAnalyzedPlan)
      case leaf if leaf.children.isEmpty => nameOf(leaf).foreach(each => relations += views :+ each)
      case NewerPlans.TableFunction(name, body) =>
        called(views :+ name.funcName, isByChance(body), inText)
        look(body, views, inText)
      case node => node.children.foreach(look(_, views, inText))
    }
    plan.expressions.foreach(lookInto(_, views, inText))
    this
  }

  private def lookInto(expression: Expression, views: Seq[String], inText: Boolean): Unit = {
    expression match {
      case subquery: PlanExpression[_] =>
        val origin = subquery.origin
        if (origin.startIndex.isEmpty || seen.add(origin)) look(subquery.plan.asInstanceOf[LogicalPlan], views, inText)
      case NewerPlans.ScalarFunction(name, body) => called(views :+ name.funcName, isByChance(body), inText)
      case function: Expression with UserDefinedExpression => called(views :+ function.name, !function.deterministic, inText)
      case _ =>
    }
    expression.children.foreach(lookInto(_, views, inText))
  }

  private def called(path: Seq[String], byChance: Boolean, inText: Boolean): Unit = {
    functions += path
    if (byChance) chances += path
    if (inText) named += path.last
  }

  private def isByChance(body: LogicalPlan): Boolean =
    body.collectWithSubqueries { case node => node.expressions.exists(isByChance) }.contains(true)

  /** Whether a value may be another one at the next evaluation; that rows come in another order does not count here. */
  private def isByChance(expression: Expression): Boolean = expression.exists {
    case subquery: PlanExpression[_] => isByChance(subquery.plan.asInstanceOf[LogicalPlan])
    case _: AggregateFunction => false
    case each => Chance.begins(each)
  }

  /** What a leaf is called; None: its rows stand in the text. */
  private def nameOf(leaf: LogicalPlan): Option[String] = leaf match {
    case RelationOf(_, Some(table)) => Some(table.identifier.table)
    case RelationOf(files: HadoopFsRelation, _) => Some(files.location.rootPaths.mkString(", "))
    case table: HiveTableRelation => Some(table.tableMeta.identifier.table)
    case relation: DataSourceV2Relation => Some(relation.identifier.fold(relation.table.name)(_.name))
    case _: LocalRelation | _: Range | _: OneRowRelation | _: CTERelationRef => None
    case _: ResolvedIdentifier => None // of a table that another catalog than Spark's own is to make
    case own if NewerPlans.readsNothing(own) => None
    case other => Some(other.nodeName)
  }
}

private object Readings {

  /** Paths as one text. */
  def text(paths: Iterable[Seq[String]]): String = paths.map(_.mkString("\u0001")).mkString("\u0000")
}

package org.apache.spark.sql.forwardlineage

import scala.util.Try

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{UnresolvedFunction, UnresolvedRelation, UnresolvedTableValuedFunction}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedWith, View}

import Sessions.SparkSession

/**
 * What the text of a view means to Spark and would not mean where the view's name stands: it is read under the settings,
 * and beside the temporary views and functions, that were there when the view was made.
 */
final class ViewMeaning {

  /** Settings that may change what SQL means and are others here than for the view: name, value there, value here. */
  def otherSettings(session: SparkSession, view: CatalogTable, isTemporary: Boolean): Array[Array[String]] = {
    val (there, here) = (View.effectiveSQLConf(view.viewSQLConfigs, isTemporary), session.sessionState.conf)
    val captured = ViewSettings.captured(session)
    (view.viewSQLConfigs.keySet ++ captured).filterNot(name => ViewMeaning.OfExecution.exists(name.startsWith)).toArray.sorted
      .map(name => Array(name) ++ Seq(there, here).map(conf => Try(conf.getConfString(name)).getOrElse("not set")))
      .filter(each => each(1) != each(2))
  }

  /**
   * Names in its text that are those of temporary views or functions here, and meant something else when the view was made: name,
   * "view" or "function".
   */
  def hiddenNames(session: SparkSession, view: CatalogTable): Array[Array[String]] = {
    val (text, catalog) = (session.sessionState.sqlParser.parseQuery(view.viewText.get), session.sessionState.catalog)
    val views = unknown(ViewMeaning.tablesIn(text), view.viewReferredTempViewNames.map(_.last))
      .filter(catalog.getRawTempView(_).isDefined)
    val functions = unknown(ViewMeaning.functionsIn(text), view.viewReferredTempFunctionNames)
      .filter(name => catalog.isTemporaryFunction(FunctionIdentifier(name)))
    (views.map(Array(_, "view")) ++ functions.map(Array(_, "function"))).toArray
  }

  private def unknown(names: Seq[String], known: Seq[String]): Seq[String] = {
    val before = known.map(_.toLowerCase).toSet
    names.filterNot(name => before(name.toLowerCase)).distinct
  }
}

private object ViewMeaning {

  /** The names of one part that a query reads, without those of its CTEs. */
  private def tablesIn(query: LogicalPlan): Seq[String] = {
    val nodes = nodesOf(query)
    val ctes = nodes.collect { case each: UnresolvedWith => each.cteRelations.map(_._1.toLowerCase) }.flatten
    nodes.collect { case UnresolvedRelation(Seq(name), _, _) if !ctes.contains(name.toLowerCase) => name }
  }

  /** The names of one part of the functions that a query calls. */
  private def functionsIn(query: LogicalPlan): Seq[String] = nodesOf(query).flatMap {
    case called: UnresolvedTableValuedFunction => Seq(called.name)
    case node => node.expressions.flatMap(_.collect { case called: UnresolvedFunction => called.nameParts })
  }.collect { case Seq(name) => name }

  private def nodesOf(query: LogicalPlan): Seq[LogicalPlan] = query.collectWithSubqueries {
    case ctes: UnresolvedWith => ctes +: ctes.innerChildren.flatMap { case each: LogicalPlan => nodesOf(each) }
    case node => Seq(node)
  }.flatten

  /** Beginnings of names of settings that say how a plan is carried out: whatever they are, it yields the same. */
  private val OfExecution = Seq("adaptive.", "autoBroadcast", "broadcast", "cache", "cbo.", "codegen.", "exchange.", "execution.",
    "files.maxPartition", "files.minPartition", "files.openCost", "inMemoryColumnarStorage.", "join.", "optimizer.",
    "parser.manageParserCaches", "parser.parserDfaCache", "planChangeLog.", "shuffle.", "statistics.", "ui.")
    .map(s"spark.sql." + _) :+ "spark.forward_lineage."
}

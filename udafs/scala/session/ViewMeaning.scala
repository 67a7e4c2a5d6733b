package org.apache.spark.sql.forwardlineage

import scala.util.Try

import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedWith, View}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.command.ViewHelper

/**
 * What the text of a view means to Spark and would not mean where the view's name stands: it is read under the settings,
 * and beside the temporary views, that were there when the view was made.
 *
 * A class, not an object: Python makes one through the class loader of the added jar.
 */
final class ViewMeaning {

  /** Settings that may change what SQL means and are others here than for the view: name, value there, value here. */
  def otherSettings(session: SparkSession, view: CatalogTable, isTemporary: Boolean): Array[Array[String]] = {
    val (there, here) = (View.effectiveSQLConf(view.viewSQLConfigs, isTemporary), session.sessionState.conf)
    val captured = ViewHelper.sqlConfigsToProps(here, "").keySet
    (view.viewSQLConfigs.keySet ++ captured).filterNot(name => ViewMeaning.OfExecution.exists(name.startsWith)).toArray.sorted
      .map(name => Array(name) ++ Seq(there, here).map(conf => Try(conf.getConfString(name)).getOrElse("not set")))
      .filter(each => each(1) != each(2))
  }

  /** Names in its text that are those of temporary views here, and meant something else when the view was made. */
  def hiddenNames(session: SparkSession, view: CatalogTable): Array[String] = {
    val known = view.viewReferredTempViewNames.map(_.last.toLowerCase).toSet
    ViewMeaning.namesIn(session.sessionState.sqlParser.parseQuery(view.viewText.get)).filter { name =>
      !known(name.toLowerCase) && session.sessionState.catalog.getRawTempView(name).isDefined
    }.distinct.toArray
  }
}

private object ViewMeaning {

  /** The names of one part that a query reads, without those of its CTEs. */
  private def namesIn(query: LogicalPlan): Seq[String] = {
    val found = query.collectWithSubqueries {
      case UnresolvedRelation(Seq(name), _, _) => Seq(name)
      case ctes: UnresolvedWith => ctes.innerChildren.flatMap { case each: LogicalPlan => namesIn(each) }
    }.flatten
    val ctes = query.collectWithSubqueries { case each: UnresolvedWith => each.cteRelations.map(_._1.toLowerCase) }.flatten
    found.filterNot(name => ctes.contains(name.toLowerCase))
  }

  /** Beginnings of names of settings that say how a plan is carried out: whatever they are, it yields the same. */
  private val OfExecution = Seq("adaptive.", "autoBroadcast", "broadcast", "cache", "cbo.", "codegen.", "exchange.", "execution.",
    "files.maxPartition", "files.minPartition", "files.openCost", "inMemoryColumnarStorage.", "join.", "optimizer.",
    "parser.manageParserCaches", "parser.parserDfaCache", "planChangeLog.", "shuffle.", "statistics.", "ui.")
    .map(s"spark.sql." + _) :+ "spark.forward_lineage."
}

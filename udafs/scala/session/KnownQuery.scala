package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.analysis.DeduplicateRelations
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, TemporaryViewRelation}
import org.apache.spark.sql.catalyst.expressions.{Expression, PlanExpression}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._

import Sessions.{Dataset, SparkSession}

/**
 * A query as Spark has analysed it, to be had again without analysing its text, as long as that would give the same plan.
 *
 * Each time it is another query of the same text, with columns of its own, as after `spark.sql`. Only a query whose rows all come from
 * temporary views with kept plans is kept, and from the text: of all else Spark looks up what it is now.
 */
private[sql] final class KnownQuery private (plan: LogicalPlan, views: Map[String, AnyRef], around: KnownQuery.Surroundings) {

  /** The query; null where Spark might make something else of its text now. */
  def again(session: SparkSession): Dataset[Row] = session.withActive {
    val holds = views.forall { case (name, view) => KnownQuery.view(session, name).exists(_ eq view) } && KnownQuery.around(session) == around
    if (holds) copied.map(AnalysedFrames.frame(session, _)).orNull else null
  }

  /** As one side of a join with itself is, where Spark tells the sides apart. */
  private def copied: Option[LogicalPlan] = {
    val copy = AnalysisHelper.allowInvokingTransformsInAnalyzer {
      DeduplicateRelations(Join(plan, plan, Inner, None, JoinHint.NONE)).children(1)
    }
    if (!copy.resolved || copy.outputSet.intersect(plan.outputSet).nonEmpty) None
    else {
      copy.unsetTagValue(Dataset.DATASET_ID_TAG) // by it columns know the DataFrame that they were taken from
      Some(copy)
    }
  }
}

private[sql] object KnownQuery {

  /** On what the meaning of a text depends, besides the relations in it. Functions are compared by identity. */
  final case class Surroundings(settings: Map[String, String], zone: String, place: Seq[String], functions: Seq[Any])

  /** The query of a DataFrame that was just made from text; null where it depends on more than is looked at, or something changed meanwhile. */
  def of(session: SparkSession, frame: Dataset[Row], before: Surroundings): KnownQuery = session.withActive {
    val plan = frame.queryExecution.analyzed
    val parts = plan.collectWithSubqueries { case node => node } // views are no leaves; what is in them comes, too
    val kept = keptViews(plan)
    if (kept.isEmpty || around(session) != before || (new Readings).look(plan).functions.nonEmpty || parts.exists(_.expressions.exists(isByChance))) null
    else {
      val views = kept.get.map { case (name, read) => name -> view(session, name).filter(_.tableMeta eq read) }
      if (views.exists(_._2.isEmpty)) null
      else new KnownQuery(plan, views.collect { case (name, Some(there)) => name -> there }.toMap, before)
    }
  }

  private def view(session: SparkSession, name: String): Option[TemporaryViewRelation] = session.sessionState.catalog.getRawTempView(name)

  def around(session: SparkSession): Surroundings = {
    val (state, places) = (session.sessionState, session.sessionState.catalogManager)
    val rows = state.functionRegistry.listFunction().map(name => name -> state.functionRegistry.lookupFunctionBuilder(name))
    val tables = state.tableFunctionRegistry.listFunction().map(name => name -> state.tableFunctionRegistry.lookupFunctionBuilder(name))
    val place = places.currentCatalog.name +: places.currentNamespace.toSeq
    Surroundings(state.conf.getAllConfs, state.conf.sessionLocalTimeZone, place, rows ++ tables)
  }

  /** The temporary views with kept plans that all rows come from, as they were read; None where some come from elsewhere. */
  private def keptViews(plan: LogicalPlan): Option[Set[(String, CatalogTable)]] = {
    val inside = plan match {
      case view: View if view.isTempViewStoringAnalyzedPlan && view.desc.identifier.database.isEmpty =>
        return Some(Set(view.desc.identifier.table -> view.desc))
      case _: View | _: Sample => return None
      case _: LocalRelation | _: OneRowRelation | _: CTERelationRef => Nil
      case leaf if leaf.children.isEmpty => return None
      case node => node.children
    }
    val subqueries = plan.expressions.flatMap(_.collect { case subquery: PlanExpression[_] => subquery.plan.asInstanceOf[LogicalPlan] })
    (inside ++ subqueries).map(keptViews).reduceOption((one, other) => one.flatMap(names => other.map(names ++ _))).getOrElse(Some(Set.empty))
  }

  /** Whether its value was drawn, or read from the session, when the text was analysed. Numbers of stages are computed from rows. */
  private def isByChance(expression: Expression): Boolean = expression.exists {
    case _: PlanExpression[_] => false // its plan is looked at by itself
    case _: DlNumber => false
    case variable if variable.nodeName == "VariableReference" || variable.getClass.getSimpleName == "VariableReference" => true
    case each => Chance.begins(each)
  }
}

package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SparkStrategy

import Sessions.SparkSession

/** What the kernel adds to Spark's planner, and when it runs. */
private object PlanRules {
  private val strategies: Seq[SparkStrategy] = Seq(LineageAggregation, RowPositionScan, WeightlessLineage, EvaluatedOncePlanning)

  /** Once, before Spark's rules for operators, where its version has a place for that. */
  private val early: Seq[Rule[LogicalPlan]] = Seq(CopiesApart)

  /**
   * With Spark's rules for operators, as often as these; `PlansAsTheyStand` comes right behind the one that it mends. Where a subquery
   * becomes a join, Spark may copy what is around it, stages included: `CopiesApart` comes again.
   */
  private val withOperators: Seq[Rule[LogicalPlan]] = Seq(PlansAsTheyStand, StagedQueries, CopiesApart, OnceReadEarly, GroupedWindows)

  private val before: Seq[Rule[LogicalPlan]] = Seq(
    RowPositionPushdown, UnusedMetadata, SharedScans, UnionsOfUnions, AskedValues, QuickQuestions, LateLineage, CheapFirst
  ) ++ MergedSubqueries.repair

  /** Last of all. What follows CTEs comes last; what stays apart is known when all else has been put in place. */
  private val atTheEnd: Seq[Rule[LogicalPlan]] = before ++ Seq(OnceRead, EvaluatedOnce)

  /** As late as extensions may: conditions of subqueries are no joins yet. */
  private val ofExtensions: Seq[Rule[LogicalPlan]] = before ++ Seq(OnceReadEarly, EvaluatedOnce)

  def attach(session: SparkSession): Unit = {
    val known = session.experimental.extraStrategies
    session.experimental.extraStrategies = strategies.filterNot(known.contains) ++ known
    val others = session.experimental.extraOptimizations
    session.experimental.extraOptimizations = others ++ atTheEnd.filterNot(others.contains)
    // All sessions of a builder have the same extensions, and ask them at each query.
    session.extensions.synchronized {
      val injected = session.extensions.buildOptimizerRules(session)
      withOperators.filterNot(injected.contains).foreach(rule => session.extensions.injectOptimizerRule(_ => rule))
      early.filterNot(EarlyRules.known(session).contains).foreach(EarlyRules.inject(session.extensions, _))
    }
  }

  def inject(extensions: SparkSessionExtensions): Unit = {
    strategies.foreach(strategy => extensions.injectPlannerStrategy(_ => strategy))
    early.foreach(EarlyRules.inject(extensions, _))
    withOperators.foreach(rule => extensions.injectOptimizerRule(_ => rule))
    ofExtensions.foreach(rule => extensions.injectPreCBORule(_ => rule))
  }
}

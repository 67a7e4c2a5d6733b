package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.analysis.Analyzer
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

import Sessions.SparkSession

/** An analyser over what the session's own one has: from 4.2 on it is told the session's settings, too. */
private[forwardlineage] abstract class SessionAnalyzer(session: SparkSession, hints: Seq[Rule[LogicalPlan]])
    extends Analyzer(
      session.sessionState.analyzer.catalogManager,
      session.sessionState.analyzer.sharedRelationCache,
      Some(session.sessionState.conf)) {
  override val hintResolutionRules: Seq[Rule[LogicalPlan]] =
    hints ++ session.sessionState.analyzer.hintResolutionRules
}

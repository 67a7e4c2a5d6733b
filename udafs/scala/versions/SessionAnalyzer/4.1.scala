package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.analysis.Analyzer
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

import Sessions.SparkSession

/** An analyser over the catalogs of the session's own one, with which it shares the cache of relations that 4.1 brings. */
private[forwardlineage] abstract class SessionAnalyzer(session: SparkSession, hints: Seq[Rule[LogicalPlan]])
    extends Analyzer(session.sessionState.analyzer.catalogManager, session.sessionState.analyzer.sharedRelationCache) {
  override val hintResolutionRules: Seq[Rule[LogicalPlan]] =
    hints ++ session.sessionState.analyzer.hintResolutionRules
}

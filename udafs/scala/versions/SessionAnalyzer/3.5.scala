package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.analysis.Analyzer
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

import Sessions.SparkSession

/**
 * An analyser over the catalogs of the session's own one: up to 4.0 it takes nothing else. In 3.5 extensions have no hints, which are
 * resolved before names are: the rules given go into the batch of Spark's own.
 */
private[forwardlineage] abstract class SessionAnalyzer(session: SparkSession, hints: Seq[Rule[LogicalPlan]])
    extends Analyzer(session.sessionState.analyzer.catalogManager) {
  override def batches: Seq[Batch] = super.batches.map(batch =>
    if (batch.name == "Hints") Batch(batch.name, batch.strategy, hints ++ batch.rules: _*) else batch)
}

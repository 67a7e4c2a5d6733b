package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.analysis.Analyzer
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

import Sessions.SparkSession

/**
 * An analyser over the catalogs of the session's own one: up to 4.0 it takes nothing else. In 3.5 it has no hints of extensions, and so no
 * place for the rules given: the column `DL` of tables of other catalogs is one of their columns there.
 */
private[forwardlineage] abstract class SessionAnalyzer(session: SparkSession, hints: Seq[Rule[LogicalPlan]])
    extends Analyzer(session.sessionState.analyzer.catalogManager)

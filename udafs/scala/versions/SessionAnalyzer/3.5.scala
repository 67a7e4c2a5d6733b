package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.analysis.Analyzer

import Sessions.SparkSession

/**
 * An analyser over the catalogs of the session's own one: up to 4.0 it takes nothing else. In 3.5 it has no hints of extensions, and so no
 * place for `UsersColumnsElsewhere`: the column `DL` of tables of other catalogs is one of their columns there.
 */
private[forwardlineage] abstract class SessionAnalyzer(session: SparkSession)
    extends Analyzer(session.sessionState.analyzer.catalogManager)

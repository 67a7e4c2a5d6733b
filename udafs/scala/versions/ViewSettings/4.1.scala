package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.execution.command.ViewHelper

import Sessions.SparkSession

/** Names of the settings that a view made now would keep. */
private[forwardlineage] object ViewSettings {
  def captured(session: SparkSession): Set[String] = ViewHelper.sqlConfigsToProps(session.sessionState.conf, "").keySet
}

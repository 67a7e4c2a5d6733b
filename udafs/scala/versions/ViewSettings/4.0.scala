package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.execution.command.ViewHelper
import org.apache.spark.sql.internal.SQLConf

import Sessions.SparkSession

/** Names of the settings that a view made now would keep: 4.0 tells those that were set, and keeps the time zone besides. */
private[forwardlineage] object ViewSettings {
  def captured(session: SparkSession): Set[String] = ViewHelper.getModifiedConf(session.sessionState.conf).keySet + SQLConf.SESSION_LOCAL_TIMEZONE.key
}

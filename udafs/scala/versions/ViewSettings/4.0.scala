package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.execution.command.ViewHelper
import org.apache.spark.sql.internal.SQLConf

/** Names of the settings that a view made now would keep: 4.0 tells those that were set, and keeps the time zone besides. */
private[forwardlineage] object ViewSettings {
  def captured(here: SQLConf): Set[String] = ViewHelper.getModifiedConf(here).keySet + SQLConf.SESSION_LOCAL_TIMEZONE.key
}

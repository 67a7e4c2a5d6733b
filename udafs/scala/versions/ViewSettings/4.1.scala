package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.execution.command.ViewHelper
import org.apache.spark.sql.internal.SQLConf

/** Names of the settings that a view made now would keep. */
private[forwardlineage] object ViewSettings {
  def captured(here: SQLConf): Set[String] = ViewHelper.sqlConfigsToProps(here, "").keySet
}

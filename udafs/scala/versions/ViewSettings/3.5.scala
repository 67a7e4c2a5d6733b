package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation
import org.apache.spark.sql.execution.command.ViewHelper

import Sessions.SparkSession

/** Names of the settings that a view made now would keep: 3.5 tells them among a view's properties only. */
private[forwardlineage] object ViewSettings {
  def captured(session: SparkSession): Set[String] =
    ViewHelper.generateViewProperties(Map.empty, session, OneRowRelation(), Array.empty)
      .keySet.filter(_.startsWith(CatalogTable.VIEW_SQL_CONFIG_PREFIX)).map(_.stripPrefix(CatalogTable.VIEW_SQL_CONFIG_PREFIX))
}

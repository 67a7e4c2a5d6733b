package org.apache.spark.sql.forwardlineage

/** From 4.2 on Spark gives each CTE one new id at most. */
private[forwardlineage] object CteIds {
  def apart(): Unit = ()
}

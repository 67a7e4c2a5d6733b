package org.apache.spark.sql.forwardlineage

/** Up to 4.0 Spark gives each CTE one new id at most. */
private[forwardlineage] object CteIds {
  def apart(): Unit = ()
}

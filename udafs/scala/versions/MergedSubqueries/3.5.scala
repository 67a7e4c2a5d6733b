package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** In 3.5 a plan begins with its CTEs, and then Spark merges no subqueries. */
private[forwardlineage] object MergedSubqueries {
  val repair: Option[Rule[LogicalPlan]] = None
}

package org.apache.spark.sql.forwardlineage

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** From 4.2 on Spark merges subqueries that read a CTE only where that is defined before. */
private[forwardlineage] object MergedSubqueries {
  val repair: Option[Rule[LogicalPlan]] = None
}
